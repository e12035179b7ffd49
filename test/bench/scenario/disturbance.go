// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/test/bench/report"
	"github.com/kube-octavia/kube-octavia/test/bench/stage"
)

// drift measures from the moment when the pools are empty until all are repaired. A
// controller that does not look for drift never repairs them.
func drift(ctx context.Context, r *Run) error {
	if err := r.Populate(ctx, r.Services, r.Ports); err != nil {
		return err
	}
	changed := min(r.Drift, r.Services)
	limits, err := r.LimitsOf(ctx, changed)
	if err != nil {
		return err
	}
	all, err := r.LoadBalancers(ctx)
	if err != nil {
		return err
	}
	members, err := r.MembersGrow(ctx, 0)
	if err != nil {
		return err
	}
	var emptied time.Time
	m, err := r.Measure(ctx, func(ctx context.Context) error {
		for _, l := range all[:changed] {
			if err := r.Cloud.EmptyPool(ctx, l.ID); err != nil {
				return err
			}
		}
		err := r.Wait(ctx, "Octavia to empty pools", r.Cloud.CheckIdle)
		emptied = time.Now()
		return err
	}, members)
	if err != nil {
		return err
	}
	var times []time.Duration
	for _, took := range m.Times() {
		times = append(times, m.Began.Add(took).Sub(emptied))
	}
	row := r.add("drift", m, longest(times), limits.Update, changed)
	row.Affected, row.Times = changed, report.PercentilesOf(times)
	return nil
}

// stuck compares the time of the others while one load balancer stays PENDING with the time
// that they take without that, in turns.
func stuck(ctx context.Context, r *Run) error {
	if !r.Cloud.Simulated() {
		r.Say("stuck: skipped on a real cloud")
		return nil
	}
	if err := r.Populate(ctx, r.Services, r.Ports); err != nil {
		return err
	}
	all, err := r.LoadBalancers(ctx)
	if err != nil {
		return err
	}
	victim := all[0].ID
	var with, without []float64
	var last stage.Measured
	for range r.Rounds {
		m, err := joinOthers(ctx, r, victim)
		if err != nil {
			return err
		}
		without = append(without, report.PercentilesOf(m.Times()).P99)
		release, err := r.Cloud.Hold(victim)
		if err != nil {
			return err
		}
		last, err = joinOthers(ctx, r, victim)
		release()
		if err != nil {
			return err
		}
		with = append(with, report.PercentilesOf(last.Times()).P99)
		if err := r.Settle(ctx, stage.Nothing); err != nil {
			return err
		}
	}
	p99, base := median(with), median(without)
	row := r.add("stuck", last, time.Duration(p99*float64(time.Second)), r.Limits.UpdatePorts, (r.Services-1)*r.Ports)
	row.Affected, row.Times = r.Services-1, report.PercentilesOf(last.Times())
	row.AddFigure("p99 of the others while one is stuck", p99, "s")
	row.AddFigure("p99 of the others while none is stuck", base, "s")
	row.AddGoal("p99 of the others, with a stuck one divided by without", report.Ratio(p99, base), 1.05)
	return nil
}

// joinOthers lets a node join and measures until all load balancers except the stuck one have been
// changed once for each port.
func joinOthers(ctx context.Context, r *Run, victim string) (stage.Measured, error) {
	m, err := r.MeasureUntil(ctx, "the other load balancers", func(ctx context.Context) error { return r.AddNodes(ctx, 1) }, func(ctx context.Context) error {
		done := 0
		for id, n := range r.Cloud.Changes() {
			if id != victim && n >= r.Ports {
				done++
			}
		}
		if done < r.Services-1 {
			return fmt.Errorf("%d of %d have followed", done, r.Services-1)
		}
		return nil
	})
	delete(m.Finished, victim)
	return m, err
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// retryAfter is what the throttled Octavia requests, in seconds.
const retryAfter = 1

// throttle lets Octavia answer 429 to all calls for a while, beginning when Services are
// created, and measures how often it is called then. The limit is one call whenever the
// time of Retry-After is over.
func throttle(ctx context.Context, r *Run) error {
	if err := r.Depopulate(ctx); err != nil {
		return err
	}
	fault := r.Cloud.Faults.Add(wire.Fault{
		Service: cloudsim.LoadBalancer, Kind: wire.FaultStatus, Status: http.StatusTooManyRequests, Body: `{"faultstring": "Too many requests"}`,
		Header: map[string]string{"Retry-After": fmt.Sprint(retryAfter)},
	})
	defer r.Cloud.Faults.Remove(fault)
	var ended time.Time
	m, err := r.Measure(ctx, func(ctx context.Context) error {
		end := time.AfterFunc(r.Throttle, func() { r.Cloud.Faults.Remove(fault) })
		defer end.Stop()
		ended = time.Now().Add(r.Throttle)
		return r.Create(ctx, r.Services, r.Ports)
	}, stage.Nothing)
	if err != nil {
		return err
	}
	times := r.Served(r.Names(), ended)
	row := r.add("throttle", m, longest(times), r.Limits.Create, writesOfService*r.Services)
	row.Times = report.PercentilesOf(times)
	refused := r.Cloud.Throttled()
	row.AddFigure("calls per second while throttled", float64(len(refused))/r.Throttle.Seconds(), "")
	row.AddFigure("the most calls in any second while throttled", float64(mostPerSecond(refused)), "")
	row.AddFigure("calls per second that Retry-After allows", 1.0/retryAfter, "")
	return r.Depopulate(ctx)
}

// mostPerSecond returns the largest number of times, in their order, within one second.
func mostPerSecond(times []time.Time) int {
	most, first := 0, 0
	for i, at := range times {
		for at.Sub(times[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
