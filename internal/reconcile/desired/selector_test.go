// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// zoned is a cluster with two nodes in zone a, one in b, and one in none.
func zoned(in *Input) {
	in.Nodes = []corev1.Node{node("n1", "10.0.0.1"), node("n2", "10.0.0.2"), node("n3", "10.0.0.3"), node("n4", "10.0.0.4")}
	for i, zone := range []string{"a", "a", "b"} {
		in.Nodes[i].Labels = map[string]string{"zone": zone}
	}
}

func selecting(text string) change { return annotate(annotation.NodeSelector, text) }

func TestOnlySelectedNodesBecomeMembers(t *testing.T) {
	one, two, three, four := "10.0.0.1:30080 0", "10.0.0.2:30080 0", "10.0.0.3:30080 0", "10.0.0.4:30080 0"
	operator := func(in *Input) { in.Config.NodeSelector = "zone=b" }
	for name, c := range map[string]struct {
		in   Input
		want []string
	}{
		"no selector":                        {input(zoned), []string{one, two, three, four}},
		"a label with its value":             {input(zoned, selecting("zone=a")), []string{one, two}},
		"a label with any value":             {input(zoned, selecting("zone")), []string{one, two, three}},
		"two labels of which one is missing": {input(zoned, selecting("zone=a,disk=ssd")), nil},
		"the operator's selector":            {input(zoned, operator), []string{three}},
		"an annotation instead":              {input(zoned, operator, selecting("zone=a")), []string{one, two}},
		"an empty annotation selects all":    {input(zoned, operator, selecting("")), []string{one, two, three, four}},
		"with the nodes that have endpoints": {input(zoned, local, selecting("zone=b")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := Wanted(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, memberAddresses(wanted.LoadBalancer, 0)); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			if len(c.in.Nodes) != 4 {
				t.Error("the nodes that were given are fewer now")
			}
		})
	}
}

func TestARefusedServiceFollowsTheNodesThatItSelectsAndGetsNoOthers(t *testing.T) {
	have := observed(t, input(zoned, selecting("zone=a")))
	for name, c := range map[string]struct {
		annotation string
		want       []string
	}{
		"the same selector":                {"zone=a", []string{"10.0.0.2:30080 0", "10.0.0.5:30080 0"}},
		"a selector that cannot be read":   {"zone in (a)", []string{"10.0.0.2:30080 0"}},
		"a selector that now asks for all": {"", []string{"10.0.0.2:30080 0", "10.0.0.3:30080 0", "10.0.0.4:30080 0", "10.0.0.5:30080 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			// n1 was removed, and n5 was added.
			in := input(zoned, selecting(c.annotation), annotate(keyMonitor, "rubbish"), func(in *Input) {
				joined := node("n5", "10.0.0.5")
				joined.Labels = map[string]string{"zone": "a"}
				in.Nodes = append(in.Nodes[1:], joined)
			})
			if diff := cmp.Diff(c.want, memberAddresses(MembersOnly(in, have).LoadBalancer, 0)); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
		})
	}
}
