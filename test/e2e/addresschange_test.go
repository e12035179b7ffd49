// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

// makeUnreachableFloatingIP makes a floating IP as a person would, in an external network to which no router leads.
func (s *stage) makeUnreachableFloatingIP() floatingIP {
	s.t.Helper()
	asOperator := func(method, path string, body, answer any) {
		s.t.Helper()
		if err := s.cloud.call(asAdmin, cloudsim.Network, method, "/v2.0/"+path, body, answer); err != nil {
			s.t.Fatal(err)
		}
	}
	var n struct{ Network struct{ ID string } }
	asOperator(http.MethodPost, "networks", map[string]any{"network": map[string]any{"name": s.namespace + "-far", "router:external": true}}, &n)
	s.t.Cleanup(func() { asOperator(http.MethodDelete, "networks/"+n.Network.ID, nil, nil) })
	asOperator(http.MethodPost, "subnets", map[string]any{"subnet": map[string]any{
		"network_id": n.Network.ID, "ip_version": 4, "cidr": "192.0.2.0/24", "enable_dhcp": false}}, nil)
	var answer struct{ FloatingIP floatingIP }
	s.cloud.neutron(http.MethodPost, "floatingips", map[string]any{"floatingip": map[string]any{
		"floating_network_id": n.Network.ID, "description": "by hand"}}, &answer)
	s.t.Cleanup(func() { asOperator(http.MethodDelete, "floatingips/"+answer.FloatingIP.ID, nil, nil) })
	s.given = append(s.given, answer.FloatingIP.Address)
	return answer.FloatingIP
}

// It also runs on a real cloud, where an administrator can create external networks.
func TestAnAddressThatCannotBeAttachedLeavesTheOldOneAnswering(t *testing.T) {
	s := newStage(t, settings{})
	s.needsPackets()
	far := s.makeUnreachableFloatingIP()
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	made := s.cloud.floatingIP(address)
	s.answers(address, 8080)
	visitor := s.visit(address, 8080)

	web.change(annotated(floatingIPKey, far.Address))
	t.Log(web.waitForCondition(accepted, conditionFalse, "FloatingIPNotAttachable").Message)
	if got := web.address(); got != address {
		t.Errorf("the status has %s, the Service is at %s", got, address)
	}
	if now := s.cloud.floatingIP(address); now.ID != made.ID || now.PortID != made.PortID || now.Description != made.Description {
		t.Errorf("the floating IP was %+v and is %+v", made, now)
	}
	s.answers(address, 8080)
	web.change(notAnnotated(floatingIPKey))
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	if got := web.waitUntilProgrammed(); got != address {
		t.Errorf("the Service was at %s and is at %s", address, got)
	}
	s.requireNoFailedRequest(visitor)
}

func TestAServiceGetsTheAddressThatAnotherOneGivesUp(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a floating IP that is taken off a port and put on another one")
	for name, giveUp := range map[string]func(*service){
		"by its deletion":      func(first *service) { first.delete() },
		"and becomes internal": func(first *service) { first.change(annotated(internalKey, "true")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, settings{})
			first := s.service("first", tcp(8080))
			address := first.waitUntilProgrammed()
			made := s.cloud.floatingIP(address)
			s.given = append(s.given, address)
			second := s.service("second", tcp(8080), annotated(floatingIPKey, address))
			t.Log(second.waitForCondition(accepted, conditionFalse, "FloatingIPInUse").Message)

			giveUp(first)
			if got := second.waitUntilProgrammed(); got != address {
				t.Errorf("the second Service requested %s and is at %s", address, got)
			}
			if now := s.cloud.floatingIP(address); now.ID != made.ID {
				t.Errorf("floating IP %+v was given up, and now there is %+v", made, now)
			}
			s.answers(address, 8080)
			second.delete()
			second.waitUntilGone()
			if now := s.cloud.floatingIP(address); now.ID != made.ID || now.PortID != "" {
				t.Errorf("the floating IP that was requested is %+v after the Service was deleted", now)
			}
		})
	}
}

func TestTheAddressStaysPublishedWhileTheLoadBalancerIsCreatedAgain(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a load balancer that is deleted and created")
	for name, given := range map[string]bool{"created for the Service": false, "given": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, settings{})
			var edits []edit
			if given {
				f := s.cloud.makeFloatingIP("")
				s.given = []string{f.Address}
				edits = append(edits, annotated(floatingIPKey, f.Address))
			}
			web := s.service("web", append(edits, tcp(8080))...)
			address := web.waitUntilProgrammed()
			watch, err := s.client.CoreV1().Services(s.namespace).Watch(t.Context(), metav1.SingleObject(web.now().ObjectMeta))
			if err != nil {
				t.Fatal(err)
			}
			defer watch.Stop()

			before := web.tree().ID
			s.cloud.octavia(http.MethodDelete, "loadbalancers/"+before+"?cascade=true", nil, nil)
			web.eventually(func() error {
				if now := web.now().Annotations[idKey]; now == before || now == "" {
					return fmt.Errorf("the load balancer is %q", now)
				}
				return nil
			})
			if got := web.waitUntilProgrammed(); got != address {
				t.Errorf("the Service was at %s and is at %s", address, got)
			}
			end := web.now().ResourceVersion
			for e := range watch.ResultChan() {
				now, ok := e.Object.(*corev1.Service)
				if !ok {
					t.Fatalf("watch: %v", e.Object)
				}
				if !slices.ContainsFunc(now.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool { return i.IP == address }) {
					t.Errorf("the status has %v, the address is %s; conditions %v", now.Status.LoadBalancer.Ingress, address, now.Status.Conditions)
				}
				if now.ResourceVersion == end {
					break
				}
			}
		})
	}
}
