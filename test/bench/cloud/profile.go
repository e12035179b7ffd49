// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Profile is how long a simulated cloud takes: Create, Update and Delete are how long a load
// balancer is PENDING, Call is how long the answer of any API takes.
type Profile struct {
	Name                         string
	Provider                     string
	Create, Update, Delete, Call time.Duration
	Tail                         Tail
}

// profiles are those that the flag knows.
var profiles = map[string]Profile{
	"amphora": {Provider: "amphora", Create: 30 * time.Second, Update: 4 * time.Second, Delete: 4 * time.Second, Call: 80 * time.Millisecond},
	"ovn":     {Provider: "ovn", Create: 500 * time.Millisecond, Update: 300 * time.Millisecond, Delete: 300 * time.Millisecond, Call: 60 * time.Millisecond},
	"instant": {Provider: "amphora"},
}

// Instant takes no time.
func Instant() Profile {
	p := profiles["instant"]
	p.Name = "instant"
	return p
}

// ProfileNamed returns the profile with all times multiplied by scale.
func ProfileNamed(name string, scale float64, tail Tail) (Profile, error) {
	p, known := profiles[name]
	switch {
	case !known:
		return p, fmt.Errorf("unknown profile %q: use one of %s", name, strings.Join(slices.Sorted(maps.Keys(profiles)), ", "))
	case scale <= 0:
		return p, fmt.Errorf("the time scale is %v: it must be more than 0", scale)
	}
	for _, d := range []*time.Duration{&p.Create, &p.Update, &p.Delete, &p.Call} {
		*d = time.Duration(float64(*d) * scale)
	}
	p.Name, p.Tail = name, tail
	return p, nil
}

// String describes the profile for the report.
func (p Profile) String() string {
	return fmt.Sprintf("simulated, profile %s: create %v, update %v, delete %v, %v per call, tail %s", p.Name, p.Create, p.Update, p.Delete, p.Call, p.Tail)
}

// Tail is the distribution of the times of Create, Update and Delete: each is the time of the
// profile multiplied by a random factor.
type Tail struct {
	// Kind is empty (the factor is 1), lognormal (the median of the factor is 1, Shape is
	// sigma) or pareto (the smallest factor is 1, Shape is alpha).
	Kind  string
	Shape float64
}

// ParseTail reads "none", "lognormal:SIGMA" or "pareto:ALPHA".
func ParseTail(text string) (Tail, error) {
	if text == "none" {
		return Tail{}, nil
	}
	kind, shape, _ := strings.Cut(text, ":")
	value, err := strconv.ParseFloat(shape, 64)
	if (kind != "lognormal" && kind != "pareto") || err != nil || value <= 0 {
		return Tail{}, fmt.Errorf("%q is no tail: use none, lognormal:SIGMA or pareto:ALPHA, such as lognormal:0.5 or pareto:2", text)
	}
	return Tail{Kind: kind, Shape: value}, nil
}

// String returns what ParseTail reads.
func (t Tail) String() string {
	if t.Kind == "" {
		return "none"
	}
	return fmt.Sprintf("%s:%v", t.Kind, t.Shape)
}

// factor draws one.
func (t Tail) factor(random *rand.Rand) float64 {
	switch t.Kind {
	case "lognormal":
		return math.Exp(t.Shape * random.NormFloat64())
	case "pareto":
		return math.Pow(1-random.Float64(), -1/t.Shape)
	}
	return 1
}

// drawer returns a function for many goroutines that multiplies times by random factors.
func (t Tail) drawer(seed uint64) func(time.Duration) time.Duration {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, seed))
	return func(d time.Duration) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(float64(d) * t.factor(random))
	}
}
