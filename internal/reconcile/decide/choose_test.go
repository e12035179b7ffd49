// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// chooser is the owner of the load balancers.
var chooser = lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "default", Name: "web", ServiceUID: "uid-1"}

// one is a load balancer of the Service.
func one(id string, status lb.ProvisioningStatus) lb.LoadBalancer {
	return lb.LoadBalancer{ID: id, ProvisioningStatus: status, Tags: chooser.Tags(), VIP: lb.VIP{PortID: "port-" + id}}
}

// inPlaceOf is a replacement for the load balancer old.
func inPlaceOf(id, old string, status lb.ProvisioningStatus) lb.LoadBalancer {
	l := one(id, status)
	l.Tags = append(l.Tags, lb.ReplacesTag(old))
	return l
}

// untagged is a load balancer of the Service whose tags another client has removed.
func untagged(id string) lb.LoadBalancer {
	l := one(id, lb.Active)
	l.Tags, l.Name, l.Description = nil, chooser.LoadBalancerName(), chooser.Description()
	return l
}

// choice is a row of the tables of TestChoose.
type choice struct {
	own []lb.LoadBalancer
	// on is the load balancer with the floating IP, and id the one on the Service.
	on, id string
	want   chosen
}

type chosen struct {
	Current, Predecessor  string
	Duplicates, Unsettled []string
}

func checkChoices(t *testing.T, tests map[string]choice) {
	t.Helper()
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			var floating []lb.FloatingIP
			if c.on != "" {
				floating = []lb.FloatingIP{{ID: "f", Address: "203.0.113.7", PortID: "port-" + c.on}}
			}
			observed := Choose(c.own, floating, c.id, chooser)
			got := chosen{Duplicates: observed.Duplicates, Unsettled: observed.Unsettled}
			if observed.LoadBalancer != nil {
				got.Current = observed.LoadBalancer.ID
			}
			if observed.Predecessor != nil {
				got.Predecessor = observed.Predecessor.ID
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	checkChoices(t, map[string]choice{
		"none":                 {want: chosen{}},
		"one":                  {own: []lb.LoadBalancer{one("a", lb.Error)}, want: chosen{Current: "a"}},
		"two, one with the id": {own: []lb.LoadBalancer{one("a", lb.Active), one("b", lb.Active)}, id: "b", want: chosen{Current: "b", Duplicates: []string{"a"}}},
		"two without id":       {own: []lb.LoadBalancer{one("b", lb.Active), one("a", lb.Active)}, want: chosen{Current: "a", Duplicates: []string{"b"}}},
		"PENDING_DELETE":       {own: []lb.LoadBalancer{one("a", lb.PendingDelete), one("b", lb.Active)}, id: "a", want: chosen{Current: "b", Unsettled: []string{"a"}}},
		"a PENDING duplicate": {
			own: []lb.LoadBalancer{one("a", lb.Active), one("b", lb.PendingCreate)}, id: "a", want: chosen{Current: "a", Unsettled: []string{"b"}}},
		"one without tags": {own: []lb.LoadBalancer{one("a", lb.Active), untagged("b")}, id: "a", want: chosen{Current: "a"}},
		"the one with the id has failed, internal": {
			own: []lb.LoadBalancer{one("a", lb.Active), one("b", lb.Error)}, id: "b", want: chosen{Current: "b", Duplicates: []string{"a"}}},
	})
}

func TestChooseDuringTheReplacementOfAFailedLoadBalancer(t *testing.T) {
	checkChoices(t, map[string]choice{
		"replacement, without id": {
			own: []lb.LoadBalancer{one("a", lb.Error), one("b", lb.PendingCreate)}, on: "a", want: chosen{Current: "b", Predecessor: "a"}},
		"replacement, ACTIVE": {
			own: []lb.LoadBalancer{one("a", lb.Error), one("b", lb.Active)}, on: "a", id: "b", want: chosen{Current: "b", Predecessor: "a"}},
		"replacement, with the address": {
			own: []lb.LoadBalancer{one("a", lb.Error), one("b", lb.Active)}, on: "b", id: "b", want: chosen{Current: "b", Duplicates: []string{"a"}}},
		"replacement, failed": {
			own: []lb.LoadBalancer{one("a", lb.Error), one("b", lb.Error)}, on: "a", id: "b", want: chosen{Current: "a", Duplicates: []string{"b"}}},
		"replacement failed, the other one was repaired": {
			own: []lb.LoadBalancer{one("a", lb.Active), one("b", lb.Error)}, on: "a", id: "b", want: chosen{Current: "a", Duplicates: []string{"b"}}},
		"replacement PENDING, the other one is being repaired": {
			own: []lb.LoadBalancer{one("a", lb.PendingUpdate), one("b", lb.PendingCreate)}, on: "a", id: "b", want: chosen{Current: "b", Predecessor: "a", Unsettled: []string{"a"}}},
		"two replacements after a create without an answer": {
			own: []lb.LoadBalancer{one("a", lb.Error), one("b", lb.PendingCreate), one("c", lb.Active)}, on: "a", id: "b", want: chosen{Current: "b", Predecessor: "a", Duplicates: []string{"c"}}},
	})
}

func TestChooseDuringTheReplacementOfAWorkingLoadBalancer(t *testing.T) {
	shared := one("a", lb.Active)
	shared.Tags = append(shared.Tags, "kube_service_kubernetes_default_api")
	checkChoices(t, map[string]choice{
		"replacement, without id": {
			own: []lb.LoadBalancer{one("a", lb.Active), inPlaceOf("b", "a", lb.PendingCreate)}, on: "a", id: "a", want: chosen{Current: "b", Predecessor: "a"}},
		"replacement, internal": {
			own: []lb.LoadBalancer{one("a", lb.Active), inPlaceOf("b", "a", lb.PendingCreate)}, id: "a", want: chosen{Current: "b", Predecessor: "a"}},
		"replacement, no id at all":  {own: []lb.LoadBalancer{one("a", lb.Active), inPlaceOf("b", "a", lb.Active)}, want: chosen{Current: "b", Predecessor: "a"}},
		"the predecessor is PENDING": {own: []lb.LoadBalancer{one("a", lb.PendingUpdate), inPlaceOf("b", "a", lb.Active)}, on: "a", id: "b", want: chosen{Current: "b", Predecessor: "a"}},
		"the predecessor has failed": {own: []lb.LoadBalancer{one("a", lb.Error), inPlaceOf("b", "a", lb.Active)}, id: "a", want: chosen{Current: "b", Predecessor: "a"}},
		"replacement, failed": {
			own: []lb.LoadBalancer{one("a", lb.Active), inPlaceOf("b", "a", lb.Error)}, on: "a", id: "b", want: chosen{Current: "a", Duplicates: []string{"b"}}},
		"replacement, failed, internal": {
			own: []lb.LoadBalancer{one("a", lb.Active), inPlaceOf("b", "a", lb.Error)}, id: "a", want: chosen{Current: "a", Duplicates: []string{"b"}}},
		"replacement, PENDING_DELETE": {
			own: []lb.LoadBalancer{one("a", lb.Active), inPlaceOf("b", "a", lb.PendingDelete)}, on: "a", id: "b", want: chosen{Current: "a", Unsettled: []string{"b"}}},
		"the predecessor is PENDING_DELETE": {
			own: []lb.LoadBalancer{one("a", lb.PendingDelete), inPlaceOf("b", "a", lb.Active)}, on: "b", id: "b", want: chosen{Current: "b", Predecessor: "a"}},
		"the predecessor lost its tags, and keeps name and description": {
			own: []lb.LoadBalancer{untagged("a"), inPlaceOf("b", "a", lb.Active)}, id: "b", want: chosen{Current: "b", Predecessor: "a"}},
		"another one without tags beside a replacement": {
			own: []lb.LoadBalancer{one("a", lb.Active), inPlaceOf("b", "a", lb.Active), untagged("c")}, on: "a", id: "b", want: chosen{Current: "b", Predecessor: "a"}},
		"the predecessor is deleted": {own: []lb.LoadBalancer{inPlaceOf("b", "a", lb.Active)}, on: "b", id: "b", want: chosen{Current: "b"}},
		"the predecessor is shared": {
			own: []lb.LoadBalancer{shared, inPlaceOf("b", "a", lb.Active)}, on: "a", id: "a", want: chosen{Current: "a", Duplicates: []string{"b"}}},
		"the predecessor is shared, id of the replacement": {
			own: []lb.LoadBalancer{shared, inPlaceOf("b", "a", lb.Active)}, on: "a", id: "b", want: chosen{Current: "a", Duplicates: []string{"b"}}},
		"the predecessor is shared, the replacement has the address": {
			own: []lb.LoadBalancer{shared, inPlaceOf("b", "a", lb.Active)}, on: "b", id: "b", want: chosen{Current: "b"}},
		"two replacements": {
			own: []lb.LoadBalancer{one("a", lb.Active), inPlaceOf("c", "a", lb.Active), inPlaceOf("b", "a", lb.Active)}, on: "a", id: "c",
			want: chosen{Current: "c", Predecessor: "a", Duplicates: []string{"b"}}},
		"replacement of a replacement": {
			own: []lb.LoadBalancer{one("a", lb.Active), inPlaceOf("b", "a", lb.Active), inPlaceOf("c", "b", lb.Active)}, on: "b", id: "b",
			want: chosen{Current: "c", Predecessor: "b", Duplicates: []string{"a"}}},
	})
}
