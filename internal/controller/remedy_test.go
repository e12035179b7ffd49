// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

func TestALoadBalancerThatFailedIsFailedOverThenReplacedThenLeftToAPerson(t *testing.T) {
	for name, c := range map[string]struct {
		failure failure
		want    remedy
	}{
		"a failover comes first":                        {failure{canFailOver: true, replaceable: true, beside: true}, failOver},
		"a failover is no replacement":                  {failure{canFailOver: true}, failOver},
		"a failover is tried also when attempts failed": {failure{canFailOver: true, replaceable: true, attempts: mostReplacements}, failOver},
		"what is not marked as ours stays":              {failure{beside: true}, leave},
		"one with a floating IP gets another beside it": {failure{replaceable: true, beside: true}, replaceBeside},
		"one without makes room first":                  {failure{replaceable: true}, replaceInPlace},
		"the next attempt waits":                        {failure{replaceable: true, beside: true, attempts: 1, delay: time.Second}, wait},
		"and is made":                                   {failure{replaceable: true, beside: true, attempts: 1}, replaceBeside},
		"the last one is made":                          {failure{replaceable: true, attempts: mostReplacements - 1}, replaceInPlace},
		"no more than that":                             {failure{replaceable: true, beside: true, attempts: mostReplacements}, giveUp},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.failure.remedy(); got != c.want {
				t.Errorf("remedy %d, want %d", got, c.want)
			}
		})
	}
}

func TestAttemptsComeSlowerAndSlower(t *testing.T) {
	timing, now := timing.Default(), time.Unix(1000, 0)
	var a attempts
	for _, least := range []time.Duration{timing.FirstReplacement, 2 * timing.FirstReplacement, 4 * timing.FirstReplacement} {
		a.begin(now, "req-1", timing)
		if d := a.next.Sub(now); d < least || d > least+least/5 {
			t.Errorf("after attempt %d it waits %v, want %v and a little", a.begun, d, least)
		}
	}
}

func TestAPersonIsToldWhatWasTried(t *testing.T) {
	a := attempts{begun: 3, made: []string{"lb-2", "lb-3", "lb-4"}, last: "req-9", trouble: "fail over load balancer lb-1: 403: Policy"}
	reason, message := a.tell(giveUp, lb.LoadBalancer{ID: "lb-1"})
	if reason != status.ReasonReplacementFailed {
		t.Errorf("reason %s", reason)
	}
	for _, text := range []string{"lb-1", "lb-2", "lb-3", "lb-4", "3 of 3", "req-9", "403"} {
		if !strings.Contains(message, text) {
			t.Errorf("%q does not say %q", message, text)
		}
	}
}
