// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

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
		})
	}
}
