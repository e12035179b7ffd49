// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/diff"
)

// withPods adds Pods at port 8080.
func withPods(in build.Input, addresses ...string) build.Input {
	s := discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: ptr.To[int32](8080)}}}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	in.Slices = []discoveryv1.EndpointSlice{s}
	return in
}

// switching returns the facts about a Service whose members are nodes, and which requests Pods.
func switching(change func(*Facts)) Facts {
	l := factsOf(web(), "10.0.0.11", "10.0.0.12").built("lb-1")
	f := factsOf(web(annotated(annotation.TargetType, "pod")), "10.0.0.11")
	f.Desired.Input = withPods(f.Desired.Input, "10.244.0.1")
	f.Desired.Input.Config.ManageSecurityGroups = true
	f = f.with(l)
	f.Provided, f.MissingNodeRules = []Need{NeedNodeRules}, "the rule is missing"
	change(&f)
	return f
}

func TestMembersAtANewPortWaitForTheRulesOfTheNodesForAMinute(t *testing.T) {
	toPods, toNodes := []string{"10.244.0.1:8080"}, []string{"10.0.0.11:30080"}
	for name, c := range map[string]struct {
		change func(*Facts)
		need   Need
		want   []string
	}{
		"the group is asked":               {func(f *Facts) { f.Provided = nil }, NeedNodeRules, nil},
		"meanwhile the nodes are followed": {func(*Facts) {}, "", toNodes},
		"the rules are there":              {func(f *Facts) { f.MissingNodeRules = "" }, "", toPods},
		"they have been missing for long":  {func(f *Facts) { f.Record.Progress.Behind = noon.Add(-2 * time.Minute) }, "", toPods},
		"groups are not managed":           {func(f *Facts) { f.Desired.Input.Config.ManageSecurityGroups = false }, "", toPods},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(switching(c.change))
			if d.Need != c.need {
				t.Fatalf("need %q, want %q", d.Need, c.need)
			}
			var got []string
			for _, op := range d.Plan.Ops {
				if set, ok := op.(diff.SetMembers); ok {
					for _, m := range set.Members {
						got = append(got, fmt.Sprintf("%s:%d", m.Address, m.Port))
					}
				}
			}
			if difference := cmp.Diff(c.want, got); difference != "" {
				t.Errorf("members (-want +got):\n%s", difference)
			}
			if d.Done || d.InSync {
				t.Error("the Service counts as done")
			}
		})
	}
}
