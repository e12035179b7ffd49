// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
)

func TestNothingIsSaidOfAMonitorWhoseProbePortMayStillBeCreated(t *testing.T) {
	for _, pending := range []lb.ProvisioningStatus{lb.PendingCreate, lb.PendingUpdate, lb.PendingDelete} {
		monitor := lb.HealthMonitor{ID: "m", ProvisioningStatus: pending}
		observed := lb.Observed{LoadBalancer: &lb.LoadBalancer{Listeners: []lb.Listener{{Pool: &lb.Pool{Monitor: &monitor}}}}}
		// A Builder without clients cannot ask.
		in := desired.Input{Networks: desired.Networks{MemberSubnetID: "nodes"}}
		wanted, err := new(Builder).checkMonitors(t.Context(), in, observed, lb.Wanted{})
		if err != nil || len(wanted.Withheld) > 0 {
			t.Errorf("%s: %v, %v", pending, wanted.Withheld, err)
		}
	}
}
