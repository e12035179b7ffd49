// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// successor is observed when a complete load balancer is to replace one that failed and has the Service's floating
// IP.
func successor(changes ...func(*lb.Observed)) lb.Observed {
	o := cloudWith(usual()).observe()
	old := lb.LoadBalancer{ID: "old", ProvisioningStatus: lb.Error, Tags: web.Tags(), VIP: lb.VIP{PortID: "port-old"}}
	o.Predecessor = &old
	for i := range o.FloatingIPs {
		o.FloatingIPs[i].ID, o.FloatingIPs[i].Address, o.FloatingIPs[i].PortID = "f", "198.51.100.1", "port-old"
	}
	for _, c := range changes {
		c(&o)
	}
	return o
}

// written returns the ops as `kube-octavia plan -o json` shows them.
func written(t *testing.T, ops []Op) []string {
	t.Helper()
	var all []string
	for _, op := range ops {
		text, err := json.Marshal(op)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, Kind(op)+" "+string(text))
	}
	return all
}

func TestTheAddressMovesToTheCompleteLoadBalancerBeforeThePredecessorIsDeleted(t *testing.T) {
	moved := func(o *lb.Observed) { o.FloatingIPs[0].PortID = o.LoadBalancer.VIP.PortID }
	status := func(s lb.ProvisioningStatus) func(*lb.Observed) {
		return func(o *lb.Observed) { o.LoadBalancer.ProvisioningStatus = s }
	}
	persons := func(o *lb.Observed) { o.FloatingIPs[0].Description = "the shop's own" }
	another := func(o *lb.Observed) {
		o.FloatingIPs = append(o.FloatingIPs, lb.FloatingIP{ID: "g", Address: "198.51.100.9", Description: "the shop's own"})
	}
	attached := func(o *lb.Observed) { another(o); o.FloatingIPs[1].PortID = o.LoadBalancer.VIP.PortID }
	port := successor().LoadBalancer.VIP.PortID
	move := AssociateFloatingIP{ID: "f", Address: "198.51.100.1", PortID: port}
	end := DeleteLoadBalancer{ID: "old"}
	for name, c := range map[string]struct {
		wanted   lb.Wanted
		observed lb.Observed
		want     []Op
	}{
		"complete":          {usual(), successor(), []Op{move}},
		"moved":             {usual(), successor(moved), []Op{end}},
		"still being built": {usual(), successor(status(lb.PendingCreate)), nil},
		"moved, and another client is changing the old one": {usual(), successor(moved, func(o *lb.Observed) {
			o.Predecessor.ProvisioningStatus = lb.PendingUpdate
		}), nil},
		"the old one works again":       {usual(), successor(func(o *lb.Observed) { o.Predecessor.ProvisioningStatus = lb.Active }), []Op{move}},
		"a person's address moves, too": {usual(), successor(persons), []Op{move}},
		"a part has failed": {usual(), successor(func(o *lb.Observed) {
			o.LoadBalancer.Listeners[1].Pool.ProvisioningStatus = lb.Error
		}), []Op{UpdatePool{ID: "pool-6", Name: web.PoolName(1), Algorithm: lb.RoundRobin, Failed: true}}},
		"the asked address moves":                 {usual(address("198.51.100.1")), successor(persons), []Op{move}},
		"the Service is to go":                    {usual(nothing), successor(), []Op{DeleteFloatingIP{ID: "f", Address: "198.51.100.1"}, DeleteLoadBalancer{ID: successor().LoadBalancer.ID}, end}},
		"the Service becomes internal":            {usual(internal), successor(), []Op{DeleteFloatingIP{ID: "f", Address: "198.51.100.1"}, end}},
		"another address is asked for, and there": {usual(address("198.51.100.9")), successor(attached), []Op{DeleteFloatingIP{ID: "f", Address: "198.51.100.1"}, end}},
		"another address is asked for, and serves elsewhere": {usual(address("198.51.100.9")), successor(func(o *lb.Observed) {
			another(o)
			o.FloatingIPs[1].PortID = "port-elsewhere"
		}), []Op{move}},
		"another address serves elsewhere, and this one has moved": {usual(address("198.51.100.9")), successor(moved, func(o *lb.Observed) {
			another(o)
			o.FloatingIPs[1].PortID = "port-elsewhere"
		}), []Op{end}},
		"the Service is refused": {func() lb.Wanted { w := usual(); w.KeepAddress = true; return w }(), successor(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(written(t, c.want), written(t, New(c.wanted, c.observed, web).Ops)); d != "" {
				t.Errorf("ops (-want +have): %s", d)
			}
		})
	}
}

func TestAnAddressThatTheCloudDoesNotMoveStaysAndTheReasonIsReported(t *testing.T) {
	port := successor().LoadBalancer.VIP.PortID
	rejected := lb.Rejection{FloatingIPID: "f", PortID: port, Message: "floating IP 198.51.100.1 cannot be attached to the VIP: no router"}
	another := func(o *lb.Observed) {
		o.FloatingIPs = append(o.FloatingIPs, lb.FloatingIP{ID: "g", Address: "198.51.100.9", Description: "the shop's own", PortID: "port-elsewhere"})
	}
	for name, c := range map[string]struct {
		wanted   lb.Wanted
		observed lb.Observed
		port     string
		ops      []Op
		refused  []string
	}{
		"the present address": {usual(), successor(), port, nil, []string{ReasonFloatingIPNotAttachable}},
		"the present address, while another one is requested that serves elsewhere": {usual(address("198.51.100.9")), successor(another), port, nil,
			[]string{ReasonFloatingIPNotAttachable, ReasonFloatingIPInUse}},
		"rejected at another load balancer": {usual(), successor(), "port-gone", []Op{AssociateFloatingIP{ID: "f", Address: "198.51.100.1", PortID: port}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			rejected := rejected
			rejected.PortID = c.port
			c.wanted.Addresses.Rejected = []lb.Rejection{rejected}
			plan := New(c.wanted, c.observed, web)
			if d := cmp.Diff(written(t, c.ops), written(t, plan.Ops)); d != "" {
				t.Errorf("ops (-want +have): %s", d)
			}
			var reasons []string
			for _, r := range plan.Refused {
				reasons = append(reasons, r.Reason)
			}
			if d := cmp.Diff(c.refused, reasons); d != "" {
				t.Errorf("reasons (-want +have): %s", d)
			}
		})
	}
}

func TestNoAddressMovesToALoadBalancerThatLacksAPort(t *testing.T) {
	o := successor(func(o *lb.Observed) { o.LoadBalancer.Listeners = o.LoadBalancer.Listeners[:1] })
	for len(o.FloatingIPs) > 0 && o.FloatingIPs[0].PortID == "port-old" {
		plan := New(usual(), o, web)
		if len(plan.Ops) == 0 {
			t.Fatal("the plan ends before the address has moved")
		}
		op := plan.Ops[0]
		if _, moves := op.(AssociateFloatingIP); moves {
			break
		}
		made := Created{}
		switch op.(type) {
		case CreatePool, CreateListener:
			made.ID = "made-" + Kind(op)
		}
		o = After(o, op, made)
	}
	if n := len(o.LoadBalancer.Listeners); n != 2 {
		t.Errorf("the address moves to a load balancer with %d ports", n)
	}
}

func TestAnOpWithinThePredecessorChangesIt(t *testing.T) {
	old := cloudWith(usual()).observe().LoadBalancer
	old.ID = "old"
	for i := range old.Listeners {
		old.Listeners[i].ID, old.Listeners[i].Pool.ID = "old-"+old.Listeners[i].ID, "old-"+old.Listeners[i].Pool.ID
	}
	o := cloudWith(usual()).observe()
	o.Predecessor = old
	sources := []string{"192.0.2.0/24"}
	set := SetMembers{PoolID: old.Listeners[0].Pool.ID}
	update := UpdateListener{ID: old.Listeners[0].ID, AllowedCIDRs: &sources}
	after := After(After(o, set, Created{}), update, Created{})
	if l := after.Predecessor.Listeners[0]; len(l.Pool.Members) > 0 || !cmp.Equal(l.AllowedCIDRs, sources) {
		t.Errorf("the old one has %+v", l)
	}
	if d := cmp.Diff(o.LoadBalancer, after.LoadBalancer); d != "" {
		t.Errorf("the new one has changed (-before +after): %s", d)
	}
	if !Within(set, *old) || Within(set, *o.LoadBalancer) || Within(DeleteLoadBalancer{ID: "old"}, *old) {
		t.Error("it is not told which one an op changes")
	}
	if !Within(update, *old) || Within(update, *o.LoadBalancer) || Within(SetMembers{PoolID: "elsewhere"}, *old) {
		t.Error("it is not told which one a change of a listener, or of a pool elsewhere, is within")
	}
}

func TestAReplacementMakesTheOldLoadBalancerItsPredecessor(t *testing.T) {
	o := lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "old", ProvisioningStatus: lb.Error, VIP: lb.VIP{PortID: "port-old"}}}
	plan := Replacement(usual(), "")
	o = After(o, plan.Ops[0], Created{ID: "new", VIP: lb.VIP{PortID: "port-new"}})
	if o.LoadBalancer.ID != "new" || o.Predecessor == nil || o.Predecessor.ID != "old" {
		t.Errorf("%+v has the predecessor %+v", o.LoadBalancer, o.Predecessor)
	}
	if o = After(o, DeleteLoadBalancer{ID: "old"}, Created{}); o.LoadBalancer == nil || o.Predecessor != nil {
		t.Errorf("%+v has the predecessor %+v", o.LoadBalancer, o.Predecessor)
	}
}

// A load balancer replaces another one only when it is complete: until then, the old one serves.
func TestThePredecessorServesUntilTheNewLoadBalancerIsComplete(t *testing.T) {
	foreign := func(s lb.ProvisioningStatus) func(*lb.Observed) {
		return func(o *lb.Observed) {
			o.LoadBalancer.Listeners = append(o.LoadBalancer.Listeners, lb.Listener{ID: "theirs", Protocol: lb.ListenerTCP, Port: 9000, Tags: api.Tags(), ProvisioningStatus: s})
		}
	}
	inUse := func(o *lb.Observed) {
		o.FloatingIPs = append(o.FloatingIPs, lb.FloatingIP{ID: "g", Address: "198.51.100.9", Description: "the shop's own", PortID: "port-elsewhere"})
	}
	both := func(o *lb.Observed) {
		inUse(o)
		o.FloatingIPs[1].PortID = o.LoadBalancer.VIP.PortID
	}
	withoutMembers := func(o *lb.Observed) { o.LoadBalancer.Listeners[1].Pool.Members = nil }
	tests := []struct {
		name    string
		wanted  lb.Wanted
		changes []func(*lb.Observed)
		// stays is whether the predecessor and its floating IP are left alone.
		stays bool
	}{
		{"an internal one is complete", usual(internal), nil, false},
		{"an internal one lacks members", usual(internal), []func(*lb.Observed){withoutMembers}, true},
		{"an internal one has a listener of another Service that is ACTIVE", usual(internal), []func(*lb.Observed){foreign(lb.Active)}, false},
		{"an internal one has a listener of another Service that Octavia creates", usual(internal), []func(*lb.Observed){foreign(lb.PendingCreate)}, true},
		{"an external one has a listener of another Service in ERROR", usual(), []func(*lb.Observed){foreign(lb.Error)}, true},
		{"an external one lacks members, and another address is requested that is in use", usual(address("198.51.100.9")), []func(*lb.Observed){withoutMembers, inUse}, true},
		{"an external one lacks members, and has another address that is requested", usual(address("198.51.100.9")), []func(*lb.Observed){withoutMembers, both}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stays := true
			for _, op := range New(tt.wanted, successor(tt.changes...), web).Ops {
				switch op := op.(type) {
				case DeleteLoadBalancer:
					stays = stays && op.ID != "old"
				case AssociateFloatingIP:
					stays = stays && op.ID != "f"
				case DeleteFloatingIP:
					stays = stays && (op.ID != "f" || tt.wanted.FloatingIP == nil)
				}
			}
			if stays != tt.stays {
				t.Errorf("the predecessor stays: %t, want %t", stays, tt.stays)
			}
		})
	}
}

func TestALoadBalancerIsCompleteWhenEveryPartIsActive(t *testing.T) {
	tests := []struct {
		name   string
		change func(*lb.LoadBalancer)
		want   bool
	}{
		{"all is ACTIVE, or its status is not known", func(*lb.LoadBalancer) {}, true},
		{"a listener is PENDING", func(l *lb.LoadBalancer) { l.Listeners[1].ProvisioningStatus = lb.PendingUpdate }, false},
		{"a listener is in ERROR", func(l *lb.LoadBalancer) { l.Listeners[1].ProvisioningStatus = lb.Error }, false},
		{"a pool is in ERROR", func(l *lb.LoadBalancer) { l.Listeners[1].Pool.ProvisioningStatus = lb.Error }, false},
		{"a member is PENDING", func(l *lb.LoadBalancer) { l.Listeners[1].Pool.Members[1].ProvisioningStatus = lb.PendingCreate }, false},
		{"a monitor is in ERROR", func(l *lb.LoadBalancer) { l.Listeners[1].Pool.Monitor.ProvisioningStatus = lb.Error }, false},
		{"a listener has no pool", func(l *lb.LoadBalancer) { l.Listeners[1].Pool = nil }, true},
		{"a pool that nothing uses is PENDING", func(l *lb.LoadBalancer) { l.DetachedPools = []lb.Pool{{ProvisioningStatus: lb.PendingDelete}} }, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := cloudWith(usual(monitored(lb.MonitorTCP))).observe().LoadBalancer
			tt.change(l)
			if got := complete(*l); got != tt.want {
				t.Errorf("complete: %t, want %t", got, tt.want)
			}
		})
	}
}

func TestWhichAddressOfTwoLoadBalancersStays(t *testing.T) {
	second := func(port string) func(*lb.Observed) {
		return func(o *lb.Observed) {
			if port == "" {
				port = o.LoadBalancer.VIP.PortID
			}
			o.FloatingIPs = append(o.FloatingIPs, lb.FloatingIP{ID: "g", Address: "198.51.100.9", Description: "the shop's own", PortID: port})
		}
	}
	move := AssociateFloatingIP{ID: "f", Address: "198.51.100.1", PortID: successor().LoadBalancer.VIP.PortID}
	end := DeleteLoadBalancer{ID: "old"}
	tests := []struct {
		name   string
		wanted lb.Wanted
		second func(*lb.Observed)
		want   []Op
	}{
		// The floating IP of the predecessor is detached by its deletion, and stays.
		{"any address is fine, and the new one has one", usual(), second(""), []Op{end}},
		{"any address is fine, and another port has a second one", usual(), second("port-elsewhere"), []Op{move}},
		{"that of the predecessor is requested, and the new one has another", usual(address("198.51.100.1")), second(""), []Op{move}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(written(t, tt.want), written(t, New(tt.wanted, successor(tt.second), web).Ops)); d != "" {
				t.Errorf("ops (-want +got):\n%s", d)
			}
		})
	}
}

// Until the load balancer has the mark of the Service, it is found by its address.
func TestFloatingIPsWaitUntilTheLoadBalancerIsMarked(t *testing.T) {
	withoutTag := func(w *lb.Wanted) { w.LoadBalancer.Tags = nil }
	tests := []struct {
		name   string
		wanted lb.Wanted
		tags   []string
		waits  bool
	}{
		{"it has the mark", usual(), web.Tags(), false},
		{"it has no mark", usual(), []string{"by-hand"}, true},
		{"it gets no mark", usual(withoutTag), []string{"by-hand"}, false},
		{"nothing is wanted", usual(nothing), []string{"by-hand"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := observedComplete(t)
			o.LoadBalancer.Tags, o.FloatingIPs = tt.tags, nil
			if got := planAddresses(tt.wanted, o, web, true); got.waits != tt.waits || tt.waits && len(got.attach) > 0 {
				t.Errorf("the plan for addresses is %+v, want one that waits: %t", got, tt.waits)
			}
			if unmarked(tt.wanted, lb.Observed{}, web) {
				t.Error("a load balancer that does not exist has no mark")
			}
		})
	}
}

func TestARefusedServiceKeepsItsFloatingIPs(t *testing.T) {
	keep := func(w *lb.Wanted) { w.KeepAddress = true }
	stray := lb.FloatingIP{ID: "stray", Address: "198.51.100.9", Description: web.FloatingIPDescription()}
	detached := observedComplete(t)
	detached.FloatingIPs = append(detached.FloatingIPs, stray)
	gone := lb.Observed{Sharer: true, FloatingIPs: []lb.FloatingIP{stray}}
	for name, o := range map[string]lb.Observed{"with a load balancer of its own": detached, "after the load balancer that it shares is gone": gone} {
		t.Run(name, func(t *testing.T) {
			for _, op := range New(usual(keep), o, web).Ops {
				if !op.Octavia() {
					t.Errorf("planned: %s", op)
				}
			}
		})
	}
}

func TestAReplacementNamesTheLoadBalancerThatItReplaces(t *testing.T) {
	for replaces, want := range map[string][]string{"": web.Tags(), "old": append(web.Tags(), lb.ReplacesTag("old"))} {
		op := Replacement(usual(), replaces).Ops[0].(CreateLoadBalancer)
		if d := cmp.Diff(want, op.LoadBalancer.Tags); d != "" {
			t.Errorf("tags of one that replaces %q (-want +got):\n%s", replaces, d)
		}
	}
}
