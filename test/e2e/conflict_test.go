// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// occm is the name under which openstack-cloud-controller-manager writes.
const occm = "openstack-cloud-controller-manager"

// yielding returns a program that waits only a moment when another client writes, too, and resumes
// its work after the pause.
func yielding(pause time.Duration) cli.Options {
	delays := usualDelays()
	delays.ConflictLimit = 3
	delays.ConflictWait = timing.Backoff{First: 20 * time.Millisecond, Last: 200 * time.Millisecond}
	delays.ConflictStop = timing.Backoff{First: pause, Last: 2 * pause}
	return cli.Options{Timing: delays}
}

// otherController is another controller that treats a Service as its own.
type rival struct {
	v      *service
	writes atomic.Int64
	leave  func()
}

// startOtherController starts one that is shown the Service each time that it has changed. As long as
// act wants something else, it writes that.
func (v *service) startOtherController(act func(ctx context.Context, now *corev1.Service) (wrote bool, err error)) *rival {
	v.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	selected := metav1.ListOptions{FieldSelector: "metadata.name=" + v.name}
	watch, err := v.client.CoreV1().Services(v.namespace).Watch(ctx, selected)
	if err != nil {
		v.t.Fatal(err)
	}
	r, ended := &rival{v: v}, make(chan struct{})
	go func() {
		defer close(ended)
		for e := range watch.ResultChan() {
			now, ok := e.Object.(*corev1.Service)
			if !ok || now.DeletionTimestamp != nil {
				continue
			}
			// One that was refused is shown the Service again.
			if wrote, err := act(ctx, now); wrote && err == nil {
				r.writes.Add(1)
			}
		}
	}()
	r.leave = func() {
		cancel()
		watch.Stop()
		<-ended
	}
	v.t.Cleanup(r.leave)
	return r
}

// publishes returns what openstack-cloud-controller-manager writes to a Service: the address and
// the id of another load balancer.
func (v *service) publishes(address, id string) func(context.Context, *corev1.Service) (bool, error) {
	services, as := v.client.CoreV1().Services(v.namespace), metav1.UpdateOptions{FieldManager: occm}
	return func(ctx context.Context, now *corev1.Service) (wrote bool, err error) {
		now = now.DeepCopy()
		if now.Annotations[idKey] != id {
			annotated(idKey, id)(now)
			if now, err = services.Update(ctx, now, as); err != nil {
				return true, err
			}
			wrote = true
		}
		if i := now.Status.LoadBalancer.Ingress; len(i) != 1 || i[0].IP != address {
			now.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
			_, err = services.UpdateStatus(ctx, now, as)
			wrote = true
		}
		return wrote, err
	}
}

// startOtherCloudClient starts another client that reads the Service's load balancer all the time
// and, while it is ACTIVE, changes it as it wants.
func (v *service) startOtherCloudClient(act func(have tree) (wrote bool)) *rival {
	v.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, ended := &rival{v: v}, make(chan struct{})
	go func() {
		defer close(ended)
		for {
			began := time.Now()
			if have := v.cloud.balancers(v.lbName()); len(have) == 1 && have[0].Status == "ACTIVE" {
				v.cloud.fill(&have[0])
				if act(have[0]) {
					r.writes.Add(1)
				}
			}
			select {
			case <-time.After(pause(time.Since(began))):
			case <-ctx.Done():
				return
			}
		}
	}()
	r.leave = func() {
		cancel()
		<-ended
	}
	v.t.Cleanup(r.leave)
	return r
}

// waitUntilStopped waits until the Service says that work on it has stopped, and an event and
// the metric do, too.
func (v *service) waitUntilStopped(wants ...string) {
	v.t.Helper()
	c := v.waitForCondition(programmed, conditionFalse, contestedReason)
	for _, want := range append(wants, "--controllers=*,-service") {
		if !strings.Contains(c.Message, want) {
			v.t.Errorf("the condition does not say %q: %s", want, c.Message)
		}
	}
	v.waitForStoppedEvent()
}

// waitForStoppedEvent waits until an event and the metric say that work on the Service has stopped,
// and returns the events' texts.
func (v *service) waitForStoppedEvent() []string {
	v.t.Helper()
	var told []string
	v.eventually(func() error {
		told = v.eventTexts(contestedReason)
		if n := v.gauge(contestedServices); len(told) == 0 || n == 0 {
			return fmt.Errorf("%d Services are counted, and there are the events %v", n, v.events())
		}
		return nil
	})
	return told
}

// patches returns how often the controller wrote to the Service or its status, or tried to.
func (v *service) patches() int {
	n := 0
	for _, r := range v.asked()[v.askedBefore:] {
		if r.Verb == "patch" && r.Resource == "services" && r.Namespace == v.namespace && r.Name == v.name {
			n++
		}
	}
	return n
}

// requireUndisturbed fails the test if the Service was ever not Programmed.
func (v *service) requireUndisturbed(address string) {
	v.t.Helper()
	if now := v.waitUntilProgrammed(); now != address {
		v.t.Errorf("the address of Service %s was %s and is %s", v.name, address, now)
	}
	if d := cmp.Diff([]string{"Creating", "Programmed"}, v.events()); d != "" {
		v.t.Errorf("events of Service %s (-want +got):\n%s", v.name, d)
	}
}

const (
	contestedReason   = "ConflictingController"
	contestedServices = "kube_octavia_conflicting_controller_services"
	elsewhere         = "192.0.2.99"
	anotherID         = "6d8f5f1c-3f0e-4c44-9d3c-9f4d5a8ad3a1"
)

func TestOneWriteOfAnotherClientIsRepairedAtOnce(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address, id := web.waitUntilProgrammed(), web.tree().ID
	s.waitUntilIdle()
	if wrote, err := web.publishes(elsewhere, id)(t.Context(), web.now()); !wrote || err != nil {
		t.Fatalf("wrote %v: %v", wrote, err)
	}
	s.eventually(func() error {
		now := web.now()
		if i := now.Status.LoadBalancer.Ingress; len(i) != 1 || i[0].IP != address || now.Annotations[idKey] != id {
			return fmt.Errorf("the addresses are %v, the id is %s", i, now.Annotations[idKey])
		}
		return nil
	})
	web.waitUntilProgrammed()
	if told := web.eventTexts(contestedReason); len(told) > 0 || s.gauge(contestedServices) > 0 {
		t.Errorf("one write passes for another controller: %v", told)
	}
	s.eventually(func() error {
		told := web.eventTexts("ConflictingWrite")
		if len(told) != 1 || !strings.Contains(told[0], "status.loadBalancer") || !strings.Contains(told[0], occm) {
			return fmt.Errorf("the events of the write: %q", told)
		}
		return nil
	})
}

// An API server without the field ipMode keeps less than the controller writes.
func TestFieldsThatTheAPIServerDropsAreNeitherWrittenAgainNorAConflict(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{program: yielding(time.Hour)})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.waitUntilIdle()
	before := web.patches()
	for i := range 3 {
		s.waitForPassAfter(func() { web.change(touched(fmt.Sprint(i))) })
	}
	s.stop()
	s.start()
	s.waitUntilIdle()
	if n := web.patches() - before; n > 0 {
		t.Errorf("%d writes to a Service that has not changed", n)
	}

	// As often as another controller may write before it is left the Service.
	for _, internal := range []string{"true", "false", "true", "false"} {
		address := web.address()
		web.change(annotated(internalKey, internal))
		web.waitForOtherAddress(address)
		s.waitUntilIdle()
	}
	for _, reason := range []string{"ConflictingWrite", contestedReason} {
		if told := web.eventTexts(reason); len(told) > 0 {
			t.Errorf("the controller's own writes are taken for those of another one: %v", told)
		}
	}
	if counted := s.gauge(contestedServices); counted > 0 {
		t.Errorf("%v Services are contested", counted)
	}
}

func TestServiceToWhichAnotherControllerWritesIsLeftToIt(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{program: yielding(time.Hour)})
	web, other := s.service("web", tcp(8080)), s.service("other", tcp(8081))
	address, others := web.waitUntilProgrammed(), other.waitUntilProgrammed()
	s.waitUntilIdle()
	before := web.patches()
	r := web.startOtherController(web.publishes(elsewhere, anotherID))
	web.waitUntilStopped("annotation "+idKey, occm)
	s.waitUntilIdle()
	if disputed := s.statusList().Conflicts; len(disputed) != 1 || disputed[0].Name != web.name || disputed[0].Kind != "service" || !strings.Contains(disputed[0].With, occm) {
		t.Errorf("status shows the conflicts %+v", disputed)
	}
	s.eventually(func() error {
		if n := web.patches() - before; n == 0 {
			return fmt.Errorf("the audit log has no write to the Service")
		}
		return nil
	})
	// Each of three writes is put right by two patches, each of which may have come too
	// late once or twice; and then there is the condition.
	if n := web.patches() - before; n > 20 {
		t.Errorf("%d writes to the Service", n)
	}

	// Pools follow the nodes all the same, and nothing else is written.
	s.resetCalls()
	was := web.now()
	s.addNode("c")
	nodes := s.addresses("a", "b", "c")
	web.waitForTree(membersAt(nodes...))
	other.waitForTree(membersAt(nodes...))
	s.waitUntilIdle()
	for _, w := range s.writes() {
		if !strings.HasSuffix(w, "/members") {
			t.Errorf("the cloud was written to: %s", w)
		}
	}
	if d := cmp.Diff(was, web.now()); d != "" {
		t.Errorf("the Service was written to (-was +is):\n%s", d)
	}
	other.requireUndisturbed(others)

	// Work is taken up when a user says so.
	r.leave()
	web.change(touched("and there is no other controller any more"))
	if now := web.waitUntilProgrammed(); now != address {
		s.eventually(func() error {
			if now = web.address(); now != address {
				return fmt.Errorf("the address is %s, and was %s", now, address)
			}
			return nil
		})
	}
	if id, now := web.tree().ID, web.now().Annotations[idKey]; id != now {
		t.Errorf("the load balancer is %s, and %s is noted", id, now)
	}
	s.waitForGauge(contestedServices, 0)
}

func TestServiceInConflictIsServedAgainAfterAPause(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{program: yielding(2 * time.Second)})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	r := web.startOtherController(web.publishes(elsewhere, anotherID))
	web.waitUntilStopped(occm)
	// It is tried, and the other one is still there.
	s.eventually(func() error {
		n := 0
		for _, reason := range web.events() {
			if reason == contestedReason {
				n++
			}
		}
		if n < 2 {
			return fmt.Errorf("work was stopped %d times", n)
		}
		return nil
	})
	r.leave()
	web.waitUntilProgrammed()
	s.eventually(func() error {
		if now := web.address(); now != address {
			return fmt.Errorf("the address is %s, and was %s", now, address)
		}
		return nil
	})
}

func TestServiceInConflictCanBeDeleted(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{program: yielding(time.Hour)})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	web.startOtherController(web.publishes(elsewhere, anotherID))
	web.waitUntilStopped()
	web.delete()
	web.waitUntilGone()
	s.eventually(s.empty)
	s.waitForGauge(contestedServices, 0)
}

// removesMarks is another controller that takes the finalizer and all annotations away.
func (v *service) removesMarks(ctx context.Context, now *corev1.Service) (wrote bool, err error) {
	if len(now.Finalizers) == 0 {
		return false, nil
	}
	now = now.DeepCopy()
	now.Finalizers = nil
	clear(now.Annotations)
	_, err = v.client.CoreV1().Services(v.namespace).Update(ctx, now, metav1.UpdateOptions{FieldManager: occm})
	return true, err
}

func TestServiceInConflictLeavesNothingBehindWithoutItsFinalizer(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{program: yielding(time.Hour)})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	r := web.startOtherController(web.removesMarks)
	web.waitUntilStopped()
	r.leave()
	s.eventually(func() error {
		if len(web.now().Finalizers) == 0 {
			return errors.New("the Service has no finalizer")
		}
		return nil
	})
	web.delete()
	web.waitUntilGone()
	s.eventually(s.empty)
}

func TestLoadBalancerThatAnotherControllerChangesIsLeftToIt(t *testing.T) {
	skipOnRealOpenStack(t, "what moves updated_at is in the contract")
	s := newStage(t, settings{flags: sweeping, program: yielding(time.Hour)})
	other := s.service("other", tcp(8080))
	address := other.waitUntilProgrammed()
	call := func(method, path string, body any) bool {
		service, prefix := cloudsim.LoadBalancer, "/v2.0/lbaas/"
		if strings.HasPrefix(path, "floatingips/") {
			service, prefix = cloudsim.Network, "/v2.0/"
		}
		return s.cloud.call(asUser, service, method, prefix+path, body, nil) == nil
	}
	for _, c := range []struct {
		name string
		// act is the action of the other controller, told the text of the condition.
		act  func(have tree) bool
		told string
		// route is what is written to put it right.
		route string
		right func(tree) error
	}{
		{"deletes-a-port", func(have tree) bool {
			l := have.listener("TCP/8081")
			return l.ID != "" && call("DELETE", "listeners/"+l.ID, nil)
		}, openPort(8081), "POST /v2.0/lbaas/listeners", ports("TCP/8080", "TCP/8081")},
		{"sets-other-members", func(have tree) bool {
			l := have.listener("TCP/8080")
			if l.Pool == nil || len(l.Pool.Members) == 1 {
				return false
			}
			return call("PUT", "pools/"+l.PoolID+"/members", map[string]any{"members": []any{
				map[string]any{"address": "10.0.0.99", "protocol_port": 30000, "name": "its own"},
			}})
		}, "set the 2 members", "PUT /v2.0/lbaas/pools/{id}/members", membersAt(s.addresses("a", "b")...)},
		{"detaches-the-floating-ip", func(have tree) bool {
			for _, f := range s.cloud.floatingIPs() {
				if f.PortID == have.VIPPort {
					return call("PUT", "floatingips/"+f.ID, map[string]any{"floatingip": map[string]any{"port_id": nil}})
				}
			}
			return false
		}, "attach floating IP", "PUT /v2.0/floatingips/{id}", ports("TCP/8080", "TCP/8081")},
	} {
		t.Run(c.name, func(t *testing.T) {
			web := s.service(c.name, tcp(8080, 8081))
			web.waitUntilProgrammed()
			s.waitUntilIdle()
			s.resetCalls()
			r := web.startOtherCloudClient(c.act)
			web.waitUntilStopped(c.told)
			s.waitUntilIdle()
			// The other controller continues, sweeps notice its changes, and no pass repairs them.
			method, route, _ := strings.Cut(c.route, " ")
			written := s.callCount(method, route)
			found := s.gauge(driftDetected)
			sweeps := s.callCount(http.MethodGet, balancersRoute)
			s.eventually(func() error {
				if n := s.callCount(http.MethodGet, balancersRoute) - sweeps; n < 3 {
					return fmt.Errorf("%d sweeps, and drift was found %d times", n, s.gauge(driftDetected)-found)
				}
				return nil
			})
			if n := s.callCount(method, route); n != written || n > 5 || n == 0 {
				t.Errorf("it was put right %d times, and %d times since", written, n-written)
			}
			if r.writes.Load() > 6 {
				t.Errorf("the other controller wrote %d times", r.writes.Load())
			}
			r.leave()
			web.change(touched("and there is no other controller any more"))
			web.waitForTree(c.right)
			s.waitForAnswersThrough(web.waitUntilProgrammed(), 8081, s.addresses("a", "b")...)
			web.delete()
			web.waitUntilGone()
		})
	}
	other.requireUndisturbed(address)
}

// Two controllers of this project with different classes that both serve Services
// without one.
func TestTwoControllersThatServeTheSameServiceStopWriting(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{program: yielding(time.Hour)})
	web := s.service("web", tcp(8080))
	address, id := web.waitUntilProgrammed(), web.tree().ID
	second := &stage{t: t, client: s.client, namespace: s.namespace, cloud: s.cloud, nodes: s.nodes, dir: t.TempDir(),
		settings: settings{program: s.settings.program, flags: []string{"--load-balancer-class=example.com/second"}}}
	second.writeFiles()
	second.start()
	t.Cleanup(func() {
		if second.controller != nil {
			second.stop()
		}
	})
	// One of them stops; the condition is that of the other one, and Service and load balancer do
	// not change any more.
	if told := web.waitForStoppedEvent(); !strings.Contains(told[0], "annotation "+managedKey) {
		t.Errorf("the event does not say what was written over: %s", told[0])
	}
	s.waitUntilIdle()
	before, visitor := web.patches(), s.visit(address, 8080)
	s.eventually(func() error { // for longer than it takes to try again now and then
		if n := visitor.count(); n < 150 {
			return fmt.Errorf("the user made %d requests", n)
		}
		return nil
	})
	s.requireNoFailedRequest(visitor)
	if n := web.patches(); before > 30 || n > before {
		t.Errorf("%d writes to the Service, and %d when both had stopped", before, n-before)
	}
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
	second.stop()
	web.change(touched("and there is no other controller any more"))
	s.eventually(func() error {
		if owner := web.now().Annotations[managedKey]; !strings.HasSuffix(owner, " "+ourClass) {
			return fmt.Errorf("the Service is marked as %s", owner)
		}
		return nil
	})
	if got := web.waitUntilProgrammed(); got != address || web.tree().ID != id {
		t.Errorf("the address was %s and is %s", address, got)
	}
}
