// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// dual requests both families, in this order, with a policy.
func dual(policy corev1.IPFamilyPolicy, first, second corev1.IPFamily) change {
	return func(in *Input) {
		in.Spec.Families = []corev1.IPFamily{first, second}
		in.Spec.RequireDualStack = policy == corev1.IPFamilyPolicyRequireDualStack
		in.Networks.AdditionalSubnetID = "subnet-other"
	}
}

func prefer(in *Input) {
	dual(corev1.IPFamilyPolicyPreferDualStack, corev1.IPv4Protocol, corev1.IPv6Protocol)(in)
}

func require(in *Input) {
	dual(corev1.IPFamilyPolicyRequireDualStack, corev1.IPv4Protocol, corev1.IPv6Protocol)(in)
}

// found is an existing load balancer with VIPs of these addresses.
func found(vip string, more ...string) change {
	return func(in *Input) {
		in.Found = &lb.LoadBalancer{ID: "lb-1", VIP: lb.VIP{Address: vip, SubnetID: "subnet-vip"}}
		for _, m := range more {
			in.Found.AdditionalVIPs = append(in.Found.AdditionalVIPs, lb.VIP{Address: m, SubnetID: "subnet-other"})
		}
	}
}

// noOtherSubnet is a network with a subnet of one family.
func noOtherSubnet(in *Input) { in.Networks.AdditionalSubnetID = "" }

func TestAnObstacleToTheSecondFamilyIsReportedOrTheServiceIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		obstacle         []change
		withheld, reason string
		texts            []string
	}{
		"an old Octavia":                   {[]change{apiVersion(25)}, ReasonDualStackUnsupported, ReasonDualStackUnsupported, []string{"2.26", "2.25"}},
		"provider ovn":                     {[]change{provider(lb.ProviderOVN)}, ReasonDualStackUnsupported, ReasonDualStackUnsupported, []string{"ovn"}},
		"a network without a subnet of it": {[]change{noOtherSubnet}, ReasonDualStackUnsupported, ReasonDualStackUnsupported, []string{"IPv6 subnet", annotation.AdditionalSubnetID}},
		"source ranges":                    {[]change{ranges("10.0.0.0/8", "fd00::/8")}, ReasonDualStackUnsupported, ReasonDualStackUnsupported, []string{"source ranges"}},
		"source ranges that leave one out": {[]change{ranges("0.0.0.0/0")}, ReasonDualStackUnsupported, ReasonDualStackUnsupported, []string{"source ranges"}},
		"source ranges by annotation, the spec's being empty": {[]change{ranges(""), annotate(keySources, "10.0.0.0/8")}, ReasonDualStackUnsupported, ReasonDualStackUnsupported, []string{"source ranges"}},
		"source ranges by annotation":                         {[]change{annotate(keySources, "10.0.0.0/8")}, ReasonDualStackUnsupported, ReasonDualStackUnsupported, []string{"source ranges"}},
		"a load balancer that is there":                       {[]change{found("10.0.0.9")}, ReasonSingleStackLoadBalancer, ReasonRequiresReplacement, []string{"lb-1", "IPv6", "create it again"}},
		"one that is there, in an old cloud":                  {[]change{found("10.0.0.9"), apiVersion(25)}, ReasonDualStackUnsupported, ReasonDualStackUnsupported, []string{"2.26"}},
		"one that is there, with source ranges":               {[]change{found("10.0.0.9"), ranges("10.0.0.0/8")}, ReasonDualStackUnsupported, ReasonDualStackUnsupported, []string{"source ranges"}},
		"one that is there with two of a family":              {[]change{found("10.0.0.9", "10.1.0.9")}, ReasonSingleStackLoadBalancer, ReasonRequiresReplacement, []string{"lb-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := Wanted(input(append([]change{prefer}, c.obstacle...)...))
			if err != nil {
				t.Fatalf("PreferDualStack is refused: %v", err)
			}
			if len(wanted.LoadBalancer.AdditionalVIPs) > 0 {
				t.Errorf("VIPs %+v", wanted.LoadBalancer.AdditionalVIPs)
			}
			i := slices.IndexFunc(wanted.Withheld, func(w lb.Withheld) bool { return w.Reason == c.withheld })
			if i < 0 {
				t.Fatalf("nothing is told: %+v", wanted.Withheld)
			}
			texts := append([]string{"served by IPv4 only", "SingleStack"}, c.texts...)
			for _, text := range texts {
				if !strings.Contains(wanted.Withheld[i].Message, text) {
					t.Errorf("%q does not say %q", wanted.Withheld[i].Message, text)
				}
			}
			_, err = Wanted(input(append([]change{require}, c.obstacle...)...))
			var invalid *Invalid
			if !errors.As(err, &invalid) || invalid.Reason != c.reason {
				t.Fatalf("RequireDualStack is not refused for %s: %v", c.reason, err)
			}
			for _, text := range append([]string{"RequireDualStack", "PreferDualStack"}, c.texts...) {
				if !strings.Contains(invalid.Message, text) {
					t.Errorf("%q does not say %q", invalid.Message, text)
				}
			}
		})
	}
}

func TestADualStackLoadBalancerHasSourceRangesWhereOctaviaTakesThem(t *testing.T) {
	for name, c := range map[string]struct {
		changes []change
		second  bool // the Service requests a second VIP
		want    []string
	}{
		"new":                           {[]change{require, ranges("fd00::/8", "10.0.0.0/8")}, true, []string{"10.0.0.0/8", "fd00::/8"}},
		"preferred":                     {[]change{prefer, ranges("10.0.0.0/8")}, true, []string{"10.0.0.0/8"}},
		"one that comes twice":          {[]change{require, ranges("10.1.0.0/8", "10.0.0.0/8", "fd00::/8")}, true, []string{"10.0.0.0/8", "fd00::/8"}},
		"there":                         {[]change{require, found("10.0.0.9", "fd00::9"), ranges("10.0.0.0/8", "fd00::/8")}, true, []string{"10.0.0.0/8", "fd00::/8"}},
		"kept by one that asks for one": {[]change{found("10.0.0.9", "fd00::9"), ranges("10.0.0.0/8")}, false, []string{"10.0.0.0/8"}},
		"all addresses of one":          {[]change{require, ranges("0.0.0.0/0")}, true, []string{"0.0.0.0/0"}},
		"all addresses of both":         {[]change{require, ranges("0.0.0.0/0", "::/0")}, true, nil},
		"none":                          {[]change{require}, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := Wanted(input(append(c.changes, apiVersion(30))...))
			if err != nil {
				t.Fatal(err)
			}
			if wanted.LoadBalancer.AdditionalVIPs == nil && c.second {
				t.Errorf("there is no second VIP, because of %+v", wanted.Withheld)
			}
			if diff := cmp.Diff(c.want, wanted.LoadBalancer.Listeners[0].AllowedCIDRs); diff != "" {
				t.Errorf("source ranges (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMetricsOfADualStackLoadBalancerAreRestrictedWhereOctaviaCan(t *testing.T) {
	metrics := []change{require, annotate(annotation.MetricsPort, "9100"), annotate(annotation.MetricsAllowedCIDRs, "10.0.0.0/8")}
	wanted, err := Wanted(input(append(metrics, apiVersion(30))...))
	if err != nil {
		t.Fatal(err)
	}
	last := wanted.LoadBalancer.Listeners[len(wanted.LoadBalancer.Listeners)-1]
	if diff := cmp.Diff([]string{"10.0.0.0/8"}, last.AllowedCIDRs); last.Protocol != lb.ListenerPrometheus || diff != "" {
		t.Errorf("listener %s (-want +got):\n%s", last.Protocol, diff)
	}
	wanted, err = Wanted(input(append(metrics, apiVersion(29))...))
	if err != nil {
		t.Fatal(err)
	}
	if len(wanted.LoadBalancer.Listeners) != 1 || len(wanted.Withheld) != 1 || !strings.Contains(wanted.Withheld[0].Message, "2.30") {
		t.Errorf("listeners %+v, withheld %+v", wanted.LoadBalancer.Listeners, wanted.Withheld)
	}
}

func TestADualStackLoadBalancerHasNoSourceRangesWhereTheyPutItIntoError(t *testing.T) {
	for name, in := range map[string]Input{
		"new":                           input(require),
		"there":                         input(require, found("10.0.0.9", "fd00::9")),
		"all addresses of both":         input(require, ranges("0.0.0.0/0", "::/0")),
		"kept by one that asks for one": input(found("10.0.0.9", "fd00::9")),
	} {
		wanted, err := Wanted(in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := wanted.LoadBalancer.Listeners[0].AllowedCIDRs; len(got) > 0 {
			t.Errorf("%s: source ranges %v put it into ERROR", name, got)
		}
	}
	for name, in := range map[string]Input{
		"preferred":                     input(prefer, found("10.0.0.9", "fd00::9"), ranges("10.0.0.0/8")),
		"all addresses of one":          input(prefer, found("10.0.0.9", "fd00::9"), ranges("0.0.0.0/0")),
		"required":                      input(require, found("10.0.0.9", "fd00::9"), ranges("10.0.0.0/8", "fd00::/8")),
		"kept by one that asks for one": input(found("10.0.0.9", "fd00::9"), ranges("10.0.0.0/8")),
	} {
		_, err := Wanted(in)
		var invalid *Invalid
		if !errors.As(err, &invalid) || invalid.Reason != ReasonUnsupported || !strings.Contains(invalid.Message, "lb-1") || !strings.Contains(invalid.Message, "2.30") {
			t.Errorf("%s: source ranges that cannot be enforced are not refused: %v", name, err)
		}
	}
}

func TestAVIPOfAnUnusedFamilyIsReported(t *testing.T) {
	for first, want := range map[corev1.IPFamily]string{corev1.IPv4Protocol: "fd00::9", corev1.IPv6Protocol: "10.0.0.9"} {
		wanted, err := Wanted(input(families(first), found("10.0.0.9", "fd00::9")))
		if err != nil {
			t.Fatal(err)
		}
		if len(wanted.Withheld) != 1 || wanted.Withheld[0].Reason != ReasonAdditionalVIPKept || !strings.Contains(wanted.Withheld[0].Message, want) {
			t.Errorf("%s: told is %+v", first, wanted.Withheld)
		}
		if len(wanted.LoadBalancer.AdditionalVIPs) > 0 || (wanted.FloatingIP != nil) != (first == corev1.IPv4Protocol) {
			t.Errorf("%s: VIPs %+v, floating IP %+v", first, wanted.LoadBalancer.AdditionalVIPs, wanted.FloatingIP)
		}
	}
}

func TestMembersOfALoadBalancerOfBothFamilies(t *testing.T) {
	nodes := func(in *Input) {
		in.Nodes = []corev1.Node{node("both", "10.0.0.11", "fd00::11"), node("four", "10.0.0.12"), node("six", "fd00::13"), node("none")}
	}
	endpoints := func(in *Input) {
		local(in)
		in.Slices = []discoveryv1.EndpointSlice{
			{AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{NodeName: ptr.To("four")}}},
			{AddressType: discoveryv1.AddressTypeIPv6, Endpoints: []discoveryv1.Endpoint{{NodeName: ptr.To("both")}, {NodeName: ptr.To("six")}}},
		}
	}
	const vip4, vip6 = "subnet-nodes", "subnet-other"
	both4, four4, both6, six6 := "10.0.0.11 "+vip4, "10.0.0.12 "+vip4, "fd00::11 "+vip6, "fd00::13 "+vip6
	for name, c := range map[string]struct {
		in       Input
		tcp, udp []string
	}{
		"each node once behind HAProxy, and once for each family behind Linux Virtual Server": {
			input(prefer), []string{both4, four4, six6}, []string{both4, four4, both6, six6}},
		"nodes with an endpoint of the family": {
			input(prefer, endpoints), []string{four4, both6, six6}, []string{four4, both6, six6}},
		"of the first family where the load balancer has no other": {
			input(prefer, found("10.0.0.9")), []string{both4, four4}, []string{both4, four4}},
		"of the one that is asked for where it has both": {
			input(found("10.0.0.9", "fd00::9")), []string{both4, four4}, []string{both4, four4}},
		"with endpoints of the first family where it has no other": {
			input(prefer, apiVersion(25), endpoints), []string{four4}, []string{four4}},
	} {
		t.Run(name, func(t *testing.T) {
			nodes(&c.in)
			ports(port(corev1.ProtocolTCP, 80, 30080), port(corev1.ProtocolUDP, 53, 30053))(&c.in)
			wanted, err := Wanted(c.in)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range [][]string{c.tcp, c.udp} {
				l := wanted.LoadBalancer.Listeners[i]
				var got []string
				for _, m := range l.Pool.Members {
					got = append(got, m.Address+" "+m.SubnetID)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", l.Protocol, diff)
				}
			}
		})
	}
}

func TestMembersOfBothFamiliesFollowTheNodesOfAServiceThatIsRefused(t *testing.T) {
	before, err := Wanted(input(prefer, ports(port(corev1.ProtocolUDP, 53, 30053))))
	if err != nil {
		t.Fatal(err)
	}
	l := *before.LoadBalancer
	l.VIP.Address, l.AdditionalVIPs[0].Address = "10.0.0.9", "fd00::9"
	in := input(prefer, ports(port(corev1.ProtocolUDP, 53, 30053)), ranges("10.0.0.0/8"))
	in.Nodes = in.Nodes[:1]
	kept := MembersOnly(in, lb.Observed{LoadBalancer: &l}).LoadBalancer
	var got []string
	for _, m := range kept.Listeners[0].Pool.Members {
		got = append(got, m.Address)
	}
	if diff := cmp.Diff([]string{"10.0.0.12", "2001:db8::12"}, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(l.AdditionalVIPs, kept.AdditionalVIPs); diff != "" {
		t.Errorf("VIPs (-want +got):\n%s", diff)
	}
}

func TestARequestedAddressBelongsToTheVIPOfItsFamily(t *testing.T) {
	four, six := corev1.IPv4Protocol, corev1.IPv6Protocol
	of := func(first, second corev1.IPFamily) change {
		return dual(corev1.IPFamilyPolicyRequireDualStack, first, second)
	}
	type addresses struct{ Floating, VIP, Additional string }
	for name, c := range map[string]struct {
		in   Input
		want addresses
	}{
		"IPv4 of an external one":             {input(of(four, six), address("203.0.113.5")), addresses{Floating: "203.0.113.5"}},
		"IPv4 of an external one, IPv6 first": {input(of(six, four), address("203.0.113.5")), addresses{Floating: "203.0.113.5"}},
		"IPv6 of an external one":             {input(of(four, six), address("fd00::5")), addresses{Additional: "fd00::5"}},
		"IPv6 of an external one, IPv6 first": {input(of(six, four), address("fd00::5")), addresses{VIP: "fd00::5"}},
		"IPv4 of an internal one":             {input(of(four, six), annotate(keyInside, "true"), address("10.0.0.5")), addresses{VIP: "10.0.0.5"}},
		"IPv4 of an internal one, IPv6 first": {input(of(six, four), annotate(keyInside, "true"), address("10.0.0.5")), addresses{Additional: "10.0.0.5"}},
		"IPv6 beside a floating IP by annotation": {input(of(four, six), annotate(annotation.FloatingIP, "203.0.113.5"), address("fd00::5"),
			func(in *Input) { in.Networks.FloatingIPAddress = "203.0.113.5" }), addresses{Floating: "203.0.113.5", Additional: "fd00::5"}},
	} {
		wanted, err := Wanted(c.in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := addresses{VIP: wanted.LoadBalancer.VIP.Address, Additional: wanted.LoadBalancer.AdditionalVIPs[0].Address}
		if wanted.FloatingIP != nil {
			got.Floating = wanted.FloatingIP.Address
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestTheSubnetsOfBothVIPsCannotBeChanged(t *testing.T) {
	const subnet = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	there := func(vip, additional string) change {
		return func(in *Input) {
			found("10.0.0.9", "fd00::9")(in)
			in.Found.VIP.SubnetID, in.Found.AdditionalVIPs[0].SubnetID = vip, additional
		}
	}
	for name, c := range map[string]struct {
		in      Input
		refused bool
	}{
		"the additional one's":            {input(prefer, there("v4", subnet), annotate(annotation.AdditionalSubnetID, subnet)), false},
		"the first one's, of IPv6":        {input(prefer, there(subnet, "v4"), annotate(annotation.AdditionalSubnetID, subnet)), false},
		"subnet-id of the additional one": {input(prefer, there("v6", subnet), annotate(annotation.SubnetID, subnet)), false},
		"another":                         {input(prefer, there("v4", "v6"), annotate(annotation.AdditionalSubnetID, subnet)), true},
		"another for the first one":       {input(prefer, there("v4", "v6"), annotate(annotation.SubnetID, subnet)), true},
		"one that has no meaning":         {input(found("10.0.0.9"), annotate(annotation.AdditionalSubnetID, subnet)), false},
	} {
		_, err := Wanted(c.in)
		var invalid *Invalid
		if errors.As(err, &invalid) != c.refused || c.refused && invalid.Reason != ReasonRequiresReplacement {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASharerIsServedByTheFamiliesOfTheLoadBalancer(t *testing.T) {
	sharer := func(in *Input) {
		in.Sharer, in.Owner.Sharer, in.FoundAddress, in.Config.MaxShared = true, true, "203.0.113.5", 2
	}
	wanted, err := Wanted(input(prefer, found("10.0.0.9", "fd00::9"), sharer))
	if err != nil || len(wanted.LoadBalancer.AdditionalVIPs) != 1 || len(wanted.Withheld) > 0 {
		t.Errorf("on one of both: %+v, %v", wanted, err)
	}
	wanted, err = Wanted(input(found("10.0.0.9", "fd00::9"), sharer))
	if err != nil || len(wanted.LoadBalancer.AdditionalVIPs) > 0 || len(wanted.Withheld) > 0 {
		t.Errorf("on one of both, with one asked for: %+v, %v", wanted, err)
	}
	wanted, err = Wanted(input(prefer, found("10.0.0.9"), sharer))
	if err != nil || len(wanted.Withheld) != 1 || !strings.Contains(wanted.Withheld[0].Message, annotation.LoadBalancerID) {
		t.Errorf("on one of one: %+v, %v", wanted.Withheld, err)
	}
}
