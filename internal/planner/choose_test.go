// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

func TestOfSeveralLoadBalancersOneServesAndTheAddressIsNotLost(t *testing.T) {
	owner := lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "default", Name: "web", ServiceUID: "uid-1"}
	one := func(id string, status lb.ProvisioningStatus) lb.LoadBalancer {
		return lb.LoadBalancer{ID: id, ProvisioningStatus: status, Tags: owner.Tags(), VIP: lb.VIP{PortID: "port-" + id}}
	}
	// instead of another one.
	instead := func(id, old string, status lb.ProvisioningStatus) lb.LoadBalancer {
		l := one(id, status)
		l.Tags = append(l.Tags, lb.ReplacesTag(old))
		return l
	}
	shared := one("a", lb.Active)
	shared.Tags = append(shared.Tags, "kube_service_kubernetes_default_api")
	unmarkedOne := one("b", lb.Active)
	unmarkedOne.Tags = nil
	type choice struct {
		Head, Predecessor     string
		Duplicates, Unsettled []string
	}
	for name, c := range map[string]struct {
		ours []lb.LoadBalancer
		// on is the load balancer that has the floating IP.
		on, noted string
		want      choice
	}{
		"none":                                 {want: choice{}},
		"the only one":                         {ours: []lb.LoadBalancer{one("a", lb.Error)}, want: choice{Head: "a"}},
		"the noted one comes first":            {ours: []lb.LoadBalancer{one("a", lb.Active), one("b", lb.Active)}, noted: "b", want: choice{Head: "b", Duplicates: []string{"a"}}},
		"without a note any, the same always":  {ours: []lb.LoadBalancer{one("b", lb.Active), one("a", lb.Active)}, want: choice{Head: "a", Duplicates: []string{"b"}}},
		"one that is on its way out is not it": {ours: []lb.LoadBalancer{one("a", lb.PendingDelete), one("b", lb.Active)}, noted: "a", want: choice{Head: "b", Unsettled: []string{"a"}}},
		"one that Octavia works on cannot be deleted yet": {
			ours: []lb.LoadBalancer{one("a", lb.Active), one("b", lb.PendingCreate)}, noted: "a", want: choice{Head: "a", Unsettled: []string{"b"}}},
		"one without our mark is left alone": {ours: []lb.LoadBalancer{one("a", lb.Active), unmarkedOne}, noted: "a", want: choice{Head: "a"}},

		"a new one beside one that failed, before it was noted": {
			ours: []lb.LoadBalancer{one("a", lb.Error), one("b", lb.PendingCreate)}, on: "a", want: choice{Head: "b", Predecessor: "a"}},
		"a new one that is ready beside one that failed": {
			ours: []lb.LoadBalancer{one("a", lb.Error), one("b", lb.Active)}, on: "a", noted: "b", want: choice{Head: "b", Predecessor: "a"}},
		"a new one that has the address": {
			ours: []lb.LoadBalancer{one("a", lb.Error), one("b", lb.Active)}, on: "b", noted: "b", want: choice{Head: "b", Duplicates: []string{"a"}}},
		"a new one that failed, too": {
			ours: []lb.LoadBalancer{one("a", lb.Error), one("b", lb.Error)}, on: "a", noted: "b", want: choice{Head: "a", Duplicates: []string{"b"}}},
		"a new one that failed while the operator repaired the other": {
			ours: []lb.LoadBalancer{one("a", lb.Active), one("b", lb.Error)}, on: "a", noted: "b", want: choice{Head: "a", Duplicates: []string{"b"}}},
		"one that the operator repairs while a new one is built": {
			ours: []lb.LoadBalancer{one("a", lb.PendingUpdate), one("b", lb.PendingCreate)}, on: "a", noted: "b", want: choice{Head: "b", Predecessor: "a", Unsettled: []string{"a"}}},
		"two new ones, of which one create was not answered": {
			ours: []lb.LoadBalancer{one("a", lb.Error), one("b", lb.PendingCreate), one("c", lb.Active)}, on: "a", noted: "b", want: choice{Head: "b", Predecessor: "a", Duplicates: []string{"c"}}},
		"one that is built beside another, before it was noted": {
			ours: []lb.LoadBalancer{one("a", lb.Active), instead("b", "a", lb.PendingCreate)}, on: "a", noted: "a", want: choice{Head: "b", Predecessor: "a"}},
		"the same of an internal Service": {
			ours: []lb.LoadBalancer{one("a", lb.Active), instead("b", "a", lb.PendingCreate)}, noted: "a", want: choice{Head: "b", Predecessor: "a"}},
		"the same, with nothing noted":       {ours: []lb.LoadBalancer{one("a", lb.Active), instead("b", "a", lb.Active)}, want: choice{Head: "b", Predecessor: "a"}},
		"the other one follows the nodes":    {ours: []lb.LoadBalancer{one("a", lb.PendingUpdate), instead("b", "a", lb.Active)}, on: "a", noted: "b", want: choice{Head: "b", Predecessor: "a"}},
		"the other one has failed meanwhile": {ours: []lb.LoadBalancer{one("a", lb.Error), instead("b", "a", lb.Active)}, noted: "a", want: choice{Head: "b", Predecessor: "a"}},
		"one that is built beside another and failed": {
			ours: []lb.LoadBalancer{one("a", lb.Active), instead("b", "a", lb.Error)}, on: "a", noted: "b", want: choice{Head: "a", Duplicates: []string{"b"}}},
		"the same, internal": {
			ours: []lb.LoadBalancer{one("a", lb.Active), instead("b", "a", lb.Error)}, noted: "a", want: choice{Head: "a", Duplicates: []string{"b"}}},
		"one that is deleted after all": {
			ours: []lb.LoadBalancer{one("a", lb.Active), instead("b", "a", lb.PendingDelete)}, on: "a", noted: "b", want: choice{Head: "a", Unsettled: []string{"b"}}},
		"one that took over, before the other one is gone": {
			ours: []lb.LoadBalancer{one("a", lb.PendingDelete), instead("b", "a", lb.Active)}, on: "b", noted: "b", want: choice{Head: "b", Predecessor: "a"}},
		"one that took the place of one that is gone": {ours: []lb.LoadBalancer{instead("b", "a", lb.Active)}, on: "b", noted: "b", want: choice{Head: "b"}},
		"one that somebody else came to use stays": {
			ours: []lb.LoadBalancer{shared, instead("b", "a", lb.Active)}, on: "a", noted: "a", want: choice{Head: "a", Duplicates: []string{"b"}}},
		"the same, when the new one was noted": {
			ours: []lb.LoadBalancer{shared, instead("b", "a", lb.Active)}, on: "a", noted: "b", want: choice{Head: "a", Duplicates: []string{"b"}}},
		"the same, when the new one has the address": {
			ours: []lb.LoadBalancer{shared, instead("b", "a", lb.Active)}, on: "b", noted: "b", want: choice{Head: "b"}},
		"two that were built beside another": {
			ours: []lb.LoadBalancer{one("a", lb.Active), instead("c", "a", lb.Active), instead("b", "a", lb.Active)}, on: "a", noted: "c",
			want: choice{Head: "c", Predecessor: "a", Duplicates: []string{"b"}}},
		"one of which another one takes the place in turn": {
			ours: []lb.LoadBalancer{one("a", lb.Active), instead("b", "a", lb.Active), instead("c", "b", lb.Active)}, on: "b", noted: "b",
			want: choice{Head: "c", Predecessor: "b", Duplicates: []string{"a"}}},
		"one of an internal Service that failed keeps its address before any other": {
			ours: []lb.LoadBalancer{one("a", lb.Active), one("b", lb.Error)}, noted: "b", want: choice{Head: "b", Duplicates: []string{"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var floating []lb.FloatingIP
			if c.on != "" {
				floating = []lb.FloatingIP{{ID: "f", Address: "203.0.113.7", PortID: "port-" + c.on}}
			}
			observed := choose(c.ours, floating, c.noted, owner)
			got := choice{Duplicates: observed.Duplicates, Unsettled: observed.Unsettled}
			if observed.LoadBalancer != nil {
				got.Head = observed.LoadBalancer.ID
			}
			if observed.Predecessor != nil {
				got.Predecessor = observed.Predecessor.ID
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +have): %s", d)
			}
		})
	}
}
