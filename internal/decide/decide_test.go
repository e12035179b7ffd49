// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// failed is a load balancer in ERROR.
func failed(l lb.LoadBalancer) lb.LoadBalancer {
	l.ProvisioningStatus = lb.Error
	return l
}

// TestDecide is the table of all actions: what the facts are, and what is done.
func TestDecide(t *testing.T) {
	plain := facts(web(), "10.0.0.11")
	served := facts(web(publishing), "10.0.0.11")
	have := plain.built("lb-1")
	silver := have
	silver.FlavorID = "silver"
	gold := func(allowed string) Facts {
		return facts(web(publishing, annotated(annotation.FlavorID, "00000000-0000-4000-8000-00000000901d"), annotated(annotation.AllowReplacement, allowed)), "10.0.0.11")
	}
	pendingPart := facts(web(), "10.0.0.11").built("lb-1")
	pendingPart.Listeners[0].ProvisioningStatus = lb.PendingCreate
	tests := map[string]struct {
		facts  Facts
		action Action
		need   Need
		ops    []string
		check  func(*testing.T, Decision)
	}{
		"nothing is there":          {facts: plain, action: Follow, ops: []string{"CreateLoadBalancer", "CreateFloatingIP"}},
		"everything is there":       {facts: plain.having(have), action: Follow, check: isDone},
		"a node has joined":         {facts: facts(web(), "10.0.0.11", "10.0.0.12").having(have), action: Follow, ops: []string{"SetMembers"}},
		"another client changed it": {facts: changed(plain.having(have)), action: Follow, ops: []string{"SetMembers"}, check: isForeign},
		"a change that is only reported": {facts: changed(facts(web(annotated(annotation.DriftPolicy, "report")), "10.0.0.11").having(have)),
			action: Follow, check: isHeld},
		"what was predicted": {facts: predicted(plain.having(have)), need: NeedStatusTree},
		"it is refused, and there is nothing": {facts: facts(web(annotated(annotation.TimeoutPrefix+"client-data", "no")), "10.0.0.11"), action: Follow,
			check: func(t *testing.T, d Decision) {
				if d.Wish.Refused == nil || !d.Wish.MembersOnly || len(d.Plan.Ops) > 0 {
					t.Errorf("wish: %+v, ops %v", d.Wish.Refused, kinds(d.Plan.Ops))
				}
			}},
		"it is not known what is wanted":          {facts: unknown(plain), check: isUndecided},
		"a part is not ready":                     {facts: plain.having(pendingPart), action: AwaitParts},
		"it is to be another flavor, not allowed": {facts: gold("false").having(silver), action: Refuse},
		"it is to be another flavor":              {facts: gold("true").having(silver), need: NeedFresh},
		"it is to be another flavor, as built":    {facts: withFresh(gold("true").having(silver)), action: Replace, ops: []string{"CreateLoadBalancer"}},
		"it failed at birth":                      {facts: plain.having(failed(have)), action: Rebuild, ops: []string{"DeleteFloatingIP", "DeleteLoadBalancer"}},
		"it failed at birth a moment ago":         {facts: deletedOnce(plain.having(failed(have))), action: AwaitRebuild, check: waits},
		"it served and failed":                    {facts: served.having(failed(have)), action: FailOver, ops: []string{"FailoverLoadBalancer"}},
		"it failed, and there is no failover":     {facts: noFailover(served.having(failed(have))), action: ReplaceFailed, ops: []string{"CreateLoadBalancer"}},
		"it failed three times":                   {facts: replacedTimes(noFailover(served.having(failed(have))), 3), action: GiveUp, check: gaveUp},
		"it failed once more, just now":           {facts: replacedTimes(noFailover(served.having(failed(have))), 1), action: AwaitRecovery, check: waits},
		"it is to go":                             {facts: leaving(plain.having(have)), action: Release, ops: []string{"DeleteFloatingIP", "DeleteLoadBalancer"}},
		"it is to go, and is remembered":          {facts: remembered(leaving(plain.having(have))), need: NeedFloatingIPs},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := Decide(test.facts)
			if d.Need != test.need || test.need == "" && test.action != "" && d.Action != test.action {
				t.Fatalf("action %q, need %q, ops %v", d.Action, d.Need, kinds(d.Plan.Ops))
			}
			if diff := cmp.Diff(test.ops, kinds(d.Plan.Ops), cmpopts.EquateEmpty()); diff != "" && test.need == "" && test.check == nil {
				t.Errorf("ops (-want +got):\n%s", diff)
			}
			if test.check != nil {
				test.check(t, d)
			}
		})
	}
}

func isDone(t *testing.T, d Decision) {
	t.Helper()
	if !d.Done || !d.Agrees || len(d.Plan.Ops) > 0 {
		t.Errorf("done %t, agrees %t, ops %v", d.Done, d.Agrees, kinds(d.Plan.Ops))
	}
}

func isForeign(t *testing.T, d Decision) {
	t.Helper()
	if len(d.Foreign) != 1 || len(d.Plan.Ops) != 1 || d.Record.Cloud.Expected != nil {
		t.Errorf("foreign %v, ops %v", kinds(d.Foreign), kinds(d.Plan.Ops))
	}
}

func isHeld(t *testing.T, d Decision) {
	t.Helper()
	if len(d.Plan.Ops) > 0 || len(d.Held) != 1 || len(d.Reported()) != 1 || !d.Record.Drift.Detected || len(d.Foreign) > 0 {
		t.Errorf("ops %v, held %v, foreign %v", kinds(d.Plan.Ops), kinds(d.Held), kinds(d.Foreign))
	}
}

func isUndecided(t *testing.T, d Decision) {
	t.Helper()
	if d.Wish.Known || d.Wish.Err == nil || len(d.Plan.Ops) > 0 {
		t.Errorf("known %t, error %v", d.Wish.Known, d.Wish.Err)
	}
}

func waits(t *testing.T, d Decision) {
	t.Helper()
	if d.Delay <= 0 || len(d.Plan.Ops) > 0 {
		t.Errorf("delay %v, ops %v", d.Delay, kinds(d.Plan.Ops))
	}
}

func gaveUp(t *testing.T, d Decision) {
	t.Helper()
	if d.Record.Recovery.GaveUp == nil || len(d.Plan.Ops) > 0 {
		t.Errorf("given up for %v, ops %v", d.Record.Recovery.GaveUp, kinds(d.Plan.Ops))
	}
}

// changed lets another client have taken the members away.
func changed(f Facts) Facts {
	before := f.Record.Cloud.Observed
	f.Record.Drift = memory.Drift{Digest: digest(f.Desired.Input), Read: true}
	f.Record.Cloud.Expected = &before
	l := *before.LoadBalancer
	l.Listeners = append([]lb.Listener{}, l.Listeners...)
	pool := *l.Listeners[0].Pool
	pool.Members = nil
	l.Listeners[0].Pool = &pool
	f.Record.Cloud.Observed.LoadBalancer = &l
	return f
}

func predicted(f Facts) Facts  { f.Record.Cloud.Confirmed = false; return f }
func leaving(f Facts) Facts    { f.Serves = false; return f }
func remembered(f Facts) Facts { f.Remembered = true; return f }
func noFailover(f Facts) Facts { f.FailoverRefused = "403"; return f }

func unknown(f Facts) Facts {
	f.Desired.Built = Built{Input: f.Desired.Input, Err: errors.New("no answer")}
	return f
}

func withFresh(f Facts) Facts {
	fresh := f.Desired.Built
	fresh.Input.Found = nil
	fresh.Wanted, fresh.Err = build.Wanted(fresh.Input)
	f.Desired.Fresh = &fresh
	return f
}

func deletedOnce(f Facts) Facts {
	f.Record.Recovery.Deletions = timing.Tries{Count: 1, Next: noon.Add(time.Second)}
	return f
}

func replacedTimes(f Facts, times int) Facts {
	f.Record.Recovery.Replacements = timing.Tries{Count: times, Next: noon.Add(time.Second)}
	return f
}

func TestNothingWaitsInAPreview(t *testing.T) {
	f := replacedTimes(noFailover(facts(web(), "10.0.0.11")), 0)
	pending := f.built("lb-1")
	pending.Listeners[0].ProvisioningStatus = lb.PendingCreate
	for name, test := range map[string]struct {
		facts Facts
		want  Action
	}{
		"parts that are not ready":         {f.having(pending), Follow},
		"one that failed at birth, before": {deletedOnce(f.having(failed(f.built("lb-1")))), Rebuild},
	} {
		test.facts.Preview = true
		if d := Decide(test.facts); d.Action != test.want || d.Delay > 0 {
			t.Errorf("%s: %q for %v", name, d.Action, d.Delay)
		}
	}
}
