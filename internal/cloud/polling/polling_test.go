// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package polling

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

const second = time.Second

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// follow polls one operation with this duration until it sees the end. It returns the interval of the end and the
// number of polls.
func follow(e Estimate, takes, answer time.Duration) (after, by time.Duration, looks int) {
	for {
		next := max(e.Next(after, Rest(answer)), after+Rest(answer))
		if looks == 0 {
			next = e.Next(0, Rest(answer))
		}
		looks++
		if by = next; by >= takes {
			return after, by, looks
		}
		after = by
	}
}

// allowed returns how late the end of an operation may be noticed if the estimate is right.
func allowed(takes, answer time.Duration) time.Duration {
	return max(min(max(takes/share, Shortest), Longest), Rest(answer))
}

var durations = rapid.Custom(func(t *rapid.T) time.Duration {
	return time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(20*time.Minute)).Draw(t, "duration"))
})

var estimates = rapid.Custom(func(t *rapid.T) Estimate {
	if rapid.Bool().Draw(t, "unknown") {
		return Estimate{}
	}
	mean := max(durations.Draw(t, "mean"), least)
	return Estimate{mean: mean, deviation: time.Duration(rapid.Int64Range(0, int64(mean)).Draw(t, "deviation")), renewed: noon}
})

func TestEndOfAChangeIsFoundSoonWhateverTheEstimate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, takes := estimates.Draw(t, "estimate"), durations.Draw(t, "takes")
		answer := time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "answer"))
		_, by, _ := follow(e, takes, answer)
		most := allowed(takes, answer)
		if takes < e.first(Rest(answer)) {
			// The cloud has become faster than the estimate says.
			most = max(most, takes, 2*Longest)
		}
		if late := by - takes; late > most {
			t.Fatalf("%v is noticed %v late, with %+v; at most %v is allowed", takes, late, e, most)
		}
	})
}

func TestCallsAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, takes := estimates.Draw(t, "estimate"), durations.Draw(t, "takes")
		_, _, looks := follow(e, takes, 0)
		// A poll every 250 ms up to 2.5 s, then each at 1.1 times the time of the previous one up to 50 s, then every
		// 5 s; and the early ones.
		most := 10 + 32 + int(max(takes-50*second, 0)/Longest) + 2 + 8
		if looks > most {
			t.Fatalf("%d looks at an operation of %v, with %+v; want at most %d", looks, takes, e, most)
		}
	})
}

func TestPollingTimesAlwaysAdvance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e, looked := estimates.Draw(t, "estimate"), rapid.OneOf(rapid.Just(time.Duration(0)), durations).Draw(t, "looked")
		next := e.Next(looked, 0)
		if looked > 0 && next < looked+Shortest || next <= 0 {
			t.Fatalf("after %v the next look is at %v", looked, next)
		}
	})
}

func TestUnknownOperationIsPolledFromTheBeginning(t *testing.T) {
	var looks []time.Duration
	var e Estimate
	for at := e.Next(0, 0); at < 100*second; at = e.Next(at, 0) {
		looks = append(looks, at)
	}
	if looks[0] != Shortest || looks[1] != 2*Shortest {
		t.Errorf("the first looks are at %v", looks[:2])
	}
	for i, at := range looks[1:] {
		want := min(max(looks[i]/share, Shortest), Longest)
		if got := at - looks[i]; got != want {
			t.Errorf("after %v the interval is %v, want %v", looks[i], got, want)
		}
	}
}

func TestEstimateThatIsNotRenewedGetsLessCertain(t *testing.T) {
	e := Estimate{mean: 40 * second, deviation: second, renewed: noon}
	for _, c := range []struct {
		age  time.Duration
		want time.Duration
	}{{-second, 38 * second}, {0, 38 * second}, {time.Hour, 18 * second}, {2 * time.Hour, 8 * second}, {1000 * time.Hour, least}} {
		t.Run(c.age.String(), func(t *testing.T) {
			if got := e.Aged(noon.Add(c.age)).first(0); got != c.want {
				t.Errorf("after %v it can be done in %v, want %v", c.age, got, c.want)
			}
		})
	}
	if (Estimate{}).Aged(noon).Known() {
		t.Error("an unknown duration is known")
	}
}

func TestPauseIsTenTimesTheResponseTimeAndFailuresBackOff(t *testing.T) {
	for answer, want := range map[time.Duration]time.Duration{0: 0, 80 * time.Millisecond: 800 * time.Millisecond, second: Longest} {
		if got := Rest(answer); got != want {
			t.Errorf("after an answer of %v it rests %v, want %v", answer, got, want)
		}
	}
	for failures, want := range []time.Duration{0, 2 * Shortest, 4 * Shortest, 8 * Shortest, 16 * Shortest, Longest, Longest} {
		if got := Backoff(failures); got != want {
			t.Errorf("after %d failures it waits %v, want %v", failures, got, want)
		}
	}
}
