// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// large is a cluster with so many nodes of both families, in turn in zones a, b and c.
func large(nodes int) change {
	return func(in *Input) {
		in.Nodes = nil
		for i := range nodes {
			n := node(fmt.Sprintf("n%02d", i), fmt.Sprintf("10.0.1.%d", i), fmt.Sprintf("2001:db8::1:%d", i))
			n.Labels = map[string]string{corev1.LabelTopologyZone: string(rune('a' + i%3))}
			in.Nodes = append(in.Nodes, n)
		}
	}
}

func atMost(text string) change { return annotate(annotation.MaxMembers, text) }

func without(nodes ...string) change {
	return func(in *Input) {
		in.Nodes = slices.DeleteFunc(in.Nodes, func(n corev1.Node) bool { return slices.Contains(nodes, n.Name) })
	}
}

// membersOf returns the names of the members of the pool of listener i.
func membersOf(l *lb.LoadBalancer, i int) (names []string) {
	for _, m := range l.Listeners[i].Pool.Members {
		names = append(names, m.Name)
	}
	return names
}

func TestPoolsHaveAsManyMembersAsRequested(t *testing.T) {
	operator := func(in *Input) { in.Config.MaxMembers = 6 }
	monitored := annotate(keyMonitor, "true")
	half := func(in *Input) {
		for i := range 15 {
			in.Nodes[i].Labels["half"] = "first"
		}
	}
	for name, c := range map[string]struct {
		in   Input
		want int
	}{
		"no number":                          {input(large(30)), 30},
		"the operator's":                     {input(large(30), operator), 6},
		"the Service's":                      {input(large(30), operator, atMost("9")), 9},
		"all, as the Service requests":       {input(large(30), operator, atMost("0")), 30},
		"more than there are nodes":          {input(large(4), operator), 4},
		"of the selected nodes":              {input(large(30), half, operator, selecting("half=first")), 6},
		"of fewer selected nodes":            {input(large(30), half, atMost("20"), selecting("half=first")), 15},
		"with an excluded node":              {input(large(7), operator, func(in *Input) { in.Nodes[0].Labels[corev1.LabelNodeExcludeBalancers] = "" }), 6},
		"with two nodes of one address":      {input(large(7), operator, func(in *Input) { in.Nodes[0].Status = in.Nodes[1].Status }), 6},
		"policy Local, one node with a Pod":  {input(local, large(30), operator, func(in *Input) { in.Nodes[0].Name = "node-b" }), 1},
		"policy Local, and a monitor checks": {input(local, large(30), operator, monitored), 30},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := Wanted(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := membersOf(wanted.LoadBalancer, 0); len(got) != c.want {
				t.Errorf("%d members, want %d: %v", len(got), c.want, got)
			}
		})
	}
}

func TestAllPoolsOfAServiceHaveTheSameNodesAndOtherServicesHaveOthers(t *testing.T) {
	two := ports(port(corev1.ProtocolTCP, 80, 30080), port(corev1.ProtocolUDP, 53, 30053))
	uid := func(uid string) change { return func(in *Input) { in.Owner.ServiceUID = uid } }
	one, err := Wanted(input(large(30), two, atMost("6"), uid("one")))
	other, otherErr := Wanted(input(large(30), two, atMost("6"), uid("other")))
	if err != nil || otherErr != nil {
		t.Fatal(err, otherErr)
	}
	if diff := cmp.Diff(membersOf(one.LoadBalancer, 0), membersOf(one.LoadBalancer, 1)); diff != "" {
		t.Errorf("nodes of two pools:\n%s", diff)
	}
	if slices.Equal(membersOf(one.LoadBalancer, 0), membersOf(other.LoadBalancer, 0)) {
		t.Error("two Services have the same nodes")
	}
}

// Linux Virtual Server has only the members of a VIP's family, and HAProxy has all.
func TestEachFamilyOfADualStackLoadBalancerHasAsManyMembersAsRequested(t *testing.T) {
	both := families(corev1.IPv4Protocol, corev1.IPv6Protocol)
	ipv4Only := func(in *Input) {
		for i := range 20 {
			in.Nodes[i].Status.Addresses = in.Nodes[i].Status.Addresses[:1]
		}
	}
	count := func(l *lb.LoadBalancer, i int) (ipv4, ipv6 int) {
		for _, m := range l.Listeners[i].Pool.Members {
			if m.SubnetID == "subnet-nodes" {
				ipv4++
			} else {
				ipv6++
			}
		}
		return ipv4, ipv6
	}
	wanted, err := Wanted(input(large(30), ipv4Only, both, atMost("6"), ports(port(corev1.ProtocolTCP, 80, 30080), port(corev1.ProtocolUDP, 53, 30053))))
	if err != nil {
		t.Fatal(err)
	}
	if ipv4, ipv6 := count(wanted.LoadBalancer, 0); ipv4 != 6 || ipv6 != 0 {
		t.Errorf("TCP: %d IPv4 and %d IPv6 members, want 6 and 0: each node is one member", ipv4, ipv6)
	}
	if ipv4, ipv6 := count(wanted.LoadBalancer, 1); ipv4 != 6 || ipv6 != 6 {
		t.Errorf("UDP: %d IPv4 and %d IPv6 members, want 6 of each", ipv4, ipv6)
	}
}

func TestARefusedServiceKeepsItsPartOfTheNodes(t *testing.T) {
	have := observed(t, input(large(30), atMost("6")))
	had := membersOf(have.LoadBalancer, 0)
	refused := annotate(keyMonitor, "rubbish")
	for name, c := range map[string]struct {
		in             Input
		added, removed int
	}{
		"nothing changes":                    {input(large(30), atMost("6"), refused), 0, 0},
		"another node leaves":                {input(large(30), atMost("6"), refused, without("n29")), 0, 0},
		"a member leaves":                    {input(large(30), atMost("6"), refused, without(had[2])), 1, 1},
		"a number that cannot be read":       {input(large(30), atMost("six")), 0, 0},
		"such a number, and a member leaves": {input(large(30), atMost("six"), without(had[2])), 0, 1},
		"an unknown class, and one leaves":   {input(large(30), annotate(annotation.ClassKey, "gone"), selecting(""), without(had[2])), 0, 1},
		"such a number that is less now":     {input(large(30), atMost("six"), func(in *Input) { in.Config.MaxMembers = 2 }), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			now := membersOf(MembersOnly(c.in, have).LoadBalancer, 0)
			is := func(names []string) func(string) bool {
				return func(name string) bool { return slices.Contains(names, name) }
			}
			added, removed := slices.DeleteFunc(slices.Clone(now), is(had)), slices.DeleteFunc(slices.Clone(had), is(now))
			if len(added) != c.added || len(removed) != c.removed {
				t.Errorf("%v became %v: %d added, %d removed, want %d and %d", had, now, len(added), len(removed), c.added, c.removed)
			}
		})
	}
}

func TestANodeThatIsNotChosenChangesNothing(t *testing.T) {
	in := input(large(29), atMost("6"), annotate(keyMonitor, "true"))
	have := observed(t, in)
	large(30)(&in)
	in.Nodes[29].Labels[corev1.LabelTopologyZone] = ""
	wanted, err := Wanted(in)
	if err != nil {
		t.Fatal(err)
	}
	if plan := diff.New(wanted, have, in.Owner); len(plan.Ops) > 0 {
		t.Errorf("plan %v", plan.Ops)
	}
	if need, ok := SecurityGroupNeed(in, wanted, have); !ok || len(need.Ports) != 1 {
		t.Errorf("the security group allows %v", need.Ports)
	}
}
