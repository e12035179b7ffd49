// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// An observed load balancer with a part that is PENDING below it, or none.
func withPart(whole, part lb.ProvisioningStatus) lb.Observed {
	owner := lb.Owner{ClusterUID: "c", ServiceUID: "s"}
	return lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: whole, Listeners: []lb.Listener{{
		ID: "l-1", Tags: owner.Tags(), Protocol: lb.ListenerTCP, Port: 80, ProvisioningStatus: part,
		Pool: &lb.Pool{ID: "p-1", ProvisioningStatus: lb.Active},
	}}}}
}

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
		"seen for the first time":             {record: record{observed: withPart(lb.Active, lb.PendingCreate)}, patient: true, delay: firstPatience, since: now},
		"seen a while ago":                    {record: record{observed: withPart(lb.Active, lb.PendingUpdate), unfinished: now.Add(-2 * time.Second)}, patient: true, delay: 3 * time.Second, since: now.Add(-2 * time.Second)},
		"seen again after a repair":           {record: record{observed: withPart(lb.Active, lb.PendingCreate), repairs: 2}, patient: true, delay: 4 * firstPatience, since: now},
		"seen again after repair upon repair": {record: record{observed: withPart(lb.Active, lb.PendingCreate), repairs: 10}, patient: true, delay: lastPatience, since: now},
		"changed while it is waited for":      {record: record{observed: withPart(lb.PendingUpdate, lb.PendingUpdate), unfinished: now.Add(-2 * time.Second)}, since: now.Add(-2 * time.Second)},
		"changed while it is repaired":        {record: record{observed: withPart(lb.PendingUpdate, lb.PendingCreate), leftBehind: true}},
		"being repaired":                      {record: record{observed: withPart(lb.Active, lb.PendingCreate), leftBehind: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &ServiceReconciler{now: func() time.Time { return now }}
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
	p := &pass{owner: owner, record: record{observed: observed}, wanted: lb.Wanted{
		LoadBalancer: wanted.LoadBalancer, Withheld: []lb.Withheld{{Reason: "Unsupported"}},
	}}
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
