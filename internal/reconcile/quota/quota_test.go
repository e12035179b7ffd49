// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package quota_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/quota"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

func keysOf(names ...string) []owner.Key {
	var keys []owner.Key
	for _, name := range names {
		keys = append(keys, owner.ServiceKey("default", name))
	}
	return keys
}

func TestWaitingServicesAreRequeuedInOrderAndNoneBlocksTheOthers(t *testing.T) {
	w := quota.NewWaiters()
	for _, key := range keysOf("a", "b", "c", "d") {
		if w.Wait(key) {
			t.Errorf("%s counts as woken before any was", key)
		}
	}
	if w.Wait(keysOf("b")[0]) {
		t.Error("b counts as woken before any was")
	}
	wakes := func(n int, names ...string) {
		t.Helper()
		if d := cmp.Diff(keysOf(names...), w.Wake(n)); d != "" {
			t.Errorf("woken (-want +got): %s", d)
		}
	}
	wakes(2, "a", "b")
	wakes(1, "c")
	if !w.Wait(keysOf("a")[0]) {
		t.Error("a does not count as woken")
	}
	// a was rejected again and is the last in line.
	wakes(2, "d", "a")
	if !w.Leave(keysOf("b")[0]) || w.Leave(keysOf("b")[0]) {
		t.Error("b did not leave exactly once")
	}
	wakes(4)
	for _, key := range keysOf("a", "c", "d") {
		w.Wait(key)
	}
	wakes(4, "a", "c", "d")
}

func TestDelayGrowsWithRefusals(t *testing.T) {
	delays := timing.Default()
	for _, c := range []struct {
		name string

		refusals int
		woken    bool
		want     time.Duration
	}{
		{"first refusal", 1, false, delays.SlowRetry},
		{"second refusal", 2, false, 2 * delays.SlowRetry},
		{"third refusal", 3, false, 4 * delays.SlowRetry},
		{"fourth refusal", 4, false, delays.LastQuotaRetry},
		{"tenth refusal", 10, false, delays.LastQuotaRetry},
		{"third refusal, woken", 3, true, delays.QuotaRetry},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := quota.Delay(c.refusals, c.woken, delays); got < c.want || got > c.want+c.want/5 {
				t.Errorf("after %d refusals (woken: %t) the delay is %v, want %v plus up to a fifth", c.refusals, c.woken, got, c.want)
			}
		})
	}
	if got := quota.Delay(1, true, timing.Delays{SlowRetry: time.Second}); got < time.Second {
		t.Errorf("without QuotaRetry the delay is %v", got)
	}
}

func TestOfChildRecognisesRefusalsOfChildren(t *testing.T) {
	for name, test := range map[string]struct {
		message string
		want    bool
	}{
		"load balancers":                    {"Quota has been met for resources: Load Balancer", false},
		"health monitors":                   {"Quota has been met for resources: Health Monitor", true},
		"floating IPs":                      {"Quota exceeded for resources: ['floatingip'].", false},
		"ports of Neutron, at the provider": {"Provider 'amphora' reports error: Quota exceeded for resources: ['port'].", false},
		"policy":                            {"Policy does not allow this request to be performed.", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := quota.OfChild(&openstack.Error{Class: openstack.Quota, Message: test.message}); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
	if quota.OfChild(errors.New("Quota has been met for resources: Pool")) {
		t.Error("an error that is not from OpenStack counts as a refusal")
	}
}
