// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
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
