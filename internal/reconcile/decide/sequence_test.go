// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func TestOnePassCarriesOutAllNeutronOperationsAndOneOctaviaOperation(t *testing.T) {
	invalid, lost := &openstack.Error{Class: openstack.Invalid}, errors.New("connection reset")
	pool := "p-2"
	detached := lb.Observed{LoadBalancer: &lb.LoadBalancer{VIP: lb.VIP{PortID: "port-1"}, DetachedPools: []lb.Pool{{ID: "detached"}}}}
	members, port, ip := diff.SetMembers{PoolID: "p-1"}, diff.CreateListener{PoolID: "p-2"}, diff.CreateFloatingIP{}
	for name, c := range map[string]struct {
		ops      []diff.Op
		fails    map[int]error // by the index of the operation
		observed lb.Observed
		want     []int // the operations that are carried out
	}{
		"one Octavia operation":            {[]diff.Op{members, port, ip}, nil, detached, []int{0, 2}},
		"a floating IP without a VIP port": {[]diff.Op{ip, members}, nil, lb.Observed{}, []int{1}},
		"after an answer that was lost":    {[]diff.Op{members, members}, map[int]error{0: lost}, detached, []int{0}},
		"a rejected port, then members":    {[]diff.Op{port, members}, map[int]error{0: invalid}, detached, []int{0, 1}},
		"members of a pool without an id":  {[]diff.Op{port, diff.SetMembers{}}, map[int]error{0: invalid}, detached, []int{0}},
		"a rejected port, then source ranges": {[]diff.Op{port, diff.UpdateListener{ID: "l-1", AllowedCIDRs: &[]string{}}}, map[int]error{0: invalid},
			detached, []int{0, 1}},
		"a rejected pool, then its port":        {[]diff.Op{diff.CreatePool{}, diff.UpdateListener{ID: "l-1", PoolID: &pool}}, map[int]error{0: invalid}, detached, []int{0}},
		"a rejected port, then another deleted": {[]diff.Op{port, diff.DeleteListener{ID: "l-1"}}, map[int]error{0: invalid}, detached, []int{0, 1}},
		"a pool that no listener uses":          {[]diff.Op{port, diff.DeletePool{ID: "detached"}}, map[int]error{0: invalid}, detached, []int{0, 1}},
		"a pool that may be in use":             {[]diff.Op{port, diff.DeletePool{ID: "p-1"}}, map[int]error{0: invalid}, detached, []int{0}},
		"a pool that cannot be deleted":         {[]diff.Op{diff.DeletePool{ID: "detached"}, port}, map[int]error{0: invalid}, detached, []int{0, 1}},
		"tags that cannot be set":               {[]diff.Op{diff.SetTags{ID: "l-1"}, port}, map[int]error{0: invalid}, detached, []int{0, 1}},
		"a load balancer is deleted last":       {[]diff.Op{diff.DeleteFloatingIP{}, diff.DeleteLoadBalancer{ID: "lb-1"}}, nil, detached, []int{0, 1}},
		"and not after a failure":               {[]diff.Op{diff.DeleteFloatingIP{}, diff.DeleteLoadBalancer{ID: "lb-1"}}, map[int]error{0: lost}, detached, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			var s Sequence
			var got []int
			for i, op := range c.ops {
				if op, ready := s.Ready(op, c.observed); ready {
					got, s = append(got, i), s.After(op, c.fails[i])
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("carried out (-want +got):\n%s", d)
			}
		})
	}
}

func TestAPassDoesNotStopBetweenADetachedFloatingIPAndTheNext(t *testing.T) {
	var s Sequence
	for _, c := range []struct {
		op   diff.Op
		err  error
		want bool
	}{
		{diff.SetMembers{}, nil, true},
		{diff.DisassociateFloatingIP{ID: "a", For: "203.0.113.8"}, nil, false},
		{diff.AssociateFloatingIP{ID: "b"}, nil, true},
		{diff.DisassociateFloatingIP{ID: "a", For: "203.0.113.8"}, errors.New("lost"), false}, // it may be done
		{diff.AssociateFloatingIP{ID: "a"}, nil, true},
		{diff.DisassociateFloatingIP{ID: "c"}, nil, true},
	} {
		s = s.After(c.op, c.err)
		if got := s.MayStop(); got != c.want {
			t.Errorf("after %v it may stop: %t", c.op, got)
		}
	}
}

func TestOnlyARejectionLeavesTheLoadBalancerUnlocked(t *testing.T) {
	for _, class := range []openstack.Class{openstack.Invalid, openstack.Quota, openstack.Conflict, openstack.Gone} {
		if !rejection(&openstack.Error{Class: class}) {
			t.Errorf("%s is not a rejection", class)
		}
	}
	for _, err := range []error{nil, errors.New("x"), &openstack.Error{Class: openstack.Busy}, &openstack.Error{Class: openstack.Transient}} {
		if rejection(err) {
			t.Errorf("%v is a rejection", err)
		}
	}
}
