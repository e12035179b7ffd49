// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
)

// makeUnreachableFloatingIP creates a floating IP as a user would, in an external network to which no router leads.
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
	needsPackets(t)
	s := newStage(t, settings{})
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

// forward lets a port of the floating IP lead to a port, so that the cloud does not attach the floating IP. What is
// returned deletes the port forwarding.
func (c *cloud) forward(f floatingIP, to port) (end func()) {
	c.t.Helper()
	var p struct {
		Port struct {
			FixedIPs []struct {
				Address string `json:"ip_address"`
			} `json:"fixed_ips"`
		}
	}
	c.neutron(http.MethodGet, "ports/"+to.ID, nil, &p)
	var made struct {
		Forwarding struct{ ID string } `json:"port_forwarding"`
	}
	path := "floatingips/" + f.ID + "/port_forwardings"
	c.neutron(http.MethodPost, path, map[string]any{"port_forwarding": map[string]any{
		"protocol": "tcp", "external_port": 22, "internal_port": 22, "internal_port_id": to.ID, "internal_ip_address": p.Port.FixedIPs[0].Address}}, &made)
	return func() { c.neutron(http.MethodDelete, path+"/"+made.Forwarding.ID, nil, nil) }
}

// requestForwarded lets the Service request a floating IP that has port forwardings.
func (v *service) requestForwarded(address string, forward func()) {
	v.t.Helper()
	forward()
	v.resetCalls()
	v.change(annotated(floatingIPKey, address))
	v.waitForCondition(accepted, conditionFalse, "FloatingIPInUse")
	if writes := v.writes(); len(writes) > 0 {
		v.t.Errorf("an address that cannot be attached led to %v", writes)
	}
}

// forwardWhileRequested lets the floating IP get port forwardings when the controller has detached the former one for it.
func (v *service) forwardWhileRequested(address string, forward func()) {
	v.t.Helper()
	faults := v.cloud.Faults()
	fault := faults.Add(wire.Fault{Service: cloudsim.Network, Method: http.MethodPut, Route: floatingRoute, Kind: wire.FaultHangAfter, Times: 1})
	v.change(annotated(floatingIPKey, address))
	v.eventually(func() error {
		if faults.Held() == 0 {
			return errors.New("the former address was not detached yet")
		}
		return nil
	})
	forward()
	faults.Remove(fault)
	v.eventually(func() error {
		if !slices.ContainsFunc(v.cloud.Recorder().Calls(), func(c wire.Call) bool { return c.Route == floatingRoute && c.Status == http.StatusConflict }) {
			return errors.New("the cloud did not refuse the address")
		}
		return nil
	})
}

func TestAnAddressWithPortForwardingsIsAttachedWhenTheyAreDeleted(t *testing.T) {
	simulatorOnly(t, "a real cloud may have no port forwardings; what they refuse is in the contract")
	delays := usualDelays()
	delays.SlowRetry = 3 * time.Second
	for name, request := range map[string]func(web *service, address string, forward func()){
		"they are there before it is requested":                (*service).requestForwarded,
		"they are created when the former address is detached": (*service).forwardWhileRequested,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, settings{program: cli.Options{Timing: delays}})
			inner, next := s.cloud.makePort(), s.cloud.makeFloatingIP("")
			s.given = []string{next.Address}
			web := s.service("web", tcp(8080))
			address := web.waitUntilProgrammed()
			made := s.cloud.floatingIP(address)

			var end func()
			request(web, next.Address, func() { end = s.cloud.forward(next, inner) })
			if said := web.waitForCondition(accepted, conditionFalse, "FloatingIPInUse").Message; !strings.Contains(said, "has port forwardings") {
				t.Errorf("it does not say why: %q", said)
			}
			web.eventually(func() error {
				if now := s.cloud.floatingIP(address); now.ID != made.ID || now.PortID != made.PortID || now.Description != made.Description {
					return fmt.Errorf("the floating IP was %+v and is %+v", made, now)
				}
				return nil
			})
			if got := web.address(); got != address {
				t.Errorf("the status has %s, the Service is at %s", got, address)
			}
			s.answers(address, 8080)

			end()
			web.waitForCondition(accepted, conditionTrue, "Accepted")
			if got := web.waitUntilProgrammed(); got != next.Address {
				t.Errorf("the Service requests %s and is at %s", next.Address, got)
			}
			s.answers(next.Address, 8080)
		})
	}
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

// watchAddress returns what fails the test if the status of the Service lacked the address at any moment since.
func (v *service) watchAddress(address string) (alwaysThere func()) {
	v.t.Helper()
	watch, err := v.client.CoreV1().Services(v.namespace).Watch(v.t.Context(), metav1.SingleObject(v.now().ObjectMeta))
	if err != nil {
		v.t.Fatal(err)
	}
	return func() {
		v.t.Helper()
		defer watch.Stop()
		// What comes after this change is not looked at.
		v.change(touched("the end of the watch"))
		for e := range watch.ResultChan() {
			now, ok := e.Object.(*corev1.Service)
			if !ok {
				v.t.Fatalf("watch: %v", e.Object)
			}
			if !slices.ContainsFunc(now.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool { return i.IP == address }) {
				v.t.Errorf("the status has %v, the address is %s; conditions %v", now.Status.LoadBalancer.Ingress, address, now.Status.Conditions)
			}
			if now.Annotations["example.com/touched"] == "the end of the watch" {
				return
			}
		}
		v.t.Error("the watch ended early")
	}
}

func TestTheAddressStaysPublishedWhileTheLoadBalancerIsCreatedAgain(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a load balancer that is deleted and created")
	for cause, lose := range map[string]func(s *stage, id string){
		"deleted": func(s *stage, id string) {
			s.cloud.octavia(http.MethodDelete, "loadbalancers/"+id+"?cascade=true", nil, nil)
		},
		"in ERROR": func(s *stage, id string) { s.cloud.fail(id) },
	} {
		for name, given := range map[string]bool{"created for the Service": false, "given": true} {
			t.Run(cause+", "+name, func(t *testing.T) {
				s := newStage(t, settings{flags: sweeping, program: impatient()})
				edits := []edit{tcp(8080)}
				if given {
					f := s.cloud.makeFloatingIP("")
					s.given = []string{f.Address}
					edits = append(edits, annotated(floatingIPKey, f.Address))
				}
				web := s.service("web", edits...)
				address := web.waitUntilProgrammed()
				made, before := s.cloud.floatingIP(address), web.tree().ID
				alwaysThere := web.watchAddress(address)

				lose(s, before)
				web.waitUntilReplaced(before, address)
				alwaysThere()
				if on := web.loadBalancerBehind(address); on != web.tree().ID {
					t.Errorf("%s leads to load balancer %q, the Service has %s", address, on, web.tree().ID)
				}
				if now := s.cloud.floatingIP(address); now.ID != made.ID || now.Description != made.Description {
					t.Errorf("the floating IP was %+v and is %+v", made, now)
				}
			})
		}
	}
}
