// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/internal/settings/value"
)

// wellFormed has a valid value for each key that users set.
var wellFormed = map[string]string{
	Internal: "true", SourceRanges: "10.0.0.0/8", KeepFloatingIP: "true", FloatingIP: someID, OwnPrefix + "status-addresses": "both",
	Prefix + "floating-network-id": someID, Prefix + "floating-subnet-id": someID, Prefix + "floating-subnet": "public*", Prefix + "floating-subnet-tags": "a",
	Prefix + "hostname": "www.example.com", LoadBalancerGroup: "web", SubnetID: someID, NetworkID: someID, PortID: someID, AdditionalSubnetID: someID,
	MemberSubnetID: someID, FlavorID: someID, AvailabilityZone: "az1", AllowReplacement: "true", TargetType: "pod", NodeSelector: "zone=b", MaxMembers: "6",
	NodeAddressType: "ExternalIP", keyMethod: "SOURCE_IP", ConnectionLimit: "7", TimeoutPrefix + "client-data": "7", TimeoutPrefix + "member-connect": "7",
	TimeoutPrefix + "member-data": "7", TimeoutPrefix + "tcp-inspect": "7", keyMonitor: "true", keyDelay: "7", keyTimeout: "1", keyUp: "7", keyDown: "7",
	MetricsAllowedCIDRs: "10.0.0.0/8", MetricsPort: "9100", LoadBalancerTags: "a", ListenerTags: "a", PoolTags: "a", FloatingIPTags: "a", DriftPolicy: "report",
	ProtocolsKey: "80=HTTP", ProxyProtocol: "v2", XForwardedFor: "true", TLSContainer: someRef, TLSSecret: "web-tls", SNIContainers: someRef, ClassKey: "gold",
	VIPSecurityGroups: "web", HSTSMaxAge: "31536000", HSTSIncludeSubdomains: "true", HSTSPreload: "true",
}

func TestEachKeyIsReadUnderBothPrefixes(t *testing.T) {
	operator := defaults
	gold := operator
	gold.FlavorID = "f1"
	operator.Classes = map[string]config.LoadBalancer{"gold": gold}
	for _, a := range Table {
		t.Run(a.Key, func(t *testing.T) {
			value := wellFormed[a.Key]
			if a.Output {
				if keys := a.Keys(); !slices.Equal(keys, []string{a.Key}) {
					t.Errorf("it is written by the controller and is understood as %v", keys)
				}
				return
			}
			want, problems := Parse(map[string]string{a.Key: value}, operator)
			if without, _ := Parse(nil, operator); len(problems) > 0 || cmp.Equal(want, without) {
				t.Errorf("%s=%q: problems %v, and it changes something: %v", a.Key, value, problems, !cmp.Equal(want, without))
				return
			}
			prefix, name := Split(a.Key)
			if !slices.Contains(Prefixes, prefix) {
				return
			}
			for _, p := range Prefixes {
				got, problems := Parse(map[string]string{p + name: value}, operator)
				if diff := cmp.Diff(want, got); diff != "" || problems != nil {
					t.Errorf("%s: problems %v, options (-want +got):\n%s", p+name, problems, diff)
				}
				if !slices.Contains(a.Keys(), p+name) || len(FindUnknown(map[string]string{p + name: value})) > 0 {
					t.Errorf("%s is unknown", p+name)
				}
			}
			both := map[string]string{Prefix + name: value, OwnPrefix + name: " " + value}
			if got, problems := Parse(both, operator); problems != nil || !cmp.Equal(want, got) {
				t.Errorf("%s under both prefixes with the same value: %v", name, problems)
			}
			both[OwnPrefix+name] = value + "x"
			if got := conflictsOf(both, operator); len(got) != 1 || got[0].Key != a.Key || !namesAll(got[0].Error(), Prefix+name, OwnPrefix+name, `"`+value+`"`, `"`+value+`x"`) {
				t.Errorf("%s under both prefixes with two values: %v, want one problem that names both", name, got)
			}
		})
	}
}

// conflictsOf returns the problems that are about two values.
func conflictsOf(annotations map[string]string, operator config.LoadBalancer) []Problem {
	_, problems := Parse(annotations, operator)
	return slices.DeleteFunc(problems, func(p Problem) bool { return !strings.Contains(p.Text, "the same setting") })
}

func namesAll(text string, all ...string) bool {
	return !slices.ContainsFunc(all, func(s string) bool { return !strings.Contains(text, s) })
}

func TestAProblemNamesTheKeyThatTheUserTyped(t *testing.T) {
	for typed, canonical := range map[string]string{
		OwnPrefix + "health-monitor-delay": keyDelay, Prefix + "metrics-port": MetricsPort, OwnPrefix + "class": ClassKey, keyDelay: keyDelay,
		OwnPrefix + "default-tls-container-ref": TLSContainer,
	} {
		t.Run(typed, func(t *testing.T) {
			_, problems := Parse(map[string]string{typed: "many"}, defaults)
			if len(problems) != 1 || problems[0].Key != typed || problems[0].Canonical != canonical || problems[0].Value != "many" {
				t.Errorf("problems %+v", problems)
			}
		})
	}
	_, problems := Parse(map[string]string{OwnPrefix + "health-monitor-delay": "2"}, defaults)
	if len(problems) != 1 || problems[0].Key != OwnPrefix+"health-monitor-delay" || problems[0].Value != "2" {
		t.Errorf("probes overlap: problems %+v", problems)
	}
}

func TestTwoValuesOfAKeyKeepTheFloatingIP(t *testing.T) {
	for name, annotations := range map[string]map[string]string{
		"true under the shared prefix": {KeepFloatingIP: "true", OwnPrefix + "keep-floatingip": "false"},
		"true under the own prefix":    {KeepFloatingIP: "false", OwnPrefix + "keep-floatingip": "true"},
		"invalid value":                {OwnPrefix + "keep-floatingip": "1"},
		"true alone":                   {OwnPrefix + "keep-floatingip": "true"},
	} {
		t.Run(name, func(t *testing.T) {
			if !keepsFloatingIP(annotations) {
				t.Errorf("%v loses the floating IP", annotations)
			}
		})
	}
	if keepsFloatingIP(map[string]string{OwnPrefix + "keep-floatingip": "false"}) {
		t.Error("false keeps the floating IP")
	}
	if got := Values(map[string]string{FloatingIP: "192.0.2.1", Prefix + "floating-ip": " 192.0.2.2 "}, FloatingIP); !slices.Equal(got, []string{"192.0.2.1", "192.0.2.2"}) {
		t.Errorf("Values = %v", got)
	}
	if got := Values(map[string]string{Prefix + "floating-ip": "192.0.2.2"}, FloatingIP); !slices.Equal(got, []string{"192.0.2.2"}) {
		t.Errorf("Values = %v", got)
	}
	if got := Values(nil, FloatingIP); got != nil {
		t.Errorf("Values = %v", got)
	}
}

func TestCanonicalKeysTakeThePlaceOfAliasesAndNothingElseChanges(t *testing.T) {
	given := map[string]string{OwnPrefix + "class": "gold", Prefix + "drift-policy": "report", DriftPolicy: "repair", "example.com/class": "x", OwnPrefix + "load-balancer-id": "x"}
	before := maps.Clone(given)
	want := map[string]string{ClassKey: "gold", DriftPolicy: "repair", "example.com/class": "x", OwnPrefix + "load-balancer-id": "x"}
	if diff := cmp.Diff(want, Canonical(given)); diff != "" {
		t.Errorf("Canonical (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, given); diff != "" {
		t.Errorf("the annotations of the Service changed (-before +after):\n%s", diff)
	}
	if got := Value(given, ClassKey); got != "gold" {
		t.Errorf("Value = %q", got)
	}
}

// keepsFloatingIP parses the annotations over the defaults, as the adapters of owners do.
func keepsFloatingIP(annotations map[string]string) bool {
	options, problems := Parse(annotations, defaults)
	return KeepsFloatingIP(annotations, options, problems)
}

// selector parses the annotations as the adapters of owners do.
func selector(annotations map[string]string, operator config.LoadBalancer) (value.NodeSelector, error) {
	options, problems := Parse(annotations, operator)
	return Selector(options, problems)
}
