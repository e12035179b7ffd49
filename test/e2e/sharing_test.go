// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// sharing are two Services on one load balancer: web, which it was made for, and api.
func sharing(s *stage, edits ...edit) (web, api *service, address string, balancer tree) {
	s.t.Helper()
	web = s.service("web", append(edits, tcp(8080))...)
	address, balancer = web.waitUntilProgrammed(), web.tree()
	api = s.service("api", append(edits, tcp(9090), udp(5300), annotated(idKey, balancer.ID))...)
	if got := api.waitUntilProgrammed(); got != address {
		s.t.Errorf("one is at %s and the other at %s", address, got)
	}
	return web, api, address, balancer
}

// requirePorts checks that the load balancer has just these ports, by key, and no other is there.
func (s *stage) requirePorts(id string, keys ...string) {
	s.t.Helper()
	s.eventually(func() error {
		var answer struct{ LoadBalancer tree }
		s.cloud.octavia("GET", "loadbalancers/"+id, nil, &answer)
		have := answer.LoadBalancer
		s.cloud.fill(&have)
		var got []string
		for _, l := range have.Listeners {
			got = append(got, l.key())
		}
		slices.Sort(got)
		if !slices.Equal(got, keys) || len(have.Unused) > 0 || have.Status != "ACTIVE" {
			return fmt.Errorf("load balancer %s is %s and has %v, want %v; unused %v", have.ID, have.Status, got, keys, have.Unused)
		}
		return nil
	})
	if n := s.cloud.count("loadbalancers"); n != 1 {
		s.t.Errorf("there are %d load balancers", n)
	}
}

func TestServicesShareALoadBalancerAndAreChangedAndDeletedInAnyOrder(t *testing.T) {
	skipOnRealOpenStack(t, "TestSharerOfAnotherClusterDoesNotChangeNamesAndOwner shares one there")
	s := newStage(t, settings{})
	web, api, address, balancer := sharing(s)
	s.requirePorts(balancer.ID, "TCP/8080", "TCP/9090", "UDP/5300")
	s.waitForAnswersThrough(address, 9090, s.addresses("a", "b")...)
	visitor := s.visit(address, 8080)
	clash := s.service("clash", tcp(9090), annotated(idKey, balancer.ID))
	if said := clash.waitForCondition(accepted, conditionFalse, "SharingRefused").Message; !strings.Contains(said, "max-shared-lb") {
		t.Errorf("the third is told %q", said)
	}
	clash.change(func(v *corev1.Service) { delete(v.Annotations, idKey) })
	if own := clash.waitUntilProgrammed(); own == address {
		t.Errorf("the third has no load balancer of its own, but is at %s", own)
	}
	clash.delete()
	clash.waitUntilGone()
	api.change(without(5300), tcp(8080))
	if said := api.waitForCondition(accepted, conditionFalse, "PortInUse").Message; !strings.Contains(said, "Service "+s.namespace+"/web") {
		t.Errorf("who has the port is not told: %q", said)
	}
	api.change(without(8080), tcp(9091))
	api.waitUntilProgrammed()
	s.addNode("c")
	web.waitForTree(eachPool(func(p pool) error {
		if n := len(p.Members); n != 3 {
			return fmt.Errorf("there are %d members", n)
		}
		return nil
	}))
	s.requirePorts(balancer.ID, "TCP/8080", "TCP/9090", "TCP/9091")
	s.requireNoFailedRequest(visitor)
	s.stop() // what was remembered is not needed for what follows
	s.start()
	visitor = s.visit(address, 9090)
	web.delete()
	web.waitUntilGone()
	s.requirePorts(balancer.ID, "TCP/9090", "TCP/9091")
	s.requireNoFailedRequest(visitor)
	again := s.service("web", tcp(8080), annotated(idKey, balancer.ID))
	if got := again.waitUntilProgrammed(); got != address {
		t.Errorf("the Service that came back is at %s", got)
	}
	api.delete()
	api.waitUntilGone()
	s.requirePorts(balancer.ID, "TCP/8080")
	again.delete()
	again.waitUntilGone()
	if n := s.cloud.count("loadbalancers"); n != 0 {
		t.Errorf("%d load balancers are left", n)
	}
	s.requireFloatingIPGone(address)
}

func TestInternalServicesShareALoadBalancerAndNoneIsOpenedToTheOutside(t *testing.T) {
	skipOnRealOpenStack(t, "TestSharerOfAnotherClusterDoesNotChangeNamesAndOwner shares one with a floating IP")
	s := newStage(t, settings{conf: []string{"max-shared-lb=3"}})
	web, api, address, balancer := sharing(s, annotated(internalKey, "true"))
	s.requirePorts(balancer.ID, "TCP/8080", "TCP/9090", "UDP/5300")
	s.waitForAnswersThrough(address, 9090, s.addresses("a", "b")...)
	api.change(annotated(internalKey, "false"))
	t.Log(api.waitForCondition(accepted, conditionFalse, "SharingRefused").Message)
	api.change(annotated(internalKey, "true"))
	api.waitForCondition(accepted, conditionTrue, "Accepted")
	web.change(annotated(internalKey, "false"))
	if said := web.waitForCondition(accepted, conditionFalse, "SharingRefused").Message; !strings.Contains(said, s.namespace+"/api") {
		t.Errorf("whose ports would be opened is not told: %q", said)
	}
	s.stop()
	s.start()
	web.waitForCondition(accepted, conditionFalse, "SharingRefused")
	web.change(touched("and so it is looked at"))
	s.waitUntilIdle()
	if n := len(s.cloud.floatingIPs()); n > 0 || web.address() != address {
		t.Errorf("there are %d floating IPs, and the Service is at %s", n, web.address())
	}
	third := s.service("third", tcp(9191), annotated(internalKey, "true"), annotated(idKey, balancer.ID))
	if said := third.waitForCondition(accepted, conditionFalse, "SharingRefused").Message; !strings.Contains(said, "requests a floating IP") {
		t.Errorf("the one that comes now is told %q", said)
	}
	third.delete()
	third.waitUntilGone()
	api.change(annotated(internalKey, "false"))
	open := web.waitForOtherAddress(address)
	api.eventually(func() error {
		if at := api.address(); at != open {
			return fmt.Errorf("one is at %s and the other at %s", open, at)
		}
		return nil
	})
	api.waitUntilProgrammed()
	web.delete()
	web.waitUntilGone()
	api.delete()
	api.waitUntilGone()
	for _, f := range s.cloud.floatingIPs() {
		s.cloud.neutron("DELETE", "floatingips/"+f.ID, nil, nil) // it lost its load balancer before, and is an orphan
	}
}

func TestLastSharerDeletesTheLoadBalancerWhoseFloatingIPIsGone(t *testing.T) {
	simulatorOnly(t, "it has to refuse the deletion")
	s := newStage(t, settings{conf: []string{"max-shared-lb=3"}})
	web, api, address, balancer := sharing(s)
	dns := s.service("dns", udp(5301), annotated(idKey, balancer.ID))
	dns.waitUntilProgrammed()
	web.delete()
	web.waitUntilGone()
	s.stop() // so that both take their ports off for the sake of the other
	api.delete()
	dns.delete()
	s.refuse("DELETE", "/v2.0/lbaas/loadbalancers/{id}")
	s.start()
	s.eventually(func() error {
		if f := s.cloud.floatingIP(address); f.PortID != "" {
			return fmt.Errorf("floating IP %s leads to port %s", f.Address, f.PortID)
		}
		return nil
	})
	s.stop() // what was remembered is lost
	s.cloud.Faults().Clear()
	s.start()
	api.waitUntilGone()
	dns.waitUntilGone()
	if n := s.cloud.count("loadbalancers"); n != 0 {
		t.Errorf("%d load balancers are left", n)
	}
	s.requireFloatingIPGone(address)
}

// requireFloatingIPGone checks that the last Service of a shared load balancer has deleted its floating IP.
func (s *stage) requireFloatingIPGone(address string) {
	s.t.Helper()
	if f := s.cloud.floatingIP(address); f.ID != "" {
		s.t.Errorf("floating IP %s is left, at port %q", f.Address, f.PortID)
	}
}

func TestLoadBalancersAreSharedOnlyWithAllowedServices(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	theirs := s.makeBalancer("by-hand", nil)
	far := s.inOtherNamespace()
	stranger := far.service("stranger", tcp(9090), annotated(idKey, web.tree().ID))
	if said := stranger.waitForCondition(programmed, conditionFalse, "NotOwned").Message; !strings.Contains(said, "shared-lb-scope") {
		t.Errorf("it is told %q", said)
	}
	outside := s.service("outside", tcp(9091), annotated(idKey, theirs), annotated(internalKey, "true"))
	if said := outside.waitForCondition(programmed, conditionFalse, "NotOwned").Message; !strings.Contains(said, "kube-octavia.share="+s.namespace) {
		t.Errorf("it is told %q", said)
	}
	s.cloud.octavia("PUT", "loadbalancers/"+theirs, map[string]any{"loadbalancer": map[string]any{"tags": []string{"kube-octavia.share=" + s.namespace}}}, nil)
	s.eventually(s.cloud.pending)
	outside.change(touched("and so it is looked at"))
	outside.waitUntilProgrammed()
	outside.change(ofType(corev1.ServiceTypeClusterIP))
	s.eventually(func() error {
		if f := outside.now().Finalizers; len(f) > 0 {
			return fmt.Errorf("finalizers %v", f)
		}
		return nil
	})
	for _, l := range s.cloud.trees("by-hand") {
		if len(l.Listeners)+len(l.Unused) > 0 || !slices.Equal(l.Tags, []string{"kube-octavia.share=" + s.namespace}) {
			t.Errorf("left is %+v", l)
		}
	}
	stranger.delete()
	stranger.waitUntilGone()
	s.cloud.octavia("DELETE", "loadbalancers/"+theirs+"?cascade=true", nil, nil)
}
