// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/kube-octavia/kube-octavia/test/bench/cloud"
	"github.com/kube-octavia/kube-octavia/test/bench/report"
	"github.com/kube-octavia/kube-octavia/test/bench/stage"
)

// In a rollout, a Pod of each Service is replaced at this interval, until none of the old ones is left.
const (
	rolloutPods     = 100
	rolloutInterval = 200 * time.Millisecond
	// rolloutLook is the interval for reading the members.
	rolloutLook = 100 * time.Millisecond
)

// rollout replaces the Pods of Services faster than Octavia can follow: changes while a load balancer is PENDING must
// go into one write. The time of a Pod is from the change of the EndpointSlice until its member has taken effect.
func rollout(ctx context.Context, r *Run) error {
	if err := r.Depopulate(ctx); err != nil {
		return err
	}
	r.Ports = 1
	r.Say("preparing %d Services with %d Pods as members", r.Services, rolloutPods)
	names, err := r.PodServices(ctx, r.Services, stage.PodAddresses(0, rolloutPods))
	if err != nil {
		return err
	}
	limits, err := r.LimitsOf(ctx, r.Services)
	if err != nil {
		return err
	}
	stopped := watchMembers(ctx, r.Cloud)
	changed, began, took := map[string]time.Time{}, time.Now(), time.Duration(0)
	m, err := r.Measure(ctx, func(ctx context.Context) error {
		for i := range rolloutPods {
			now := stage.PodAddresses(i+1, rolloutPods)
			changed[now[rolloutPods-1]] = time.Now()
			if err := r.SetPods(ctx, names, now); err != nil {
				return err
			}
			if err := r.Pause(ctx, time.Until(began.Add(time.Duration(i+1)*rolloutInterval))); err != nil {
				return err
			}
		}
		took = time.Since(began)
		return nil
	}, stage.Nothing)
	seen, lookErr := stopped()
	if err != nil || lookErr != nil {
		return errors.Join(err, lookErr)
	}
	var times []time.Duration
	for member, at := range seen {
		if since, is := changed[member.Address]; is {
			times = append(times, at.Sub(since))
		}
	}
	perPool := math.Ceil(took.Seconds()/limits.Update.Seconds()) + 1
	row := r.add("rollout", m, longest(m.Times()), took+limits.Update, int(perPool)*r.Services)
	row.Times = report.PercentilesOf(times)
	row.AddFigure("Pods replaced for each Service", rolloutPods, "")
	row.AddFigure("replaced within", took.Seconds(), "s")
	row.AddGoal("writes for each pool", report.Ratio(float64(m.Calls.Writes), float64(r.Services)), perPool)
	return r.Delete(ctx, names)
}

// watchMembers notes when each member was first seen in effect, until the result is requested.
func watchMembers(ctx context.Context, c *cloud.Cloud) (stop func() (map[cloud.Member]time.Time, error)) {
	seen := map[cloud.Member]time.Time{}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		tick := time.NewTicker(rolloutLook)
		defer tick.Stop()
		for {
			now := time.Now()
			members, err := c.ActiveMembers(ctx)
			if ctx.Err() != nil {
				done <- nil
				return
			}
			if err != nil {
				done <- err
				return
			}
			for m := range members {
				if _, known := seen[m]; !known {
					seen[m] = now
				}
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}()
	return func() (map[cloud.Member]time.Time, error) {
		cancel()
		err := <-done
		return seen, err
	}
}
