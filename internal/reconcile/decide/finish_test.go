// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func TestNextPassComesWhenNoEventWillCauseIt(t *testing.T) {
	f := factsOf(web(), "10.0.0.11")
	active, pending := f.built("lb-1"), f.built("lb-1")
	pending.ProvisioningStatus = lb.PendingUpdate
	with := func(l lb.LoadBalancer, edit func(*Decision)) Decision {
		d := Decision{Record: memory.Record{Cloud: memory.Cloud{Known: true, Observed: lb.Observed{LoadBalancer: &l}}}}
		if edit != nil {
			edit(&d)
		}
		return d
	}
	none := with(active, nil)
	failed := func(e openstack.Error) Outcome { return Outcome{Failure: &e} }
	defaults := timing.Default()
	for name, c := range map[string]struct {
		d     Decision
		o     Outcome
		want  time.Duration
		fails bool
	}{
		"nothing to do":          {d: none},
		"delay":                  {d: with(active, func(d *Decision) { d.Delay = time.Hour }), want: time.Hour},
		"children not ready":     {d: with(active, func(d *Decision) { d.Unready = "pool" }), want: defaults.ChildrenRetry},
		"partly refused":         {d: with(active, func(d *Decision) { d.Plan.Refused = make([]diff.Refusal, 1) }), want: defaults.SlowRetry},
		"unknown state":          {d: with(active, func(d *Decision) { d.Record.Cloud.Known = false }), want: defaults.DuplicateRetry},
		"unknown state, PENDING": {d: with(pending, func(d *Decision) { d.Record.Cloud.Known = false })},
		"only Neutron written":   {d: none, o: Outcome{Wrote: true}, want: timing.StaleRetry},
		"Octavia written":        {d: with(pending, nil), o: Outcome{Wrote: true}},
		"create without answer":  {d: with(active, func(d *Decision) { d.Record.Cloud.Unanswered = noon.Add(-20 * time.Second) }), want: defaults.AnswerLimit - 20*time.Second},
		"members being updated": {d: with(pending, func(d *Decision) {
			d.Record.Progress.SteadyFor, d.Record.Progress.Behind = lb.Wanted{}.Fingerprint(), noon.Add(-time.Minute)
		}), want: maxMemberUpdate - time.Minute},
		"waits for its group":     {d: with(active, func(d *Decision) { d.Goal.Waits = &GroupWait{"default/api"} }), want: defaults.SlowRetry},
		"sharing refused":         {d: with(active, func(d *Decision) { d.Goal.Refused = &desired.Invalid{Reason: desired.ReasonSharingRefused} }), want: defaults.SlowRetry},
		"refused":                 {d: with(active, func(d *Decision) { d.Goal.Refused = &desired.Invalid{Reason: desired.ReasonInvalidAnnotation} })},
		"load balancer busy":      {d: none, o: failed(openstack.Error{Class: openstack.Busy}), want: maxMemberUpdate},
		"cloud throttles":         {d: none, o: failed(openstack.Error{Class: openstack.Throttled, RetryAfter: 7 * time.Second}), want: 7 * time.Second},
		"quota":                   {d: none, o: failed(openstack.Error{Class: openstack.Quota}), want: defaults.SlowRetry},
		"quota, some was freed":   {d: none, o: Outcome{Failure: &openstack.Error{Class: openstack.Quota}, Woken: true}, want: defaults.QuotaRetry},
		"rejected by the cloud":   {d: none, o: failed(openstack.Error{Class: openstack.Invalid}), want: defaults.SlowRetry},
		"of another owner":        {d: none, o: failed(openstack.Error{Class: openstack.Foreign}), want: defaults.SlowRetry},
		"cloud does not answer":   {d: none, o: failed(openstack.Error{Class: openstack.Transient}), fails: true},
		"failure in Kubernetes":   {d: none, o: Outcome{Failure: errors.New("no answer")}, fails: true},
		"failure in spite of one": {d: with(active, func(d *Decision) { d.Delay = time.Hour }), o: failed(openstack.Error{Class: openstack.Transient}), fails: true},
	} {
		wait, err := Next(f, c.d, c.o)
		if wait < c.want || wait > c.want+c.want/5 || (err != nil) != c.fails {
			t.Errorf("%s: %v, %v, want %v", name, wait, err, c.want)
		}
	}
}

func TestFinishRemembersWhatWasReached(t *testing.T) {
	f := factsOf(web(), "10.0.0.11")
	f = f.with(f.built("lb-1"))
	f.Record.Drift = memory.Drift{Detected: true, Repaired: []string{"open port TCP/80"}}
	d := Decide(f)
	d, repaired := Finish(f, d)
	if len(repaired) != 1 || d.Record.Drift.Digest != d.Goal.Digest || d.Record.Drift.Detected {
		t.Errorf("repaired %v, drift %+v", repaired, d.Record.Drift)
	}
	if d.Record.Progress.Reached.None() || !d.Record.Progress.Behind.IsZero() {
		t.Errorf("progress %+v", d.Record.Progress)
	}
	f.Record = d.Record
	f.Record.Cloud.Confirmed = false
	if d = Decide(f); !d.Done || d.Need != "" {
		t.Errorf("a second pass needs %q", d.Need)
	}

	f = factsOf(web(), "10.0.0.11", "10.0.0.12").with(f.built("lb-1"))
	f.Record.Cloud.Observed.LoadBalancer.Listeners[0].Pool.Members = nil
	if d, _ = Finish(f, Decide(f)); !d.Record.Progress.Reached.None() || !d.Record.Progress.Behind.Equal(noon) {
		t.Errorf("progress %+v", d.Record.Progress)
	}
	if left := TimeUntilLate(f, d); left != maxMemberUpdate {
		t.Errorf("late in %v", left)
	}
}

// After an answer of 404 that was wrong, a second load balancer was created, and the first one was found again: then that is
// deleted, but not while Octavia works on it.
func TestALoadBalancerThatIsBusyIsDeletedLater(t *testing.T) {
	f := factsOf(web(), "10.0.0.11")
	f = f.with(f.built("lb-1"))
	old := f.built("lb-0")
	old.ProvisioningStatus = lb.PendingUpdate
	f.Record.Cloud.Observed.Predecessor, f.Desired.Predecessor = &old, &f.Desired.Input
	d, _ := Finish(f, Decide(f))
	if len(d.Plan.Ops) > 0 || d.Done {
		t.Fatalf("while it is busy: %v, done %v", d.Plan.Ops, d.Done)
	}
	f.Record = d.Record
	f.Record.Cloud.Observed.Predecessor.ProvisioningStatus = lb.Active
	if d = Decide(f); len(d.Plan.Ops) != 1 || d.Plan.Ops[0] != (diff.DeleteLoadBalancer{ID: "lb-0"}) {
		t.Errorf("when it is ACTIVE: %v", d.Plan.Ops)
	}
	f.Record = d.Record
	f.Record.Cloud.Observed.Predecessor.ProvisioningStatus = lb.PendingDelete
	// The deletion may still fail.
	if d, _ = Finish(f, Decide(f)); !d.Done || !d.Record.Progress.Reached.None() {
		t.Errorf("while Octavia deletes it: done %v, reached %v", d.Done, d.Record.Progress.Reached)
	}
}

func TestTheNextPassIsInTimeForChangesThatNoEventShows(t *testing.T) {
	plain, withSecret := factsOf(web()), factsOf(web(annotated(annotation.TLSSecret, "web-tls")))
	released, observed := withSecret, plain
	released.Owner.Serves, observed.Preview = false, true
	for name, c := range map[string]struct {
		facts         Facts
		delay         time.Duration
		least, atMost time.Duration
	}{
		"a Service without a Secret":           {plain, 0, 0, 0},
		"one that waits for something else":    {plain, time.Hour, time.Hour, time.Hour},
		"a Service with a Secret":              {withSecret, 0, time.Minute, 2 * time.Minute},
		"one that would wait longer":           {withSecret, time.Hour, time.Minute, 2 * time.Minute},
		"one that waits less":                  {withSecret, time.Second, time.Second, time.Second},
		"one that is being released":           {released, time.Hour, time.Hour, time.Hour},
		"a Service that is only observed":      {observed, 0, timing.ObserveInterval, 2 * timing.ObserveInterval},
		"one that is observed, and waits less": {observed, time.Second, time.Second, time.Second},
	} {
		wait, err := Next(c.facts, Decision{Delay: c.delay, Record: c.facts.Record}, Outcome{})
		if err != nil || wait < c.least || wait > c.atMost {
			t.Errorf("%s: the next pass is after %v (error %v)", name, wait, err)
		}
	}
}
