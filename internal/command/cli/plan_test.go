// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

var closePort = diff.DeleteListener{ID: "l-1", Key: lb.ListenerKey{Transport: lb.TCP, Port: 80}}

// plansOf are one plan of each sort.
var plansOf = map[string]ServicePlan{
	"new": {Namespace: "ns", Service: "new", Ops: []PlannedOp{
		{Kind: diff.Kind(diff.CreateFloatingIP{}), Text: diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{Address: "203.0.113.7"}}.String(),
			Op: diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{Address: "203.0.113.7"}}},
	}},
	"changed": {Namespace: "ns", Service: "changed", LoadBalancerID: "lb-1", Status: lb.Active,
		Refused: []diff.Refusal{{Reason: diff.ReasonPortInUse, Message: "taken"}},
		Ops:     []PlannedOp{{Kind: diff.Kind(closePort), Text: closePort.String(), Op: closePort}, {Kind: diff.Kind(closePort), Text: "again", Op: closePort}}},
	"right":   {Namespace: "ns", Service: "right", LoadBalancerID: "lb-2", Status: lb.Active, Ops: []PlannedOp{}},
	"pending": {Namespace: "ns", Service: "pending", LoadBalancerID: "lb-3", Status: lb.PendingUpdate, Ops: []PlannedOp{}},
	"refused": {Namespace: "ns", Service: "refused", Ops: []PlannedOp{}, Refused: []diff.Refusal{{Reason: "MisspeltAnnotation", Message: "misspelt"}}},
	"waiting": {Namespace: "ns", Service: "waiting", Ops: []PlannedOp{}, Refused: []diff.Refusal{{Reason: status.ReasonWaitingForGroup, Message: "first ns/new"}}},
	"drifted": {Namespace: "ns", Service: "drifted", LoadBalancerID: "lb-5", Status: lb.Active, Ops: []PlannedOp{},
		Refused: []diff.Refusal{{Reason: status.ReasonDrifted, Message: "not repaired"}}},
	"broken": {Namespace: "ns", Service: "broken", Ops: []PlannedOp{}, Error: "no answer"},
	"observed": {Namespace: "ns", Service: "observed", LoadBalancerID: "lb-4", Status: lb.Active, OnlyObserved: true,
		Ops: []PlannedOp{{Kind: diff.Kind(closePort), Text: closePort.String(), Op: closePort}}},
}

func TestPlanIsPrintedAsAList(t *testing.T) {
	for name, want := range map[string]string{
		"new":     "ns/new: no load balancer\n  1. create floating IP 203.0.113.7\n",
		"changed": "ns/changed: load balancer lb-1, ACTIVE\n  refused (PortInUse): taken\n  1. close port TCP/80 (listener l-1)\n  2. again\n",
		"right":   "ns/right: load balancer lb-2, ACTIVE\n  nothing to do\n",
		"pending": "ns/pending: load balancer lb-3, PENDING_UPDATE\n  Octavia is working on the load balancer; run this command again when it is ACTIVE\n",
		"refused": "ns/refused: no load balancer\n  refused (MisspeltAnnotation): misspelt\n",
		"waiting": "ns/waiting: no load balancer\n  not done (WaitingForGroup): first ns/new\n",
		"drifted": "ns/drifted: load balancer lb-5, ACTIVE\n  not done (Drifted): not repaired\n",
		"broken":  "ns/broken: no load balancer\n  error: no answer\n",
		"observed": "ns/observed: load balancer lb-4, ACTIVE\n  only observed; with --adopt=tag these operations would be done:\n" +
			"  1. close port TCP/80 (listener l-1)\n",
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			plansOf[name].print(&out)
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheExitStatusOfAPlanSaysWhetherThereIsSomethingToDo(t *testing.T) {
	for _, test := range []struct {
		name string

		plans       []string
		differences bool
		failure     string
	}{
		{"no Services", nil, false, ""},
		{"nothing to do", []string{"right"}, false, ""},
		{"pending", []string{"right", "pending"}, false, ""},
		{"only observed", []string{"right", "observed"}, false, ""},
		{"something to do", []string{"right", "new"}, true, ""},
		{"no answer", []string{"broken"}, false, "ns/broken: no answer"},
		{"waiting and drifted", []string{"right", "waiting", "drifted"}, false, ""},
		{"refused", []string{"right", "new", "refused"}, false, "ns/refused: refused (MisspeltAnnotation)"},
		{"refused and no answer", []string{"changed", "broken"}, false, "ns/changed: refused (PortInUse)\nns/broken: no answer"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, output := range []string{"text", "json", "yaml", "name"} {
				t.Run(output, func(t *testing.T) {
					var plans []ServicePlan
					for _, name := range test.plans {
						plans = append(plans, plansOf[name])
					}
					err := (&planOptions{output: output}).print(&bytes.Buffer{}, plans)
					switch {
					case test.failure != "":
						if err == nil || err.Error() != test.failure {
							t.Errorf("%v: error %v, want %q", test.plans, err, test.failure)
						}
					case errors.Is(err, errDifferences) != test.differences, !test.differences && err != nil:
						t.Errorf("%v: error %v, differences %v", test.plans, err, test.differences)
					}
				})
			}
		})
	}
}

func TestAPlanInJSONHoldsEachOpInFull(t *testing.T) {
	var out bytes.Buffer
	err := (&planOptions{output: "json"}).print(&out, []ServicePlan{plansOf["changed"], plansOf["right"]})
	if err == nil || err.Error() != "ns/changed: refused (PortInUse)" {
		t.Errorf("error %v", err)
	}
	type op struct {
		Kind, Text string
		Op         struct{ ID string }
	}
	var list struct {
		Items []struct {
			Namespace, Name, LoadBalancerID, ProvisioningStatus string
			Ops                                                 []op
			Refused                                             []diff.Refusal
		}
	}
	if err := json.Unmarshal(out.Bytes(), &list); err != nil || len(list.Items) != 2 {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	got := list.Items
	if got[0].Name != "changed" || got[0].LoadBalancerID != "lb-1" || got[0].ProvisioningStatus != "ACTIVE" || len(got[0].Refused) != 1 {
		t.Errorf("got %+v", got[0])
	}
	want := []op{{"DeleteListener", "close port TCP/80 (listener l-1)", struct{ ID string }{"l-1"}}, {"DeleteListener", "again", struct{ ID string }{"l-1"}}}
	if diff := cmp.Diff(want, got[0].Ops); diff != "" {
		t.Errorf("ops (-want +got):\n%s", diff)
	}
	if got[1].Ops == nil {
		t.Error("a Service with nothing to do has null for its ops, not an empty list")
	}
}

func TestPlanWithoutServicesIsAnEmptyList(t *testing.T) {
	var out bytes.Buffer
	want := "{\n  \"apiVersion\": \"cli.kube-octavia.io/v1\",\n  \"kind\": \"PlanList\",\n  \"items\": []\n}\n"
	if err := (&planOptions{output: "json"}).print(&out, []ServicePlan{}); err != nil || out.String() != want {
		t.Errorf("error %v, printed %q", err, out.String())
	}
}
