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
	soakTime     = flag.Duration("soak", 20*time.Second, "how long the soak test takes")
	soakServices = flag.Int("services", 15, "how many Services the soak test has")
	soakSeed     = flag.Uint64("seed", 0, "seed of the random choices of the soak test; 0 chooses one")
)

const (
	// soakNamespaces and soakWorkers are how many namespaces have the Services, and how many
	// workers change them.
	soakNamespaces, soakWorkers = 5, 3
	// killShare is the part of the time in which the controller is killed in each round. The
	// rest shows whether a controller grows.
	killShare = 2.0 / 3
	// soakTimeout bounds the time until all Services are served after a round.
	soakTimeout      = 3 * time.Minute
	soakPollInterval = 250 * time.Millisecond
	// soakLogInterval is how often the remaining differences are logged.
	soakLogInterval = 20 * time.Second
)

// soak is one run of the soak test.
type soak struct {
	ctx            context.Context
	t              *testing.T
	env            *environment
	controller     *process
	metrics        string // host:port
	otherClusters  []otherCluster
	runs           []*run
	random         *rand.Rand
	seed           uint64
	figures        figures
	samples        []sample
	lastController int // the first sample of the controller that is not killed

	mu         sync.Mutex
	violations []error
}

// TestSoak changes and deletes hundreds of Services and tampers with them, while calls fail and
// the controller is killed. In the end nothing may be missing, and nothing left.
func TestSoak(t *testing.T) {
	if *stateDir != "" || testing.Short() {
		t.Skip("it needs time, and a fast cloud that can be made to fail")
	}
	t.Parallel()
	s := &soak{ctx: t.Context(), t: t, env: environments.acquire(t), seed: *soakSeed}
	for s.seed == 0 {
		s.seed = rand.Uint64()
	}
	s.random = rand.New(rand.NewPCG(s.seed, 0))
	s.requireNoError(s.prepare())
	t.Cleanup(s.report)
	s.rounds()
	s.requireNoError(checkGrowth(s.samples[s.lastController], s.samples[len(s.samples)-1]))
	s.requireNoError(s.finish())
}

// prepare creates the namespaces, and starts the controller.
func (s *soak) prepare() error {
	e := s.env
	for _, resource := range []string{"port", "floatingip", "security_group"} {
		e.cloud.sim().Neutron().SetQuota(e.cloud.sim().IDs().Project, resource, -1)
	}
	e.cloud.observe(nil)
	e.proxy.onWrite.Store(nil)
	for range soakNamespaces {
		name, other, err := e.namespace(s.ctx)
		if err != nil {
			return err
		}
		s.otherClusters = append(s.otherClusters, other)
		for i := len(s.otherClusters) - 1; i < *soakServices; i += soakNamespaces {
			r := &run{ctx: s.ctx, t: s.t, env: e, namespace: name, name: serviceName, otherCluster: other}
			if i >= soakNamespaces { // the first of a namespace has the name of another cluster's Service
				r.name = fmt.Sprintf("%s-%d", serviceName, i/soakNamespaces)
			}
			s.runs = append(s.runs, r)
		}
	}
	e.cloud.Recorder().Reset()
	e.proxy.recorder.Reset()
	var err error
	if s.metrics, err = freeport.Address(); err != nil {
		return err
	}
	// One call in a hundred is answered with Retry-After, which would soon reduce the usual
	// rate to a few calls a second.
	args := append(e.controllerArgs(), "--metrics-bind-address="+s.metrics, "--cloud-rate=500", "--cloud-burst=500")
	if s.controller, err = startProcess(args, false); err != nil {
		return err
	}
	s.t.Cleanup(s.controller.kill)
	return s.poll(s.controller.checkWorking)
}

// rounds makes rounds until the time is over: first with a kill in each, then without.
func (s *soak) rounds() {
	begun := time.Now()
	workers := s.workers()
	round := min(time.Minute, *soakTime/6)
	for {
		gone := time.Since(begun)
		kill := float64(gone) < killShare*float64(*soakTime)
		if kill {
			s.lastController = len(s.samples)
		}
		// At least two samples are needed of the controller that is not killed.
		if gone >= *soakTime && len(s.samples) > s.lastController+1 {
			return
		}
		s.requireNoError(s.round(workers, round, kill))
	}
}

// newRandom returns a source of random choices for one goroutine.
func (s *soak) newRandom() *rand.Rand { return rand.New(rand.NewPCG(s.seed, s.random.Uint64())) }

func (s *soak) workers() []*worker {
	var all []*worker
	for i := range soakWorkers {
		w := &worker{soak: s, random: s.newRandom(), nodes: i == 0}
		for n := i; n < len(s.runs); n += soakWorkers {
			w.runs = append(w.runs, s.runs[n])
		}
		all = append(all, w)
	}
	return all
}

// round makes changes and injects faults for a while, and then waits until all Services are
// served.
func (s *soak) round(workers []*worker, length time.Duration, kill bool) error {
	s.figures.rounds++
	ctx, cancel := context.WithTimeout(s.ctx, length)
	defer cancel()
	var running sync.WaitGroup
	for _, fi := range []*faultInjector{
		newFaultInjector("", s.env.cloud.Faults(), s.newRandom()), newFaultInjector(kubernetes, &s.env.proxy.faults, s.newRandom()),
	} {
		running.Go(func() { fi.run(ctx) })
	}
	for _, w := range workers {
		running.Go(func() { w.run(ctx) })
	}
	if kill {
		// Not before there is something to do.
		after := length/4 + time.Duration(s.random.Int64N(int64(length/2)))
		running.Go(func() { s.kill(ctx, after) })
	}
	running.Wait()
	if err := errors.Join(s.checkViolations(), s.checkOtherClusters()); err != nil {
		return err
	}
	s.figures.exposed += s.count()
	if err := s.pollSettled(); err != nil {
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
	if err := s.controller.restart(); err != nil {
		s.addViolation(err)
	}
}

// finish deletes all Services, which must leave nothing of theirs.
func (s *soak) finish() error {
	services, err := s.services()
	if err != nil {
		return err
	}
	for _, v := range services {
		if err := s.env.client.CoreV1().Services(v.Namespace).Delete(s.ctx, v.Name, metav1.DeleteOptions{}); err != nil {
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
	return errors.Join(append([]error{err, s.checkOtherClusters(), s.cleanUp()}, left[:min(len(left), 5)]...)...)
}

// cleanUp deletes what the soak itself created.
func (s *soak) cleanUp() error {
	s.controller.kill()
	var errs []error
	for _, f := range s.given() {
		errs = append(errs, s.env.cloud.neutron(http.MethodDelete, "floatingips/"+f.ID, nil, nil))
	}
	for _, other := range s.otherClusters {
		errs = append(errs, s.env.cloud.deleteOtherCluster(other))
	}
	nodes, err := s.env.nodes(s.ctx)
	if errs = append(errs, err); slices.Contains(nodes, joiningAddress) {
		errs = append(errs, nodeLeaves(s.runs[0]))
	}
	return errors.Join(append(errs, s.poll(func() error {
		now, err := s.env.cloud.state()
		if err != nil {
			return err
		}
		return now.checkEmpty()
	}))...)
}

// poll calls check until it returns no error.
func (s *soak) poll(check func() error) error {
	late := time.After(soakTimeout)
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(soakPollInterval):
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-late:
			return fmt.Errorf("after %v: %w", soakTimeout, err)
		}
	}
}

// addViolation notes that a rule was broken.
func (s *soak) addViolation(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, err)
}

func (s *soak) checkViolations() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.violations...)
}

func (s *soak) requireNoError(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}
