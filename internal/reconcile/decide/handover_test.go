// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func TestAddressMovesToACompleteReplacement(t *testing.T) {
	move := diff.Plan{Ops: []diff.Op{diff.AssociateFloatingIP{ID: "f"}}}
	external := Goal{Wanted: lb.Wanted{FloatingIP: &lb.FloatingIP{}}}
	plain := factsOf(web(), "10.0.0.11")
	old := plain.built("old")
	with := func(provided bool, missingRules string, tags ...string) Facts {
		f, predecessor := plain, old
		predecessor.Tags = append(webOwner.Tags(), tags...)
		f.Record.Cloud.Observed.Predecessor, f.MissingNodeRules = &predecessor, missingRules
		if provided {
			f.Provided = []Need{NeedPredecessor}
		}
		return f
	}
	for name, c := range map[string]struct {
		f        Facts
		d        Decision
		need     Need
		final    bool
		moves    bool
		complete bool
		delay    time.Duration
	}{
		"no replacement":               {f: with(false, ""), d: Decision{Action: Converge}},
		"not complete":                 {f: with(false, ""), d: Decision{Action: CompleteReplacement}},
		"ready for the move":           {f: with(false, ""), d: Decision{Action: CompleteReplacement, Plan: move}, need: NeedPredecessor},
		"predecessor read":             {f: with(true, ""), d: Decision{Action: CompleteReplacement, Plan: move}, final: true, moves: true, delay: timing.StaleRetry},
		"predecessor is shared":        {f: with(true, "", "kube_service_kubernetes_default_api"), d: Decision{Action: CompleteReplacement, Plan: move}, final: true, delay: timing.StaleRetry},
		"nodes do not accept traffic":  {f: with(true, "no rule"), d: Decision{Action: CompleteReplacement, Plan: move}, final: true, delay: plain.Timing.ChildrenRetry},
		"floating IP has moved":        {f: with(false, ""), d: Decision{Action: CompleteReplacement, Complete: true, Goal: external}, final: true, complete: true, delay: timing.StaleRetry},
		"internal":                     {f: with(false, ""), d: Decision{Action: CompleteReplacement, Complete: true}, need: NeedPredecessor},
		"internal, predecessor read":   {f: with(true, ""), d: Decision{Action: CompleteReplacement, Complete: true}, final: true, complete: true, delay: timing.StaleRetry},
		"internal, shared":             {f: with(true, "", "kube_service_kubernetes_default_api"), d: Decision{Action: CompleteReplacement, Complete: true}, final: true, delay: timing.StaleRetry},
		"published, predecessor stays": {f: with(false, ""), d: Decision{Action: Converge, Complete: true}, complete: true, delay: plain.Timing.Drain},
	} {
		c.d.Plan.Ops = append([]diff.Op{}, c.d.Plan.Ops...)
		d, final := handOver(c.f, c.d)
		if d.Need != c.need || final != c.final || len(d.Plan.Ops) > 0 != c.moves || d.Complete != c.complete || d.Delay != c.delay {
			t.Errorf("%s: need %q, final %t, ops %v, complete %t, delay %v", name, d.Need, final, kinds(d.Plan.Ops), d.Complete, d.Delay)
		}
	}
}

func TestPredecessorIsRetiredAfterItsDrainTime(t *testing.T) {
	f := factsOf(web(), "10.0.0.11")
	next, old := f.built("new", lb.ReplacesTag("old")), f.built("old")
	f.Record.Cloud.Observed = lb.Observed{LoadBalancer: &next, Predecessor: &old, FloatingIPs: []lb.FloatingIP{{PortID: "port-new"}}}
	for name, test := range map[string]struct {
		since   time.Time
		retired bool
	}{
		"just handed over": {time.Time{}, false},
		"draining":         {noon.Add(-time.Second), false},
		"drained":          {noon.Add(-f.Timing.Drain), true},
	} {
		f.Record.Recovery.HandedOver = test.since
		r, retired := RetirePredecessor(f)
		if retired != test.retired || (r.Cloud.Observed.Predecessor == nil) != test.retired || len(r.Cloud.Observed.Duplicates) == 1 != test.retired {
			t.Errorf("%s: retired %t, observed %+v", name, retired, r.Cloud.Observed)
		}
	}
	f.Record.Cloud.Observed.FloatingIPs = []lb.FloatingIP{{PortID: "port-old"}}
	if r, retired := RetirePredecessor(f); retired || !r.Recovery.HandedOver.IsZero() {
		t.Error("retired although it has the address again, or its drain time continues")
	}
}

func TestHandoverOfAnInternalServiceIsShownByItsID(t *testing.T) {
	f := factsOf(web(), "10.0.0.11")
	next, old := f.built("new", lb.ReplacesTag("old")), f.built("old")
	o := lb.Observed{LoadBalancer: &next, Predecessor: &old}
	named := func(id string) claim.Owner { return services.Owner(web(annotated(annotation.LoadBalancerID, id))) }
	if HandedOver(named("old"), o) || !HandedOver(named("new"), o) {
		t.Error("the id on the Service does not show which one has the address")
	}
	o.FloatingIPs = []lb.FloatingIP{{PortID: "port-old"}}
	if HandedOver(named("new"), o) {
		t.Error("the floating IP is still on the old one")
	}
}
