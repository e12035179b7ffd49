// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLimitsWithoutATailAreTheProfile(t *testing.T) {
	p, err := ProfileNamed("amphora", 0.5, Tail{})
	if err != nil {
		t.Fatal(err)
	}
	want := Limits{Call: 40 * time.Millisecond, Create: 15080 * time.Millisecond, Update: 2040 * time.Millisecond,
		UpdatePorts: 6120 * time.Millisecond, Delete: 2080 * time.Millisecond}
	if diff := cmp.Diff(want, p.Limits(10, 3)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Limits{}, Instant().Limits(1000, 5)); diff != "" {
		t.Error(diff)
	}
}

// All wait for the slowest: the more load balancers, the longer.
func TestLimitsWithATailGrowWithTheNumberOfLoadBalancers(t *testing.T) {
	for _, tail := range []string{"lognormal:0.5", "pareto:2"} {
		t.Run(tail, func(t *testing.T) {
			parsed, err := ParseTail(tail)
			if err != nil {
				t.Fatal(err)
			}
			p, err := ProfileNamed("amphora", 1, parsed)
			if err != nil {
				t.Fatal(err)
			}
			one, many := p.Limits(1, 3), p.Limits(100, 3)
			if many.Create <= one.Create || many.UpdatePorts <= one.UpdatePorts || one != p.Limits(1, 3) {
				t.Errorf("limits of 1: %+v, of 100: %+v", one, many)
			}
		})
	}
}

func TestFactorsHaveTheirDistribution(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	factors := func(tail Tail) []float64 {
		all := make([]float64, 10_000)
		for i := range all {
			all[i] = tail.factor(random)
		}
		slices.Sort(all)
		return all
	}
	if all := factors(Tail{Kind: "lognormal", Shape: 0.5}); math.Abs(all[5000]-1) > 0.05 || math.Abs(all[8413]-math.Exp(0.5)) > 0.1 {
		t.Errorf("lognormal: median %v, one sigma %v", all[5000], all[8413])
	}
	if all := factors(Tail{Kind: "pareto", Shape: 2}); all[0] < 1 || math.Abs(all[7500]-2) > 0.15 {
		t.Errorf("pareto: smallest %v, upper quartile %v", all[0], all[7500])
	}
	if all := factors(Tail{}); all[0] != 1 || all[9999] != 1 {
		t.Errorf("none: %v to %v", all[0], all[9999])
	}
}

func TestTailsAreParsed(t *testing.T) {
	for text, want := range map[string]Tail{"none": {}, "lognormal:0.5": {"lognormal", 0.5}, "pareto:2": {"pareto", 2}} {
		t.Run(text, func(t *testing.T) {
			got, err := ParseTail(text)
			if err != nil || got != want || got.String() != text {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	for _, text := range []string{"", "lognormal", "pareto:0", "weibull:1", "pareto:x"} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			if _, err := ParseTail(text); err == nil {
				t.Error("it is taken")
			}
		})
	}
}

func TestUnknownProfileIsRefused(t *testing.T) {
	if _, err := ProfileNamed("slow", 1, Tail{}); err == nil {
		t.Error("the profile slow is taken")
	}
	if _, err := ProfileNamed("ovn", 0, Tail{}); err == nil {
		t.Error("the time scale 0 is taken")
	}
}
