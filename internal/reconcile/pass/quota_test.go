// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
)

// Work on an owner that has stopped creates nothing. If it waited for quota, it would take the turn of another one.
func TestAnOwnerOnWhichWorkHasStoppedDoesNotWaitForQuota(t *testing.T) {
	full := decide.Outcome{Failure: &openstack.Error{Class: openstack.Quota}}
	r := withOctavia(t, nil)
	r.Memory = memory.NewStore()
	f := decide.Facts{Owner: services.Of(served())}
	for _, c := range []struct {
		action   decide.Action
		refusals int
	}{{decide.Converge, 1}, {decide.Stopped, 0}} {
		d, _ := r.noteQuota(f, decide.Decision{Action: c.action}, full)
		if d.Record.QuotaRefusals != c.refusals {
			t.Errorf("action %v: %d refusals are counted", c.action, d.Record.QuotaRefusals)
		}
	}
	if woken := r.waiters.Wake(1); len(woken) > 0 {
		t.Errorf("it still waits: %v", woken)
	}
}
