// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// observed is the state of the cloud after everything wanted for the input was done.
func observed(t *testing.T, in Input) lb.Observed {
	t.Helper()
	wanted, err := Wanted(in)
	if err != nil {
		t.Fatal(err)
	}
	l := wanted.LoadBalancer
	l.ID, l.VIP.PortID, l.VIP.Address, l.ProvisioningStatus = "lb-1", "port-1", "10.0.0.100", lb.Active
	for i := range l.Listeners {
		l.Listeners[i].ID = fmt.Sprintf("listener-%d", i)
		l.Listeners[i].Pool.ID = fmt.Sprintf("pool-%d", i)
		if m := l.Listeners[i].Pool.Monitor; m != nil {
			m.ID = fmt.Sprintf("monitor-%d", i)
		}
	}
	o := lb.Observed{LoadBalancer: l}
	if f := wanted.FloatingIP; f != nil {
		f.ID, f.Address, f.PortID = "fip-1", "203.0.113.5", "port-1"
		o.FloatingIPs = []lb.FloatingIP{*f}
	}
	return o
}

// memberAddresses returns the members of the pool of listener i, with traffic and monitor ports.
func memberAddresses(l *lb.LoadBalancer, i int) []string {
	var all []string
	for _, m := range l.Listeners[i].Pool.Members {
		all = append(all, fmt.Sprintf("%s:%d %d", m.Address, m.Port, m.MonitorPort))
	}
	return all
}

func TestPoolsOfARefusedServiceFollowTheNodesAndNothingElseChanges(t *testing.T) {
	dns := ports(port(corev1.ProtocolTCP, 53, 30053), port(corev1.ProtocolUDP, 53, 30054))
	before := input(dns, ranges("10.0.0.0/8"), affinity(60), annotate(keyMonitor, "true"))
	have := observed(t, before)
	have.LoadBalancer.Tags = append(have.LoadBalancer.Tags, "by-hand")
	have.LoadBalancer.Listeners[0].Pool.Algorithm = lb.LeastConnections

	now := input(dns, annotate(keyMonitor, "rubbish"), address("not an address"))
	now.Nodes = append(now.Nodes[:1:1], node("node-c", "10.0.0.13"))
	wanted := MembersOnly(now, have)

	plan := diff.New(wanted, have, now.Owner)
	if len(plan.Refused) > 0 {
		t.Errorf("refused: %v", plan.Refused)
	}
	var ops []string
	for _, op := range plan.Ops {
		ops = append(ops, op.String())
	}
	want := []string{
		"set the 2 members of pool " + now.Owner.PoolName(0) + ": 1 added, 1 removed, 0 changed",
		"set the 2 members of pool " + now.Owner.PoolName(1) + ": 1 added, 1 removed, 0 changed",
	}
	if diff := cmp.Diff(want, ops); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"10.0.0.12:30053 0", "10.0.0.13:30053 0"}, memberAddresses(wanted.LoadBalancer, 0)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

// refusedNow returns the input after a user has given the annotation a value that refuses the owner.
func refusedNow(t *testing.T, in Input, key string) Input {
	t.Helper()
	in.Spec.Annotations[key] = "rubbish"
	in = withOptions(in)
	if in.Spec.Invalid() == nil {
		t.Fatalf("%s=rubbish does not refuse the owner", key)
	}
	return in
}

func TestARefusedServiceWithoutChangesNeedsNothing(t *testing.T) {
	for name, c := range map[string][]change{
		"external":           nil,
		"internal":           {annotate(keyInside, "true")},
		"local with monitor": {local, annotate(keyMonitor, "true")},
		"local without":      {local},
		"local on ovn":       {local, annotate(keyMonitor, "true"), provider(lb.ProviderOVN)},
		"local and no node":  {local, annotate(keyMonitor, "true"), func(in *Input) { in.Nodes = nil }},
		"IPv6":               {families(corev1.IPv6Protocol)},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(c...)
			have := observed(t, in)
			kept := diff.Clone(have)
			in = refusedNow(t, in, keyMonitor)
			plan := diff.New(MembersOnly(in, have), have, in.Owner)
			if len(plan.Ops)+len(plan.Refused) > 0 {
				t.Errorf("plan %v, refused %v", plan.Ops, plan.Refused)
			}
			if diff := cmp.Diff(kept, have); diff != "" {
				t.Errorf("what was observed has changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestANewMemberOfAnEmptyPoolGetsTheMonitorPort(t *testing.T) {
	in := input(local, annotate(keyMonitor, "true"), func(in *Input) { in.Nodes = nil })
	have := observed(t, in)
	in.Nodes = []corev1.Node{node("node-a", "10.0.0.11")}
	in = refusedNow(t, in, keyMonitor)
	got := memberAddresses(MembersOnly(in, have).LoadBalancer, 0)
	if diff := cmp.Diff([]string{"10.0.0.11:30080 32000"}, got); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

func TestARefusedServiceKeepsPortsThatItsSpecNoLongerHas(t *testing.T) {
	have := observed(t, input(ports(port(corev1.ProtocolTCP, 80, 30080), port(corev1.ProtocolTCP, 443, 30443))))
	in := input(ports(port(corev1.ProtocolTCP, 80, 0), port(corev1.ProtocolTCP, 8080, 30081)))
	if plan := diff.New(MembersOnly(in, have), have, in.Owner); len(plan.Ops)+len(plan.Refused) > 0 {
		t.Errorf("plan %v, refused %v", plan.Ops, plan.Refused)
	}
}

func TestARefusedServiceDoesNotChangeListenersOfOthersOrWithoutAPool(t *testing.T) {
	have := observed(t, input(ports(port(corev1.ProtocolTCP, 80, 30080), port(corev1.ProtocolTCP, 443, 30443))))
	have.LoadBalancer.Listeners[0].Tags = []string{"by-hand"}
	have.LoadBalancer.Listeners[1].Pool = nil
	in := input(ports(port(corev1.ProtocolTCP, 80, 30080), port(corev1.ProtocolTCP, 443, 30443)))
	in.Nodes = nil
	if plan := diff.New(MembersOnly(in, have), have, in.Owner); len(plan.Ops)+len(plan.Refused) > 0 {
		t.Errorf("plan %v, refused %v", plan.Ops, plan.Refused)
	}
}

func TestARefusedServiceThatHasNoLoadBalancerGetsNoneAndKeepsItsAddress(t *testing.T) {
	in := input()
	have := lb.Observed{FloatingIPs: []lb.FloatingIP{{ID: "fip-1", Address: "203.0.113.5", Description: in.Owner.FloatingIPDescription()}}}
	if plan := diff.New(MembersOnly(in, have), have, in.Owner); len(plan.Ops)+len(plan.Refused) > 0 {
		t.Errorf("plan %v, refused %v", plan.Ops, plan.Refused)
	}
}

func TestARefusedServiceDoesNotTakeADetachedFloatingIP(t *testing.T) {
	in := input()
	have := observed(t, in)
	have.LoadBalancer.VIP.PortID = ""
	have.FloatingIPs = []lb.FloatingIP{{ID: "fip-2", Address: "203.0.113.9"}}
	if plan := diff.New(MembersOnly(in, have), have, in.Owner); len(plan.Ops) > 0 {
		t.Errorf("plan %v", plan.Ops)
	}
}

func TestNodesWithAddressesThatCannotBeMembersAreLeftOutAndNamed(t *testing.T) {
	local := func(in *Input) {
		in.Spec.LocalTraffic = true
		in.Spec.HealthCheckNodePort = 32000
		annotate(keyMonitor, "true")(in)
	}
	bad := func(all ...corev1.Node) change {
		return func(in *Input) { in.Nodes = append(in.Nodes, all...) }
	}
	withBothVIPs := found("10.0.0.100", "2001:db8::100")
	for name, c := range map[string]struct {
		changes []change
		want    string
	}{
		"none":                            {nil, ""},
		"the metadata address":            {[]change{bad(node("c", "169.254.169.254"))}, "nodes c (169.254.169.254)"},
		"with policy Local":               {[]change{local, bad(node("c", "169.254.169.254"))}, "nodes c (169.254.169.254)"},
		"several":                         {[]change{bad(node("f", "127.0.0.1"), node("e", "0.0.0.0"), node("d", "224.0.0.1"), node("c", "169.254.1.1"))}, "nodes c (169.254.1.1), d (224.0.0.1), e (0.0.0.0), 1 others"},
		"no address at all":               {[]change{bad(node("c"))}, ""},
		"a good second one":               {[]change{bad(node("c", "169.254.169.254", "10.0.0.13"))}, "none"},
		"a router leads there":            {[]change{bad(node("c", "192.0.2.7"))}, "none"},
		"the subnet's broadcast":          {[]change{bad(node("c", "10.0.0.255")), func(in *Input) { in.Networks.MemberCIDR = netip.MustParsePrefix("10.0.0.0/24") }}, "nodes c (10.0.0.255)"},
		"a good one of the second family": {[]change{prefer, withBothVIPs, bad(node("c", "169.254.169.254", "2001:db8::13"))}, "none"},
		"bad ones of both families":       {[]change{prefer, withBothVIPs, bad(node("c", "169.254.169.254", "fe80::1"))}, "nodes c (169.254.169.254, fe80::1)"},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(c.changes...)
			wanted, err := Wanted(in)
			if err != nil {
				t.Fatal(err)
			}
			members := map[string]bool{}
			for _, m := range wanted.LoadBalancer.Listeners[0].Pool.Members {
				members[m.Name] = true
			}
			isMember := c.want == "none"
			if !members["node-a"] || !members["node-b"] || members["c"] != isMember {
				t.Errorf("the members are %v", members)
			}
			told := LeftOut(in)
			if isMember && told != "" || !isMember && !strings.HasSuffix(told, c.want) || c.want == "" && told != "" {
				t.Errorf("told is %q, want %q", told, c.want)
			}
		})
	}
}

func TestMembersThatOctaviaRefusesAreLeftOutAndNamed(t *testing.T) {
	in := input(ports(port(corev1.ProtocolTCP, 80, 30080), port(corev1.ProtocolTCP, 81, 30081)))
	const said = "10.0.0.12 is not a valid option for member address"
	in.Refused = map[lb.MemberKey]string{
		{Address: "10.0.0.12", Port: 30080}: said,
		{Address: "10.0.0.11", Port: 30081}: "", // a suspect
		{Address: "10.0.0.99", Port: 30080}: "of a node that is gone",
	}
	wanted, err := Wanted(in)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"10.0.0.11:30080 0", "10.0.0.12:30081 0"} {
		if diff := cmp.Diff([]string{want}, memberAddresses(wanted.LoadBalancer, i)); diff != "" {
			t.Error(diff)
		}
	}
	if len(wanted.Withheld) > 0 {
		t.Errorf("a Service's author cannot mend that, and yet it is refused: %+v", wanted.Withheld)
	}
	if told := LeftOut(in); !strings.Contains(told, "node-b (10.0.0.12:30080)") || !strings.Contains(told, said) ||
		strings.Contains(told, "10.0.0.11:") || strings.Contains(told, "gone") {
		t.Errorf("told is %q", told)
	}
	kept := MembersOnly(in, observed(t, input(ports(port(corev1.ProtocolTCP, 80, 30080)))))
	if diff := cmp.Diff([]string{"10.0.0.11:30080 0"}, memberAddresses(kept.LoadBalancer, 0)); diff != "" {
		t.Error("the members of a refused Service:", diff)
	}
}
