// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// requireOneLoadBalancer fails the test unless the Service has one load balancer and one
// floating IP of its own in the cloud.
func (v *service) requireOneLoadBalancer() {
	v.t.Helper()
	if err := v.checkOneLoadBalancer(); err != nil {
		v.t.Error(err)
	}
}

// checkOneLoadBalancer returns an error unless the Service has one load balancer and one floating IP of its own.
func (v *service) checkOneLoadBalancer() error {
	v.t.Helper()
	if n := len(v.cloud.balancers(v.lbName())); n != 1 {
		return fmt.Errorf("Service %s has %d load balancers", v.name, n)
	}
	n := 0
	for _, f := range v.cloud.floatingIPs() {
		if strings.Contains(f.Description, "kube-octavia.service="+string(v.now().UID)+")") {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("Service %s has %d floating IPs: %+v", v.name, n, v.cloud.floatingIPs())
	}
	return nil
}

func TestControllerThatIsRestartedDuringACreateContinues(t *testing.T) {
	skipOnRealOpenStack(t, "TestServiceSurvivesAControllerThatIsKilled does worse")
	s := newStage(t, settings{})
	release := s.cloud.hold()
	web := s.service("web", tcp(8080))
	s.eventually(func() error { return s.is("PENDING_CREATE", web) })
	s.stop()
	if err := s.is("PENDING_CREATE", web); err != nil {
		t.Fatal(err)
	}
	if web.now().Annotations[annotation.LoadBalancerID] == "" {
		t.Error("the controller that was stopped did not write the id of the load balancer to the Service")
	}
	s.start()
	release()
	s.waitForAnswersThrough(web.waitUntilProgrammed(), 8080, s.addresses("a", "b")...)
	web.requireOneLoadBalancer()
}

func TestAControllerThatIsStoppedInACreateWritesTheIDAlsoIfAnotherWriteFails(t *testing.T) {
	simulatorOnly(t, "the creation of the floating IP takes long, and fails")
	s := newStage(t, settings{})
	release := s.cloud.hold()
	create := wire.Fault{Service: cloudsim.Network, Method: http.MethodPost, Route: "/v2.0/floatingips", Times: 1}
	slow, fails := create, create
	slow.Kind, slow.Delay = wire.FaultLatency, 2*time.Second
	fails.Kind, fails.Status = wire.FaultStatus, http.StatusForbidden
	s.cloud.Faults().Add(slow)
	s.cloud.Faults().Add(fails)
	web := s.service("web", tcp(8080))
	s.eventually(func() error {
		if unmet := s.cloud.Faults().List(); len(unmet) > 0 {
			return fmt.Errorf("the controller has not begun to create the floating IP: %+v", unmet)
		}
		return s.is("PENDING_CREATE", web)
	})
	s.stop()
	if web.now().Annotations[annotation.LoadBalancerID] == "" {
		t.Error("the controller that was stopped did not write the id of the load balancer to the Service")
	}
	s.start()
	release()
	web.waitUntilProgrammed()
	web.requireOneLoadBalancer()
}

func TestRestartedControllerChangesNothingThatIsAsItShouldBe(t *testing.T) {
	s := newStage(t, settings{})
	s.sweepWithNewOVN()
	web := s.service("web", tcp(8080, 8081), udp(5300))
	address := web.waitUntilProgrammed()
	web.waitForCondition(serving, conditionTrue, "NotMonitored")
	web.requireEvents([]string{"Programmed"}, "Programmed")
	web.waitUntilNoted()
	s.stop()
	object, events := web.now(), len(web.events())
	s.resetCalls()
	s.waitForPassAfter(s.start)
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("the cloud was written to: %v", writes)
	}
	t.Logf("the restart took %d calls for a Service with three ports", len(s.calls()))
	if now := web.now(); now.ResourceVersion != object.ResourceVersion {
		t.Errorf("the Service was written to: %+v was %+v", now, object)
	}
	if n := len(web.events()); n != events {
		t.Errorf("%d events became %d", events, n)
	}
	s.answers(address, 8080)
}

// failures are the ways in which a call fails.
var failures = []wire.Fault{
	{ID: "reset-before", Kind: wire.FaultResetBefore},
	{ID: "reset-after", Kind: wire.FaultResetAfter},
	{ID: "half-an-answer", Kind: wire.FaultHalfBody},
	{ID: "garbage", Kind: wire.FaultGarbage},
	{ID: "silence", Kind: wire.FaultHang},
	{ID: "500", Kind: wire.FaultStatus, Status: 500, Body: `{"faultstring": "internal"}`},
	{ID: "503", Kind: wire.FaultStatus, Status: 503, Header: map[string]string{"Retry-After": "1"}},
	{ID: "429", Kind: wire.FaultStatus, Status: 429, Header: map[string]string{"Retry-After": "1"}},
}

// failNext lets the next call of each of the operations fail.
func (s *stage) failNext(how wire.Fault, operations ...wire.Operation) {
	for _, o := range operations {
		how.ID, how.Times = "", 1
		how.Service, how.Method, how.Route = o.Service, o.Method, o.Route
		s.cloud.Faults().Add(how)
	}
}

// requireFaultMet fails the test, which is wrong then, if no call met a fault.
func (s *stage) requireFaultMet(t *testing.T) {
	t.Helper()
	if left := s.cloud.Faults().List(); len(left) > 0 {
		t.Errorf("no call met the faults %+v", left)
	}
	s.cloud.Faults().Clear()
}

// TestControllerRecoversFromEveryFailureOfACall lets each write of a Service's life fail
// once, in each way in which calls fail.
func TestControllerRecoversFromEveryFailureOfACall(t *testing.T) {
	timeout := "2s"
	if *stateDir != "" {
		timeout = "10s" // a create takes seconds when much else is going on
	}
	s := newStage(t, settings{conf: []string{"[Metadata]", "request-timeout=" + timeout}})
	create := wire.Operation{Service: cloudsim.LoadBalancer, Method: http.MethodPost, Route: "/v2.0/lbaas/loadbalancers"}
	address := wire.Operation{Service: cloudsim.Network, Method: http.MethodPost, Route: "/v2.0/floatingips"}
	members := wire.Operation{Service: cloudsim.LoadBalancer, Method: http.MethodPut, Route: "/v2.0/lbaas/pools/{id}/members"}
	release := wire.Operation{Service: cloudsim.Network, Method: http.MethodDelete, Route: "/v2.0/floatingips/{id}"}
	remove := wire.Operation{Service: cloudsim.LoadBalancer, Method: http.MethodDelete, Route: "/v2.0/lbaas/loadbalancers/{id}"}
	for _, how := range failures {
		t.Run(how.ID, func(t *testing.T) {
			switch how.Kind {
			case wire.FaultStatus, wire.FaultResetBefore:
				skipOnRealOpenStack(t, "the cloud does not see the calls that fail")
			case wire.FaultHalfBody, wire.FaultGarbage, wire.FaultHang:
				skipOnRealOpenStack(t, "for the cloud it is the same as reset-after")
			}
			s.failNext(how, create, address)
			web := s.service("web-"+how.ID, tcp(8080))
			s.waitForAnswersThrough(web.waitUntilProgrammed(), 8080, s.addresses("a", "b")...)
			web.requireOneLoadBalancer()
			s.requireFaultMet(t)

			s.failNext(how, members)
			s.changeNode("b", func(n *corev1.Node) { n.Labels[corev1.LabelNodeExcludeBalancers] = "" })
			web.waitForTree(membersAt(s.addresses("a")...))
			s.requireFaultMet(t)
			s.changeNode("b", func(n *corev1.Node) { delete(n.Labels, corev1.LabelNodeExcludeBalancers) })
			web.waitForTree(membersAt(s.addresses("a", "b")...))

			// A controller that got no answer to a create waits a minute for what it
			// may still bring; another one knows nothing of it.
			s.stop()
			s.start()
			s.failNext(how, release, remove)
			web.delete()
			web.waitUntilGone()
			s.requireFaultMet(t)
			if err := s.empty(); err != nil {
				t.Errorf("when the Service was gone: %v", err)
			}
		})
	}
}

func TestRetryAfterIsRespected(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud does not see the calls that fail")
	s := newStage(t, settings{})
	route := "/v2.0/lbaas/loadbalancers"
	s.cloud.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodPost, Route: route,
		Kind: wire.FaultStatus, Status: 503, Header: map[string]string{"Retry-After": "2"}, Times: 2})
	web := s.service("web", tcp(8080))
	web.waitForCondition(programmed, conditionFalse, "CloudUnavailable")
	web.waitUntilProgrammed()
	var tries []time.Time
	for _, c := range s.cloud.Recorder().Calls() {
		if c.Method == http.MethodPost && c.Route == route {
			tries = append(tries, c.At)
		}
	}
	if len(tries) != 3 {
		t.Fatalf("%d attempts were made: %v", len(tries), tries)
	}
	for i := range 2 {
		if wait := tries[i+1].Sub(tries[i]); wait < 2*time.Second {
			t.Errorf("attempt %d came after %v, Retry-After was 2 s", i+2, wait)
		}
	}
}

func TestTokensThatExpireAreRenewed(t *testing.T) {
	skipOnRealOpenStack(t, "what becomes of a token is in the contract")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	visitor := s.visit(address, 8080)
	for i := range 3 {
		s.cloud.ExpireTokens()
		web.change(tcp(int32(9000 + i)))
		web.waitForTree(ports(append([]string{"TCP/8080"}, []string{"TCP/9000", "TCP/9001", "TCP/9002"}[:i+1]...)...))
	}
	web.waitUntilProgrammed()
	s.requireNoFailedRequest(visitor)
	if refused := s.controller.log.lines("Reconciler error"); len(refused) > 0 {
		t.Errorf("passes failed: %v", refused)
	}
}

func TestExhaustedQuotaIsReported(t *testing.T) {
	s := newStage(t, settings{})
	s.cloud.quota(cloudsim.Network, "floatingip", 0)
	s.cloud.quota(cloudsim.LoadBalancer, "load_balancer", 0)
	web := s.service("web", tcp(8080))
	c := web.waitForCondition(programmed, conditionFalse, "QuotaExceeded")
	t.Log(c.Message)

	s.cloud.quota(cloudsim.LoadBalancer, "load_balancer", 1)
	web.change(touched("again"))
	s.eventually(func() error { return s.is("ACTIVE", web) })
	c = web.waitForCondition(programmed, conditionFalse, "QuotaExceeded")
	t.Log(c.Message)
	if ingress := web.now().Status.LoadBalancer.Ingress; len(ingress) > 0 {
		t.Errorf("without its floating IP the Service is published at %+v", ingress)
	}

	s.cloud.quota(cloudsim.Network, "floatingip", 1)
	web.change(touched("thrice"))
	s.waitForAnswersThrough(web.waitUntilProgrammed(), 8080, s.addresses("a", "b")...)
	web.requireOneLoadBalancer()
}
