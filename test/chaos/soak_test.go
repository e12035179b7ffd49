// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
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

// figures are what a soak counts.
type figures struct {
	changes, tamperings atomic.Int64
	kills, rounds       int
	// calls are all of them, disturbed those in times in which they could go wrong.
	calls, disturbed, faulty int
	differences, leaks       int
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
	if s.metrics, err = freeAddress(); err != nil {
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

// freeAddress is where nobody listens.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
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

// measure takes a sample of the controller, which is at rest.
func (s *soak) measure() error {
	services, err := s.services()
	if err != nil {
		return err
	}
	m, err := s.sample(s.ctx, len(services))
	if err != nil {
		return err
	}
	s.samples = append(s.samples, m)
	f := &s.figures
	s.t.Logf("round %d: %v; so far %d changes, %d kills, %d tamperings, %d calls, %d of %d disturbed ones faulty",
		f.rounds, m, f.changes.Load(), f.kills, f.tamperings.Load(), f.calls, f.faulty, f.disturbed)
	return nil
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

// settle waits until the cloud has what all Services want, and the controller has
// nothing more to do.
func (s *soak) settle() error {
	var left []error
	calm, writes, next := 0, -1, time.Now().Add(soakWord)
	err := s.poll(func() error {
		if left = s.differences(); len(left) > 0 {
			calm = 0
			if time.Now().After(next) {
				next = time.Now().Add(soakWord)
				s.t.Logf("round %d: %d differences, among them: %v", s.figures.rounds, len(left), left[0])
			}
			return fmt.Errorf("%d differences", len(left))
		}
		if n := s.writes(); n != writes {
			calm, writes = 0, n
		}
		if calm++; calm < 4 {
			return errors.New("it may not last")
		}
		return nil
	})
	s.figures.differences = len(left)
	if err != nil {
		return errors.Join(append([]error{err}, left[:min(len(left), 5)]...)...)
	}
	return s.untouched()
}

// differences are what is not yet as it should be.
func (s *soak) differences() []error {
	services, err := s.services()
	if err != nil {
		return []error{err}
	}
	nodes, err := s.world.nodes(s.ctx)
	if err != nil {
		return []error{err}
	}
	now, err := s.state()
	if err != nil {
		return []error{err}
	}
	return now.differences(services, nodes, s.given())
}

// state is what the cloud has, but for what is another cluster's.
func (s *soak) state() (state, error) {
	now, err := s.world.cloud.state()
	for _, f := range s.foreign {
		now.Balancers = slices.DeleteFunc(now.Balancers, func(b balancer) bool { return b.ID == f.balancer.ID })
		now.FloatingIPs = slices.DeleteFunc(now.FloatingIPs, func(o floatingIP) bool { return o.ID == f.floatingIP.ID })
		now.VIPPorts = slices.DeleteFunc(now.VIPPorts, func(o port) bool { return o.ID == f.balancer.Port })
	}
	return now, err
}

// given are the floating IPs that persons made.
func (s *soak) given() []floatingIP {
	var all []floatingIP
	for _, p := range s.plays {
		if p.given.ID != "" {
			all = append(all, p.given)
		}
	}
	return all
}

// services are all Services that the soak has made.
func (s *soak) services() ([]corev1.Service, error) {
	var all []corev1.Service
	namespaces := map[string]bool{}
	for _, p := range s.plays {
		if namespaces[p.namespace] {
			continue
		}
		namespaces[p.namespace] = true
		list, err := p.services().List(s.ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// untouched tells whether anybody has written to the other cluster's objects.
func (s *soak) untouched() error {
	var errs []error
	for _, f := range s.foreign {
		errs = append(errs, s.world.cloud.untouched(f))
	}
	return errors.Join(errs...)
}

// writes is how many writes to the cloud there were in this round.
func (s *soak) writes() int {
	n := 0
	for operation, times := range s.world.cloud.Recorder().Counts() {
		if method, route, _ := strings.Cut(operation, " "); method != http.MethodGet && !strings.HasPrefix(route, "/v3/") {
			n += times
		}
	}
	return n
}

// count adds up the calls since it last did, and returns how many they were. They are
// then forgotten.
func (s *soak) count() int {
	before := s.figures.calls
	for _, r := range []*wire.Recorder{s.world.cloud.Recorder(), &s.world.proxy.recorder} {
		for _, c := range r.Calls() {
			s.figures.calls++
			if c.Fault != "" {
				s.figures.faulty++
			}
		}
		r.Reset()
	}
	return s.figures.calls - before
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

// report tells what the soak came to, and how to begin it again.
func (s *soak) report() {
	f := &s.figures
	itself := strings.Count(s.controller.log.String(), "--- the controller ended")
	fmt.Printf("soak: services %d, changes %d, calls %d, of %d disturbed ones faulty %d, kills %d, tamperings %d, rounds %d, ends of the controller by itself %d, differences %d, leaks %d\n",
		len(s.plays), f.changes.Load(), f.calls, f.disturbed, f.faulty, f.kills, f.tamperings.Load(), f.rounds, itself, f.differences, f.leaks)
	if n := len(s.samples); n > 0 {
		fmt.Printf("soak: begin: %v\nsoak: without kills: %v\nsoak: end: %v\n", s.samples[0], s.samples[s.quiet], s.samples[n-1])
	}
	fmt.Printf("soak: again: go test ./test/chaos -run TestSoak -soak=%v -services=%d -seed=%d\n", *soakTime, *soakServices, s.seed)
	if !s.t.Failed() {
		return
	}
	path := filepath.Join(os.TempDir(), fmt.Sprintf("kube-octavia-soak-%d.log", s.seed))
	if err := os.WriteFile(path, []byte(s.controller.log.String()), 0o600); err != nil {
		s.t.Log(err)
		return
	}
	s.t.Logf("the controller's log is in %s", path)
}
