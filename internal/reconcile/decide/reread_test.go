// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func TestOperationsThatOverwriteOrExposeSomethingAreReadAgainFirst(t *testing.T) {
	remembered := func(change func(*lb.LoadBalancer)) Facts {
		f := factsOf(web(publishing), "10.0.0.11")
		f.Capabilities.APIVersion.Minor = 29
		l := f.built("lb-1")
		if change != nil {
			change(&l)
		}
		f = f.with(l)
		f.FromMemory = true
		return f
	}
	asRead := func(f Facts) Facts { f.FromMemory = false; return f }
	grouped := func(l *lb.LoadBalancer) { l.VIPSecurityGroups = []string{"g1"} }
	shared := func(l *lb.LoadBalancer) { l.Tags = append(l.Tags, "kube_service_kubernetes_default_api") }
	pending := func(l *lb.LoadBalancer) { l.ProvisioningStatus = lb.PendingUpdate }
	head, tree := []Reread{{LoadBalancerID: "lb-1"}}, []Reread{{LoadBalancerID: "lb-1", Tree: true}}
	tags := diff.SetTags{Of: "pool", ID: "pool-80", Tags: []string{"a"}}
	ranges := []string{}
	sameChild := cmp.Comparer(func(a, b diff.SetTags) bool { return a.ID == b.ID })
	for name, c := range map[string]struct {
		facts Facts
		op    diff.Op
		want  []Reread
	}{
		"the load balancer itself, just read, before its deletion":    {remembered(nil), diff.DeleteLoadBalancer{ID: "lb-1"}, nil},
		"the load balancer itself, PENDING, before its deletion":      {remembered(pending), diff.DeleteLoadBalancer{ID: "lb-1"}, []Reread{{LoadBalancerID: "lb-1", Tree: true, MayBeGone: true}}},
		"a duplicate before its deletion":                             {remembered(nil), diff.DeleteLoadBalancer{ID: "lb-2"}, []Reread{{LoadBalancerID: "lb-2", Tree: true, MayBeGone: true}}},
		"remembered tags of the load balancer":                        {remembered(nil), diff.UpdateLoadBalancer{ID: "lb-1", Tags: &[]string{"a"}}, head},
		"remembered tags of a pool":                                   {remembered(nil), tags, []Reread{{LoadBalancerID: "lb-1", TagsOf: &tags}}},
		"tags that were read in this pass":                            {asRead(remembered(nil)), diff.UpdateLoadBalancer{ID: "lb-1", Tags: &[]string{"a"}}, nil},
		"tags that were read in this pass, of a shared load balancer": {asRead(remembered(shared)), diff.UpdateLoadBalancer{ID: "lb-1", Tags: &[]string{"a"}}, head},
		"an update without tags":                                      {remembered(nil), diff.UpdateLoadBalancer{ID: "lb-1"}, nil},
		"a floating IP for a remembered load balancer":                {remembered(nil), diff.CreateFloatingIP{}, head},
		"a floating IP for one that was read in this pass":            {asRead(remembered(nil)), diff.CreateFloatingIP{}, nil},
		"a floating IP that takes the place of another one":           {remembered(nil), diff.DisassociateFloatingIP{For: "f2"}, head},
		"a floating IP that is taken away":                            {remembered(nil), diff.DisassociateFloatingIP{}, nil},
		"groups where there are none":                                 {remembered(nil), diff.SetVIPSecurityGroups{Groups: []string{"g1"}}, append(head, tree...)},
		"ranges that groups replace":                                  {remembered(grouped), diff.UpdateListener{ID: "l", AllowedCIDRs: &ranges}, head},
		"ranges that groups replace, just read":                       {asRead(remembered(grouped)), diff.UpdateListener{ID: "l", AllowedCIDRs: &ranges}, nil},
		"ranges that open the ports without groups":                   {remembered(nil), diff.UpdateListener{ID: "l", AllowedCIDRs: &ranges}, nil},
		"members": {remembered(nil), diff.SetMembers{PoolID: "pool-80"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, c.facts.NeedsOf(c.op), sameChild); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestWhatAnotherClientHasChangedMeanwhileIsNotOverwritten(t *testing.T) {
	f := factsOf(web(publishing), "10.0.0.11")
	known := f.built("lb-1")
	known.VIPSecurityGroups = []string{"g1"}
	f = f.with(known)
	f.FromMemory = true
	now := func(change func(*lb.LoadBalancer)) []Reread {
		l := known
		change(&l)
		return []Reread{{LoadBalancerID: "lb-1", Tree: true, LoadBalancer: l}}
	}
	same := func(*lb.LoadBalancer) {}
	groups := func(ids ...string) func(*lb.LoadBalancer) {
		return func(l *lb.LoadBalancer) { l.VIPSecurityGroups = ids }
	}
	tagged := func(l *lb.LoadBalancer) { l.Tags = append([]string{"of-another-client"}, l.Tags...) }
	reordered := func(l *lb.LoadBalancer) {
		l.Tags = append([]string{l.Tags[len(l.Tags)-1]}, l.Tags[:len(l.Tags)-1]...)
	}
	ofAnother := func(l *lb.LoadBalancer) {
		l.Listeners = append([]lb.Listener{{ID: "l-9", Port: 9, Tags: []string{"kube-octavia.service=other"}}}, l.Listeners...)
	}
	pool := diff.SetTags{Of: "pool", ID: known.Listeners[0].Pool.ID, Tags: []string{"a"}}
	poolTags := func(tags ...string) []Reread {
		return []Reread{{LoadBalancerID: "lb-1", TagsOf: &pool, Tags: append(tags, known.Listeners[0].Pool.Tags...)}}
	}
	clear := diff.UpdateListener{ID: "l-1", AllowedCIDRs: &[]string{}}
	write := diff.UpdateLoadBalancer{ID: "lb-1", Tags: &[]string{"a"}}
	for name, c := range map[string]struct {
		op   diff.Op
		now  []Reread
		want openstack.Class
	}{
		"the groups are there":                     {clear, now(same), ""},
		"another client removed the groups":        {clear, now(groups()), openstack.Conflict},
		"another client changed the groups":        {clear, now(groups("g1", "g2")), openstack.Conflict},
		"the tags are the same":                    {write, now(same), ""},
		"the tags are the same in another order":   {write, now(reordered), ""},
		"another client added a tag":               {write, now(tagged), openstack.Conflict},
		"the tags of a pool are the same":          {pool, poolTags(), ""},
		"another client added a tag to a pool":     {pool, poolTags("of-another-client"), openstack.Conflict},
		"the duplicate is gone":                    {diff.DeleteLoadBalancer{ID: "lb-2"}, []Reread{{LoadBalancerID: "lb-2", Gone: true}}, ""},
		"no other owner uses the duplicate":        {diff.DeleteLoadBalancer{ID: "lb-2"}, now(same), ""},
		"another owner has ports on the duplicate": {diff.DeleteLoadBalancer{ID: "lb-2"}, now(ofAnother), openstack.Foreign},
		"a floating IP, and the tags are the same": {diff.CreateFloatingIP{}, now(same), ""},
		"a floating IP, and another owner joined":  {diff.CreateFloatingIP{}, now(tagged), openstack.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			if got := openstack.Classify(f.Obstacle(c.op, c.now)); got != c.want {
				t.Errorf("the class is %q, want %q", got, c.want)
			}
		})
	}
}
