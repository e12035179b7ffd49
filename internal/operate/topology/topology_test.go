// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

// facts returns the facts of a Service that serves with two members.
func facts(edits ...func(*ServiceFacts)) ServiceFacts {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid-1"}}
	service.Spec.Ports = []corev1.ServicePort{{Port: 443}}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.7"}}
	service.Status.Conditions = []metav1.Condition{{Type: status.Programmed, Status: metav1.ConditionTrue, Reason: status.ReasonProgrammed}}
	pool := lb.Pool{ID: "p-1", Name: "pool", ProvisioningStatus: lb.Active, Monitor: &lb.HealthMonitor{ID: "m-1", ProvisioningStatus: lb.Active}, Members: []lb.Member{
		{ID: "a", Address: "10.0.0.1", Port: 30000, ProvisioningStatus: lb.Active}, {ID: "b", Address: "10.0.0.2", Port: 30000, ProvisioningStatus: lb.Active},
	}}
	f := ServiceFacts{
		Service: service,
		Observed: lb.Observed{
			LoadBalancer: &lb.LoadBalancer{ID: "lb-1", VIP: lb.VIP{Address: "10.0.0.9", PortID: "port-1"}, ProvisioningStatus: lb.Active, OperatingStatus: online,
				Listeners: []lb.Listener{{ID: "l-1", Protocol: "TCP", Port: 443, ProvisioningStatus: lb.Active, Pool: &pool}}},
			FloatingIPs: []lb.FloatingIP{{Address: "203.0.113.7", PortID: "port-1"}},
		},
		Details: Details{MembersRead: true, Statuses: map[string]octavia.Status{
			"l-1": {Operating: online}, "p-1": {Operating: online}, "a": {Operating: online}, "b": {Operating: online}, "m-1": {Operating: online},
		}},
	}
	for _, edit := range edits {
		edit(&f)
	}
	return f
}

func condition(is metav1.ConditionStatus, reason string) func(*ServiceFacts) {
	return func(f *ServiceFacts) {
		f.Service.Status.Conditions[0].Status, f.Service.Status.Conditions[0].Reason = is, reason
	}
}

func operating(word string, ids ...string) func(*ServiceFacts) {
	return func(f *ServiceFacts) {
		for _, id := range ids {
			f.Details.Statuses[id] = octavia.Status{Operating: word}
		}
	}
}

func TestStateOfAService(t *testing.T) {
	for name, c := range map[string]struct {
		edits []func(*ServiceFacts)
		want  State
		// reason is part of the first reason.
		reason string
	}{
		"it serves":                       {nil, OK, ""},
		"one member is down":              {[]func(*ServiceFacts){operating(failed, "a")}, Warning, "1 of 2 members of port 443/TCP is down: 10.0.0.1."},
		"all members are down":            {[]func(*ServiceFacts){operating(failed, "a", "b")}, Failed, "All 2 members of port 443/TCP are down."},
		"members without a monitor":       {[]func(*ServiceFacts){operating(noMonitor, "a", "b")}, OK, ""},
		"the load balancer is DEGRADED":   {[]func(*ServiceFacts){func(f *ServiceFacts) { f.Observed.LoadBalancer.OperatingStatus = degraded }}, Warning, "DEGRADED"},
		"it is in ERROR":                  {[]func(*ServiceFacts){func(f *ServiceFacts) { f.Observed.LoadBalancer.ProvisioningStatus = lb.Error }}, Failed, "ERROR"},
		"it is PENDING":                   {[]func(*ServiceFacts){func(f *ServiceFacts) { f.Observed.LoadBalancer.ProvisioningStatus = lb.PendingUpdate }}, Pending, "PENDING_UPDATE"},
		"operations are pending":          {[]func(*ServiceFacts){func(f *ServiceFacts) { f.Plan.Ops = []diff.Op{diff.DeleteLoadBalancer{ID: "lb-1"}} }}, Pending, "1 operation is pending"},
		"it drifted":                      {[]func(*ServiceFacts){func(f *ServiceFacts) { f.Plan.Ops, f.Drift = []diff.Op{diff.DeleteLoadBalancer{ID: "lb-1"}}, true }}, Warning, "Drift"},
		"a part is refused":               {[]func(*ServiceFacts){func(f *ServiceFacts) { f.Plan.Refused = []diff.Refusal{{Reason: "Unsupported", Message: "no UDP"}} }}, Warning, "Unsupported: no UDP"},
		"it is being created":             {[]func(*ServiceFacts){condition(metav1.ConditionFalse, status.ReasonCreating)}, Pending, status.ReasonCreating},
		"it has an address and a problem": {[]func(*ServiceFacts){condition(metav1.ConditionFalse, status.ReasonQuota)}, Warning, status.ReasonQuota},
		"it has a problem and no address": {[]func(*ServiceFacts){condition(metav1.ConditionFalse, status.ReasonQuota), func(f *ServiceFacts) {
			f.Service.Status.LoadBalancer.Ingress, f.Observed.LoadBalancer = nil, nil
		}}, Failed, status.ReasonQuota},
		"no endpoint is ready": {[]func(*ServiceFacts){func(f *ServiceFacts) {
			f.Service.Status.Conditions = append(f.Service.Status.Conditions, metav1.Condition{Type: status.Serving, Status: metav1.ConditionFalse, Reason: status.ReasonNoEndpoints, Message: "no endpoint"})
		}}, Failed, "NoEndpoints"},
		"an annotation is unknown": {[]func(*ServiceFacts){func(f *ServiceFacts) {
			f.Service.Status.Conditions = append(f.Service.Status.Conditions, metav1.Condition{Type: status.AnnotationsKnown, Status: metav1.ConditionFalse, Reason: status.ReasonUnknownAnnotation, Message: "kube-octavia.io/tls"})
		}}, Warning, "UnknownAnnotation: kube-octavia.io/tls"},
		"no controller has processed it": {[]func(*ServiceFacts){func(f *ServiceFacts) { f.Service.Status.Conditions = nil }}, Unknown, "no controller"},
		"there is no plan":               {[]func(*ServiceFacts){func(f *ServiceFacts) { f.Err = errors.New("no answer") }}, Unknown, "no answer"},
		"its members were not read":      {[]func(*ServiceFacts){func(f *ServiceFacts) { f.Err, f.Details.MembersRead = errors.New("not read"), false }}, Unknown, "not read yet"},
		"it is being deleted":            {[]func(*ServiceFacts){func(f *ServiceFacts) { f.Service.DeletionTimestamp = &metav1.Time{} }}, Pending, "being deleted"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Build(Facts{Services: []ServiceFacts{facts(c.edits...)}}).Services[0]
			if got.State != c.want || c.reason == "" && len(got.Reasons) > 0 || c.reason != "" && (len(got.Reasons) == 0 || !strings.Contains(got.Reasons[0], c.reason)) {
				t.Errorf("got %s, want %s: %q", got.State, c.want, got.Reasons)
			}
		})
	}
}

func TestPoolOfSeveralListenersIsShownOnce(t *testing.T) {
	f := facts(func(f *ServiceFacts) {
		l := f.Observed.LoadBalancer
		l.Listeners = append(l.Listeners, lb.Listener{ID: "l-2", Port: 80, Pool: l.Listeners[0].Pool})
		l.DetachedPools = []lb.Pool{{ID: "p-2"}}
	})
	l := Build(Facts{Services: []ServiceFacts{f}}).Services[0].LoadBalancer
	var pools, of []string
	if l.Listeners[0].Port != 80 || l.Listeners[1].Port != 443 {
		t.Errorf("not in the order of their ports: %+v", l.Listeners)
	}
	for _, p := range l.Pools {
		pools = append(pools, p.ID)
	}
	for _, x := range l.Listeners {
		of = append(of, x.PoolID)
	}
	if diff := cmp.Diff([]string{"p-1", "p-2"}, pools) + cmp.Diff([]string{"p-1", "p-1"}, of); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if l.FloatingIP != "203.0.113.7" || !cmp.Equal(l.VIPs, []string{"10.0.0.9"}) {
		t.Errorf("addresses %q and %q", l.FloatingIP, l.VIPs)
	}
}

func TestEventsAreTheNewestFirstAndNotTooMany(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.NewTime(time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)) }
	var all []corev1.Event
	for i := range mostEvents + 5 {
		all = append(all, corev1.Event{Reason: "Old", LastTimestamp: at(i)})
	}
	all = append(all, corev1.Event{Reason: "New", EventTime: metav1.MicroTime(at(59)), Series: &corev1.EventSeries{Count: 3, LastObservedTime: metav1.MicroTime(at(59))}})
	got := Build(Facts{Services: []ServiceFacts{facts()}, Events: map[types.UID][]corev1.Event{"uid-1": all, "uid-2": all}}).Services[0].Events
	if len(got) != mostEvents || got[0].Reason != "New" || got[0].Count != 3 || got[1].Last != at(mostEvents+4).Time {
		t.Errorf("%d events: %+v", len(got), got)
	}
}

func TestJSONHasNoNullLists(t *testing.T) {
	for name, f := range map[string]Facts{
		"nothing":          {},
		"a Service":        {Services: []ServiceFacts{facts()}},
		"an empty Service": {Services: []ServiceFacts{{Service: &corev1.Service{}}}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(Build(f))
			if err != nil {
				t.Fatal(err)
			}
			if rest := strings.ReplaceAll(string(text), `"loadBalancer":null`, ""); strings.Contains(rest, "null") {
				t.Error(rest)
			}
		})
	}
}

func TestTheReasonOfTheWorstStateComesFirst(t *testing.T) {
	f := facts(operating(failed, "a", "b"), condition(metav1.ConditionFalse, status.ReasonUpdating), func(f *ServiceFacts) {
		f.Plan.Ops = []diff.Op{diff.DeleteLoadBalancer{ID: "lb-1"}}
		f.Plan.Refused = []diff.Refusal{{Reason: "Unsupported", Message: "no UDP"}}
	})
	want := []string{"All 2 members of port 443/TCP are down.", "Unsupported: no UDP", "Updating: ", "1 operation is pending."}
	if diff := cmp.Diff(want, Build(Facts{Services: []ServiceFacts{f}}).Services[0].Reasons); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestServicesAreSortedTheWorstFirstAndThenByName(t *testing.T) {
	named := func(name string, edits ...func(*ServiceFacts)) ServiceFacts {
		return facts(append(edits, func(f *ServiceFacts) { f.Service.Name = name })...)
	}
	var got []string
	for _, s := range Build(Facts{Services: []ServiceFacts{
		named("b"), named("a"), named("unknown", func(f *ServiceFacts) { f.Err = errors.New("no answer") }), named("down", operating(failed, "a", "b")),
		named("changing", condition(metav1.ConditionFalse, status.ReasonUpdating)), named("degraded", operating(failed, "a")), named("also-down", operating(failed, "a", "b")),
	}}).Services {
		got = append(got, s.Name)
	}
	if diff := cmp.Diff([]string{"also-down", "down", "degraded", "changing", "unknown", "a", "b"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMembersWithoutAHealthMonitorAreNotReportedAsServing(t *testing.T) {
	s := Build(Facts{Services: []ServiceFacts{facts(operating(noMonitor, "a", "b"))}}).Services[0]
	for _, m := range s.LoadBalancer.Pools[0].Members {
		if m.State != Unmonitored {
			t.Errorf("member %s is %s", m.Address, m.State)
		}
	}
	if diff := cmp.Diff([]string{"443/TCP"}, s.Unmonitored); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	if monitored := Build(Facts{Services: []ServiceFacts{facts()}}).Services[0].Unmonitored; len(monitored) > 0 {
		t.Errorf("with a monitor: %q", monitored)
	}
}

func TestAReasonNamesAFewMembersThatAreDown(t *testing.T) {
	for down, want := range map[int]string{
		1: "1 of 7 members of port 443/TCP is down: 10.0.1.0.",
		4: "4 of 7 members of port 443/TCP are down: 10.0.1.0, 10.0.1.1, 10.0.1.2, 10.0.1.3.",
		6: "6 of 7 members of port 443/TCP are down: 10.0.1.0, 10.0.1.1, 10.0.1.2 and 3 others.",
	} {
		t.Run(fmt.Sprintf("%d are down", down), func(t *testing.T) {
			f := facts(func(f *ServiceFacts) {
				pool := f.Observed.LoadBalancer.Listeners[0].Pool
				pool.Members = nil
				for i := range 7 {
					m := lb.Member{ID: fmt.Sprint("m", i), Address: fmt.Sprint("10.0.1.", i), ProvisioningStatus: lb.Active}
					pool.Members = append(pool.Members, m)
					word := online
					if i < down {
						word = failed
					}
					f.Details.Statuses[m.ID] = octavia.Status{Operating: word}
				}
			})
			if got := Build(Facts{Services: []ServiceFacts{f}}).Services[0].Reasons; len(got) != 1 || got[0] != want {
				t.Errorf("%d down: %q", down, got)
			}
		})
	}
}

func TestSecurityGroupsOfTheVIPSayWhoMayConnect(t *testing.T) {
	listener := lb.Listener{AllowedCIDRs: []string{"10.0.0.0/8"}}
	for _, c := range []struct {
		name string

		l    lb.LoadBalancer
		want string
	}{
		{"source ranges of the listener", lb.LoadBalancer{}, "10.0.0.0/8"},
		{"security groups of the VIP", lb.LoadBalancer{VIPSecurityGroups: []string{"g1", "g2"}}, "security group g1, security group g2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(sourcesOf(&c.l, listener), ", "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
