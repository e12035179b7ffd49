// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// A failure with one object delays no other, and the controller takes no object that is not its own.

// waitForSweeps waits until the controller has looked at everything n more times.
func (s *stage) waitForSweeps(n int) {
	s.t.Helper()
	lists := func() int {
		count := 0
		for _, c := range s.cloud.Recorder().Calls() {
			if c.Route == "/v2.0/lbaas/loadbalancers" && strings.Contains(c.Query, "fields=") {
				count++
			}
		}
		return count
	}
	before := lists()
	s.eventually(func() error {
		if now := lists(); now < before+n {
			return fmt.Errorf("%d of %d sweeps", now-before, n)
		}
		return nil
	})
}

// refuse makes the cloud refuse a write until the test ends.
func (s *stage) refuse(method, route string) {
	s.t.Helper()
	s.cloud.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: method, Route: route, Kind: wire.FaultStatus,
		Status: http.StatusBadRequest, Body: `{"faultcode": "Client", "faultstring": "not like this", "debuginfo": null}`})
}

// waitForReadyEndpoint waits until an EndpointSlice of the Service has an endpoint that is ready.
func (v *service) waitForReadyEndpoint() {
	v.t.Helper()
	v.eventually(func() error {
		all, err := v.client.DiscoveryV1().EndpointSlices(v.namespace).List(v.t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + v.name})
		if err != nil {
			return err
		}
		for i := range all.Items {
			if member.AnyReady(&all.Items[i]) {
				return nil
			}
		}
		return fmt.Errorf("no endpoint of Service %s is ready", v.name)
	})
}

func TestCallThatTheCloudRefusesIsNotRepeatedAtOnce(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud does not see the calls that fail")
	s := newStage(t, settings{flags: sweeping, podless: true})
	s.refuse(http.MethodPost, "/v2.0/lbaas/loadbalancers")
	web := s.service("web", tcp(8080))
	c := web.waitForCondition(programmed, conditionFalse, "RejectedByCloud")
	if !strings.Contains(c.Message, "not like this") {
		t.Errorf("the message hides what the cloud said: %s", c.Message)
	}
	s.resetCalls()
	s.runPod("a", "a") // an endpoint that becomes ready is no reason to ask either
	web.waitForReadyEndpoint()
	s.waitForSweeps(3)
	if asked := s.calls(); len(asked) > 0 {
		t.Errorf("while it had to wait, the Service caused %v", asked)
	}
	s.cloud.Faults().Clear()
	web.change(touched("again"))
	web.waitUntilProgrammed()
}

func TestARefusedChangeDoesNotKeepPoolsFromFollowingTheNodes(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud does not see the calls that fail")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.refuse(http.MethodPut, "/v2.0/lbaas/listeners/{id}")
	web.change(openTo("192.0.2.0/24"))
	web.waitForCondition(programmed, conditionFalse, "RejectedByCloud")
	s.addNode("c")
	web.waitForTree(membersAt(s.addresses("a", "b", "c")...))
	s.cloud.Faults().Clear()
	web.change(touched("again"))
	web.waitUntilProgrammed()
	web.waitForTree(sources("192.0.2.0/24"))
}

func TestAServiceThatNamesTheLoadBalancerOfAnotherServiceGetsNoneAndCanBeDeleted(t *testing.T) {
	skipOnRealOpenStack(t, "it writes nothing")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	id := web.tree().ID
	// Of another namespace: one of its own may share.
	thief := s.inOtherNamespace().service("thief", tcp(8080), annotated(annotation.LoadBalancerID, id))
	c := thief.waitForCondition(programmed, conditionFalse, "NotOwned")
	if !strings.Contains(c.Message, id) {
		t.Errorf("the message does not name load balancer %s: %s", id, c.Message)
	}
	thief.delete()
	thief.waitUntilGone()
	if have := web.tree(); have.ID != id || have.Status != "ACTIVE" {
		t.Errorf("the other Service's load balancer is %s, %s", have.ID, have.Status)
	}
}

func TestANewServiceTakesNoLoadBalancerThatOnlyHasItsName(t *testing.T) {
	skipOnRealOpenStack(t, "what a list by name shows is in the contract")
	s := newStage(t, settings{})
	name := "kube_service_kubernetes_" + s.namespace + "_web"
	s.cloud.octavia("POST", "loadbalancers", map[string]any{"loadbalancer": map[string]any{
		"name": name, "tags": []string{name}, "vip_subnet_id": s.cloud.IDs().PrivateSubnet,
		"description": "Kubernetes external service " + s.namespace + "/web from cluster kubernetes",
	}}, nil)
	s.eventually(s.cloud.pending)
	before := s.cloud.balancers(name)[0]
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	if id := web.now().Annotations[annotation.LoadBalancerID]; id == before.ID {
		t.Error("the Service took it")
	}
	for _, after := range s.cloud.balancers(name) {
		if after.ID == before.ID && after.UpdatedAt != before.UpdatedAt {
			t.Error("it was written to")
		}
	}
	s.cloud.octavia("DELETE", "loadbalancers/"+before.ID, nil, nil)
}

func TestFloatingIPThatAUserMovedStaysThere(t *testing.T) {
	skipOnRealOpenStack(t, "what a floating IP leads to is in the contract")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	elsewhere := s.cloud.makePort()
	moved := s.cloud.floatingIP(address)
	s.cloud.neutron("PUT", "floatingips/"+moved.ID, map[string]any{"floatingip": map[string]any{"port_id": elsewhere.ID}}, nil)
	web.change(annotated("service.beta.kubernetes.io/openstack-internal-load-balancer", "true"))
	web.waitForOtherAddress(address)
	if now := s.cloud.floatingIP(address); now.PortID != elsewhere.ID {
		t.Errorf("it leads to port %q now", now.PortID)
	}
	s.cloud.neutron("DELETE", "floatingips/"+moved.ID, nil, nil)
}

func TestAServiceThatChangesItsClassIsReleased(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a deletion")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.stop()
	web.change(ofType(corev1.ServiceTypeClusterIP))
	web.change(ofType(corev1.ServiceTypeLoadBalancer), ofClass("example.com/other"))
	s.start()
	s.eventually(func() error {
		if v := web.now(); v.Annotations[annotation.LoadBalancerID] != "" {
			return fmt.Errorf("the Service still bears our marks: %v", v.Annotations)
		}
		return nil
	})
	if left := s.cloud.balancers(web.lbName()); len(left) > 0 {
		t.Errorf("load balancer %s is still there", left[0].ID)
	}
	if v := web.now(); len(v.Finalizers) == 0 || len(v.Status.Conditions) > 0 {
		t.Errorf("finalizers %v, which are the other controller's now; conditions %v, which were ours", v.Finalizers, v.Status.Conditions)
	}
	// So does the other controller when the Service is deleted.
	web.change(func(v *corev1.Service) { v.Finalizers = nil })
}
