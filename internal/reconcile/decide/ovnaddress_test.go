// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
)

// onOVN is a load balancer with a TCP listener.
func onOVN(provider string, status lb.ProvisioningStatus) lb.Observed {
	return lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1", Provider: provider, ProvisioningStatus: status, VIP: lb.VIP{PortID: "port-1"},
		Listeners: []lb.Listener{{ID: "l-1", Protocol: lb.ListenerTCP, Port: 80}}}}
}

func TestWithProviderOVNAFloatingIPAndANewProtocolAreNotWrittenTogether(t *testing.T) {
	attach, room := diff.AssociateFloatingIP{ID: "b"}, diff.DisassociateFloatingIP{ID: "a", For: "203.0.113.8"}
	release := diff.DeleteFloatingIP{ID: "a"}
	udp, tcp := diff.CreatePool{Pool: lb.Pool{Protocol: lb.PoolUDP}}, diff.CreatePool{Pool: lb.Pool{Protocol: lb.PoolTCP}}
	members, waiting := diff.SetMembers{PoolID: "p-1"}, diff.SetMembers{}
	for name, c := range map[string]struct {
		provider string
		status   lb.ProvisioningStatus
		ops      []diff.Op
		failure  error // of the first operation
		want     []int // the operations that are carried out
	}{
		"a floating IP while the load balancer is created":   {lb.ProviderOVN, lb.PendingCreate, []diff.Op{diff.CreateFloatingIP{}, room, attach}, nil, nil},
		"a floating IP when it is created":                   {lb.ProviderOVN, lb.Active, []diff.Op{diff.CreateFloatingIP{}}, nil, []int{0}},
		"a floating IP of a load balancer in ERROR":          {lb.ProviderOVN, lb.Error, []diff.Op{attach}, nil, []int{0}},
		"a floating IP after a port":                         {lb.ProviderOVN, lb.Active, []diff.Op{udp, room, attach}, nil, []int{0}},
		"a floating IP after a port that Octavia refuses":    {lb.ProviderOVN, lb.Active, []diff.Op{udp, attach}, &openstack.Error{Class: openstack.Invalid}, []int{0, 1}},
		"a floating IP after a port without an answer":       {lb.ProviderOVN, lb.Active, []diff.Op{udp, attach}, errors.New("lost"), []int{0}},
		"a floating IP after members":                        {lb.ProviderOVN, lb.Active, []diff.Op{members, attach}, nil, []int{0, 1}},
		"a floating IP while another client changes it":      {lb.ProviderOVN, lb.PendingUpdate, []diff.Op{attach}, nil, []int{0}},
		"a new protocol after a released floating IP":        {lb.ProviderOVN, lb.Active, []diff.Op{release, udp, members}, nil, []int{0, 2}},
		"members of a pool that has to wait":                 {lb.ProviderOVN, lb.Active, []diff.Op{release, udp, waiting}, nil, []int{0}},
		"another port of a protocol after a released one":    {lb.ProviderOVN, lb.Active, []diff.Op{release, tcp}, nil, []int{0, 1}},
		"amphora: a floating IP during the create":           {lb.ProviderAmphora, lb.PendingCreate, []diff.Op{diff.CreateFloatingIP{}}, nil, []int{0}},
		"amphora: a floating IP after a port":                {lb.ProviderAmphora, lb.Active, []diff.Op{udp, attach}, nil, []int{0, 1}},
		"amphora: a new protocol after a released one":       {lb.ProviderAmphora, lb.Active, []diff.Op{release, udp}, nil, []int{0, 1}},
		"a released floating IP while the create is pending": {lb.ProviderOVN, lb.PendingCreate, []diff.Op{release}, nil, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			var s Sequence
			var got []int
			failure := c.failure
			for i, op := range c.ops {
				op, ready := s.Ready(op, onOVN(c.provider, c.status))
				if !ready {
					continue
				}
				got, s = append(got, i), s.After(op, failure)
				failure = nil
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("carried out (-want +got):\n%s", d)
			}
		})
	}
}

func TestANewProtocolWaitsUntilProviderOVNHasHandledAFloatingIP(t *testing.T) {
	udp := []diff.Op{diff.CreatePool{Pool: lb.Pool{Name: "udp", Protocol: lb.PoolUDP}}, diff.SetMembers{PoolName: "udp"}, diff.CreateMonitor{PoolName: "udp"},
		diff.CreateListener{Listener: lb.Listener{Protocol: lb.ListenerUDP}}}
	tcp := []diff.Op{diff.CreatePool{Pool: lb.Pool{Name: "tcp", Protocol: lb.PoolTCP}}, diff.SetMembers{PoolName: "tcp"}}
	for name, c := range map[string]struct {
		provider string
		ago      time.Duration // of the change of a floating IP; 0 is never
		ops      []diff.Op
		left     int
		delay    time.Duration
	}{
		"two seconds after it":       {lb.ProviderOVN, 2 * time.Second, slices.Concat(tcp, udp), 2, 3 * time.Second},
		"a protocol that is there":   {lb.ProviderOVN, 2 * time.Second, tcp, 2, 0},
		"five seconds after it":      {lb.ProviderOVN, 5 * time.Second, udp, 4, 0},
		"no floating IP was changed": {lb.ProviderOVN, 0, udp, 4, 0},
		"amphora":                    {lb.ProviderAmphora, 2 * time.Second, udp, 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := memory.Record{Cloud: memory.Cloud{Known: true, Observed: onOVN(c.provider, lb.Active)}}
			if c.ago > 0 {
				r.Cloud.Addressed = noon.Add(-c.ago)
			}
			f, d := deciding(r)
			d.Plan.Ops = c.ops
			d, waits := awaitAddress(f, d)
			if len(d.Plan.Ops) != c.left || d.Delay != c.delay || waits != (c.delay > 0) {
				t.Errorf("%d operations are left, waits %t for %v", len(d.Plan.Ops), waits, d.Delay)
			}
		})
	}
}

func TestWhenAFloatingIPWasChangedIsRemembered(t *testing.T) {
	for _, c := range []struct {
		op   diff.Op
		want bool
	}{
		{diff.CreateFloatingIP{}, true},
		{diff.AssociateFloatingIP{ID: "a"}, true},
		{diff.DisassociateFloatingIP{ID: "a"}, true},
		{diff.DeleteFloatingIP{ID: "a"}, true},
		{diff.SetFloatingIPTags{ID: "a"}, false},
		{diff.SetMembers{PoolID: "p-1"}, false},
	} {
		f, d := deciding(memory.Record{Cloud: memory.Cloud{Known: true, Observed: onOVN(lb.ProviderOVN, lb.Active)}})
		if got := Applied(f, d, c.op, diff.Created{}, nil).Cloud.Addressed; got.IsZero() == c.want {
			t.Errorf("after %s: %v", c.op, got)
		}
	}
}
