// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// What openstack-cloud-controller-manager does when another Service names our load
// balancer by its id.
func TestSharedLoadBalancerStaysWhenItsOwnerIsDeleted(t *testing.T) {
	skipOnRealOpenStack(t, "it is our writes that count")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address, have := web.waitUntilProgrammed(), web.tree()
	tag := "kube_service_kubernetes_" + s.namespace + "_api"
	s.cloud.octavia("PUT", "loadbalancers/"+have.ID, map[string]any{"loadbalancer": map[string]any{"tags": append(slices.Clone(have.Tags), tag)}}, nil)
	s.eventually(s.cloud.pending)
	s.cloud.octavia("POST", "listeners", map[string]any{"listener": map[string]any{
		"loadbalancer_id": have.ID, "protocol": "TCP", "protocol_port": freePort(9000), "name": "listener_0_" + tag, "tags": []string{tag},
	}}, nil)
	s.eventually(s.cloud.pending)
	web.change(touched("and so it is looked at"))
	s.stop() // what was remembered is not as it is
	s.start()
	web.delete()
	web.waitUntilGone()
	balancers := s.cloud.trees(have.Name)
	if len(balancers) != 1 || len(balancers[0].Listeners) != 1 || balancers[0].Listeners[0].key() != "TCP/9000" || len(balancers[0].Unused) > 0 {
		t.Fatalf("left: %+v", balancers)
	}
	if tags := balancers[0].Tags; !slices.Equal(tags, []string{"kube-octavia.cluster=" + s.clusterUID(), tag}) {
		t.Errorf("the load balancer is tagged %q", tags)
	}
	if f := s.cloud.floatingIP(address); f.PortID != have.VIPPort {
		t.Errorf("the floating IP is %+v", f)
	}
	s.cloud.octavia("DELETE", "loadbalancers/"+have.ID+"?cascade=true", nil, nil)
	s.cloud.neutron("DELETE", "floatingips/"+s.cloud.floatingIP(address).ID, nil, nil)
	s.eventually(s.empty)
}

// A manifest from another cluster or from an old backup, or a name instead of an id.
func TestALoadBalancerIDThatDoesNotExistIsReportedAndReplaced(t *testing.T) {
	skipOnRealOpenStack(t, "what Octavia answers about a load balancer that does not exist is in the contract")
	s := newStage(t, settings{})
	for name, id := range map[string]string{"elsewhere": "00000000-0000-4000-8000-000000000000", "typed": "my-balancer"} {
		web := s.service(name, tcp(8080), annotated(idKey, id))
		web.waitUntilProgrammed()
		s.eventually(func() error {
			if said := web.eventTexts("LoadBalancerNotFound"); len(said) != 1 || !strings.Contains(said[0], strconv.Quote(id)) {
				return fmt.Errorf("the events of a Service that names load balancer %s: %q", id, said)
			}
			return nil
		})
		if now := web.now().Annotations[idKey]; now != web.tree().ID {
			t.Errorf("the Service names load balancer %s, it has %s", now, web.tree().ID)
		}
	}
	plain := s.service("plain", tcp(8081))
	plain.waitUntilProgrammed()
	if said := plain.eventTexts("LoadBalancerNotFound"); len(said) > 0 {
		t.Errorf("the events of a Service that names none: %q", said)
	}
}

// Two clusters with the default name in one project, one of them run by
// openstack-cloud-controller-manager, which marks nothing by a uid.
func TestLoadBalancerIsNotTakenFromAClusterWhoseServiceWasCopied(t *testing.T) {
	skipOnRealOpenStack(t, "it is our writes that count")
	s := newStage(t, settings{off: true})
	name := "kube_service_kubernetes_" + s.namespace + "_web"
	theirs := s.makeBalancer(name, []string{name})
	web := s.service("web", tcp(8080), annotated(idKey, theirs))
	web.publish("192.0.2.9") // which proves nothing: it leads elsewhere
	s.resetCalls()
	s.start()
	c := web.waitForCondition(programmed, conditionFalse, "NotOwned")
	if !strings.Contains(c.Message, theirs) || !strings.Contains(c.Message, "kube-octavia.service="+string(web.now().UID)) {
		t.Errorf("the condition says %q", c.Message)
	}
	s.waitUntilIdle()
	s.requireUntouched()
	web.change(notAnnotated(idKey))
	web.waitUntilProgrammed()
	balancers := s.cloud.trees(name)
	if len(balancers) != 2 || web.now().Annotations[idKey] == theirs {
		t.Errorf("there are %d load balancers; the Service has %s", len(balancers), web.now().Annotations[idKey])
	}
	for _, w := range s.writes() {
		if strings.Contains(w, theirs) {
			t.Errorf("it was written to: %s", w)
		}
	}
	s.cloud.octavia("DELETE", "loadbalancers/"+theirs+"?cascade=true", nil, nil)
	s.eventually(func() error {
		if n := len(s.cloud.balancers(name)); n != 1 {
			return fmt.Errorf("%d load balancers of the name", n)
		}
		return nil
	})
}

func TestLoadBalancerThatLostItsTagsAndItsAddressIsIdentifiedByItsListeners(t *testing.T) {
	skipOnRealOpenStack(t, "it is our reads that count")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address, have := web.waitUntilProgrammed(), web.tree()
	s.waitUntilIdle()
	s.stop()
	s.cloud.octavia("PUT", "loadbalancers/"+have.ID, map[string]any{"loadbalancer": map[string]any{"tags": []string{}}}, nil)
	s.eventually(s.cloud.pending)
	s.cloud.neutron("PUT", "floatingips/"+s.cloud.floatingIP(address).ID, map[string]any{"floatingip": map[string]any{"port_id": nil}}, nil)
	s.start()
	s.eventually(func() error {
		if now := web.tree(); now.ID != have.ID || !slices.Equal(now.Tags, have.Tags) {
			return fmt.Errorf("load balancer %s has the tags %v", now.ID, now.Tags)
		}
		return nil
	})
	s.waitForAnswersThrough(web.waitUntilProgrammed(), 8080, s.addresses("a", "b")...)
}

// publish writes an address into the Service's status, as another controller does.
func (v *service) publish(address string) {
	v.t.Helper()
	now := v.now().DeepCopy()
	now.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
	if _, err := v.client.CoreV1().Services(v.namespace).UpdateStatus(v.t.Context(), now, metav1.UpdateOptions{}); err != nil {
		v.t.Fatal(err)
	}
}

func TestServiceThatLostItsAnnotationsAndItsTypeIsReleased(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a deletion")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	web.change(func(v *corev1.Service) {
		ofType(corev1.ServiceTypeClusterIP)(v)
		v.Annotations = nil
	})
	s.eventually(s.empty)
	s.eventually(func() error {
		if f := web.now().Finalizers; len(f) > 0 {
			return fmt.Errorf("the Service has the finalizers %v", f)
		}
		return nil
	})
}

func TestServicesKeepTheirLoadBalancersWhenOnlyClassesAreServed(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address, have := web.waitUntilProgrammed(), web.tree()
	s.waitUntilIdle()
	s.stop()
	s.settings.flags = []string{"--handle-default-class=false"}
	s.resetCalls()
	s.start()
	web.change(touched("and so it is looked at"))
	s.waitUntilIdle()
	s.requireUntouched()
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
	if now := web.now(); len(now.Finalizers) != 1 || len(now.Status.LoadBalancer.Ingress) != 1 || now.Annotations[idKey] != have.ID {
		t.Errorf("the Service has %v, %v, %v", now.Finalizers, now.Status.LoadBalancer, now.Annotations)
	}
	web.delete()
	web.waitUntilGone()
	s.eventually(s.empty)
}

// The controller that wrote them is not there any more.
func TestConditionsOfAServiceThatWasNeverServedAreRemovedWithItsType(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	fault := s.cloud.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodGet, Route: balancersRoute, Kind: wire.FaultStatus, Status: http.StatusInternalServerError})
	web := s.service("web", tcp(8080))
	web.waitForCondition(programmed, conditionFalse, "CloudUnavailable")
	s.stop()
	s.cloud.Faults().Remove(fault)
	web.change(ofType(corev1.ServiceTypeClusterIP))
	s.start()
	s.eventually(func() error {
		if c := web.now().Status.Conditions; len(c) > 0 {
			return fmt.Errorf("the Service has the conditions %v", c)
		}
		return nil
	})
}
