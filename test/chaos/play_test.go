// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"

	"github.com/kube-octavia/kube-octavia/internal/status"
)

// play is one scenario under way in a world, undisturbed or not.
type play struct {
	ctx       context.Context
	t         *testing.T
	world     *world
	namespace string
	// name is that of the Service.
	name       string
	controller *process
	foreign    foreign
	// given is a floating IP that a person made.
	given floatingIP
	// most is how many writes to the cloud may be made at most; 0 is no bound.
	most int

	mu sync.Mutex
	// lenient leaves the rule alone that steady ports stay open, and candid the one
	// that conditions are true at any moment: somebody has harmed what the
	// controller relies on.
	lenient, candid bool
	waiting         int // for what later does
	broken          []error
	uid             string
	steady          []string
	// kept is the floating IP that is to stay, or "".
	kept string
}

// breach notes that a rule was broken.
func (p *play) breach(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.broken) < 5 {
		p.broken = append(p.broken, err)
	}
}

func (p *play) breaches() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.broken...)
}

// begin starts a controller, and the scenario up to where it is to change.
func begin(t *testing.T, s scenario) *play {
	t.Helper()
	p := &play{ctx: t.Context(), t: t, world: worlds.take(t), name: serviceName}
	p.check(p.set(s))
	return p
}

func (p *play) set(s scenario) error {
	var err error
	w := p.world
	if p.namespace, p.foreign, err = w.namespace(p.ctx); err != nil {
		return err
	}
	judge := p.judge
	w.proxy.written.Store(&judge)
	if p.controller, err = launch(w.controllerArgs()); err != nil {
		return err
	}
	p.t.Cleanup(p.controller.kill)
	p.t.Cleanup(func() {
		if p.t.Failed() {
			p.t.Logf("the controller's log:\n%s", &p.controller.log)
		}
	})
	if err := p.eventually(p.controller.works); err != nil {
		return err
	}
	if s.start != nil {
		if err := s.start(p); err != nil {
			return err
		}
		if err := p.eventually(p.converged); err != nil {
			return fmt.Errorf("at the start: %w", err)
		}
		if err := p.watch(s.steady, s.keeps); err != nil {
			return err
		}
	}
	w.cloud.Recorder().Reset()
	w.proxy.recorder.Reset()
	return nil
}

// watch begins to look after the ports that are to stay.
func (p *play) watch(steady []string, keeps bool) error {
	v, err := p.service()
	if err != nil || v == nil {
		return err
	}
	p.mu.Lock()
	p.uid, p.steady = string(v.UID), steady
	if keeps {
		p.kept = v.Status.LoadBalancer.Ingress[0].IP
	}
	p.mu.Unlock()
	p.world.cloud.observe(func() {
		if s, err := p.state(); err != nil {
			p.breach(err)
		} else {
			p.look(s)
		}
	})
	return nil
}

// look notes if a port that is to stay does not serve.
func (p *play) look(s state) {
	p.mu.Lock()
	uid, steady, kept, lenient := p.uid, p.steady, p.kept, p.lenient
	p.mu.Unlock()
	if uid == "" || lenient {
		return
	}
	if err := s.steady(uid, steady); err != nil {
		p.breach(err)
	}
	if kept != "" && !s.leadsTo(kept, uid) {
		p.breach(fmt.Errorf("the floating IP %s, which was to stay, leads nowhere: %+v", kept, s.FloatingIPs))
	}
}

// judge looks at a status that the controller has written.
func (p *play) judge(method, path string, answer []byte) {
	p.mu.Lock()
	candid := p.candid
	p.mu.Unlock()
	if method != http.MethodPatch || !strings.HasSuffix(path, "/status") || candid {
		return
	}
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode(answer, nil, nil)
	v, ok := o.(*corev1.Service)
	if err != nil || !ok {
		p.breach(fmt.Errorf("the answer to %s %s is no Service: %w", method, path, err))
		return
	}
	s, err := p.state()
	if err == nil {
		err = s.honest(v)
	}
	if err != nil {
		p.breach(err)
	}
}

// end waits until all is as it should be, looks whether any rule was broken, and
// takes everything away, which must leave nothing.
func (p *play) end() error {
	if err := p.eventually(p.converged); err != nil {
		return errors.Join(err, p.breaches())
	}
	if err := errors.Join(p.breaches(), p.world.cloud.untouched(p.foreign), p.bounded()); err != nil {
		return err
	}
	p.world.cloud.observe(nil)
	p.mu.Lock()
	p.uid = ""
	p.mu.Unlock()
	if err := remove(p); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err := p.eventually(p.gone); err != nil {
		return fmt.Errorf("after the Service was deleted: %w", err)
	}
	return errors.Join(p.breaches(), p.world.cloud.untouched(p.foreign), p.clear())
}

// clear takes away what the case made.
func (p *play) clear() error {
	p.controller.kill()
	var errs []error
	if p.given.ID != "" {
		errs = append(errs, p.world.cloud.neutron(http.MethodDelete, "floatingips/"+p.given.ID, nil, nil))
	}
	if p.world.foreign == nil {
		errs = append(errs, p.world.cloud.removeForeign(p.foreign))
	}
	err := p.world.client.CoreV1().Nodes().Delete(p.ctx, joining, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		errs = append(errs, err)
	}
	p.world.cloud.Faults().Clear()
	p.world.proxy.faults.Clear()
	errs = append(errs, p.poll(func() error {
		s, err := p.world.cloud.state()
		if err != nil || p.world.foreign != nil {
			return err
		}
		return s.empty()
	}))
	return errors.Join(errs...)
}

// state is what the cloud has, but for what is somebody else's.
func (p *play) state() (state, error) {
	s, err := p.world.cloud.state()
	s.Balancers = slices.DeleteFunc(s.Balancers, func(b balancer) bool { return b.ID == p.foreign.balancer.ID })
	s.FloatingIPs = slices.DeleteFunc(s.FloatingIPs, func(f floatingIP) bool { return f.ID == p.foreign.floatingIP.ID })
	s.VIPPorts = slices.DeleteFunc(s.VIPPorts, func(o port) bool { return o.ID == p.foreign.balancer.Port })
	return s, err
}

// converged tells what is not yet as it should be.
func (p *play) converged() error {
	if p.pending() > 0 {
		return errors.New("the change goes on")
	}
	v, err := p.service()
	if err != nil {
		return err
	}
	nodes, err := p.world.nodes(p.ctx)
	if err != nil {
		return err
	}
	s, err := p.state()
	if err != nil {
		return err
	}
	p.look(s)
	if err := errors.Join(s.serves(v, nodes), p.exactly(s, wanted(v, nodes)), p.certified(s, v)); err != nil {
		return fmt.Errorf("%w\nconditions: %v", err, conditionsOf(v))
	}
	if p.kept != "" && v != nil && !slices.ContainsFunc(v.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool { return i.IP == p.kept }) {
		return fmt.Errorf("the addresses of Service %s are %v, and %s was to stay", v.Name, v.Status.LoadBalancer.Ingress, p.kept)
	}
	return told(v)
}

// exactly reports whether there is more in the cloud than is wanted.
func (p *play) exactly(s state, want shape) error {
	floating, listeners, pools := 0, 0, 0
	if want.Floating {
		floating++
	}
	if p.given.ID != "" && !slices.ContainsFunc(s.FloatingIPs, func(f floatingIP) bool { return f.ID == p.given.ID }) {
		return fmt.Errorf("the floating IP %s, which a person made, is gone", p.given.Address)
	}
	if p.given.ID != "" && !(want.Floating && s.attached(p.given.ID)) {
		floating++
	}
	for _, b := range s.Balancers {
		listeners += len(b.Listeners)
		pools += len(b.Unused)
	}
	if len(s.Balancers) != want.Balancers || len(s.FloatingIPs) != floating || len(s.VIPPorts) != want.Balancers ||
		listeners != len(want.Ports) || pools != 0 || s.Monitors != 0 {
		return fmt.Errorf("there are %d load balancers for %d, %d floating IPs for %d, %d VIP ports, %d listeners for %d, %d pools without one, %d monitors",
			len(s.Balancers), want.Balancers, len(s.FloatingIPs), floating, len(s.VIPPorts), listeners, len(want.Ports), pools, s.Monitors)
	}
	return nil
}

func (s state) attached(floatingIPID string) bool {
	return slices.ContainsFunc(s.FloatingIPs, func(f floatingIP) bool { return f.ID == floatingIPID && f.Port != "" })
}

// told reports whether the Service says what has become of it.
func told(v *corev1.Service) error {
	switch {
	case v == nil:
		return nil
	case v.DeletionTimestamp != nil:
		return fmt.Errorf("Service %s is not gone; finalizers %v, conditions %v", v.Name, v.Finalizers, conditionsOf(v))
	case v.Spec.Type != corev1.ServiceTypeLoadBalancer && (len(v.Finalizers) > 0 || len(v.Status.Conditions) > 0 || len(v.Annotations) > 0):
		return fmt.Errorf("Service %s, of another type by now, still has finalizers %v, annotations %v, conditions %v", v.Name, v.Finalizers, v.Annotations, conditionsOf(v))
	case v.Spec.Type != corev1.ServiceTypeLoadBalancer:
		return nil
	case !meta.IsStatusConditionTrue(v.Status.Conditions, status.Programmed), !meta.IsStatusConditionTrue(v.Status.Conditions, status.Accepted):
		return fmt.Errorf("the conditions of Service %s are %v", v.Name, conditionsOf(v))
	case len(v.Status.LoadBalancer.Ingress) != 1:
		return fmt.Errorf("the addresses of Service %s are %v", v.Name, v.Status.LoadBalancer.Ingress)
	}
	return nil
}

func conditionsOf(v *corev1.Service) []string {
	if v == nil {
		return nil
	}
	var all []string
	for _, c := range v.Status.Conditions {
		all = append(all, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return all
}

// gone tells what is left of the Service.
func (p *play) gone() error {
	v, err := p.service()
	if err != nil {
		return err
	}
	if v != nil {
		return fmt.Errorf("Service %s is still there; finalizers %v, conditions %v", v.Name, v.Finalizers, conditionsOf(v))
	}
	s, err := p.state()
	if err != nil {
		return err
	}
	return errors.Join(p.exactly(s, shape{}), p.certified(s, nil))
}

// bounded reports whether more was written than can be right.
func (p *play) bounded() error {
	if n := p.writes(); p.most > 0 && n > p.most {
		return fmt.Errorf("%d writes to the cloud, of %d at most", n, p.most)
	}
	return nil
}

// writes is how many writes to the cloud were recorded.
func (p *play) writes() int {
	n := 0
	for _, c := range p.world.cloud.Recorder().Calls() {
		if c.Method != http.MethodGet && c.Service != "identity" {
			n++
		}
	}
	return n
}

// later does again and again what may not be possible yet, until it is.
func (p *play) later(do func() error) {
	p.mu.Lock()
	p.waiting++
	p.mu.Unlock()
	go func() {
		if err := p.poll(do); err != nil && p.ctx.Err() == nil {
			p.breach(err)
		}
		p.mu.Lock()
		p.waiting--
		p.mu.Unlock()
	}()
}

func (p *play) pending() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting
}

// eventually waits until check finds nothing wrong, and goes on finding nothing
// while no more is written.
func (p *play) eventually(check func() error) error {
	const calm = 3
	quiet, writes := 0, -1
	return p.poll(func() error {
		if err := check(); err != nil {
			quiet = 0
			return err
		}
		if n := p.writes(); n != writes {
			quiet, writes = 0, n
		}
		if quiet++; quiet < calm {
			return errors.New("it may not last")
		}
		return nil
	})
}

// poll asks again and again until check finds nothing wrong, and returns what it
// found last when the deadline has passed.
func (p *play) poll(check func() error) error {
	late := time.After(pace().deadline)
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(pace().pause):
		case <-p.ctx.Done():
			return p.ctx.Err()
		case <-late:
			return fmt.Errorf("waited %v in vain: %w", pace().deadline, err)
		}
	}
}

func (p *play) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *play) services() typed.ServiceInterface {
	return p.world.client.CoreV1().Services(p.namespace)
}

// service is the Service as it is now, nil when there is none.
func (p *play) service() (*corev1.Service, error) {
	v, err := p.services().Get(p.ctx, p.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return v, err
}

// update changes the Service.
func (p *play) update(change func(*corev1.Service)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		v, err := p.services().Get(p.ctx, p.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(v)
		_, err = p.services().Update(p.ctx, v, metav1.UpdateOptions{})
		return err
	})
}

// balancer is the Service's load balancer.
func (p *play) balancer() (balancer, error) {
	s, err := p.state()
	if err == nil && len(s.Balancers) != 1 {
		err = fmt.Errorf("there are %d load balancers", len(s.Balancers))
	}
	if err != nil {
		return balancer{}, err
	}
	return s.Balancers[0], nil
}
