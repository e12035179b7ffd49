// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// withListener is a load balancer with one listener, with these statuses.
func withListener(status, listener lb.ProvisioningStatus) lb.Observed {
	return lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: status, Listeners: []lb.Listener{{
		ID: "l-1", Tags: webOwner.Tags(), Protocol: lb.ListenerTCP, Port: 80, ProvisioningStatus: listener,
		Pool: &lb.Pool{ID: "p-1", ProvisioningStatus: lb.Active},
	}}}}
}

// deciding returns facts, and a decision before children are considered.
func deciding(r memory.Record) (Facts, Decision) {
	f := Facts{Now: noon, Timing: timing.Default(), Owner: services.Owner(web()), Record: r}
	return f, Decision{Action: Converge, Record: r, Goal: Goal{Input: desired.Input{Spec: f.Owner.Spec, Owner: webOwner}}}
}

func TestPendingChildrenGetTimeToBecomeActive(t *testing.T) {
	defaults, before := timing.Default().Unfinished, noon.Add(-2*time.Second)
	of := func(o lb.Observed, u memory.Unfinished) memory.Record {
		return memory.Record{Cloud: memory.Cloud{Known: true, Observed: o}, Unfinished: u}
	}
	tests := map[string]struct {
		record memory.Record
		delay  time.Duration
		want   memory.Unfinished
	}{
		"everything is ACTIVE":      {record: of(withListener(lb.Active, lb.Active), memory.Unfinished{})},
		"everything is ACTIVE now":  {record: of(withListener(lb.Active, lb.Active), memory.Unfinished{Since: before, LeftBehind: true})},
		"PENDING load balancer":     {record: of(withListener(lb.PendingCreate, lb.PendingCreate), memory.Unfinished{})},
		"no load balancer":          {},
		"first seen":                {of(withListener(lb.Active, lb.PendingCreate), memory.Unfinished{}), defaults.First, memory.Unfinished{Since: noon, IDs: []string{"l-1"}}},
		"seen before":               {of(withListener(lb.Active, lb.PendingUpdate), memory.Unfinished{Since: before}), 3 * time.Second, memory.Unfinished{Since: before}},
		"seen after two repairs":    {of(withListener(lb.Active, lb.PendingCreate), memory.Unfinished{Repairs: 2}), 4 * defaults.First, memory.Unfinished{Since: noon, IDs: []string{"l-1"}, Repairs: 2}},
		"seen after ten repairs":    {of(withListener(lb.Active, lb.PendingCreate), memory.Unfinished{Repairs: 10}), defaults.Last, memory.Unfinished{Since: noon, IDs: []string{"l-1"}, Repairs: 10}},
		"changed during the wait":   {record: of(withListener(lb.PendingUpdate, lb.PendingUpdate), memory.Unfinished{Since: before}), want: memory.Unfinished{Since: before}},
		"changed during the repair": {record: of(withListener(lb.PendingUpdate, lb.PendingCreate), memory.Unfinished{LeftBehind: true}), want: memory.Unfinished{LeftBehind: true}},
		"during the repair":         {record: of(withListener(lb.Active, lb.PendingCreate), memory.Unfinished{LeftBehind: true}), want: memory.Unfinished{LeftBehind: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := awaitChildren(deciding(test.record))
			if waits := d.Action == AwaitChildren; waits != (test.delay > 0) || d.Delay != test.delay || waits != (d.Unready != "") {
				t.Errorf("%q for %v: %q", d.Action, d.Delay, d.Unready)
			}
			if diff := cmp.Diff(test.want, d.Record.Unfinished); diff != "" {
				t.Errorf("remembered (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChildrenOfAProviderThatFinishesLateAreLookedAtForAMinute(t *testing.T) {
	for name, test := range map[string]struct {
		provider string
		version  lb.Version
		waited   time.Duration
		read     bool
		action   Action
		need     Need
		delay    time.Duration
	}{
		"first seen":             {provider: lb.ProviderOVN, version: lb.Version{Major: 2, Minor: 30}, action: AwaitChildren, delay: time.Second},
		"before a look":          {provider: lb.ProviderOVN, version: lb.Version{Major: 2, Minor: 30}, waited: 2 * time.Second, need: NeedStatusTree},
		"after 2 s":              {provider: lb.ProviderOVN, version: lb.Version{Major: 2, Minor: 30}, waited: 2 * time.Second, read: true, action: AwaitChildren, delay: 2 * time.Second},
		"after 12 s":             {provider: lb.ProviderOVN, version: lb.Version{Major: 2, Minor: 30}, waited: 12 * time.Second, read: true, action: AwaitChildren, delay: 12 * time.Second},
		"shortly before the end": {provider: lb.ProviderOVN, version: lb.Version{Major: 2, Minor: 30}, waited: 58 * time.Second, read: true, action: AwaitChildren, delay: 2 * time.Second},
		"after a minute":         {provider: lb.ProviderOVN, version: lb.Version{Major: 2, Minor: 30}, waited: time.Minute, read: true, action: Converge},
		"an old ovn after 12 s":  {provider: lb.ProviderOVN, version: lb.Version{Major: 2, Minor: 26}, waited: 12 * time.Second, read: true, action: Converge},
		"amphora after 12 s":     {provider: lb.ProviderAmphora, version: lb.Version{Major: 2, Minor: 30}, waited: 12 * time.Second, read: true, action: Converge},
		"a third after 12 s":     {provider: "vendor", version: lb.Version{Major: 2, Minor: 30}, waited: 12 * time.Second, read: true, action: AwaitChildren, delay: 12 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			o := withListener(lb.Active, lb.PendingCreate)
			o.LoadBalancer.Provider = test.provider
			r := memory.Record{Cloud: memory.Cloud{Known: true, Observed: o}}
			if test.waited > 0 {
				r.Unfinished = memory.Unfinished{Since: noon.Add(-test.waited), IDs: diff.UnfinishedIDs(*o.LoadBalancer, webOwner)}
			}
			f, d := deciding(r)
			f.Capabilities.APIVersion = test.version
			if test.read {
				f.Provided = []Need{NeedStatusTree}
			}
			d = awaitChildren(f, d)
			if d.Action != test.action || d.Need != test.need || d.Delay != test.delay {
				t.Errorf("%q, need %q, delay %v", d.Action, d.Need, d.Delay)
			}
			if leftBehind := test.action == Converge && test.need == ""; d.LeftBehind != leftBehind {
				t.Errorf("left behind: %t", d.LeftBehind)
			}
		})
	}
}

func TestChildrenAreLeftBehindIfNoneBecomesActiveInTime(t *testing.T) {
	unfinished := func(listener, pool lb.ProvisioningStatus) lb.Observed {
		o := withListener(lb.Active, listener)
		o.LoadBalancer.Listeners[0].Pool.ProvisioningStatus = pool
		return o
	}
	was := memory.Unfinished{Since: noon.Add(-time.Minute), IDs: diff.UnfinishedIDs(*unfinished(lb.PendingCreate, lb.PendingCreate).LoadBalancer, webOwner)}
	for name, test := range map[string]struct {
		now        lb.Observed
		read       bool
		need       Need
		action     Action
		leftBehind bool
	}{
		"status tree not read": {now: unfinished(lb.PendingCreate, lb.PendingCreate), need: NeedStatusTree},
		"all became ACTIVE":    {now: unfinished(lb.Active, lb.Active), read: true, action: Converge},
		"one became ACTIVE":    {now: unfinished(lb.PendingCreate, lb.Active), read: true, action: AwaitChildren},
		"none became ACTIVE":   {now: unfinished(lb.PendingCreate, lb.PendingCreate), read: true, action: Converge, leftBehind: true},
	} {
		t.Run(name, func(t *testing.T) {
			f, d := deciding(memory.Record{Cloud: memory.Cloud{Known: true, Observed: test.now}, Unfinished: was})
			if test.read {
				f.Provided = []Need{NeedStatusTree}
			}
			d = awaitChildren(f, d)
			if d.Need != test.need || d.Action != test.action || d.LeftBehind != test.leftBehind || d.Record.Unfinished.LeftBehind != test.leftBehind {
				t.Errorf("need %q, %q, left behind %t, remembered %+v", d.Need, d.Action, d.LeftBehind, d.Record.Unfinished)
			}
			if u := d.Record.Unfinished; test.action == AwaitChildren && (!u.Since.Equal(noon) || len(u.IDs) != 1) {
				t.Errorf("the others do not get the same time again: %+v", u)
			}
		})
	}
}

func TestChildrenThatAreUnfinishedOnConfirmationGetTimeAgain(t *testing.T) {
	pending, active := withListener(lb.Active, lb.PendingUpdate), withListener(lb.Active, lb.Active)
	trouble := memory.Record{Recovery: memory.Recovery{Deletions: timing.Tries{Count: 2}}, Unfinished: memory.Unfinished{Repairs: 1}, Progress: memory.Progress{Trouble: "x"}}
	left := memory.Record{Unfinished: memory.Unfinished{LeftBehind: true, Repairs: 1}}
	for name, test := range map[string]struct {
		record      memory.Record
		observed    lb.Observed
		refused     []diff.Refusal
		waits, done bool
	}{
		"everything is ACTIVE":               {observed: active, done: true},
		"everything is ACTIVE after trouble": {record: trouble, observed: active, done: true},
		"everything is ACTIVE, but refused":  {record: trouble, observed: active, refused: []diff.Refusal{{Reason: "x"}}},
		"listener is PENDING after a repair": {record: left, observed: pending, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			test.record.Cloud = memory.Cloud{Known: true, Confirmed: true, Observed: test.observed}
			f, d := deciding(test.record)
			d.Plan.Refused = test.refused
			d = confirm(f, d, *test.observed.LoadBalancer)
			if (d.Delay > 0) != test.waits || d.Done != test.done {
				t.Errorf("waits %v, done %t", d.Delay, d.Done)
			}
			if u := d.Record.Unfinished; test.waits && (d.Delay != timing.Default().Unfinished.First<<u.Repairs || u.LeftBehind || d.Record.Cloud.Confirmed || d.Unready == "") {
				t.Errorf("waits %v, unready %q, record %+v", d.Delay, d.Unready, d.Record)
			}
			if r := d.Record; !test.waits && (r.Recovery.Deletions.Count > 0 || r.Unfinished.Repairs > 0 || r.Progress.Trouble != "") {
				t.Errorf("failures before it served still count: %+v", r)
			}
		})
	}
}

func TestUrgentMembersFitTheExistingMonitor(t *testing.T) {
	observed := withListener(lb.Active, lb.Active)
	working := &observed.LoadBalancer.Listeners[0]
	working.AllowedCIDRs = []string{"0.0.0.0/0"}
	working.Pool.Protocol = lb.PoolTCP
	working.Pool.Monitor = &lb.HealthMonitor{ID: "m-1", Type: lb.MonitorHTTP, ProvisioningStatus: lb.Active}
	working.Pool.Members = []lb.Member{{ID: "a", Address: "10.0.0.11", Port: 30080, Weight: 1, MonitorPort: 32000}}
	late := lb.Listener{ID: "l-2", Tags: webOwner.Tags(), Protocol: lb.ListenerTCP, Port: 443, ProvisioningStatus: lb.PendingCreate}
	observed.LoadBalancer.Listeners = append(observed.LoadBalancer.Listeners, late)

	wanted := diff.Clone(observed)
	port := &wanted.LoadBalancer.Listeners[0]
	port.AllowedCIDRs, port.ConnectionLimit, port.Pool.Monitor = []string{"10.0.0.0/8"}, 9, nil
	port.Pool.Members = []lb.Member{{Address: "10.0.0.12", Port: 30080, Weight: 1}}
	f, d := deciding(memory.Record{Cloud: memory.Cloud{Known: true, Observed: observed}})
	d.Goal.Wanted = lb.Wanted{LoadBalancer: wanted.LoadBalancer, Withheld: []lb.Withheld{{Reason: "Unsupported"}}}
	d.Goal.Input = desired.Input{Owner: webOwner, Spec: f.Owner.Spec, Nodes: []corev1.Node{{
		ObjectMeta: metav1.ObjectMeta{Name: "b"},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.12"}}},
	}}}
	got := urgentPlan(f, d)
	want := []diff.Op{
		diff.UpdateListener{ID: "l-1", Key: working.Key(), AllowedCIDRs: &port.AllowedCIDRs},
		diff.SetMembers{PoolID: "p-1", Added: 1, Removed: 1, Members: []lb.Member{
			{Name: "b", Address: "10.0.0.12", Port: 30080, Weight: 1, MonitorPort: 32000},
		}},
	}
	if diff := cmp.Diff(want, got.Ops, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("ops (-want +got):\n%s", diff)
	}
	if len(got.Refused) != 1 {
		t.Errorf("what is withheld is no longer reported: %+v", got.Refused)
	}
}

func TestPoolWithoutListenerIsNamedOnlyIfItIsOurs(t *testing.T) {
	for name, tags := range map[string][]string{"ours": webOwner.Tags(), "another owner's": {"x"}} {
		l := *withListener(lb.Active, lb.Active).LoadBalancer
		l.DetachedPools = []lb.Pool{{ID: "p-9", Name: "canary", Tags: tags, ProvisioningStatus: lb.PendingUpdate}}
		if got := unready(l, webOwner); strings.Contains(got, "pool p-9 is in PENDING_UPDATE") != (name == "ours") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
