// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

const replaceKey = prefix + "allow-replacement"

// waitForReplacement waits until there is a load balancer beside the old one, and returns it.
func (v *service) waitForReplacement(old string) tree {
	v.t.Helper()
	var other tree
	v.eventually(func() error {
		found := v.cloud.balancers(v.lbName())
		i := slices.IndexFunc(found, func(l tree) bool { return l.ID != old })
		if i < 0 || len(found) != 2 {
			return fmt.Errorf("the load balancers are %+v", found)
		}
		other = found[i]
		return nil
	})
	return other
}

// holdPending keeps the one load balancer as it is until release is called, where that can be done;
// others continue.
func (s *stage) holdPending(do func() (id string)) (release func()) {
	s.t.Helper()
	sim, ok := s.cloud.backend.(simulated)
	if !ok {
		do()
		return func() {}
	}
	sim.Octavia().HoldPending("")
	id := do()
	sim.Octavia().HoldPending(id)
	sim.Octavia().Release("")
	return func() { sim.Octavia().Release(id) }
}

// replacedBy waits until one load balancer is there that has the flavor.
func (v *service) replacedBy(flavor string) tree {
	v.t.Helper()
	have := v.waitForTree(func(have tree) error {
		if have.Flavor != flavor {
			return fmt.Errorf("load balancer %s has flavor %s", have.ID, have.Flavor)
		}
		return nil
	})
	v.waitUntilProgrammed()
	v.eventually(func() error {
		if id := v.now().Annotations[idKey]; id != have.ID {
			return fmt.Errorf("the Service names load balancer %s, it has %s", id, have.ID)
		}
		return nil
	})
	return have
}

func TestLoadBalancerOfAnotherFlavorTakesOverWithoutAFailedRequest(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn has no flavors")
	s := newStage(t, settings{program: impatient()})
	gold := s.makeFlavor(s.namespace + "-gold")
	web := s.service("web", tcp(8080), udp(5300))
	address := web.waitUntilProgrammed()
	old, floating := web.tree(), s.cloud.floatingIP(address)
	visitor := s.visit(address, 8080)
	web.change(annotated(flavorKey, gold))
	if said := web.waitForCondition(accepted, conditionFalse, "RequiresReplacement").Message; !strings.Contains(said, replaceKey) {
		t.Errorf("it does not say how it can be had: %q", said)
	}
	s.resetCalls()
	release := s.holdPending(func() string {
		web.change(annotated(replaceKey, "true"))
		return web.waitForReplacement(old.ID).ID
	})
	said := web.waitForCondition(programmed, conditionFalse, "ReplacingOnChange").Message
	if !strings.Contains(said, old.ID) {
		t.Errorf("it does not name what it replaces: %q", said)
	}
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	if _, sim := s.cloud.backend.(simulated); sim {
		// What carries the traffic follows the nodes meanwhile.
		s.addNode("c")
		s.eventually(func() error {
			have := tree{ID: old.ID}
			s.cloud.fill(&have)
			return membersAt(s.addresses("a", "b", "c")...)(have)
		})
		s.waitForAnswersThrough(address, 8080, s.addresses("a", "b", "c")...)
		if got, on := web.address(), web.loadBalancerBehind(address); got != address || on != old.ID {
			t.Errorf("%s is published, and %s leads to load balancer %s", got, address, on)
		}
	}
	release()
	have := web.replacedBy(gold)
	if err := ports("TCP/8080", "UDP/5300")(have); err != nil {
		t.Error(err)
	}
	s.requireNoFailedRequest(visitor)
	if got := web.address(); got != address {
		t.Errorf("the address changed from %s to %s", address, got)
	}
	web.requireOneLoadBalancer()
	if f := s.cloud.floatingIP(address); f.ID != floating.ID || f.Description != floating.Description {
		t.Errorf("floating IP %+v became %+v", floating, f)
	}
	moves := 0
	for _, w := range s.writes() {
		if strings.Contains(w, "/v2.0/floatingips") {
			moves++
		}
	}
	if moves != 1 {
		t.Errorf("the floating IP was written to %d times: %v", moves, s.writes())
	}
	t.Logf("events: %v", web.events())
}

func TestAnAddressThatCannotMoveToTheReplacementStaysAndTheReasonIsReported(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn has no flavors")
	skipOnRealOpenStack(t, "the cloud does not see the calls that fail")
	s := newStage(t, settings{program: impatient()})
	gold := s.makeFlavor(s.namespace + "-gold")
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	old := web.tree()
	s.cloud.Faults().Add(wire.Fault{Service: cloudsim.Network, Method: http.MethodPut, Route: "/v2.0/floatingips/{id}", Kind: wire.FaultStatus,
		Status: http.StatusForbidden, Body: `{"NeutronError": {"type": "PolicyNotAuthorized", "message": "not to this port", "detail": ""}}`})
	web.change(annotated(flavorKey, gold), annotated(replaceKey, "true"))
	if said := web.waitForCondition(accepted, conditionFalse, "FloatingIPNotAttachable").Message; !strings.Contains(said, "not to this port") {
		t.Errorf("the message hides what the cloud said: %s", said)
	}
	if got, on := web.address(), web.loadBalancerBehind(address); got != address || on != old.ID {
		t.Errorf("%s is published, and %s leads to load balancer %s", got, address, on)
	}
	s.cloud.Faults().Clear()
	web.replacedBy(gold)
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	if got := web.address(); got != address {
		t.Errorf("the address changed from %s to %s", address, got)
	}
	web.requireOneLoadBalancer()
}

func TestInternalServicePublishesItsNewAddressBeforeTheOldOneIsReleased(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn has no flavors")
	skipOnRealOpenStack(t, "another replacement is made there")
	s := newStage(t, settings{program: impatient()})
	gold := s.makeFlavor(s.namespace + "-gold")
	web := s.service("web", tcp(8080), annotated(internalKey, "true"), annotated(replaceKey, "true"))
	address := web.waitUntilProgrammed()
	old := web.tree()
	var other tree
	release := s.holdPending(func() string {
		web.change(annotated(flavorKey, gold))
		other = web.waitForReplacement(old.ID)
		return other.ID
	})
	if _, sim := s.cloud.backend.(simulated); sim {
		web.waitForCondition(programmed, conditionFalse, "ReplacingOnChange")
		// A controller that begins in the middle knows which one serves.
		s.stop()
		s.start()
		s.addNode("c")
		s.eventually(func() error {
			have := tree{ID: old.ID}
			s.cloud.fill(&have)
			return membersAt(s.addresses("a", "b", "c")...)(have)
		})
		if got, named := web.address(), web.now().Annotations[idKey]; got != address || named != old.ID {
			t.Errorf("%s of load balancer %s is published", got, named)
		}
	}
	release()
	have := web.replacedBy(gold)
	if got := web.address(); got != have.VIP || got == address || have.ID != other.ID {
		t.Errorf("%s is published, load balancer %s has %s; it was %s", got, have.ID, have.VIP, address)
	}
	s.answers(have.VIP, 8080)
	if f := s.cloud.floatingIPs(); len(f) > 0 {
		t.Errorf("there are floating IPs: %+v", f)
	}
}

func TestLoadBalancerIsReplacedIfItsVIPHasToMove(t *testing.T) {
	skipOnRealOpenStack(t, "TestLoadBalancerOfAnotherFlavorTakesOverWithoutAFailedRequest replaces one there")
	s := newStage(t, settings{program: impatient()})
	web := s.service("web", tcp(8080), annotated(replaceKey, "true"))
	address := web.waitUntilProgrammed()
	visitor := s.visit(address, 8080)
	for range 2 {
		given := s.cloud.makePort()
		web.change(annotated(portKey, given.ID))
		web.waitForTree(func(have tree) error {
			if have.VIPPort != given.ID {
				return fmt.Errorf("the VIP is port %s", have.VIPPort)
			}
			return nil
		})
		if got := web.waitUntilProgrammed(); got != address {
			t.Errorf("the address changed from %s to %s", address, got)
		}
		if !slices.ContainsFunc(s.cloud.ports(), func(p port) bool { return p.ID == given.ID }) {
			t.Error("a port that was given is gone")
		}
	}
	s.requireNoFailedRequest(visitor)
	web.requireOneLoadBalancer()

	other := s.makeSubnet(asUser, s.cloud.IDs().PrivateNetwork, s.namespace, netip.MustParsePrefix("198.18.77.0/24"), 20)
	inside := s.service("inside", tcp(8080), annotated(replaceKey, "true"), annotated(internalKey, "true"))
	was := inside.waitUntilProgrammed()
	inside.change(annotated(subnetKey, other), annotated(memberSubnetKey, s.cloud.IDs().PrivateSubnet))
	have := inside.waitForTree(func(have tree) error {
		if have.Subnet != other {
			return fmt.Errorf("the VIP is in subnet %s", have.Subnet)
		}
		return nil
	})
	inside.waitUntilProgrammed()
	if got := inside.address(); got != have.VIP || got == was {
		t.Errorf("%s is published, load balancer %s has %s; it was %s", got, have.ID, have.VIP, was)
	}
}

func TestLoadBalancerThatCannotExistTwiceIsNotReplaced(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn has no flavors")
	skipOnRealOpenStack(t, "it is not asked")
	s := newStage(t, settings{program: impatient()})
	gold := s.makeFlavor(s.namespace + "-gold")
	allowed := annotated(replaceKey, "true")
	given := s.cloud.makePort()
	onPort := s.service("port", tcp(8080), allowed, annotated(portKey, given.ID))
	onPort.waitUntilProgrammed()
	asked := s.service("asked", tcp(8080), allowed, annotated(internalKey, "true"))
	address := asked.waitUntilProgrammed()
	asked.change(at(address))
	grouped := s.service("grouped", tcp(8080), allowed, annotated(groupKey, "shop"))
	grouped.waitUntilProgrammed()
	web, api, _, _ := sharing(s, allowed)
	for v, why := range map[*service]string{onPort: given.ID, asked: address, grouped: groupKey, web: "kube_service_" + clusterName + "_" + s.namespace + "_api"} {
		old := v.tree()
		v.change(annotated(flavorKey, gold))
		if said := v.waitForCondition(accepted, conditionFalse, "RequiresReplacement").Message; !strings.Contains(said, why) {
			t.Errorf("%s is told %q, which does not say %s", v.name, said, why)
		}
		v.change(tcp(8081))
		if now := v.tree(); now.ID != old.ID {
			t.Errorf("load balancer %s of %s became %s", old.ID, v.name, now.ID)
		}
	}
	// When nothing is in the way any more it is replaced.
	api.delete()
	api.waitUntilGone()
	web.replacedBy(gold)
	web.requireOneLoadBalancer()
}

// What is asked for and not there is not built, and neither is another one of what is there.
func TestReplacementWaitsForThePortThatItRequires(t *testing.T) {
	skipOnRealOpenStack(t, "it is not asked")
	s := newStage(t, settings{program: impatient()})
	given, other := s.cloud.makePort(), s.cloud.makePort()
	web := s.service("web", tcp(8080), annotated(replaceKey, "true"), annotated(portKey, given.ID))
	address := web.waitUntilProgrammed()
	old := web.tree()
	visitor := s.visit(address, 8080)
	s.waitUntilIdle()
	s.resetCalls()
	web.change(annotated(portKey, "11111111-2222-4333-8444-555555555555"))
	web.waitForCondition(programmed, conditionFalse, "RejectedByCloud")
	s.waitForPassAfter(func() { web.change(touched("1")) })
	s.requireUntouched()
	web.change(annotated(portKey, other.ID))
	web.waitForTree(func(have tree) error {
		if have.VIPPort != other.ID || have.ID == old.ID {
			return fmt.Errorf("the VIP of %s is port %s", have.ID, have.VIPPort)
		}
		return nil
	})
	if got := web.waitUntilProgrammed(); got != address {
		t.Errorf("the address changed from %s to %s", address, got)
	}
	s.requireNoFailedRequest(visitor)
	web.requireOneLoadBalancer()
}

// An internal one that becomes external at the same time has no floating IP that could tell
// which of the two serves.
func TestLoadBalancerStaysUntilItsReplacementIsComplete(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn has no flavors")
	simulatorOnly(t, "a real one cannot be held back")
	s := newStage(t, settings{program: impatient()})
	gold := s.makeFlavor(s.namespace + "-gold")
	web := s.service("web", tcp(8080), annotated(internalKey, "true"), annotated(replaceKey, "true"))
	address := web.waitUntilProgrammed()
	old := web.tree()
	visitor := s.visit(address, 8080)
	release := s.holdPending(func() string {
		web.change(annotated(flavorKey, gold), notAnnotated(internalKey))
		return web.waitForReplacement(old.ID).ID
	})
	began := time.Now()
	for i := 0; time.Since(began) < 3*impatient().Timing.Drain; i++ {
		s.waitForPassAfter(func() { web.change(touched(strconv.Itoa(i))) })
	}
	s.requireNoFailedRequest(visitor)
	if n := s.cloud.count("loadbalancers"); n != 2 {
		t.Errorf("there are %d load balancers, and that in the place of %s is not ready", n, old.ID)
	}
	release()
	web.replacedBy(gold)
	web.requireOneLoadBalancer()
	s.waitForAnswersThrough(web.address(), 8080, s.addresses("a", "b")...)
}

func TestServiceThatJoinsALoadBalancerKeepsItFromBeingReplaced(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn has no flavors")
	simulatorOnly(t, "a real one cannot be held back")
	s := newStage(t, settings{program: impatient()})
	gold := s.makeFlavor(s.namespace + "-gold")
	web := s.service("web", tcp(8080), annotated(replaceKey, "true"))
	address := web.waitUntilProgrammed()
	old := web.tree()
	visitor := s.visit(address, 8080)
	var api *service
	release := s.holdPending(func() string {
		web.change(annotated(flavorKey, gold))
		other := web.waitForReplacement(old.ID).ID
		s.eventually(func() error {
			if id := web.now().Annotations[idKey]; id != other {
				return fmt.Errorf("%s is noted", id)
			}
			return nil
		})
		return other
	})
	api = s.service("api", tcp(9090), annotated(idKey, old.ID))
	api.waitUntilProgrammed()
	release()
	web.waitForCondition(accepted, conditionFalse, "RequiresReplacement")
	web.waitForTree(func(have tree) error {
		if have.ID != old.ID {
			return fmt.Errorf("load balancer %s serves", have.ID)
		}
		return nil
	})
	web.requireOneLoadBalancer()
	if got := web.address(); got != address {
		t.Errorf("the address changed from %s to %s", address, got)
	}
	s.answers(address, 9090)
	s.requireNoFailedRequest(visitor)
	api.delete()
	api.waitUntilGone()
	web.replacedBy(gold)
}

func TestReplacementThatIsNoLongerNeededLeavesNothing(t *testing.T) {
	simulatorOnly(t, "a real one cannot be held back, and the other load balancer may have taken over before")
	for name, c := range map[string]struct {
		edits []edit
		back  func(*service)
		gone  bool
	}{
		"the change is taken back":       {back: func(v *service) { v.change(notAnnotated(flavorKey)) }},
		"of an internal one":             {edits: []edit{annotated(internalKey, "true")}, back: func(v *service) { v.change(notAnnotated(flavorKey)) }},
		"it may not be replaced":         {back: func(v *service) { v.change(notAnnotated(replaceKey)) }},
		"the Service is deleted":         {back: (*service).delete, gone: true},
		"an internal Service is deleted": {edits: []edit{annotated(internalKey, "true")}, back: (*service).delete, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, settings{program: impatient()})
			gold := s.makeFlavor(s.namespace + "-gold")
			web := s.service("web", append(c.edits, tcp(8080), annotated(replaceKey, "true"))...)
			address := web.waitUntilProgrammed()
			old := web.tree()
			release := s.holdPending(func() string {
				web.change(annotated(flavorKey, gold))
				id := web.waitForReplacement(old.ID).ID
				c.back(web)
				return id
			})
			release()
			if c.gone {
				web.waitUntilGone()
				return
			}
			web.waitForTree(func(have tree) error {
				if have.ID != old.ID {
					return fmt.Errorf("load balancer %s serves", have.ID)
				}
				return nil
			})
			if got := web.address(); got != address {
				t.Errorf("the address changed from %s to %s", address, got)
			}
			s.eventually(func() error {
				if id := web.now().Annotations[idKey]; id != old.ID {
					return fmt.Errorf("the Service names load balancer %s", id)
				}
				return nil
			})
			s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
		})
	}
}

func TestLoadBalancerServesWhileItsReplacementCannotBeCreated(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn has no flavors")
	simulatorOnly(t, "a real cloud lets one load balancer fail, not all")
	for name, c := range map[string]struct {
		fault  wire.Fault
		reason string
		text   string
	}{
		"for quota": {wire.Fault{Kind: wire.FaultStatus, Status: http.StatusForbidden,
			Body: `{"faultcode": "Client", "faultstring": "Quota has been met for resources: Load Balancer"}`}, "QuotaExceeded", "Quota has been met"},
		"for ERROR": {wire.Fault{Kind: wire.FaultErrorState}, "ReplacingOnChange", "went into ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, settings{program: impatient()})
			gold := s.makeFlavor(s.namespace + "-gold")
			web := s.service("web", tcp(8080), annotated(replaceKey, "true"))
			address := web.waitUntilProgrammed()
			visitor := s.visit(address, 8080)
			fault := c.fault
			fault.Service, fault.Method, fault.Route = cloudsim.LoadBalancer, http.MethodPost, balancersRoute
			s.cloud.Faults().Add(fault)
			web.change(annotated(flavorKey, gold))
			s.eventually(func() error {
				if said := web.waitForCondition(programmed, conditionFalse, c.reason).Message; !strings.Contains(said, c.text) {
					return fmt.Errorf("it says %q", said)
				}
				return nil
			})
			s.addNode("c")
			s.waitForAnswersThrough(address, 8080, s.addresses("a", "b", "c")...)
			s.cloud.Faults().Clear()
			web.change(touched("1"))
			web.replacedBy(gold)
			if got := web.address(); got != address {
				t.Errorf("the address changed from %s to %s", address, got)
			}
			s.requireNoFailedRequest(visitor)
			web.requireOneLoadBalancer()
		})
	}
}
