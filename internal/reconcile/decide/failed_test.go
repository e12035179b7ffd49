// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// failedListener is a Service whose listener is in ERROR, with everything that it requests.
func failedListener(edit func(*lb.Listener)) Facts {
	f := factsOf(web(publishing), "10.0.0.11")
	l := f.built("lb-1")
	l.Listeners[0].ProvisioningStatus = lb.Error
	if edit != nil {
		edit(&l.Listeners[0])
	}
	return f.with(l)
}

// TestAFailedChangeIsRepeatedWithGrowingWaits decides again and again at the time for which each decision asks, while
// Octavia fails each time.
func TestAFailedChangeIsRepeatedWithGrowingWaits(t *testing.T) {
	f := failedListener(nil)
	began, writes := f.Now, 0
	var waits []time.Duration
	for range 20 {
		d := Decide(f)
		if d.Need != "" {
			f.Provided = append(f.Provided, d.Need)
			d = Decide(f)
		}
		if d.Done || d.Unready == "" || !strings.Contains(d.Unready, "listener-lb-1 is in ERROR") {
			t.Fatalf("done %t, unready: %q", d.Done, d.Unready)
		}
		f.Record, f.Provided = d.Record, nil
		if len(d.Plan.Ops) == 0 {
			waits = append(waits, d.Delay)
			f.Now = f.Now.Add(d.Delay)
			continue
		}
		writes++
		f.Record = Applied(f, d, d.Plan.Ops[0], diff.Created{}, nil)
		f.Record.Cloud.Observed.LoadBalancer.ProvisioningStatus = lb.Active
		f.Record.Cloud.Observed.LoadBalancer.Listeners[0].ProvisioningStatus = lb.Error
	}
	if writes != len(waits) {
		t.Errorf("%d writes after %d waits", writes, len(waits))
	}
	for i, wait := range waits {
		least := min(f.Timing.Repeat.First<<i, f.Timing.Repeat.Last)
		if wait < least || wait > least+least/5+1 {
			t.Errorf("wait %d takes %v, want %v and a little", i+1, wait, least)
		}
	}
	if f.Now.Sub(began) < 20*time.Minute {
		t.Errorf("20 decisions took %v", f.Now.Sub(began))
	}

	f.Record.Cloud.Observed.LoadBalancer.Listeners[0].ProvisioningStatus = lb.Active
	f.Record.Cloud.Confirmed = true
	if d := Decide(f); !d.Done || len(d.Record.Failed.Repeats) > 0 || d.Record.Failed.Text != "" {
		t.Errorf("after a success: done %t, remembered %+v", d.Done, d.Record.Failed)
	}
}

func TestWhatTheServiceRequestsNowDoesNotWaitForARepeat(t *testing.T) {
	waiting := func(f Facts) Facts {
		d := Decide(f)
		f.Record = d.Record
		return f
	}
	t.Run("a change of the listener", func(t *testing.T) {
		f := waiting(failedListener(nil))
		f.Record.Cloud.Observed.LoadBalancer.Listeners[0].AllowedCIDRs = []string{"192.0.2.0/24"}
		if d := Decide(f); len(d.Plan.Ops) != 1 {
			t.Errorf("planned %v, waits %v", d.Plan.Ops, d.Delay)
		}
	})
	t.Run("a removal of the port, once", func(t *testing.T) {
		f := waiting(failedListener(func(l *lb.Listener) { l.Port = 81 }))
		d := Decide(f)
		deletions := func(d Decision) (n int) {
			for _, op := range d.Plan.Ops {
				if diff.Deletes(op) && diff.Kind(op) == "DeleteListener" {
					n++
				}
			}
			return n
		}
		if deletions(d) != 1 {
			t.Fatalf("planned %v", d.Plan.Ops)
		}
		for _, op := range d.Plan.Ops {
			if diff.Kind(op) == "DeleteListener" {
				f.Record = Applied(f, d, op, diff.Created{}, nil)
			}
		}
		again := failedListener(func(l *lb.Listener) { l.Port = 81 })
		again.Record.Failed = f.Record.Failed
		if d := Decide(again); deletions(d) != 0 {
			t.Errorf("a deletion that failed is repeated at once: %v", d.Plan.Ops)
		}
	})
}

func TestAFailedChangeIsNotRepeatedWhereTheDriftPolicyKeepsChanges(t *testing.T) {
	for _, policy := range []annotation.Drift{annotation.DriftReport, annotation.DriftIgnore} {
		t.Run(string(policy), func(t *testing.T) {
			f := failedListener(nil)
			f = f.changed(web(annotated(annotation.DriftPolicy, string(policy))))
			f.Record.Drift = memory.Drift{Digest: Digest(f.Desired.Input), Read: true}
			f.Now = f.Now.Add(time.Hour)
			d := Decide(f)
			if len(d.Plan.Ops)+len(d.Held) > 0 || d.Done || d.Delay == 0 || !strings.Contains(d.Unready, "drift-policy") {
				t.Errorf("planned %v, held %v, done %t, waits %v: %q", d.Plan.Ops, d.Held, d.Done, d.Delay, d.Unready)
			}
			// Our own change, which did not succeed, is completed.
			f.Record.Drift.Digest = ""
			f.Record = Decide(f).Record
			f.Now = f.Now.Add(time.Hour)
			if d := Decide(f); len(d.Plan.Ops) != 1 {
				t.Errorf("our own change is not repeated: %v", d.Plan.Ops)
			}
		})
	}
}

func TestTheConditionSaysWhatMayNotBeInForce(t *testing.T) {
	for name, test := range map[string]struct {
		fail func(*lb.LoadBalancer)
		want string
	}{
		"source ranges": {func(l *lb.LoadBalancer) {
			l.Listeners[0].ProvisioningStatus, l.Listeners[0].AllowedCIDRs = lb.Error, []string{"10.0.0.0/8", "192.0.2.0/24"}
		}, "may still admit clients outside of 10.0.0.0/8, 192.0.2.0/24, or not yet all of these"},
		"no source ranges": {func(l *lb.LoadBalancer) { l.Listeners[0].ProvisioningStatus = lb.Error }, "port TCP/80 may be closed"},
		"a pool":           {func(l *lb.LoadBalancer) { l.Listeners[0].Pool.ProvisioningStatus = lb.Error }, "its members and settings may not be"},
		"a monitor": {func(l *lb.LoadBalancer) {
			l.Listeners[0].Pool.Monitor = &lb.HealthMonitor{ID: "m", ProvisioningStatus: lb.Error}
		}, "may be checked in another way"},
		"a member": {func(l *lb.LoadBalancer) {
			l.Listeners[0].Pool.Members = []lb.Member{{ID: "m", Address: "10.0.0.11", ProvisioningStatus: lb.Error}}
		}, "10.0.0.11 may not take traffic"},
		"a listener in ERROR before one that is PENDING": {func(l *lb.LoadBalancer) {
			l.Listeners[0].ProvisioningStatus, l.Listeners[0].Pool.ProvisioningStatus = lb.Error, lb.PendingUpdate
		}, "listener l-1 is in ERROR"},
		"a listener of another client": {func(l *lb.LoadBalancer) {
			l.Listeners[0].ProvisioningStatus, l.Listeners[0].Tags = lb.Error, lb.Owner{ClusterUID: "c-1", ServiceUID: "another"}.Tags()
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := *withListener(lb.Active, lb.Active).LoadBalancer
			test.fail(&l)
			if got := unready(l, webOwner); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
				t.Errorf("%q lacks %q", got, test.want)
			}
		})
	}
}
