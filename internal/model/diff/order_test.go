// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func TestAccessIsRestrictedBeforePortsOpenAndPortsCloseLast(t *testing.T) {
	op := func(name string) []Op { return []Op{SetTags{Of: "listener", Name: name}} }
	changes := changes{
		mark: op("mark"), restricting: op("restricting"), listeners: op("listeners"), failed: op("failed"), reopening: op("reopening"),
		members: []memberChange{{ops: op("members")}}, settings: op("settings"), leftBehind: op("left behind"), opening: op("opening"),
		closing: op("closing"), admitting: op("admitting"),
	}
	var got []string
	for _, op := range changes.ops() {
		got = append(got, op.(SetTags).Name)
	}
	want := []string{"mark", "restricting", "listeners", "failed", "reopening", "members", "settings", "left behind", "opening", "closing", "admitting"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
}

// The Service gets its new address before the load balancer with the old one goes. A duplicate does not delay that.
func TestThePredecessorGoesAfterTheRequestedAddressIsAttached(t *testing.T) {
	o := successor(func(o *lb.Observed) {
		o.FloatingIPs = append(o.FloatingIPs, lb.FloatingIP{ID: "g", Address: "198.51.100.9", Description: "the shop's own"})
		o.Duplicates = []string{"duplicate"}
	})
	want := []Op{
		DeleteLoadBalancer{ID: "duplicate"},
		AssociateFloatingIP{ID: "g", Address: "198.51.100.9", PortID: o.LoadBalancer.VIP.PortID},
		DeleteLoadBalancer{ID: "old"},
	}
	plan := New(usual(address("198.51.100.9")), o, web)
	if d := cmp.Diff(written(t, want), written(t, plan.Ops)); d != "" {
		t.Errorf("ops (-want +got):\n%s", d)
	}
}

func TestTheOwnerOfASharedLoadBalancerLeavesDuplicatesAndPredecessorsToNobody(t *testing.T) {
	tests := []struct {
		name   string
		change func(*lb.Observed)
		want   []Op
	}{
		{"both are deleted", func(*lb.Observed) {}, []Op{DeleteLoadBalancer{ID: "duplicate"}, DeleteLoadBalancer{ID: "old"}}},
		{"a predecessor that Octavia changes stays", func(o *lb.Observed) { o.Predecessor.ProvisioningStatus = lb.PendingUpdate },
			[]Op{DeleteLoadBalancer{ID: "duplicate"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := successor(func(o *lb.Observed) {
				o.LoadBalancer.Tags = append(o.LoadBalancer.Tags, api.LoadBalancerName())
				o.LoadBalancer.ProvisioningStatus = lb.PendingUpdate
				o.Duplicates = []string{"duplicate"}
			})
			tt.change(&o)
			if d := cmp.Diff(written(t, tt.want), written(t, New(usual(nothing), o, web).Ops)); d != "" {
				t.Errorf("ops (-want +got):\n%s", d)
			}
		})
	}
}

func TestOnlyPortsThatRestrictClientsDelayGroups(t *testing.T) {
	tests := []struct {
		name          string
		before, after []edit
		drift         func(*cloud)
		first         string
	}{
		{"a port for every client closes after groups come", []edit{sourceRanges("0.0.0.0/0")}, []edit{ports(port(lb.TCP, 80, 30080)), groups("g1")},
			func(*cloud) {}, "SetVIPSecurityGroups"},
		{"a port with ranges closes before groups come", []edit{sourceRanges("10.0.0.0/8")}, []edit{ports(port(lb.TCP, 80, 30080)), groups("g1")},
			func(*cloud) {}, "DeleteListener"},
		{"ranges of another client beside groups have no effect", []edit{groups("g1")}, []edit{groups("g2")}, addPortFor("10.0.0.0/8"), "SetVIPSecurityGroups"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := cloudWith(usual(tt.before...))
			tt.drift(c)
			plan := New(usual(tt.after...), c.observe(), web)
			if len(plan.Ops) == 0 || Kind(plan.Ops[0]) != tt.first {
				t.Errorf("the plan is %v, want %s first", texts(plan.Ops), tt.first)
			}
		})
	}
}
