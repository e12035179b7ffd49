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

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// withPods adds Pods at port 8080.
func withPods(in desired.Input, addresses ...string) desired.Input {
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

// The first pass that waits begins the minute, and those after it do not begin it again.
func TestTheMinuteOfTheNodeRulesEnds(t *testing.T) {
	f := switching(func(f *Facts) {
		f.Desired.Input.Nodes = f.Desired.Input.Nodes[:1]
		f.loadBalancer().Listeners[0].Pool.Members = f.loadBalancer().Listeners[0].Pool.Members[:1] // nothing else is to be done
	})
	for range 6 {
		d, _ := Finish(f, Decide(f))
		if d.Delay == 0 || len(d.Plan.Ops) > 0 {
			t.Fatalf("it does not wait alone: %v", d.Plan.Ops)
		}
		f.Record, f.Now = d.Record, f.Now.Add(10*time.Second)
	}
	f.Now = f.Now.Add(time.Second)
	if d := Decide(f); len(d.Plan.Ops) == 0 {
		t.Errorf("after more than a minute it still waits: %v", d.Plan.Ops)
	}
}
