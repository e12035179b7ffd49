// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/kube-octavia/kube-octavia/test/bench/cloud"
	"github.com/kube-octavia/kube-octavia/test/bench/report"
	"github.com/kube-octavia/kube-octavia/test/bench/stage"
)

// listsOfRestart is how many lists a restart needs: load balancers, listeners, pools,
// monitors and floating IPs; and one for what belongs to them in Neutron.
const listsOfRestart = 6

func restart(ctx context.Context, r *Run) error {
	if err := r.Populate(ctx, r.Services, r.Ports); err != nil {
		return err
	}
	if err := restartOf(ctx, r, "restart"); err != nil {
		return err
	}
	alone, err := r.LimitsOf(ctx, 1)
	if err != nil {
		return err
	}
	if err := r.Stop(); err != nil {
		return err
	}
	members, err := r.MembersGrow(ctx, r.Nodes())
	if err != nil {
		return err
	}
	one := r.Names()[:1]
	if err := r.AddPort(ctx, one, r.Ports); err != nil {
		return err
	}
	m, err := r.Measure(ctx, func(context.Context) error { return r.Restart() }, members)
	if err != nil {
		return err
	}
	row := r.add("restart, 1 changed", m, longest(m.Times()), listsOfRestart*r.Limits.Call+writesOfPort*alone.Update, writesOfPort)
	members, err = r.MembersGrow(ctx, -r.Nodes())
	if err != nil {
		return err
	}
	row.Times = report.PercentilesOf(m.Times())
	if err := r.RemovePort(ctx, one, r.Ports); err != nil {
		return err
	}
	return r.Settle(ctx, members)
}

// restartOf measures a restart in which nothing has changed. The time ends with the last
// call before the controller settles.
func restartOf(ctx context.Context, r *Run, name string) error {
	if r.Running() {
		if err := r.Stop(); err != nil {
			return err
		}
	}
	m, err := r.Measure(ctx, func(context.Context) error { return r.Restart() }, r.Called)
	if err != nil {
		return err
	}
	row := r.add(name, m, m.LastCall, listsOfRestart*r.Limits.Call, 0)
	objects := r.Services * (1 + 2*r.Ports)
	row.AddFigure("calls to log in, for versions and quotas", float64(m.Calls.Connect), "")
	row.AddGoal("calls without login, versions and quotas", float64(m.Calls.Total-m.Calls.Connect), float64(listsOfRestart*(1+objects/1000)))
	return nil
}

func idle(ctx context.Context, r *Run) error {
	if err := r.Populate(ctx, r.Services, r.Ports); err != nil {
		return err
	}
	return idleOf(ctx, r, "idle", 0, 0)
}

// idleOf observes a controller without work. Goals of zero are none.
func idleOf(ctx context.Context, r *Run, name string, goalMB, goalCPU float64) error {
	r.Say("%v without work", r.Idle)
	r.Cloud.Reset()
	before := r.CPU()
	if err := r.Pause(ctx, r.Idle); err != nil {
		return err
	}
	m := stage.Measured{Calls: r.Cloud.Calls(), CPU: r.CPU() - before, Memory: r.Memory()}
	row := r.add(name, m, 0, 0, 0)
	share := 100 * m.CPU.Seconds() / r.Idle.Seconds()
	row.AddFigure("observed for", r.Idle.Seconds(), "s")
	row.AddFigure("share of one processor", share, "%")
	if goalMB > 0 {
		row.AddGoal("MB", row.MB, goalMB)
		row.AddGoal("share of one processor in %", share, goalCPU)
	}
	return nil
}

// kill ends the controller at a random moment of a create and starts another. In the end there must
// be one of everything, and after the deletion nothing.
func kill(ctx context.Context, r *Run) error {
	if err := r.Depopulate(ctx); err != nil {
		return err
	}
	alone, err := r.LimitsOf(ctx, 1)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(r.Seed, r.Seed))
	r.Say("seed of the random moments: %d", r.Seed)
	var sum stage.Measured
	var times []time.Duration
	sum.Calls.Routes = map[string]int{}
	within := max(alone.Create, 500*time.Millisecond)
	for i := range r.Rounds {
		m, err := killRound(ctx, r, time.Duration(random.Int64N(int64(within))))
		if err != nil {
			return fmt.Errorf("round %d: %w", i+1, err)
		}
		times = append(times, m.LastCall)
		addMeasured(&sum, m)
	}
	row := r.add("kill", sum, longest(times), alone.Create, 0)
	row.Services, row.Affected, row.Times = 1, r.Rounds, report.PercentilesOf(times)
	row.AddFigure("rounds, each with one of everything at its end and then nothing", float64(r.Rounds), "")
	return nil
}

// killRound measures from the restart until the controller has settled.
func killRound(ctx context.Context, r *Run, after time.Duration) (stage.Measured, error) {
	before, err := r.Cloud.Inventory(ctx)
	if err != nil {
		return stage.Measured{}, err
	}
	if err := r.Begin(ctx, 1, r.Ports); err != nil {
		return stage.Measured{}, err
	}
	if err := r.Pause(ctx, after); err != nil {
		return stage.Measured{}, err
	}
	if err := r.Kill(); err != nil {
		return stage.Measured{}, err
	}
	m, err := r.Measure(ctx, func(context.Context) error { return r.Restart() }, func(ctx context.Context) error {
		return errors.Join(r.Called(ctx), r.AllServed(ctx))
	})
	if err != nil {
		return m, err
	}
	one := cloud.Inventory{LoadBalancers: before.LoadBalancers + 1, FloatingIPs: before.FloatingIPs + 1, VIPPorts: before.VIPPorts + 1}
	if err := checkInventory(ctx, r, one); err != nil {
		return m, fmt.Errorf("killed after %v: %w", after, err)
	}
	if err := r.Depopulate(ctx); err != nil {
		return m, err
	}
	return m, checkInventory(ctx, r, before)
}

func checkInventory(ctx context.Context, r *Run, want cloud.Inventory) error {
	got, err := r.Cloud.Inventory(ctx)
	if err == nil && got != want {
		err = fmt.Errorf("the cloud has %+v, not %+v", got, want)
	}
	return err
}
