// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

const (
	balancerID = "11111111-0000-4000-8000-000000000000"
	listenerID = "22222222-0000-4000-8000-000000000000"
	poolID     = "33333333-0000-4000-8000-000000000000"
	monitorID  = "44444444-0000-4000-8000-000000000000"
	memberID   = "55555555-0000-4000-8000-000000000000"
	otherID    = "66666666-0000-4000-8000-000000000000"
	leftID     = "77777777-0000-4000-8000-000000000000"
)

var (
	changed  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	webOwner = lb.Owner{ClusterName: "prod", ClusterUID: "c-1", Namespace: "shop", Name: "web", ServiceUID: "uid-1"}
	another  = lb.Owner{ClusterName: "prod", ClusterUID: "c-1", Namespace: "shop", Name: "api", ServiceUID: "uid-2"}
)

// programmed returns Service shop/web, which was Programmed some time ago.
func programmed() *corev1.Service {
	v := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid-1", Annotations: map[string]string{annotation.LoadBalancerID: balancerID}}}
	v.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.7"}}
	v.Status.Conditions = []metav1.Condition{{Type: status.Programmed, Status: metav1.ConditionTrue, Reason: status.ReasonProgrammed, Message: "it serves",
		LastTransitionTime: metav1.NewTime(changed.Add(-time.Hour))}}
	return v
}

// listed returns a load balancer with a port of shop/web, which has a health monitor and two members, and a port of shop/api.
func listed() octavia.Listed {
	pool := lb.Pool{ID: poolID, Tags: webOwner.Tags(), Protocol: lb.PoolTCP, ProvisioningStatus: lb.Active,
		Monitor: &lb.HealthMonitor{ID: monitorID, Type: lb.MonitorTCP, ProvisioningStatus: lb.Active}}
	return octavia.Listed{
		Bare: lb.LoadBalancer{
			ID: balancerID, Name: "kube_service_prod_shop_web", Tags: webOwner.Tags(), ProvisioningStatus: lb.Active, OperatingStatus: "DEGRADED",
			UpdatedAt: "2026-11-21T12:00:00", VIP: lb.VIP{Address: "10.0.0.5", PortID: "port-1"}, AdditionalVIPs: []lb.VIP{{Address: "2001:db8::5"}},
			Listeners: []lb.Listener{
				{ID: listenerID, Tags: webOwner.Tags(), Protocol: lb.ListenerTCP, Port: 80, ProvisioningStatus: lb.Active, Pool: &pool},
				{ID: otherID, Tags: another.Tags(), Protocol: lb.ListenerTCP, Port: 81, ProvisioningStatus: lb.Active, Pool: &lb.Pool{ID: otherID}},
			},
			DetachedPools: []lb.Pool{{ID: leftID, Tags: webOwner.Tags(), Protocol: lb.PoolTCP, ProvisioningStatus: lb.Active}},
		},
		Complete: true,
		Members:  map[string]int{poolID: 2, otherID: 5, leftID: 1},
	}
}

// treeOf returns the status tree of that load balancer, whose members have the operating statuses.
func treeOf(t *testing.T, first, second string) *octavia.Tree {
	t.Helper()
	member := func(id, address, operating string) map[string]any {
		return map[string]any{"id": id, "name": "node-" + address[len(address)-1:], "address": address, "protocol_port": 30080, "provisioning_status": "ACTIVE", "operating_status": operating}
	}
	text, err := json.Marshal(map[string]any{
		"id": balancerID, "provisioning_status": "ACTIVE", "operating_status": "DEGRADED",
		"listeners": []any{map[string]any{"id": listenerID, "provisioning_status": "ACTIVE", "operating_status": "ONLINE", "pools": []any{map[string]any{
			"id": poolID, "provisioning_status": "ACTIVE", "operating_status": "DEGRADED",
			"health_monitor": map[string]any{"id": monitorID, "provisioning_status": "ACTIVE", "operating_status": "ONLINE"},
			"members":        []any{member(memberID, "10.0.0.2", first), member(otherID, "10.0.0.3", second)},
		}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var tree octavia.Tree
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	return &tree
}

// known returns what is known about shop/web when everything was read.
func known(t *testing.T) holding {
	l := listed()
	return holding{
		service: programmed(), owner: webOwner, own: []octavia.Listed{l}, current: &l, tree: treeOf(t, "ONLINE", "ERROR"),
		floating: []lb.FloatingIP{{ID: "f-1", Address: "203.0.113.7", PortID: "port-1"}},
	}
}

func TestAServiceHasTheStateOfItsOwnPartsOnly(t *testing.T) {
	up := 1
	got := known(t).status()
	want := ServiceStatus{
		Namespace: "shop", Name: "web", LoadBalancerID: balancerID, LoadBalancerName: "kube_service_prod_shop_web", ProvisioningStatus: lb.Active, OperatingStatus: "DEGRADED",
		Addresses:   Addresses{Address: "203.0.113.7", Published: []string{"203.0.113.7"}, VIPs: []string{"10.0.0.5", "2001:db8::5"}, FloatingIPs: []string{"203.0.113.7"}},
		Programming: Programming{"True", "Programmed", "it serves"},
		Members:     &Members{Total: 2, Up: &up},
		LastChange:  LastChange{&metav1.Time{Time: changed}, "load balancer"},
		Drift:       Drift{Ops: []Op{}},
		Objects:     Objects{LoadBalancers: 1, Listeners: 1, Pools: 2, Members: 3, HealthMonitors: 1, FloatingIPs: 1},
		Parts: []Part{
			{Kind: "listener", ID: listenerID, Protocol: "TCP", Port: 80, ProvisioningStatus: lb.Active, OperatingStatus: "ONLINE", Parts: []Part{
				{Kind: "pool", ID: poolID, Protocol: "TCP", ProvisioningStatus: lb.Active, OperatingStatus: "DEGRADED", Parts: []Part{
					{Kind: "member", ID: memberID, Name: "node-2", Address: "10.0.0.2", Port: 30080, ProvisioningStatus: lb.Active, OperatingStatus: "ONLINE"},
					{Kind: "member", ID: otherID, Name: "node-3", Address: "10.0.0.3", Port: 30080, ProvisioningStatus: lb.Active, OperatingStatus: "ERROR"},
					{Kind: "healthmonitor", ID: monitorID, Protocol: "TCP", ProvisioningStatus: lb.Active, OperatingStatus: "ONLINE"},
				}},
			}},
			{Kind: "pool", ID: leftID, Protocol: "TCP", ProvisioningStatus: lb.Active},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestPartsOfTheStatusOfAService(t *testing.T) {
	none := func(f *holding) { f.own, f.current, f.tree, f.floating = nil, nil, nil, nil }
	number := func(n int) *int { return &n }
	for name, c := range map[string]struct {
		edit func(*holding)
		// got is the part of the status that matters.
		got  func(ServiceStatus) any
		want any
	}{
		"members, if their statuses were not read": {func(f *holding) { f.tree = nil }, func(v ServiceStatus) any { return *v.Members }, Members{Total: 2}},
		"members, if the tree cannot be read":      {func(f *holding) { f.treeErr = errors.New("no answer") }, func(v ServiceStatus) any { return *v.Members }, Members{Total: 2, Unknown: "no answer"}},
		"members without a health monitor":         {func(f *holding) { f.tree = treeOf(t, "NO_MONITOR", "NO_MONITOR") }, func(v ServiceStatus) any { return *v.Members }, Members{Total: 2, Up: number(0), Unmonitored: 2}},
		"members of none":                          {none, func(v ServiceStatus) any { return v.Members == nil }, true},
		"parts, if the tree cannot be read":        {func(f *holding) { f.treeErr = errors.New("no answer") }, func(v ServiceStatus) any { return len(v.Parts) }, 0},
		"last change without a load balancer":      {none, func(v ServiceStatus) any { return v.LastChange }, LastChange{&metav1.Time{Time: changed.Add(-time.Hour)}, "condition Programmed"}},
		"last change that Octavia does not show":   {func(f *holding) { f.current.Bare.UpdatedAt = "" }, func(v ServiceStatus) any { return v.LastChange }, LastChange{}},
		"last change of an unreconciled Service":   {func(f *holding) { none(f); f.service.Status.Conditions = nil }, func(v ServiceStatus) any { return v.LastChange }, LastChange{}},
		"condition of an unreconciled Service":     {func(f *holding) { f.service.Status.Conditions = nil }, func(v ServiceStatus) any { return v.Programming }, Programming{Programmed: "Unknown"}},
		"id of a load balancer that is gone":       {none, func(v ServiceStatus) any { return v.LoadBalancerID + string(v.ProvisioningStatus) }, balancerID},
		"objects of a sharer":                      {func(f *holding) { f.own, f.owner.Sharer = nil, true }, func(v ServiceStatus) any { return v.Objects }, Objects{Listeners: 1, Pools: 2, Members: 3, HealthMonitors: 1}},
		"objects of a sharer that counts for all": {func(f *holding) { f.own, f.owner.Sharer, f.countsShared = nil, true, true }, func(v ServiceStatus) any { return v.Objects },
			Objects{LoadBalancers: 1, Listeners: 1, Pools: 2, Members: 3, HealthMonitors: 1, FloatingIPs: 1}},
		"addresses of two families": {func(f *holding) {
			f.service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.7"}, {IP: "2001:db8::5"}}
		}, func(v ServiceStatus) any { return []any{v.Address, v.Published} }, []any{"203.0.113.7", []string{"203.0.113.7", "2001:db8::5"}}},
		"an address that is a host name": {func(f *holding) {
			f.service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: "203.0.113.7.nip.io"}}
		}, func(v ServiceStatus) any { return v.Address }, "203.0.113.7.nip.io"},
		"objects of a Service with two":              {func(f *holding) { f.own = append(f.own, octavia.Listed{}) }, func(v ServiceStatus) any { return v.Objects.LoadBalancers }, 2},
		"objects with a floating IP that leads away": {func(f *holding) { f.floating = append(f.floating, lb.FloatingIP{ID: "f-2", PortID: "elsewhere"}) }, func(v ServiceStatus) any { return []any{v.Objects.FloatingIPs, len(v.FloatingIPs)} }, []any{2, 1}},
		"drift while Octavia works": {func(f *holding) { f.current.Bare.ProvisioningStatus = lb.PendingUpdate }, func(v ServiceStatus) any { return v.Drift },
			Drift{Ops: []Op{}, Unknown: "Octavia is working on the load balancer: PENDING_UPDATE"}},
		"drift, if a call fails": {func(f *holding) { f.planErr = errors.New("no answer") }, func(v ServiceStatus) any { return v.Drift }, Drift{Ops: []Op{}, Unknown: "no answer"}},
		"drift, if the Secret must not be read": {func(f *holding) {
			f.plan.Refused = []diff.Refusal{{Reason: desired.ReasonSecretForbidden, Message: "forbidden"}}
		}, func(v ServiceStatus) any { return v.Drift }, Drift{Ops: []Op{}, Unknown: "the user of this kubeconfig may not read the Secret with the certificate, so only members were compared"}},
		"drift that is repaired, and drift that is not": {func(f *holding) {
			f.plan.Ops = []diff.Op{diff.DeleteListener{ID: otherID, Key: lb.ListenerKey{Transport: lb.TCP, Port: 81}}}
			f.plan.Refused = []diff.Refusal{{Reason: status.ReasonDrifted, Message: "not repaired"}, {Reason: "Other", Message: "no drift"}}
		}, func(v ServiceStatus) any { return v.Drift }, Drift{Ops: []Op{{Kind: "DeleteListener", Text: "close port TCP/81 (listener " + otherID + ")"}}, Held: []string{"not repaired"}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := known(t)
			c.edit(&f)
			if d := cmp.Diff(c.want, c.got(f.status())); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestSharedLoadBalancerIsCountedOnce(t *testing.T) {
	balancer := listed()
	theOwner := holding{service: programmed(), owner: webOwner, own: []octavia.Listed{balancer}, current: &balancer}
	sharer := holding{service: programmed(), owner: another, current: &balancer}
	sharer.owner.Sharer = true
	without := holding{service: programmed(), owner: webOwner}
	for name, c := range map[string]struct {
		found []holding
		want  []int
	}{
		"with its owner":              {[]holding{sharer, theOwner, sharer}, []int{0, 1, 0}},
		"its owner is not among them": {[]holding{without, sharer, sharer}, []int{0, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			countShared(c.found)
			var got []int
			for _, f := range c.found {
				got = append(got, f.status().Objects.LoadBalancers)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
