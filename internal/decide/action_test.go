// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

func TestALoadBalancerIsReplacedOnlyWhereThatIsAskedForAllowedAndPossible(t *testing.T) {
	for name, c := range map[string]struct {
		of   fit
		want Action
	}{
		"as it is asked for":                      {fit{suits: true}, Follow},
		"as it is asked for, and allowed":         {fit{suits: true, allowed: true}, Follow},
		"not allowed":                             {fit{}, Refuse},
		"allowed":                                 {fit{allowed: true}, Replace},
		"allowed, and not possible":               {fit{allowed: true, obstacle: "a guest"}, Refuse},
		"another one is beside it":                {fit{suits: true, allowed: true, replaces: true}, TakeOver},
		"the change is taken back":                {fit{suits: true, allowed: true, replaces: true, oldSuits: true}, TakeBack},
		"the change is taken back to what it was": {fit{allowed: true, replaces: true, oldSuits: true}, TakeBack},
		"something else is asked for meanwhile":   {fit{allowed: true, replaces: true}, TakeBack},
		"it is not allowed any more":              {fit{suits: true, replaces: true}, TakeBack},
		"somebody came to use the old one":        {fit{suits: true, allowed: true, replaces: true, obstacle: "a guest"}, TakeBack},
		"in the place of one that failed":         {fit{suits: true, succeeds: true}, Follow},
		"in the place of one that failed, and no more as it is asked for": {fit{allowed: true, succeeds: true}, FinishFirst},
	} {
		if got := c.of.action(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestNoActionGivesUpWhatServesForWhatIsNotAskedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) bool { return rapid.Bool().Draw(t, name) }
		p := fit{suits: draw("suits"), allowed: draw("allowed"), replaces: draw("replaces"), oldSuits: draw("oldSuits"), succeeds: draw("succeeds")}
		if draw("obstacle") {
			p.obstacle = "a guest"
		}
		switch c := p.action(); {
		case c == TakeOver && (!p.allowed || !p.suits || p.oldSuits || p.obstacle != "" || !p.replaces):
			t.Fatalf("%+v takes over", p)
		case c == Replace && (!p.allowed || p.obstacle != "" || p.replaces || p.succeeds || p.suits):
			t.Fatalf("another one is built beside %+v", p)
		case (c == TakeOver || c == TakeBack) != p.replaces:
			t.Fatalf("action %q of %+v", c, p)
		}
	})
}

func TestALoadBalancerThatFailedIsFailedOverThenReplacedThenLeftToAPerson(t *testing.T) {
	for name, c := range map[string]struct {
		failure failure
		want    Action
	}{
		"a failover comes first":                        {failure{canFailOver: true, replaceable: true, movable: true}, FailOver},
		"a failover is no replacement":                  {failure{canFailOver: true}, FailOver},
		"a failover is tried also when attempts failed": {failure{canFailOver: true, replaceable: true, attempts: mostReplacements}, FailOver},
		"what is not marked as ours stays":              {failure{movable: true}, Leave},
		"one with a floating IP gets another beside it": {failure{replaceable: true, movable: true}, ReplaceFailed},
		"one without makes room first":                  {failure{replaceable: true}, ReplaceInPlace},
		"the next attempt waits":                        {failure{replaceable: true, movable: true, attempts: 1, waits: true}, AwaitRecovery},
		"and is made":                                   {failure{replaceable: true, movable: true, attempts: 1}, ReplaceFailed},
		"the last one is made":                          {failure{replaceable: true, attempts: mostReplacements - 1}, ReplaceInPlace},
		"no more than that":                             {failure{replaceable: true, movable: true, attempts: mostReplacements}, GiveUp},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.failure.action(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestAPersonIsToldWhatWasTried(t *testing.T) {
	tried := memory.Recovery{Replacements: timing.Tries{Count: 3}, Built: []string{"lb-2", "lb-3", "lb-4"}, RequestID: "req-9", FailoverRefused: "fail over load balancer lb-1: 403: Policy"}
	said := told(memory.Progress{}, tried, GiveUp, lb.LoadBalancer{ID: "lb-1"})
	if said.Reason != status.ReasonReplacementFailed {
		t.Errorf("reason %s", said.Reason)
	}
	for _, text := range []string{"lb-1", "lb-2", "lb-3", "lb-4", "3 of 3", "req-9", "403"} {
		if !strings.Contains(said.Trouble, text) {
			t.Errorf("%q does not say %q", said.Trouble, text)
		}
	}
}
