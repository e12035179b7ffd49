// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func TestRejectedCreateIsRetriedWithoutChildren(t *testing.T) {
	complete := diff.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Listeners: []lb.Listener{{Port: 80}}}}
	alone := diff.CreateLoadBalancer{}
	refusal := func(class openstack.Class, message string) error {
		return &openstack.Error{Op: "create load balancer", Class: class, Message: message}
	}
	unreadable := refusal(openstack.Invalid, "The PKCS12 bundle is unreadable")
	for name, c := range map[string]struct {
		before  bool
		op      diff.CreateLoadBalancer
		failure error
		want    bool
	}{
		"certificate":             {op: complete, failure: unreadable, want: true},
		"conflict":                {op: complete, failure: refusal(openstack.Conflict, "in use"), want: true},
		"quota of listeners":      {op: complete, failure: refusal(openstack.Quota, "Quota has been met for resources: Listener"), want: true},
		"quota of load balancers": {op: complete, failure: refusal(openstack.Quota, "Quota has been met for resources: Load Balancer")},
		"quota of load balancers, without children": {before: true, op: alone, failure: refusal(openstack.Quota, "Quota has been met for resources: Load Balancer"), want: true},
		"no answer":                      {op: complete, failure: refusal(openstack.Transient, "connection reset")},
		"no answer, without children":    {before: true, op: alone, failure: refusal(openstack.Transient, "connection reset"), want: true},
		"rejected even without children": {before: true, op: alone, failure: refusal(openstack.Invalid, "no such flavor")},
	} {
		if got := createWithoutChildren(c.before, c.op, c.failure); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

func TestACreateInsteadOfALoadBalancerThatTheServiceNamesIsReported(t *testing.T) {
	create := diff.CreateLoadBalancer{}
	for name, test := range map[string]struct {
		named  string
		action Action
		op     diff.Op
		record memory.Record
		want   string
	}{
		"one that does not exist":          {named: "missing", action: Converge, op: create, want: "missing"},
		"no UUID":                          {named: " my-balancer ", action: Converge, op: create, want: "my-balancer"},
		"none":                             {action: Converge, op: create},
		"another operation":                {named: "missing", action: Converge, op: diff.CreateListener{}},
		"a replacement of one that exists": {named: "old", action: Replace, op: create},
		"one that was deleted because it had failed": {named: "old", action: Converge, op: create, record: memory.Record{Recovery: memory.Recovery{Deletions: timing.Tries{Count: 1}}}},
		"one that was deleted to be replaced":        {named: "old", action: Converge, op: create, record: memory.Record{Recovery: memory.Recovery{Replacements: timing.Tries{Count: 1}}}},
	} {
		t.Run(name, func(t *testing.T) {
			f, d := deciding(test.record)
			d.Action = test.action
			f.Owner.Recorded.LoadBalancerID = services.Owner(web(annotated(annotation.LoadBalancerID, test.named))).Recorded.LoadBalancerID
			if got := d.NamedButMissing(f, test.op); got != test.want {
				t.Errorf("%q is reported as missing, want %q", got, test.want)
			}
		})
	}
}

func TestServiceIsSteadyIfOnlyMembersAreUpdated(t *testing.T) {
	members := diff.SetMembers{PoolID: "p-1"}
	for name, test := range map[string]struct {
		ops  []diff.Op
		want bool
	}{
		"members":            {[]diff.Op{members, members}, true},
		"members and a pool": {[]diff.Op{members, diff.CreatePool{}}, false},
		"nothing is planned": {nil, false},
	} {
		f, d := deciding(memory.Record{Cloud: memory.Cloud{Observed: withListener(lb.Active, lb.Active)}})
		d.Plan.Ops = test.ops
		if got := !steady(f, d).None(); got != test.want {
			t.Errorf("%s: steady %t", name, got)
		}
	}
}

func TestChangeIsForeignOnlyIfTheRememberedStateWasComplete(t *testing.T) {
	f := factsOf(web(), "10.0.0.11")
	f = f.with(f.built("lb-1"))
	whole := f.Record.Cloud.Observed
	without := diff.Clone(whole)
	without.LoadBalancer.AdminDown = true
	for name, test := range map[string]struct {
		believed, now lb.Observed
		foreign       bool
	}{
		"complete before":   {whole, without, true},
		"incomplete before": {without, without, false},
		"no change":         {whole, whole, false},
	} {
		f.Record.Cloud.Observed, f.Record.Cloud.Expected = test.now, &test.believed
		if d := Decide(f); len(d.Foreign) > 0 != test.foreign || d.Record.Cloud.Expected != nil {
			t.Errorf("%s: foreign %v", name, kinds(d.Foreign))
		}
	}
}

func TestRecordContainsTheExpectedResultOfAnOperation(t *testing.T) {
	f := factsOf(web(), "10.0.0.11")
	d := Decide(f)
	create, ok := d.Plan.Ops[0].(diff.CreateLoadBalancer)
	if !ok {
		t.Fatalf("planned %v", kinds(d.Plan.Ops))
	}
	r := Applied(f, d, create, diff.Created{ID: "lb-1", VIP: lb.VIP{PortID: "port-1"}}, nil)
	if l := r.Cloud.Observed.LoadBalancer; l == nil || l.ID != "lb-1" || r.Cloud.CreatedWithChildren != "lb-1" || r.Cloud.Confirmed || !r.Cloud.Stale {
		t.Errorf("after a create: %+v", r.Cloud)
	}
	unanswered := &openstack.Error{Class: openstack.Transient, Unanswered: true}
	if r = Applied(f, d, create, diff.Created{}, unanswered); r.Cloud.Known || !r.Cloud.Unanswered.Equal(noon) {
		t.Errorf("after a create without an answer: %+v", r.Cloud)
	}
	f = f.with(f.built("lb-1"))
	d = Decide(f)
	busy := &openstack.Error{Class: openstack.Busy}
	r = Applied(f, d, diff.SetMembers{PoolID: "pool-lb-1"}, diff.Created{}, busy)
	if r.Cloud.Observed.LoadBalancer.ProvisioningStatus != lb.PendingUpdate || f.Record.Cloud.Observed.LoadBalancer.ProvisioningStatus != lb.Active {
		t.Error("a busy load balancer is not awaited, or the facts were changed")
	}
	r = Applied(f, d, diff.DeleteLoadBalancer{ID: "lb-1"}, diff.Created{}, nil)
	if r.Cloud.Observed.LoadBalancer.ProvisioningStatus != lb.PendingDelete || r.Recovery.Deletions.Count != 1 {
		t.Errorf("after a deletion: %+v", r)
	}
	r = Applied(f, d, diff.DeleteLoadBalancer{ID: "lb-2"}, diff.Created{}, nil)
	if r.Cloud.Known || r.Recovery.Discards.Count != 1 {
		t.Errorf("after the deletion of a duplicate: %+v", r)
	}
}
