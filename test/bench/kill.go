// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

const (
	killBuildTime = 2 * time.Second
	// lifeTime covers a whole create, and writeTime its writes when each of them
	// takes writeLatency: a kill then falls into one, or between two.
	lifeTime     = 3 * time.Second
	writeTime    = 500 * time.Millisecond
	writeLatency = 150 * time.Millisecond
)

// round is one create with a kill in it.
type round struct {
	// KilledAfter is the time from the create of the Service to the kill.
	KilledAfterSeconds float64 `json:"killedAfterSeconds"`
	// AtKill is what the cloud had right after the kill, Programmed whether the
	// Service was by then.
	AtKill     inventory `json:"atKill"`
	Programmed bool      `json:"programmedAtKill"`
	// ProgrammedAfter is the time from the restart until the Service is
	// Programmed and the controller done with it, and WithService what the cloud
	// then has: one of each.
	ProgrammedAfterSeconds float64   `json:"programmedAfterRestartSeconds"`
	WithService            inventory `json:"withService"`
	// AfterDelete is what the cloud has when the Service is gone: nothing.
	AfterDelete inventory `json:"afterDelete"`
}

// kill kills a controller that needs no Lease.
func kill(ctx context.Context, b *bench, r *result) error {
	return killRounds(ctx, b, r, b.rounds, alone)
}

// killLeader kills one that has to wait until its own Lease has run out.
func killLeader(ctx context.Context, b *bench, r *result) error {
	return killRounds(ctx, b, r, (b.rounds+3)/4, []string{"--leader-elect-lease-duration=2s",
		"--leader-elect-renew-deadline=1500ms", "--leader-elect-retry-period=200ms"})
}

// killRounds makes that many rounds over the whole create, and as many over its
// writes.
func killRounds(ctx context.Context, b *bench, r *result, rounds int, flags []string) error {
	random := rand.New(rand.NewPCG(b.seed, b.seed))
	cloud := cloudsim.Options{BuildTime: killBuildTime, DeleteTime: 300 * time.Millisecond}
	return b.withStage(ctx, cloud, flags, func(s *stage) error {
		b.say("seed of the random moments: %d", b.seed)
		for _, within := range []time.Duration{lifeTime, writeTime} {
			if within == writeTime {
				s.cloud.Latency().Set(wire.Operation{Method: http.MethodPost}, writeLatency)
			}
			for i := range rounds {
				done, err := s.killRound(ctx, fmt.Sprintf("kill-%d-%d", within.Milliseconds(), i), time.Duration(random.Int64N(int64(within))))
				r.Rounds = append(r.Rounds, done)
				if err != nil {
					return fmt.Errorf("round %d, kill within %v: %w", i+1, within, err)
				}
			}
			b.say("%d rounds with a kill within %v", rounds, within)
		}
		r.addTotals()
		return nil
	})
}

// addTotals adds how often the cloud had what at the kill.
func (r *result) addTotals() {
	totals := map[inventory]int{}
	var took []time.Duration
	for _, done := range r.Rounds {
		totals[done.AtKill]++
		took = append(took, time.Duration(done.ProgrammedAfterSeconds*float64(time.Second)))
	}
	r.add(float64(len(r.Rounds)), "1", "rounds, each ended with one load balancer, one floating IP and one VIP port, and then with none")
	r.add(float64(totals[inventory{}]), "1", "rounds killed before anything was in the cloud")
	r.add(float64(totals[inventory{LoadBalancers: 1, VIPPorts: 1}]), "1", "rounds killed with a load balancer and no floating IP")
	r.add(float64(totals[inventory{LoadBalancers: 1, FloatingIPs: 1, VIPPorts: 1}]), "1", "rounds killed with a load balancer and a floating IP")
	r.spread(took, "from the restart until Programmed and settled")
}

// killRound creates a Service, kills the controller after the delay, starts
// another, and waits until the Service is Programmed and then until it is gone.
func (s *stage) killRound(ctx context.Context, name string, delay time.Duration) (round, error) {
	var done round
	done.KilledAfterSeconds = seconds(delay)
	if err := s.waitFor(ctx, "the controller to work", s.checkLeader); err != nil {
		return done, err
	}
	made, err := s.services.createBatch(ctx, name, 1, 1)
	if err != nil {
		return done, err
	}
	select {
	case <-ctx.Done():
		return done, context.Cause(ctx)
	case <-time.After(time.Until(made.began.Add(delay))):
	}
	if err := s.controller.kill(); err != nil {
		return done, err
	}
	if done.AtKill, err = s.inventory(); err != nil {
		return done, err
	}
	done.Programmed = s.services.checkProgrammed(made) == nil
	began := time.Now()
	if err := s.start(); err != nil {
		return done, err
	}
	if err := s.waitFor(ctx, "the controller to be done with the Service", func() error { return s.checkDone(ctx, made) }); err != nil {
		return done, err
	}
	done.ProgrammedAfterSeconds = seconds(time.Since(began))
	if done.WithService, err = s.inventory(); err != nil {
		return done, err
	}
	if one := (inventory{LoadBalancers: 1, FloatingIPs: 1, VIPPorts: 1}); done.WithService != one {
		return done, fmt.Errorf("killed after %v: the cloud has %+v instead of %+v", delay, done.WithService, one)
	}
	if err := s.deleteAndWait(ctx, made); err != nil {
		return done, err
	}
	if done.AfterDelete, err = s.inventory(); err != nil {
		return done, err
	}
	return done, s.checkEmpty()
}

// checkLeader returns an error until the controller is the leader: only then does it make
// passes, also over Services without a load balancer.
func (s *stage) checkLeader() error {
	n, err := s.controller.metric("controller_runtime_reconcile_total")
	if err == nil && n == 0 {
		err = fmt.Errorf("no pass was made")
	}
	return err
}

// checkDone returns an error until this controller has passed over the Service, which is
// Programmed with an address, and has nothing else to do. The condition alone may be of the
// controller that was killed.
func (s *stage) checkDone(ctx context.Context, made batch) error {
	if err := s.checkLeader(); err != nil {
		return err
	}
	for name := range made.at {
		service, err := s.client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !programmed(service) {
			return fmt.Errorf("the Service %s has conditions %+v", name, service.Status.Conditions)
		}
	}
	return s.controller.checkIdle()
}

func programmed(service *corev1.Service) bool {
	return meta.IsStatusConditionTrue(service.Status.Conditions, status.Programmed) && len(service.Status.LoadBalancer.Ingress) == 1
}
