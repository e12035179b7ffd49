// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

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
