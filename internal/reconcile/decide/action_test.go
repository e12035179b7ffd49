// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

func TestLoadBalancerIsReplacedOnlyIfNecessaryAllowedAndPossible(t *testing.T) {
	for name, c := range map[string]struct {
		facts replacementFacts
		want  Action
	}{
		"it can be changed":                                   {replacementFacts{fits: true}, Converge},
		"it can be changed, replacement allowed":              {replacementFacts{fits: true, allowed: true}, Converge},
		"replacement not allowed":                             {replacementFacts{}, Refuse},
		"replacement allowed":                                 {replacementFacts{allowed: true}, Replace},
		"replacement allowed, but not possible":               {replacementFacts{allowed: true, obstacle: "shared"}, Refuse},
		"the replacement exists":                              {replacementFacts{fits: true, allowed: true, replacing: true}, CompleteReplacement},
		"the predecessor fits too":                            {replacementFacts{fits: true, allowed: true, replacing: true, predecessorFits: true}, CancelReplacement},
		"only the predecessor fits":                           {replacementFacts{allowed: true, replacing: true, predecessorFits: true}, CancelReplacement},
		"neither fits":                                        {replacementFacts{allowed: true, replacing: true}, CancelReplacement},
		"replacement no longer allowed":                       {replacementFacts{fits: true, replacing: true}, CancelReplacement},
		"the predecessor is shared now":                       {replacementFacts{fits: true, allowed: true, replacing: true, obstacle: "shared"}, CancelReplacement},
		"it replaces a failed one":                            {replacementFacts{fits: true, hasPredecessor: true}, Converge},
		"it replaces a failed one, and does not fit any more": {replacementFacts{allowed: true, hasPredecessor: true}, PostponeReplacement},
	} {
		if got := c.facts.action(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestOnlyANecessaryReplacementReplacesAServingLoadBalancer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) bool { return rapid.Bool().Draw(t, name) }
		r := replacementFacts{fits: draw("fits"), allowed: draw("allowed"), replacing: draw("replacing"),
			predecessorFits: draw("predecessorFits"), hasPredecessor: draw("hasPredecessor")}
		if draw("obstacle") {
			r.obstacle = "shared"
		}
		switch action := r.action(); {
		case action == CompleteReplacement && (!r.allowed || !r.fits || r.predecessorFits || r.obstacle != "" || !r.replacing):
			t.Fatalf("the replacement is completed: %+v", r)
		case action == Replace && (!r.allowed || r.obstacle != "" || r.replacing || r.hasPredecessor || r.fits):
			t.Fatalf("a replacement is created: %+v", r)
		case (action == CompleteReplacement || action == CancelReplacement) != r.replacing:
			t.Fatalf("action %q of %+v", action, r)
		}
	})
}

func TestAFailedLoadBalancerIsFailedOverThenReplacedForAsLongAsItTakes(t *testing.T) {
	for name, c := range map[string]struct {
		facts recoveryFacts
		want  Action
	}{
		"failover comes first":                       {recoveryFacts{canFailOver: true, replaceable: true, movable: true}, FailOver},
		"failover of one that is not replaceable":    {recoveryFacts{canFailOver: true}, FailOver},
		"failover of another one while waiting":      {recoveryFacts{canFailOver: true, replaceable: true, waits: true}, FailOver},
		"neither failover nor replacement":           {recoveryFacts{movable: true}, LeaveFailed},
		"neither of them for one that failed over":   {recoveryFacts{failedOver: true, movable: true}, LeaveFailed},
		"replacement with a floating IP":             {recoveryFacts{replaceable: true, movable: true}, ReplaceFailed},
		"replacement of an internal load balancer":   {recoveryFacts{replaceable: true}, ReplaceInPlace},
		"replacement after a failover":               {recoveryFacts{canFailOver: true, failedOver: true, replaceable: true, movable: true}, ReplaceFailed},
		"too early for another replacement":          {recoveryFacts{replaceable: true, movable: true, waits: true}, AwaitRecovery},
		"too early for another failover":             {recoveryFacts{canFailOver: true, failedOver: true, waits: true}, AwaitRecovery},
		"another failover where nothing else can be": {recoveryFacts{canFailOver: true, failedOver: true}, FailOver},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.facts.action(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestConditionAfterSeveralAttemptsNamesThemAndWhenTheNextOneIsMade(t *testing.T) {
	tried := memory.Recovery{Replacements: timing.Tries{Count: 3}, Built: []string{"lb-2", "lb-3", "lb-4"}, RequestID: "req-9", FailoverRefused: "fail over load balancer lb-1: 403: Policy"}
	progress := recoveryProgress(memory.Progress{}, tried, AwaitRecovery, true, lb.LoadBalancer{ID: "lb-1"})
	if progress.Reason != status.ReasonReplacementFailed {
		t.Errorf("reason %s", progress.Reason)
	}
	for _, text := range []string{"lb-1", "lb-2", "lb-3", "lb-4", "every hour", "req-9", "403"} {
		if !strings.Contains(progress.Trouble, text) {
			t.Errorf("%q does not contain %q", progress.Trouble, text)
		}
	}
}
