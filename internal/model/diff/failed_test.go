// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// observedComplete returns the observed state of the usual Service, with all ids and nothing left
// to do.
func observedComplete(t *testing.T) lb.Observed {
	t.Helper()
	o := successor()
	o.Predecessor = nil
	o.FloatingIPs[0].PortID = o.LoadBalancer.VIP.PortID
	if ops := New(usual(), o, web).Ops; len(ops) > 0 {
		t.Fatalf("the state is not complete: %v", ops)
	}
	return o
}

// TestAChildInErrorIsWrittenAgainAlthoughNothingDiffers carries out each plan, and expects nothing more to do then.
func TestAChildInErrorIsWrittenAgainAlthoughNothingDiffers(t *testing.T) {
	listener := func(o *lb.Observed) *lb.Listener { return &o.LoadBalancer.Listeners[0] }
	for name, test := range map[string]struct {
		fail func(*lb.Observed)
		want []string
	}{
		"a listener": {func(o *lb.Observed) { listener(o).ProvisioningStatus = lb.Error }, []string{"UpdateListener"}},
		"all listeners": {func(o *lb.Observed) {
			for i := range o.LoadBalancer.Listeners {
				o.LoadBalancer.Listeners[i].ProvisioningStatus = lb.Error
			}
		}, []string{"UpdateListener", "UpdateListener"}},
		"a pool":   {func(o *lb.Observed) { listener(o).Pool.ProvisioningStatus = lb.Error }, []string{"UpdatePool"}},
		"a member": {func(o *lb.Observed) { listener(o).Pool.Members[0].ProvisioningStatus = lb.Error }, []string{"SetMembers"}},
		"a pool and its members": {func(o *lb.Observed) {
			listener(o).Pool.ProvisioningStatus = lb.Error
			listener(o).Pool.Members[0].ProvisioningStatus = lb.Error
		}, []string{"UpdatePool", "SetMembers"}},
		"a pool that lacks a member": {func(o *lb.Observed) {
			listener(o).Pool.ProvisioningStatus = lb.Error
			listener(o).Pool.Members = listener(o).Pool.Members[1:]
		}, []string{"UpdatePool", "SetMembers"}},
		"a listener of another client": {func(o *lb.Observed) {
			o.LoadBalancer.Listeners = append(o.LoadBalancer.Listeners, lb.Listener{ID: "x", Port: 9, Protocol: lb.ListenerTCP,
				Tags: []string{"kube-octavia.service=another"}, ProvisioningStatus: lb.Error})
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := Clone(observedComplete(t))
			for i := range o.LoadBalancer.Listeners {
				p := o.LoadBalancer.Listeners[i].Pool
				p.Members = append([]lb.Member{}, p.Members...)
			}
			test.fail(&o)
			var got []string
			for range 10 {
				ops := New(usual(), o, web).Ops
				if len(ops) == 0 {
					break
				}
				got = append(got, Kind(ops[0]))
				if _, failed := Failed(ops[0]); failed != Repairs(ops[:1]) {
					t.Errorf("%s: failed is %t", ops[0], failed)
				}
				o = After(o, ops[0], Created{})
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("ops (-want +got):\n%s", d)
			}
			if l := listener(&o); l.Pool == nil {
				t.Error("the listener has lost its pool")
			}
		})
	}
}

func TestAListenerInErrorIsWrittenWithAllThatMayNotBeInForce(t *testing.T) {
	o := observedComplete(t)
	l := &o.LoadBalancer.Listeners[0]
	l.ProvisioningStatus, l.AllowedCIDRs = lb.Error, []string{"192.0.2.0/24"}
	wanted := usual()
	want := *wanted.LoadBalancer
	want.Listeners = append([]lb.Listener{}, want.Listeners...)
	want.Listeners[0].AllowedCIDRs = l.AllowedCIDRs
	wanted.LoadBalancer = &want
	ops := New(wanted, o, web).Ops
	op, ok := ops[0].(UpdateListener)
	if !ok || !op.Failed || op.AllowedCIDRs == nil || op.ConnectionLimit == nil || op.AdminDown == nil || op.PoolID == nil || *op.PoolID != l.Pool.ID {
		t.Errorf("planned %v", ops)
	}
	// A change that the Service requests now is no repeat.
	want.Listeners[0].AllowedCIDRs = []string{"198.51.100.0/24"}
	ops = New(wanted, o, web).Ops
	if _, failed := Failed(ops[0]); failed || len(ops) != 1 {
		t.Errorf("planned %v, a repeat %t", ops, failed)
	}
}

func TestAListenerInErrorBesideSecurityGroupsIsWrittenWithoutRanges(t *testing.T) {
	o := Clone(observedComplete(t))
	listener := &o.LoadBalancer.Listeners[0]
	o.LoadBalancer.VIPSecurityGroups = []string{"by-hand"}
	listener.AllowedCIDRs, listener.ProvisioningStatus = []string{"10.0.0.0/8"}, lb.Error
	ops := New(usual(sourceRanges("10.0.0.0/8")), o, web).Ops
	if len(ops) != 1 {
		t.Fatalf("the plan is %v", ops)
	}
	if op, ok := ops[0].(UpdateListener); !ok || !op.Failed || op.AllowedCIDRs != nil {
		t.Errorf("Octavia refuses source ranges beside groups, but the plan is %v", ops)
	}
}

// A new pool that Octavia could not create. The port that the listener of another protocol has stays open meanwhile.
func TestAPortOpensOnlyWhenItsPoolWorks(t *testing.T) {
	o := observedComplete(t)
	l := &o.LoadBalancer.Listeners[0]
	created := asNew(*l.Pool)
	created.ID, created.Members, created.ProvisioningStatus = "new", nil, lb.Error
	l.Protocol, l.Pool.Name = lb.ListenerUDP, "old"
	o.LoadBalancer.DetachedPools = []lb.Pool{created}
	var got []string
	for range 12 {
		ops := New(usual(), o, web).Ops
		if len(ops) == 0 {
			break
		}
		got = append(got, Kind(ops[0]))
		if len(got) == 1 && len(ops) > 1 {
			t.Errorf("more is planned while the pool is in ERROR: %v", ops)
		}
		o = After(o, ops[0], Created{ID: "made"})
	}
	if len(got) == 0 || got[0] != "UpdatePool" {
		t.Errorf("planned %v", got)
	}
}

func TestWithoutTheCreationOfAPoolNothingNeedsIt(t *testing.T) {
	ops := []Op{
		CreatePool{Pool: lb.Pool{Name: "udp"}}, SetMembers{PoolName: "udp"}, CreateMonitor{PoolName: "udp"},
		CreatePool{Pool: lb.Pool{Name: "tcp"}}, SetMembers{PoolName: "tcp"}, SetMembers{PoolID: "p", PoolName: "udp"},
	}
	left := Without(ops, func(op Op) bool {
		creation, creates := op.(CreatePool)
		return creates && creation.Pool.Name == "udp"
	})
	if d := cmp.Diff(ops[3:], left, cmp.AllowUnexported(CreatePool{}, SetMembers{})); d != "" {
		t.Errorf("left (-want +got):\n%s", d)
	}
}

func TestAListenerServesUntilTheOneInItsPlaceIsCreated(t *testing.T) {
	ops := []Op{
		CreatePool{Pool: lb.Pool{Name: "udp"}}, SetMembers{PoolName: "udp"},
		DeleteListener{ID: "tcp", Key: lb.ListenerKey{Transport: lb.TCP, Port: 80}}, CreateListener{Listener: lb.Listener{Protocol: lb.ListenerUDP, Port: 80}},
		DeleteListener{ID: "other", Key: lb.ListenerKey{Transport: lb.TCP, Port: 81}}, DeletePool{ID: "of tcp"},
	}
	left := Without(ops, func(op Op) bool {
		_, pool := op.(CreatePool)
		_, listener := op.(CreateListener)
		return pool || listener
	})
	if d := cmp.Diff(ops[4:5], left, cmp.AllowUnexported(DeleteListener{})); d != "" {
		t.Errorf("left (-want +got):\n%s", d)
	}
}

func TestOnlyWhatNeedsAPoolThatIsNotThereAwaitsIt(t *testing.T) {
	none, pool := "", "p"
	for _, op := range []Op{SetMembers{}, CreateMonitor{}, CreateListener{}, UpdateListener{ID: "l", PoolID: &none}} {
		if !AwaitsPool(op) {
			t.Errorf("%T without a pool is sent to Octavia", op)
		}
	}
	for _, op := range []Op{
		SetMembers{PoolID: pool}, CreateMonitor{PoolID: pool}, CreateListener{PoolID: pool}, UpdateListener{ID: "l", PoolID: &pool},
		UpdateListener{ID: "l"}, CreateListener{Listener: lb.Listener{Protocol: lb.ListenerPrometheus}}, CreatePool{}, DeletePool{ID: pool},
	} {
		if AwaitsPool(op) {
			t.Errorf("%T awaits a pool: %+v", op, op)
		}
	}
}

func TestWithoutADeletionNothingTakesItsPort(t *testing.T) {
	ops := []Op{
		DeleteListener{ID: "l", Key: lb.ListenerKey{Transport: lb.TCP, Port: 80}, Failed: true},
		CreateListener{Listener: lb.Listener{Port: 80}}, CreateListener{Listener: lb.Listener{Port: 81}}, DeletePool{ID: "p"},
	}
	left := Without(ops, func(op Op) bool { _, failed := Failed(op); return failed })
	var got []string
	for _, op := range left {
		got = append(got, op.String())
	}
	if d := cmp.Diff([]string{ops[2].String(), ops[3].String()}, got); d != "" {
		t.Errorf("left (-want +got):\n%s", d)
	}
}

func TestADeletionOfAChildInErrorIsMarked(t *testing.T) {
	o := observedComplete(t)
	l := o.LoadBalancer.Listeners[0]
	l.ID, l.Port, l.ProvisioningStatus = "unwanted", 9, lb.Error
	pool := *l.Pool
	pool.ID, pool.ProvisioningStatus = "unwanted pool", lb.Error
	l.Pool = &pool
	o.LoadBalancer.Listeners = append(o.LoadBalancer.Listeners, l)
	var keys []string
	for _, op := range New(usual(), o, web).Ops {
		if key, failed := Failed(op); failed && Deletes(op) {
			keys = append(keys, key)
		}
	}
	if d := cmp.Diff([]string{"DeleteListener unwanted", "DeletePool unwanted pool"}, keys); d != "" {
		t.Errorf("keys (-want +got):\n%s", d)
	}
}

// Repeats wait, and changes that the Service requests now do not. So each op has to say which it is.
func TestEachOpSaysWhetherItRepeatsAChangeThatFailed(t *testing.T) {
	tests := []struct {
		first, repeat Op
		key           string
		deletes       bool
	}{
		{UpdateListener{ID: "l"}, UpdateListener{ID: "l", Failed: true}, "UpdateListener l", false},
		{DeleteListener{ID: "l"}, DeleteListener{ID: "l", Failed: true}, "DeleteListener l", true},
		{UpdatePool{ID: "p"}, UpdatePool{ID: "p", Failed: true}, "UpdatePool p", false},
		{DeletePool{ID: "p"}, DeletePool{ID: "p", Failed: true}, "DeletePool p", true},
		{SetMembers{PoolID: "p"}, SetMembers{PoolID: "p", Failed: true}, "SetMembers p", false},
		{UpdateMonitor{ID: "m"}, UpdateMonitor{ID: "m", Failed: true}, "UpdateMonitor m", false},
		{DeleteMonitor{ID: "m"}, DeleteMonitor{ID: "m", Failed: true}, "DeleteMonitor m", true},
	}
	for _, tt := range tests {
		t.Run(tt.key, func(t *testing.T) {
			if key, failed := Failed(tt.first); key != tt.key || failed {
				t.Errorf("the first change has key %q, a repeat: %t", key, failed)
			}
			if key, failed := Failed(tt.repeat); key != tt.key || !failed {
				t.Errorf("the repeat has key %q, a repeat: %t", key, failed)
			}
			if got := Deletes(tt.repeat); got != tt.deletes {
				t.Errorf("it deletes: %t, want %t", got, tt.deletes)
			}
			if Repairs([]Op{tt.first}) || !Repairs([]Op{tt.first, tt.repeat}) {
				t.Error("only the repeat repairs")
			}
		})
	}
	for _, op := range []Op{UpdateListener{ID: "l", LeftBehind: true}, DeletePool{ID: "p", LeftBehind: true}} {
		if _, failed := Failed(op); failed || !Repairs([]Op{op}) {
			t.Errorf("%s repairs what Octavia left behind, and repeats nothing", op)
		}
	}
	if _, failed := Failed(CreatePool{}); failed || Repairs([]Op{CreatePool{}}) || Deletes(DeleteLoadBalancer{}) {
		t.Error("the creation of a pool repeats nothing, and the deletion of a load balancer is not one of a child")
	}
}

func TestAListenerInErrorGetsItsHeadersAndTLSAgain(t *testing.T) {
	wanted := usual(speak(443, terminated("cert-a", "cert-b")), speak(443, strict(60)), speak(443, func(l *lb.Listener) { l.InsertHeaders = []string{lb.HeaderForwardedFor} }))
	o := cloudWith(wanted).observe()
	o.LoadBalancer.Listeners[1].ProvisioningStatus = lb.Error
	ops := New(wanted, o, web).Ops
	if len(ops) != 1 {
		t.Fatalf("the plan is %v", texts(ops))
	}
	listener := wanted.LoadBalancer.Listeners[1]
	pool, down := o.LoadBalancer.Listeners[1].Pool.ID, false
	want := UpdateListener{
		ID: o.LoadBalancer.Listeners[1].ID, Key: listener.Key(), Failed: true, ConnectionLimit: &listener.ConnectionLimit, AdminDown: &down, AllowedCIDRs: &listener.AllowedCIDRs,
		Timeouts: listener.Timeouts, TLS: listener.TLS, HSTS: &listener.HSTS, InsertHeaders: &listener.InsertHeaders, PoolID: &pool,
	}
	if d := cmp.Diff(written(t, []Op{want}), written(t, ops)); d != "" {
		t.Errorf("ops (-want +got):\n%s", d)
	}
}

func TestAListenerInErrorWithoutHeadersIsWrittenWithoutThem(t *testing.T) {
	o := observedComplete(t)
	o.LoadBalancer.Listeners[0].ProvisioningStatus, o.LoadBalancer.Listeners[0].AllowedCIDRs = lb.Error, nil
	ops := New(usual(sourceRanges()), o, web).Ops
	if len(ops) == 0 {
		t.Fatal("nothing is planned")
	}
	op, ok := ops[0].(UpdateListener)
	if !ok || !op.Failed || op.InsertHeaders != nil || op.HSTS != nil || op.AllowedCIDRs != nil {
		t.Errorf("planned: %s", ops[0])
	}
}

// A monitor in ERROR is written again, unless monitors must not be changed.
func TestAMonitorInErrorIsWrittenAgain(t *testing.T) {
	keep := func(w *lb.Wanted) { w.KeepMonitors = true }
	for name, c := range map[string]struct {
		change edit
		want   []string
	}{
		"written again": {func(*lb.Wanted) {}, []string{"UpdateMonitor"}},
		"left alone":    {keep, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := cloudWith(usual(monitored(lb.MonitorTCP))).observe()
			o.LoadBalancer.Listeners[0].Pool.Monitor.ProvisioningStatus = lb.Error
			var got []string
			for _, op := range New(usual(monitored(lb.MonitorTCP), c.change), o, web).Ops {
				got = append(got, Kind(op))
				if _, failed := Failed(op); !failed {
					t.Errorf("%s is no repeat", op)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("ops (-want +got):\n%s", d)
			}
		})
	}
}

// An interrupted pass left pools behind for a port that is missing.
func TestWhichPoolThatWasLeftIsUsedForANewPort(t *testing.T) {
	wanted := usual(monitored(lb.MonitorTCP))
	made := func(id string, changes ...func(*lb.Pool)) lb.Pool {
		p := asNew(*wanted.LoadBalancer.Listeners[0].Pool)
		p.ID = id
		for _, c := range changes {
			c(&p)
		}
		return p
	}
	failed := func(p *lb.Pool) { p.ProvisioningStatus = lb.Error }
	bare := func(p *lb.Pool) { p.Members, p.Monitor = nil, nil }
	named := func(p *lb.Pool) { p.Name = web.PoolName(7) }
	ofAPI := func(p *lb.Pool) { p.Tags = api.Tags() }
	elsewhere := func(p *lb.Pool) { p.Members[0].SubnetID = "subnet-other" }
	udp := func(p *lb.Pool) { p.Protocol = lb.PoolUDP }
	tests := []struct {
		name   string
		left   []lb.Pool
		want   string // its id, or "" for a new one
		repair bool
	}{
		{"the only one", []lb.Pool{made("a")}, "a", false},
		{"one that lacks least", []lb.Pool{made("a", bare), made("b"), made("c", bare)}, "b", false},
		{"one that works, before one in ERROR", []lb.Pool{made("a", failed), made("b", bare)}, "b", false},
		{"one that works, after one in ERROR", []lb.Pool{made("a", bare), made("b", failed)}, "a", false},
		{"one in ERROR is repaired", []lb.Pool{made("a", failed)}, "a", true},
		{"the first in ERROR is repaired", []lb.Pool{made("a", failed), made("b", failed)}, "a", true},
		{"not one of another port", []lb.Pool{made("a", named)}, "", false},
		{"not one of another Service", []lb.Pool{made("a", ofAPI)}, "", false},
		{"not one of another protocol", []lb.Pool{made("a", udp)}, "", false},
		{"not one in another subnet", []lb.Pool{made("a", elsewhere)}, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := &changes{owner: web, wanted: wanted, detached: tt.left}
			c.wanted.MoveMembers = true
			id, ready := c.createPool(*wanted.LoadBalancer.Listeners[0].Pool)
			if id != tt.want || ready == tt.repair {
				t.Errorf("pool %q, ready: %t; want pool %q, ready: %t", id, ready, tt.want, !tt.repair)
			}
			if repairs := len(c.failed) > 0; repairs != tt.repair {
				t.Errorf("planned: %v", texts(c.ops()))
			}
			isCreation := func(op Op) bool { _, creates := op.(CreatePool); return creates }
			if creates := slices.ContainsFunc(c.ops(), isCreation); creates != (tt.want == "") {
				t.Errorf("planned: %v", texts(c.ops()))
			}
		})
	}
}
