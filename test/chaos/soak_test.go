// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/test/freeport"
)

var (
	soakTime     = flag.Duration("soak", 20*time.Second, "how long the soak goes on")
	soakServices = flag.Int("services", 15, "how many Services the soak has")
	soakSeed     = flag.Uint64("seed", 0, "what the soak's choices follow from; 0 takes another one each time")
)

const (
	// soakNamespaces and soakHands are how many share the Services, and the changes.
	soakNamespaces, soakHands = 5, 3
	// soakKills is the part of the time in which the controller is killed in each
	// round; the rest shows whether one that lives long stays as it is.
	soakKills = 2.0 / 3
	// soakLimit bounds how long it may take until all Services are served after a
	// round.
	soakLimit = 3 * time.Minute
	soakPause = 250 * time.Millisecond
	// soakWord is how often it is said what is not yet as it should be.
	soakWord = 20 * time.Second
)

// soak is a long time in which everything happens at once.
type soak struct {
	ctx        context.Context
	t          *testing.T
	world      *world
	controller *process
	metrics    string // host:port
	foreign    []foreign
	plays      []*play
	random     *rand.Rand
	seed       uint64
	figures    figures
	samples    []sample
	quiet      int // the first of samples of the controller that lives to the end

	mu     sync.Mutex
	broken []error
}

// TestSoak lets hundreds of Services be changed, tampered with and deleted while calls
// fail and the controller is killed. In the end nothing may be missing, and nothing
// left.
func TestSoak(t *testing.T) {
	if *stateDir != "" || testing.Short() {
		t.Skip("it takes a cloud that is fast and can be made to fail, and its time")
	}
	t.Parallel()
	s := &soak{ctx: t.Context(), t: t, world: worlds.take(t), seed: *soakSeed}
	for s.seed == 0 {
		s.seed = rand.Uint64()
	}
	s.random = rand.New(rand.NewPCG(s.seed, 0))
	s.check(s.begin())
	t.Cleanup(s.report)
	s.rounds()
	s.check(flat(s.samples[s.quiet], s.samples[len(s.samples)-1]))
	s.check(s.end())
}

// begin makes the namespaces, and starts the controller.
func (s *soak) begin() error {
	w := s.world
	for _, resource := range []string{"port", "floatingip", "security_group"} {
		w.cloud.sim().Neutron().SetQuota(w.cloud.sim().IDs().Project, resource, -1)
	}
	w.cloud.observe(nil)
	w.proxy.written.Store(nil)
	for range soakNamespaces {
		name, f, err := w.namespace(s.ctx)
		if err != nil {
			return err
		}
		s.foreign = append(s.foreign, f)
		for i := len(s.foreign) - 1; i < *soakServices; i += soakNamespaces {
			p := &play{ctx: s.ctx, t: s.t, world: w, namespace: name, name: serviceName, foreign: f}
			if i >= soakNamespaces { // one has the name that another cluster's has
				p.name = fmt.Sprintf("%s-%d", serviceName, i/soakNamespaces)
			}
			s.plays = append(s.plays, p)
		}
	}
	w.cloud.Recorder().Reset()
	w.proxy.recorder.Reset()
	var err error
	if s.metrics, err = freeport.Address(); err != nil {
		return err
	}
	// Where each hundredth call is answered with a plea for patience, the usual rate
	// would soon be a few calls a second.
	args := append(w.controllerArgs(), "--metrics-bind-address="+s.metrics, "--cloud-rate=500", "--cloud-burst=500")
	if s.controller, err = launch(args); err != nil {
		return err
	}
	s.t.Cleanup(s.controller.kill)
	return s.poll(s.controller.works)
}

// rounds goes round after round until the time is over: first with a kill in each,
// then without.
func (s *soak) rounds() {
	begun := time.Now()
	hands := s.hands()
	round := min(time.Minute, *soakTime/6)
	for {
		gone := time.Since(begun)
		kill := float64(gone) < soakKills*float64(*soakTime)
		if kill {
			s.quiet = len(s.samples)
		}
		// There are two samples at least of the one that is not killed.
		if gone >= *soakTime && len(s.samples) > s.quiet+1 {
			return
		}
		s.check(s.round(hands, round, kill))
	}
}

// branch is a source of choices for somebody who makes them at the same time as others.
func (s *soak) branch() *rand.Rand { return rand.New(rand.NewPCG(s.seed, s.random.Uint64())) }

func (s *soak) hands() []*hand {
	var all []*hand
	for i := range soakHands {
		h := &hand{soak: s, random: s.branch(), nodes: i == 0}
		for n := i; n < len(s.plays); n += soakHands {
			h.plays = append(h.plays, s.plays[n])
		}
		all = append(all, h)
	}
	return all
}

// round lets everything happen for a while, and then waits until all is as it should
// be.
func (s *soak) round(hands []*hand, length time.Duration, kill bool) error {
	s.figures.rounds++
	ctx, cancel := context.WithTimeout(s.ctx, length)
	defer cancel()
	var running sync.WaitGroup
	for _, u := range []*unrest{
		unrestOf("", s.world.cloud.Faults(), s.branch()), unrestOf(kubernetes, &s.world.proxy.faults, s.branch()),
	} {
		running.Go(func() { u.rage(ctx) })
	}
	for _, h := range hands {
		running.Go(func() { h.work(ctx) })
	}
	if kill {
		// Late enough for there to be something to do, whenever it is.
		after := length/4 + time.Duration(s.random.Int64N(int64(length/2)))
		running.Go(func() { s.kill(ctx, after) })
	}
	running.Wait()
	if err := errors.Join(s.breaches(), s.untouched()); err != nil {
		return err
	}
	s.figures.disturbed += s.count()
	if err := s.settle(); err != nil {
		return fmt.Errorf("round %d: %w", s.figures.rounds, err)
	}
	s.count()
	return s.measure()
}

// kill kills the controller after a while, and starts it again.
func (s *soak) kill(ctx context.Context, after time.Duration) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(after):
	}
	s.controller.kill()
	s.figures.kills++
	if err := s.controller.again(); err != nil {
		s.breach(err)
	}
}

// end deletes all Services, which must leave nothing but what is not theirs.
func (s *soak) end() error {
	services, err := s.services()
	if err != nil {
		return err
	}
	for _, v := range services {
		if err := s.world.client.CoreV1().Services(v.Namespace).Delete(s.ctx, v.Name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	var left []error
	err = s.poll(func() error {
		left = nil
		services, err := s.services()
		for _, v := range services {
			left = append(left, fmt.Errorf("Service %s/%s is not gone; finalizers %v, conditions %v", v.Namespace, v.Name, v.Finalizers, conditionsOf(&v)))
		}
		now, stateErr := s.state()
		left = append(left, now.leaks(nil, s.given())...)
		if err := errors.Join(err, stateErr); err != nil || len(left) == 0 {
			return err
		}
		return fmt.Errorf("after all Services were deleted, %d things are left", len(left))
	})
	s.figures.leaks = len(left)
	s.count()
	return errors.Join(append([]error{err, s.untouched(), s.clear()}, left[:min(len(left), 5)]...)...)
}

// clear takes away what the soak itself made.
func (s *soak) clear() error {
	s.controller.kill()
	var errs []error
	for _, f := range s.given() {
		errs = append(errs, s.world.cloud.neutron(http.MethodDelete, "floatingips/"+f.ID, nil, nil))
	}
	for _, f := range s.foreign {
		errs = append(errs, s.world.cloud.removeForeign(f))
	}
	nodes, err := s.world.nodes(s.ctx)
	if errs = append(errs, err); slices.Contains(nodes, joiningAddress) {
		errs = append(errs, nodeLeaves(s.plays[0]))
	}
	return errors.Join(append(errs, s.poll(func() error {
		now, err := s.world.cloud.state()
		if err != nil {
			return err
		}
		return now.empty()
	}))...)
}

// poll asks again and again until check finds nothing wrong.
func (s *soak) poll(check func() error) error {
	late := time.After(soakLimit)
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(soakPause):
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-late:
			return fmt.Errorf("waited %v in vain: %w", soakLimit, err)
		}
	}
}

// breach notes something that must not be.
func (s *soak) breach(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = append(s.broken, err)
}

func (s *soak) breaches() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.broken...)
}

func (s *soak) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
