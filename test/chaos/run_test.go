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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/retry"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

// run is one run of a scenario in an environment, with or without a fault.
type run struct {
	ctx       context.Context
	t         *testing.T
	env       *environment
	namespace string
	// name is that of the Service.
	name         string
	controller   *process
	otherCluster otherCluster
	// controllerArgs are the arguments of the controller.
	controllerArgs []string
	// converged returns an error while something is not as it should be at the end.
	converged func() error
	// ofAnotherKind is whether the owner of the load balancer is a ConfigMap: see package ownerkind.
	ofAnotherKind bool
	// given is a floating IP that was created by hand.
	given floatingIP
	// maxWrites bounds the writes to the cloud; 0 is no bound.
	maxWrites int

	mu sync.Mutex
	// ignorePorts leaves out the check that unchanged ports stay open, and
	// ignoreConditions the one that conditions are true at any moment: after tampering
	// neither is promised.
	ignorePorts, ignoreConditions bool
	retrying                      int // functions of keepTrying
	violations                    []error
	uid                           string
	unchanged                     []string
	// keptAddress is the floating IP that must not change, or "".
	keptAddress string
	// programmed are the conditions Programmed that were written last, by the uids of the Services.
	programmed map[types.UID]metav1.Condition
}

// addViolation notes that a rule was broken.
func (r *run) addViolation(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.violations) < 5 {
		r.violations = append(r.violations, err)
	}
}

func (r *run) checkViolations() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.violations...)
}

// newRun returns a run in an environment that is the test's until it ends.
func newRun(t *testing.T) *run {
	t.Helper()
	r := &run{ctx: t.Context(), t: t, env: environments.acquire(t), name: serviceName}
	r.controllerArgs, r.converged = r.env.controllerArgs(), r.checkConverged
	return r
}

// startController starts the controller, and waits until it works.
func (r *run) startController() error {
	var err error
	if r.controller, err = startProcess(r.controllerArgs, r.ofAnotherKind); err != nil {
		return err
	}
	r.t.Cleanup(r.controller.kill)
	r.t.Cleanup(func() {
		if r.t.Failed() {
			r.t.Logf("the controller's log:\n%s", &r.controller.log)
		}
	})
	return r.pollStable(r.controller.checkWorking)
}

// startRun starts a controller, and creates what the scenario starts with.
func startRun(t *testing.T, s scenario) *run {
	t.Helper()
	r := newRun(t)
	r.requireNoError(r.prepare(s))
	return r
}

func (r *run) prepare(s scenario) error {
	var err error
	e := r.env
	if r.namespace, r.otherCluster, err = e.namespace(r.ctx); err != nil {
		return err
	}
	inspect := r.inspectStatus
	e.proxy.onWrite.Store(&inspect)
	if err := r.startController(); err != nil {
		return err
	}
	if s.start != nil {
		if err := s.start(r); err != nil {
			return err
		}
		if err := r.pollStable(r.checkConverged); err != nil {
			return fmt.Errorf("at the start: %w", err)
		}
		if err := r.watchPorts(s.unchanged, s.keepsFloatingIP); err != nil {
			return err
		}
	}
	e.cloud.Recorder().Reset()
	e.proxy.recorder.Reset()
	return nil
}

// watchPorts inspects the unchanged ports after every change of the cloud from now on.
func (r *run) watchPorts(unchanged []string, keepsFloatingIP bool) error {
	v, err := r.service()
	if err != nil || v == nil {
		return err
	}
	r.mu.Lock()
	r.uid, r.unchanged = string(v.UID), unchanged
	if keepsFloatingIP {
		r.keptAddress = v.Status.LoadBalancer.Ingress[0].IP
	}
	r.mu.Unlock()
	r.env.cloud.observe(func() {
		if s, err := r.state(); err != nil {
			r.addViolation(err)
		} else {
			r.inspectState(s)
		}
	})
	return nil
}

// inspectState notes if an unchanged port is interrupted.
func (r *run) inspectState(s state) {
	r.mu.Lock()
	uid, unchanged, kept, ignore := r.uid, r.unchanged, r.keptAddress, r.ignorePorts
	r.mu.Unlock()
	if uid == "" || ignore {
		return
	}
	if err := s.checkUninterrupted(uid, unchanged); err != nil {
		r.addViolation(err)
	}
	if kept != "" && !s.leadsTo(kept, uid) {
		r.addViolation(fmt.Errorf("the floating IP %s, which must not change, leads nowhere: %+v", kept, s.FloatingIPs))
	}
}

// inspectStatus notes if a status that the controller has written is not true.
func (r *run) inspectStatus(method, path string, answer []byte) {
	r.mu.Lock()
	ignore := r.ignoreConditions
	r.mu.Unlock()
	if method != http.MethodPatch || !strings.HasSuffix(path, "/status") || ignore {
		return
	}
	o, _, err := scheme.Codecs.UniversalDeserializer().Decode(answer, nil, nil)
	if err != nil {
		r.addViolation(fmt.Errorf("the answer to %s %s: %w", method, path, err))
		return
	}
	s, err := r.state()
	if err == nil {
		switch o := o.(type) {
		case *corev1.Service:
			if r.writesProgrammed(o) {
				err = s.checkProgrammed(o)
			}
		case *corev1.Pod:
			err = s.checkGate(o)
		default:
			err = fmt.Errorf("the answer to %s %s is a %T", method, path, o)
		}
	}
	if err != nil {
		r.addViolation(err)
	}
}

// writesProgrammed reports whether condition Programmed differs from the one that was written before. The condition
// must be true when it is written. It stays True while members are written, and meanwhile another condition may change.
func (r *run) writesProgrammed(v *corev1.Service) bool {
	is := meta.FindStatusCondition(v.Status.Conditions, status.Programmed)
	if is == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.programmed == nil {
		r.programmed = map[types.UID]metav1.Condition{}
	}
	was := r.programmed[v.UID]
	r.programmed[v.UID] = *is
	return *is != was
}

// finish waits until the cloud has what the Service requests, checks that no rule was broken,
// and deletes the Service, which must leave nothing.
func (r *run) finish() error {
	if err := r.pollStable(r.checkConverged); err != nil {
		return errors.Join(err, r.checkViolations())
	}
	if err := errors.Join(r.checkViolations(), r.env.cloud.checkOtherCluster(r.otherCluster), r.checkWriteCount()); err != nil {
		return err
	}
	r.env.cloud.observe(nil)
	r.mu.Lock()
	r.uid = ""
	r.mu.Unlock()
	if err := remove(r); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err := r.pollStable(r.checkGone); err != nil {
		return fmt.Errorf("after the Service was deleted: %w", err)
	}
	return errors.Join(r.checkViolations(), r.env.cloud.checkOtherCluster(r.otherCluster), r.cleanUp())
}

// cleanUp deletes what the case created.
func (r *run) cleanUp() error {
	r.controller.kill()
	var errs []error
	if r.given.ID != "" {
		errs = append(errs, r.env.cloud.neutron(http.MethodDelete, "floatingips/"+r.given.ID, nil, nil))
	}
	if r.env.otherCluster == nil {
		errs = append(errs, r.env.cloud.deleteOtherCluster(r.otherCluster))
	}
	err := r.env.client.CoreV1().Nodes().Delete(r.ctx, joiningNode, metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) {
		errs = append(errs, err)
	}
	if err := r.env.client.CoreV1().Pods(r.namespace).DeleteCollection(r.ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, metav1.ListOptions{}); err != nil {
		errs = append(errs, err)
	}
	if err := r.slices().Delete(r.ctx, podSlice, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		errs = append(errs, err)
	}
	r.env.cloud.Faults().Clear()
	r.env.proxy.faults.Clear()
	errs = append(errs, r.poll(func() error {
		s, err := r.env.cloud.state()
		if err != nil || r.env.otherCluster != nil {
			return err
		}
		return s.checkEmpty()
	}))
	return errors.Join(errs...)
}

// state returns what the cloud has, without another cluster's objects.
func (r *run) state() (state, error) {
	s, err := r.env.cloud.state()
	s.Balancers = slices.DeleteFunc(s.Balancers, func(b balancer) bool { return b.ID == r.otherCluster.balancer.ID })
	s.FloatingIPs = slices.DeleteFunc(s.FloatingIPs, func(f floatingIP) bool { return f.ID == r.otherCluster.floatingIP.ID })
	s.VIPPorts = slices.DeleteFunc(s.VIPPorts, func(o port) bool { return o.ID == r.otherCluster.balancer.Port })
	return s, err
}

// checkConverged returns an error while the Service and the cloud are not as they should be.
func (r *run) checkConverged() error {
	if r.retries() > 0 {
		return errors.New("the change is not made yet")
	}
	v, err := r.service()
	if err != nil {
		return err
	}
	nodes, err := r.env.nodes(r.ctx)
	if err != nil {
		return err
	}
	pods, err := r.pods()
	if err != nil {
		return err
	}
	if err := r.playKubelet(); err != nil {
		return err
	}
	s, err := r.state()
	if err != nil {
		return err
	}
	r.inspectState(s)
	from := backends{nodes, pods}
	if err := errors.Join(s.checkServes(v, from), r.checkNothingElse(s, expected(v, from)), r.checkCertificate(s, v)); err != nil {
		return fmt.Errorf("%w\nconditions: %v", err, conditionsOf(v))
	}
	if r.keptAddress != "" && v != nil && !slices.ContainsFunc(v.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool { return i.IP == r.keptAddress }) {
		return fmt.Errorf("the addresses of Service %s are %v, and %s must not change", v.Name, v.Status.LoadBalancer.Ingress, r.keptAddress)
	}
	return checkConditions(v)
}

// checkNothingElse returns an error if the cloud has more than the expected resources.
func (r *run) checkNothingElse(s state, want resources) error {
	floating, listeners, pools := 0, 0, 0
	if want.Floating {
		floating++
	}
	if r.given.ID != "" && !slices.ContainsFunc(s.FloatingIPs, func(f floatingIP) bool { return f.ID == r.given.ID }) {
		return fmt.Errorf("the floating IP %s, which was created by hand, is gone", r.given.Address)
	}
	if r.given.ID != "" && !(want.Floating && s.isAttached(r.given.ID)) {
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

func (s state) isAttached(floatingIPID string) bool {
	return slices.ContainsFunc(s.FloatingIPs, func(f floatingIP) bool { return f.ID == floatingIPID && f.Port != "" })
}

// checkConditions returns an error if the Service does not report that it is served.
func checkConditions(v *corev1.Service) error {
	switch {
	case v == nil:
		return nil
	case v.DeletionTimestamp != nil:
		return fmt.Errorf("Service %s is not gone; finalizers %v, conditions %v", v.Name, v.Finalizers, conditionsOf(v))
	case !requests(v) && (len(v.Finalizers) > 0 || len(v.Status.Conditions) > 0 || len(v.Annotations) > 0):
		return fmt.Errorf("Service %s, which requests no load balancer, still has finalizers %v, annotations %v, conditions %v", v.Name, v.Finalizers, v.Annotations, conditionsOf(v))
	case !requests(v):
		return nil
	case !meta.IsStatusConditionTrue(v.Status.Conditions, status.Programmed), !meta.IsStatusConditionTrue(v.Status.Conditions, status.Accepted):
		return fmt.Errorf("the conditions of Service %s are %v", v.Name, conditionsOf(v))
	case v.Spec.Type == corev1.ServiceTypeLoadBalancer && len(v.Status.LoadBalancer.Ingress) != 1:
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

// checkGone returns an error if something of the Service is left.
func (r *run) checkGone() error {
	v, err := r.service()
	if err != nil {
		return err
	}
	if v != nil {
		return fmt.Errorf("Service %s is still there; finalizers %v, conditions %v", v.Name, v.Finalizers, conditionsOf(v))
	}
	s, err := r.state()
	if err != nil {
		return err
	}
	return errors.Join(r.checkNothingElse(s, resources{}), r.checkCertificate(s, nil))
}

// checkWriteCount returns an error if there were more writes than allowed.
func (r *run) checkWriteCount() error {
	if n := r.writes(); r.maxWrites > 0 && n > r.maxWrites {
		return fmt.Errorf("%d writes to the cloud, and at most %d are allowed", n, r.maxWrites)
	}
	return nil
}

// writes returns how many writes to the cloud were recorded.
func (r *run) writes() int {
	n := 0
	for _, c := range r.env.cloud.Recorder().Calls() {
		if c.Method != http.MethodGet && c.Service != "identity" {
			n++
		}
	}
	return n
}

// keepTrying calls do in the background until it succeeds.
func (r *run) keepTrying(do func() error) {
	r.mu.Lock()
	r.retrying++
	r.mu.Unlock()
	go func() {
		if err := r.poll(do); err != nil && r.ctx.Err() == nil {
			r.addViolation(err)
		}
		r.mu.Lock()
		r.retrying--
		r.mu.Unlock()
	}()
}

func (r *run) retries() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.retrying
}

// pollStable polls until check returns no error several times in a row, without a write to the
// cloud in between.
func (r *run) pollStable(check func() error) error {
	const enough = 3
	times, writes := 0, -1
	return r.poll(func() error {
		if err := check(); err != nil {
			times = 0
			return err
		}
		if n := r.writes(); n != writes {
			times, writes = 0, n
		}
		if times++; times < enough {
			return errors.New("it may not last")
		}
		return nil
	})
}

// poll calls check until it returns no error, and returns its last error at the deadline.
func (r *run) poll(check func() error) error {
	late := time.After(cloudDurations().deadline)
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(cloudDurations().pollInterval):
		case <-r.ctx.Done():
			return r.ctx.Err()
		case <-late:
			return fmt.Errorf("after %v: %w", cloudDurations().deadline, err)
		}
	}
}

func (r *run) requireNoError(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *run) services() typed.ServiceInterface {
	return r.env.client.CoreV1().Services(r.namespace)
}

// service returns the Service as it is now, nil when there is none.
func (r *run) service() (*corev1.Service, error) {
	if r.ofAnotherKind {
		return r.likeAService()
	}
	v, err := r.services().Get(r.ctx, r.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return v, err
}

// update changes the Service.
func (r *run) update(change func(*corev1.Service)) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		v, err := r.services().Get(r.ctx, r.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(v)
		_, err = r.services().Update(r.ctx, v, metav1.UpdateOptions{})
		return err
	})
}

// balancer returns the Service's load balancer.
func (r *run) balancer() (balancer, error) {
	s, err := r.state()
	if err == nil && len(s.Balancers) != 1 {
		err = fmt.Errorf("there are %d load balancers", len(s.Balancers))
	}
	if err != nil {
		return balancer{}, err
	}
	return s.Balancers[0], nil
}
