// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/settings/value"
)

func TestClassOverridesKeysOfTheSectionLoadBalancer(t *testing.T) {
	c := mustParse(t, credentials+`
[LoadBalancerClass "early"]
lb-provider = ovn
[LoadBalancer]
lb-provider = amphora
flavor-id = `+idA+`
create-monitor = true
max-members = 6
floating-network-id = `+idA+`
[LoadBalancerClass "gold"]
flavor-id = `+idB+`
availability-zone = az2
create-monitor = false
monitor-delay = 9s
max-members = 0
internal-lb = true
node-selector = gold=yes
source-ranges = 10.0.0.0/8
[LoadBalancerClass "gold"]
lb-method = SOURCE_IP
[LoadBalancerClass "empty"]
flavor-id =
`)
	base := c.LoadBalancer
	base.Classes = nil
	early, gold := base, base
	early.Provider = "ovn"
	gold.FlavorID, gold.AvailabilityZone, gold.CreateMonitor, gold.MonitorDelay = idB, "az2", false, 9*time.Second
	if base.MaxMembers != 6 {
		t.Errorf("[LoadBalancer] max-members is %d", base.MaxMembers)
	}
	gold.MaxMembers, gold.Internal, gold.NodeSelector, gold.SourceRanges, gold.Method = 0, true, "gold=yes", "10.0.0.0/8", "SOURCE_IP"
	want := map[string]LoadBalancer{"early": early, "gold": gold, "empty": base}
	if diff := cmp.Diff(want, c.LoadBalancer.Classes); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"early", "empty", "gold"}, c.LoadBalancer.ClassNames()); diff != "" {
		t.Error(diff)
	}
	if of, ok := c.LoadBalancer.Of("gold"); !ok || of.FlavorID != idB {
		t.Errorf("Of(gold) = %+v, %v", of, ok)
	}
	if of, ok := c.LoadBalancer.Of(""); !ok || of.FlavorID != idA {
		t.Errorf("no class: %+v, %v", of, ok)
	}
	if _, ok := c.LoadBalancer.Of("Gold"); ok {
		t.Error("there is a class Gold")
	}
}

func TestAClassThatNamesOneNetworkHasNoSubnetOfAnother(t *testing.T) {
	const s, n, fn, fs, other = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002",
		"00000000-0000-0000-0000-000000000003", "00000000-0000-0000-0000-000000000004", "00000000-0000-0000-0000-000000000005"
	all := "[LoadBalancer]\nsubnet-id = " + s + "\nnetwork-id = " + n + "\nfloating-network-id = " + fn + "\nfloating-subnet-id = " + fs +
		"\nfloating-subnet = name\nfloating-subnet-tags = tag\n[LoadBalancerClass \"c\"]\n"
	type networks struct {
		subnet, network, floatingNetwork, floatingSubnet string
		pattern                                          value.SubnetPattern
	}
	for name, test := range map[string]struct {
		keys string
		want networks
	}{
		"no network":                  {"lb-method = SOURCE_IP", networks{s, n, fn, fs, value.SubnetPattern{Name: "name", Tags: "tag"}}},
		"network of the VIP":          {"network-id = " + other, networks{"", other, fn, fs, value.SubnetPattern{Name: "name", Tags: "tag"}}},
		"subnet of the VIP":           {"subnet-id = " + other, networks{other, "", fn, fs, value.SubnetPattern{Name: "name", Tags: "tag"}}},
		"external network":            {"floating-network-id = " + other, networks{s, n, other, "", value.SubnetPattern{}}},
		"tags of the floating subnet": {"floating-subnet-tags = a", networks{s, n, fn, "", value.SubnetPattern{Tags: "a"}}},
		"name of the floating subnet": {"floating-subnet = x*", networks{s, n, fn, "", value.SubnetPattern{Name: "x*"}}},
		"id of the floating subnet":   {"floating-subnet-id = " + other, networks{s, n, fn, other, value.SubnetPattern{}}},
	} {
		t.Run(name, func(t *testing.T) {
			l := mustParse(t, credentials+all+test.keys+"\n").LoadBalancer.Classes["c"]
			got := networks{l.SubnetID, l.NetworkID, l.FloatingNetworkID, l.FloatingSubnetID, l.FloatingSubnets}
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestAdditionalSubnetIsInheritedOnlyWithItsNetwork(t *testing.T) {
	const six, other, anotherSix = idA, idB, "00000000-0000-0000-0000-000000000006"
	const all = "[LoadBalancer]\nnetwork-id = " + idA + "\nadditional-subnet-id = " + six + "\n[LoadBalancerClass \"c\"]\n"
	for name, test := range map[string]struct{ keys, want string }{
		"no network":      {"lb-method = SOURCE_IP", six},
		"another subnet":  {"subnet-id = " + other, ""},
		"another network": {"network-id = " + other, ""},
		"another network and an additional subnet of it": {"network-id = " + other + "\nadditional-subnet-id = " + anotherSix, anotherSix},
	} {
		t.Run(name, func(t *testing.T) {
			if got := mustParse(t, credentials+all+test.keys+"\n").LoadBalancer.Classes["c"].AdditionalSubnetID; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestProblemsOfAClassAreReported(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"timeout above the delay":               {"[LoadBalancerClass \"c\"]\nmonitor-delay = 2s\n", `[LoadBalancerClass "c"] monitor-timeout (3s) must not be above monitor-delay (2s)`},
		"key of another section":                {"[LoadBalancerClass \"c\"]\nmax-shared-lb = 3\n", `unknown key "max-shared-lb"`},
		"key of Global":                         {"[LoadBalancerClass \"c\"]\nauth-url =\n", `unknown key "auth-url"`},
		"floating subnet that is no expression": {"[LoadBalancerClass \"c\"]\nfloating-subnet = ~(\n", `[LoadBalancerClass] floating-subnet: "~("`},
		"source range that is no CIDR":          {"[LoadBalancerClass \"c\"]\nsource-ranges = all\n", `"all" is not a CIDR`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("cloud.conf", []byte(credentials+test.text))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

func TestAnEmptyValueOfAClassIsThatOfLoadBalancer(t *testing.T) {
	c := mustParse(t, credentials+"[LoadBalancer]\nflavor-id="+idA+"\ninternal-lb=true\nmonitor-delay=7s\n[LoadBalancerClass \"fast\"]\nflavor-id=\ninternal-lb=\nmonitor-delay=\n")
	base := c.LoadBalancer
	base.Classes = nil
	if diff := cmp.Diff(base, c.LoadBalancer.Classes["fast"]); diff != "" {
		t.Errorf("class (-[LoadBalancer] +class):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"[LoadBalancerClass] internal-lb 11", "[LoadBalancerClass] monitor-delay 12"}, summaries(c.Notices)); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
}
