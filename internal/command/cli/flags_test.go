// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
)

func TestAGracePeriodIsADurationAboveZeroOrNever(t *testing.T) {
	for text, want := range map[string]time.Duration{"1h": time.Hour, "90m": 90 * time.Minute, "1ms": time.Millisecond, "never": orphan.Never} {
		t.Run(text, func(t *testing.T) {
			var g graceValue
			if err := g.Set(text); err != nil || time.Duration(g) != want {
				t.Errorf("%v, %v", time.Duration(g), err)
			}
			again := g
			if err := again.Set(g.String()); err != nil || again != g {
				t.Errorf("%s is printed as %s, which is read as %v (%v)", text, &g, time.Duration(again), err)
			}
		})
	}
	for _, text := range []string{"0", "0s", "-1h", "", "Never", "1", "soon"} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			g := graceValue(time.Hour)
			if err := g.Set(text); err == nil || time.Duration(g) != time.Hour {
				t.Errorf("%q is taken for %v", text, time.Duration(g))
			}
		})
	}
}
