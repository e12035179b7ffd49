// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

func keysOf(names ...string) []types.NamespacedName {
	var keys []types.NamespacedName
	for _, name := range names {
		keys = append(keys, types.NamespacedName{Namespace: "default", Name: name})
	}
	return keys
}

func TestWaitersComeInTheirOrderAndNoneHoldsUpTheOthers(t *testing.T) {
	w := newWaiters()
	for _, key := range keysOf("a", "b", "c", "d") {
		if w.wait(key) {
			t.Errorf("%s came back before anything was freed", key)
		}
	}
	if w.wait(keysOf("b")[0]) {
		t.Error("b came back before anything was freed")
	}
	wakes := func(n int, names ...string) {
		t.Helper()
		if d := cmp.Diff(keysOf(names...), w.wake(n)); d != "" {
			t.Errorf("woken (-want +have): %s", d)
		}
	}
	wakes(2, "a", "b")
	wakes(1, "c")
	if !w.wait(keysOf("a")[0]) {
		t.Error("a is not known to have been woken")
	}
	// a was refused again, and waits behind all others now.
	wakes(2, "d", "a")
	if !w.leave(keysOf("b")[0]) || w.leave(keysOf("b")[0]) {
		t.Error("b waited, and left once")
	}
	wakes(4)
	for _, key := range keysOf("a", "c", "d") {
		w.wait(key)
	}
	wakes(4, "a", "c", "d")
}

func TestServicesThatWaitAskSlowerAndSlower(t *testing.T) {
	delays := timing.Default()
	for _, c := range []struct {
		refusals int
		woken    bool
		want     time.Duration
	}{
		{1, false, delays.SlowRetry}, {2, false, 2 * delays.SlowRetry}, {3, false, 4 * delays.SlowRetry}, {4, false, delays.LastQuotaRetry},
		{10, false, delays.LastQuotaRetry}, {3, true, delays.QuotaRetry},
	} {
		if got := quotaDelay(c.refusals, c.woken, delays); got < c.want || got > c.want+c.want/5 {
			t.Errorf("after %d refusals (woken: %t) it waits %v, want %v and a little", c.refusals, c.woken, got, c.want)
		}
	}
	if got := quotaDelay(1, true, timing.Delays{SlowRetry: time.Second}); got < time.Second {
		t.Errorf("without a time for it, it waits %v", got)
	}
}

func TestARefusalSaysWhatThereCanBeNoMoreOf(t *testing.T) {
	for message, want := range map[string][2]string{
		"Quota has been met for resources: Load Balancer":                           {"Load Balancer", ""},
		"Quota has been met for resources: Health Monitor":                          {"Health Monitor", ""},
		"Quota exceeded for resources: ['floatingip'].":                             {"", "floatingip"},
		"Provider 'amphora' reports error: Quota exceeded for resources: ['port'].": {"", "port"},
		"Policy does not allow this request to be performed.":                       {"", ""},
	} {
		octavia, neutron := exhausted(message)
		if got := [2]string{octavia, neutron}; got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

func TestUseOfAQuotaIsLookedUpOnceForAll(t *testing.T) {
	asked := 0
	q := &quotas{
		octavia: func(_ context.Context, kind string) (limit, used int, err error) {
			asked++
			switch kind {
			case "Member":
				return 50, octavia.Unknown, nil
			case "Pool":
				return octavia.Unknown, octavia.Unknown, errors.New("403")
			case "Listener":
				return -1, 3, nil
			}
			return 5, 5, nil
		},
		neutron:  func(context.Context, string) (limit, used int, known bool, err error) { return 2, 1, true, nil },
		patience: time.Minute,
		known:    map[string]*quotaAnswer{},
	}
	now := time.Unix(1000, 0)
	look := func(message string) string {
		return q.look(t.Context(), &openstack.Error{Class: openstack.Quota, Message: message}, time.Minute, now)
	}
	const balancers = "Quota has been met for resources: Load Balancer"
	for message, want := range map[string]string{
		balancers: "load balancers of the project: 5 of 5 in use",
		"Quota has been met for resources: Member":      "the project may have 50 members",
		"Quota has been met for resources: Pool":        "",
		"Quota has been met for resources: Listener":    "",
		"Quota exceeded for resources: ['floatingip'].": "floating IPs of the project: 1 of 2 in use",
		"something else": "",
	} {
		if got := look(message); got != want {
			t.Errorf("%s: %q, want %q", message, got, want)
		}
	}
	before := asked
	look(balancers)
	if asked != before {
		t.Error("it is asked for each Service")
	}
	now = now.Add(2 * time.Minute)
	look(balancers)
	if asked != before+1 {
		t.Error("an old answer is told")
	}
	q.forget()
	look(balancers)
	if asked != before+2 {
		t.Error("what was before something was freed is told")
	}
}

func TestAQuotaThatTheCloudDoesNotTellHoldsUpNobody(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{}, 1)
	q := &quotas{
		octavia: func(_ context.Context, kind string) (limit, used int, err error) {
			if kind == "Load Balancer" {
				asked <- struct{}{}
				<-release
			}
			return 5, 5, nil
		},
		patience: time.Millisecond,
		known:    map[string]*quotaAnswer{},
	}
	look := func(kind string) string {
		return q.look(t.Context(), &openstack.Error{Class: openstack.Quota, Message: "Quota has been met for resources: " + kind}, time.Minute, time.Unix(1000, 0))
	}
	for range 3 { // the later ones do not ask again
		if got := look("Load Balancer"); got != "" {
			t.Errorf("an answer that has not come is %q", got)
		}
	}
	<-asked
	q.patience = time.Minute
	if got := look("Pool"); got != "pools of the project: 5 of 5 in use" {
		t.Errorf("another question meanwhile: %q", got)
	}
	late := q.known["Load Balancer"]
	q.forget() // the watcher does, and would hang here
	close(release)
	<-late.answered
	if len(q.known) > 0 {
		t.Error("the answer to a question of before something was freed is told")
	}
	<-late.patience.Done()
}
