// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const serviceSubnet = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"

func TestClusterIPModeIsOffByDefaultAndNeedsASubnet(t *testing.T) {
	if c := mustParse(t, credentials).ClusterIP; c.Enabled {
		t.Errorf("it is enabled: %+v", c)
	}
	for name, test := range map[string]struct{ lines, problem string }{
		"no subnet":             {"enabled = true", "[ClusterIP] enabled needs service-subnet-id"},
		"name instead of an id": {"service-subnet-id = services", `[ClusterIP] service-subnet-id: "services" must be the id of a subnet`},
		"invalid selector":      {"selector = tier in (web", `[ClusterIP] selector: "tier in (web" cannot be read`},
		"invalid namespace":     {"namespaces = shop,Kube_System", `"Kube_System" is not the name of a namespace`},
		"everything set":        {"enabled = true\nservice-subnet-id = " + serviceSubnet + "\nselector = !internal\nnamespaces = shop, web", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("cloud.conf", []byte(credentials+"\n[ClusterIP]\n"+test.lines+"\n"))
			if test.problem == "" && err != nil || test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)) {
				t.Errorf("%v, want %q", err, test.problem)
			}
		})
	}
}

func TestSettingsAtTheClusterIPReplaceThoseOfThePlaceOfTheVIPInEveryClass(t *testing.T) {
	l := LoadBalancer{Provider: "amphora", FlavorID: "big", SubnetID: "nodes", AdditionalSubnetID: "nodes-v6", TargetType: NodeTargets,
		SourceRanges: "10.0.0.0/8", TLSContainer: "ref", Method: "ROUND_ROBIN",
		Classes: map[string]LoadBalancer{"dmz": {Provider: "amphora", NetworkID: "dmz", FloatingNetworkID: "public", TargetType: NodeTargets}}}
	for name, c := range map[string]struct {
		at    AtClusterIP
		class string
		want  LoadBalancer
	}{
		"of type ClusterIP": {AtClusterIP{SubnetID: "services", Provider: "ovn", Internal: true}, "",
			LoadBalancer{Provider: "ovn", SubnetID: "services", TargetType: PodTargets, Internal: true, Method: "ROUND_ROBIN", Classes: l.Classes}},
		"of type LoadBalancer": {AtClusterIP{SubnetID: "services"}, "",
			LoadBalancer{Provider: "amphora", FlavorID: "big", SubnetID: "services", TargetType: PodTargets, SourceRanges: "10.0.0.0/8", TLSContainer: "ref",
				Method: "ROUND_ROBIN", Classes: l.Classes}},
		"of a class": {AtClusterIP{SubnetID: "services"}, "dmz",
			LoadBalancer{Provider: "amphora", SubnetID: "services", FloatingNetworkID: "public", TargetType: PodTargets}},
	} {
		t.Run(name, func(t *testing.T) {
			l := l
			l.AtClusterIP, c.want.AtClusterIP = &c.at, &c.at
			got, there := l.Of(c.class)
			if diff := cmp.Diff(c.want, got); diff != "" || !there {
				t.Errorf("there is one: %t (-want +got):\n%s", there, diff)
			}
		})
	}
}
