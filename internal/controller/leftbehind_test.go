// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// An observed load balancer with a part that is PENDING below it, or none.
func withPart(whole, part lb.ProvisioningStatus) lb.Observed {
	owner := lb.Owner{ClusterUID: "c", ServiceUID: "s"}
	return lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: whole, Listeners: []lb.Listener{{
		ID: "l-1", Tags: owner.Tags(), Protocol: lb.ListenerTCP, Port: 80, ProvisioningStatus: part,
		Pool: &lb.Pool{ID: "p-1", ProvisioningStatus: lb.Active},
	}}}}
}

// defaults are how long users wait.
var defaults = timing.Default()

func TestPartsThatAreNotReadyYetAreLeftAloneForAWhile(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	tests := map[string]struct {
		record  record
		patient bool
		delay   time.Duration
		since   time.Time
	}{
		"all is ACTIVE":                       {record: record{observed: withPart(lb.Active, lb.Active)}},
		"all is ACTIVE by now":                {record: record{observed: withPart(lb.Active, lb.Active), unfinished: now.Add(-time.Second), leftBehind: true}},
		"Octavia builds":                      {record: record{observed: withPart(lb.PendingCreate, lb.PendingCreate)}},
		"nothing is there":                    {record: record{}},
		"seen for the first time":             {record: record{observed: withPart(lb.Active, lb.PendingCreate)}, patient: true, delay: defaults.FirstPatience, since: now},
		"seen a while ago":                    {record: record{observed: withPart(lb.Active, lb.PendingUpdate), unfinished: now.Add(-2 * time.Second)}, patient: true, delay: 3 * time.Second, since: now.Add(-2 * time.Second)},
		"seen again after a repair":           {record: record{observed: withPart(lb.Active, lb.PendingCreate), repairs: 2}, patient: true, delay: 4 * defaults.FirstPatience, since: now},
		"seen again after repair upon repair": {record: record{observed: withPart(lb.Active, lb.PendingCreate), repairs: 10}, patient: true, delay: defaults.LastPatience, since: now},
		"changed while it is waited for":      {record: record{observed: withPart(lb.PendingUpdate, lb.PendingUpdate), unfinished: now.Add(-2 * time.Second)}, since: now.Add(-2 * time.Second)},
		"changed while it is repaired":        {record: record{observed: withPart(lb.PendingUpdate, lb.PendingCreate), leftBehind: true}},
		"being repaired":                      {record: record{observed: withPart(lb.Active, lb.PendingCreate), leftBehind: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &ServiceReconciler{timing: defaults, now: func() time.Time { return now }}
			p := &pass{owner: lb.Owner{ClusterUID: "c", ServiceUID: "s"}, record: test.record}
			patient, err := r.hasPatience(t.Context(), p)
			if err != nil || patient != test.patient || p.delay != test.delay || !p.record.unfinished.Equal(test.since) {
				t.Errorf("patient: %t, for %v since %v, %v", patient, p.delay, p.record.unfinished, err)
			}
			if patient != (p.unready != "") {
				t.Errorf("unready: %q", p.unready)
			}
			if name == "all is ACTIVE by now" && p.record.leftBehind {
				t.Error("what is ACTIVE is taken for left behind")
			}
			if name == "changed while it is repaired" && !p.record.leftBehind {
				t.Error("a repair is forgotten while Octavia carries it out")
			}
		})
	}
}

func TestMembersThatCannotWaitAreThoseOfTheMonitorThatStaysForNow(t *testing.T) {
	observed := withPart(lb.Active, lb.Active)
	working := &observed.LoadBalancer.Listeners[0]
	working.AllowedCIDRs = []string{"0.0.0.0/0"}
	working.Pool.Protocol = lb.PoolTCP
	working.Pool.Monitor = &lb.HealthMonitor{ID: "m-1", Type: lb.MonitorHTTP, ProvisioningStatus: lb.Active}
	working.Pool.Members = []lb.Member{{ID: "a", Address: "10.0.0.11", Port: 30080, Weight: 1, MonitorPort: 32000}}
	owner := lb.Owner{ClusterUID: "c", ServiceUID: "s"}
	late := lb.Listener{ID: "l-2", Tags: owner.Tags(), Protocol: lb.ListenerTCP, Port: 443, ProvisioningStatus: lb.PendingCreate}
	observed.LoadBalancer.Listeners = append(observed.LoadBalancer.Listeners, late)

	wanted := diff.Clone(observed)
	port := &wanted.LoadBalancer.Listeners[0]
	port.AllowedCIDRs, port.ConnectionLimit, port.Pool.Monitor = []string{"10.0.0.0/8"}, 9, nil
	port.Pool.Members = []lb.Member{{Address: "10.0.0.12", Port: 30080, Weight: 1}}
	p := &pass{owner: owner, record: record{observed: observed}}
	p.wanted = lb.Wanted{LoadBalancer: wanted.LoadBalancer, Withheld: []lb.Withheld{{Reason: "Unsupported"}}}
	p.input = build.Input{Owner: owner, Service: served(), Nodes: []corev1.Node{{
		ObjectMeta: metav1.ObjectMeta{Name: "b"},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.12"}}},
	}}}
	p.input.Service.Spec.Ports = []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}}

	got := meanwhile(p)
	want := []diff.Op{
		diff.UpdateListener{ID: "l-1", Key: working.Key(), AllowedCIDRs: &port.AllowedCIDRs},
		diff.SetMembers{PoolID: "p-1", Added: 1, Removed: 1, Members: []lb.Member{
			{Name: "b", Address: "10.0.0.12", Port: 30080, Weight: 1, MonitorPort: 32000},
		}},
	}
	if !reflect.DeepEqual(got.Ops, want) {
		t.Errorf("planned:\n%+v\nwant:\n%+v", got.Ops, want)
	}
	if len(got.Refused) != 1 {
		t.Errorf("what is withheld is told no more: %+v", got.Refused)
	}
}

func TestAnUnusedPoolThatIsNotReadyIsNamedWhenItIsOurs(t *testing.T) {
	owner := lb.Owner{ClusterUID: "c", ServiceUID: "s"}
	for name, tags := range map[string][]string{"ours": owner.Tags(), "somebody else's": {"x"}} {
		l := *withPart(lb.Active, lb.Active).LoadBalancer
		l.DetachedPools = []lb.Pool{{ID: "p-9", Name: "canary", Tags: tags, ProvisioningStatus: lb.PendingUpdate}}
		if got := unready(l, owner); strings.Contains(got, "pool p-9 is in PENDING_UPDATE") != (name == "ours") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// seeing is a reconciler at noon for which the load balancer of withPart has
// status ACTIVE, and its listener, pool and a member these.
func seeing(t *testing.T, listener, pool, member lb.ProvisioningStatus) *ServiceReconciler {
	t.Helper()
	return calling(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"statuses": {"loadbalancer": {"id": "lb-1", "provisioning_status": "ACTIVE", "listeners": [{
			"id": "l-1", "provisioning_status": %q, "pools": [{
				"id": "p-1", "provisioning_status": %q, "members": [{
					"id": "m-1", "address": "10.0.0.11", "protocol_port": 30080, "provisioning_status": %q}]}]}]}}}`, listener, pool, member)
	})
}

// calling is a reconciler at noon whose calls to Octavia are answered by handle.
func calling(t *testing.T, handle http.HandlerFunc) *ServiceReconciler {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	metrics, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	client := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: server.URL + "/v2.0/", Type: "load-balancer"}
	return &ServiceReconciler{
		Planner: &Planner{Octavia: octavia.New(client, lb.Capabilities{})},
		Metrics: metrics,
		timing:  defaults,
		now:     func() time.Time { return noon },
	}
}

// withMember is withPart with a member, whose status is that of the pool.
func withMember(listener, pool lb.ProvisioningStatus) lb.Observed {
	o := withPart(lb.Active, listener)
	p := o.LoadBalancer.Listeners[0].Pool
	p.ProvisioningStatus = pool
	p.Members = []lb.Member{{ID: "m-1", Address: "10.0.0.11", Port: 30080, ProvisioningStatus: pool}}
	return o
}

func TestPartsAreLeftBehindWhenNoneOfThemBecameActiveInTime(t *testing.T) {
	const active, creating, updating = lb.Active, lb.PendingCreate, lb.PendingUpdate
	long := noon.Add(-time.Minute)
	tests := map[string]struct {
		was                    lb.Observed
		listener, pool, member lb.ProvisioningStatus
		madeComplete           string
		patient, left, learns  bool
	}{
		"all of them became ACTIVE":            {was: withMember(creating, creating), listener: active, pool: active, member: active},
		"one of them became ACTIVE":            {was: withMember(creating, creating), listener: creating, pool: active, member: creating, patient: true},
		"none of them did":                     {was: withMember(creating, creating), listener: creating, pool: creating, member: creating, left: true},
		"none of those that one call made":     {was: withMember(creating, creating), listener: creating, pool: creating, member: creating, madeComplete: "lb-1", left: true, learns: true},
		"one call made another load balancer":  {was: withMember(creating, creating), listener: creating, pool: creating, member: creating, madeComplete: "lb-0", left: true},
		"none, and one more is unfinished":     {was: withMember(updating, active), listener: updating, pool: active, member: creating, left: true},
		"a later change of what one call made": {was: withMember(updating, active), listener: updating, pool: active, member: active, madeComplete: "lb-1", left: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := seeing(t, test.listener, test.pool, test.member)
			p := &pass{owner: lb.Owner{ClusterUID: "c", ServiceUID: "s"}, record: record{
				known: true, observed: test.was, unfinished: long, madeComplete: test.madeComplete,
			}}
			p.record.unfinishedIDs = diff.UnfinishedIDs(*test.was.LoadBalancer, p.owner)
			patient, err := r.hasPatience(t.Context(), p)
			if err != nil || patient != test.patient || p.record.leftBehind != test.left {
				t.Errorf("patient: %t, left behind: %t, %v", patient, p.record.leftBehind, err)
			}
			if patient && (!p.record.unfinished.Equal(noon) || len(p.record.unfinishedIDs) != 2) {
				t.Errorf("those that are still unfinished get no time of their own: %v since %v", p.record.unfinishedIDs, p.record.unfinished)
			}
			if got := r.leavesParts.Load(); got != test.learns {
				t.Errorf("the cloud is taken for one that leaves parts behind: %t", got)
			}
		})
	}
}

func TestPartsThatConfirmingFindsUnfinishedGetTheirTime(t *testing.T) {
	repair := []diff.Op{diff.DeletePool{ID: "p-0", LeftBehind: true}}
	tests := map[string]struct {
		listener lb.ProvisioningStatus
		record   record
		ops      []diff.Op
		refused  []diff.Refusal
		waits    bool
		left     int
	}{
		"all is ACTIVE":                                {listener: lb.Active},
		"all is ACTIVE at last":                        {listener: lb.Active, record: record{deletions: 2, repairs: 1, failed: "x"}},
		"all is ACTIVE that can be had":                {listener: lb.Active, record: record{deletions: 2, repairs: 1, failed: "x"}, refused: []diff.Refusal{{Reason: "x"}}},
		"a part is PENDING":                            {listener: lb.PendingUpdate, waits: true},
		"a part is PENDING, and was planned for":       {listener: lb.PendingUpdate, ops: repair, waits: true},
		"a part is PENDING after its repair":           {listener: lb.PendingUpdate, record: record{leftBehind: true, repairs: 1}, waits: true},
		"a part is PENDING whose repair is not at end": {listener: lb.PendingUpdate, record: record{leftBehind: true, repairs: 1}, ops: repair, left: 1},
		"there is more to do":                          {listener: lb.Active, ops: repair, left: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := seeing(t, test.listener, lb.Active, lb.Active)
			test.record.known, test.record.observed = true, withMember(lb.Active, lb.Active)
			p := &pass{owner: lb.Owner{ClusterUID: "c", ServiceUID: "s"}, record: test.record}
			p.plan = diff.Plan{Ops: test.ops, Refused: test.refused}
			if err := r.confirm(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if waits := p.delay > 0; waits != test.waits || len(p.plan.Ops) != test.left {
				t.Errorf("waits: %t, and then does %v", waits, p.plan.Ops)
			}
			if test.waits && (p.delay != defaults.FirstPatience<<test.record.repairs || p.record.leftBehind || p.record.confirmed || p.unready == "") {
				t.Errorf("waits %v, unready: %q, record: %+v", p.delay, p.unready, p.record)
			}
			if test.listener == lb.Active && len(test.ops) == 0 && (p.record.deletions > 0 || p.record.repairs > 0 || p.record.failed != "") {
				t.Errorf("what failed before it served counts still: %+v", p.record)
			}
			if p.done != (!test.waits && len(test.ops) == 0 && len(test.refused) == 0) {
				t.Errorf("done: %t", p.done)
			}
		})
	}
}
