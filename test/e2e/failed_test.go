// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

const (
	balancersRoute = "/v2.0/lbaas/loadbalancers"
	balancerRoute  = balancersRoute + "/{id}"
	failoverRoute  = balancerRoute + "/failover"
	floatingRoute  = "/v2.0/floatingips/{id}"
)

// impatient returns a program that makes the next attempt to replace a load balancer soon.
func impatient() cli.Options {
	delays := usualDelays()
	delays.Replacement = timing.Backoff{First: 50 * time.Millisecond, Last: 200 * time.Millisecond}
	delays.Deletion = timing.Backoff{First: 50 * time.Millisecond, Last: time.Second}
	delays.DuplicateRetry, delays.LastBackoff, delays.Drain = 200*time.Millisecond, time.Second, time.Second
	return cli.Options{Timing: delays}
}

// callCount counts the controller's calls of a route.
func (s *stage) callCount(method, route string) int {
	n := 0
	for _, c := range s.cloud.Recorder().Calls() {
		if c.Method == method && c.Route == route {
			n++
		}
	}
	return n
}

// loadBalancerBehind returns the load balancer of the name that has the floating IP.
func (v *service) loadBalancerBehind(address string) string {
	v.t.Helper()
	port := v.cloud.floatingIP(address).PortID
	for _, l := range v.cloud.balancers(v.lbName()) {
		if port != "" && l.VIPPort == port {
			return l.ID
		}
	}
	return ""
}

// mayFailOver gives the controller's user, before it starts, the role that Octavia of 2022.2
// requests. Since 2025.1 it is admin.
func (s *stage) mayFailOver() {
	s.t.Helper()
	cloud, ok := s.cloud.backend.(simulated)
	if !ok {
		s.t.Fatal("roles are given by the simulator only")
	}
	cloud.Keystone().Assign(cloud.IDs().User, cloud.IDs().Project, "member", "reader", "load-balancer_member", "load-balancer_admin")
	if err := cloudsim.WriteFile(s.cloudConf(), restrictedConf(s.t, cloud.Cloud, "kube-octavia-admin")); err != nil {
		s.t.Fatal(err)
	}
	s.start()
}

func TestLoadBalancerThatFailsLaterIsFailedOverIfAllowed(t *testing.T) {
	simulatorOnly(t, "noop amphorae never fail, and a failover of one is a status")
	s := newStage(t, settings{flags: sweeping, off: true, cloud: cloudsim.Options{Release: release.Zed}})
	s.mayFailOver()
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	have := web.tree()
	alwaysThere := web.watchAddress(address)
	s.resetCalls()
	release := s.cloud.hold()
	s.cloud.fail(have.ID)
	c := web.waitForCondition(programmed, conditionFalse, "LoadBalancerFailed")
	if !strings.Contains(c.Message, have.ID) || !strings.Contains(c.Message, "fails it over") {
		t.Errorf("the message: %s", c.Message)
	}
	if got := web.address(); got != address {
		t.Errorf("the address changed from %s to %s", address, got)
	}
	s.eventually(func() error { return s.is("PENDING_UPDATE", web) })
	release()
	if got := web.waitUntilProgrammed(); got != address {
		t.Errorf("the address changed from %s to %s", address, got)
	}
	if now := web.tree(); now.ID != have.ID || s.callCount(http.MethodPut, failoverRoute) != 1 || len(s.writes()) != 1 {
		t.Errorf("load balancer %s became %s by %v", have.ID, now.ID, s.writes())
	}
	alwaysThere()
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)

	// When it fails once more, it is failed over once more.
	s.waitForNextSecond(web.tree())
	s.cloud.fail(have.ID)
	s.eventually(func() error {
		if n := s.callCount(http.MethodPut, failoverRoute); n != 2 {
			return fmt.Errorf("there were %d failovers", n)
		}
		return nil
	})
	web.waitUntilProgrammed()
}

func TestPlanSaysHowTheControllerRecoversAFailedLoadBalancer(t *testing.T) {
	simulatorOnly(t, "noop amphorae never fail, and a failover of one is a status")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	release := s.cloud.hold()
	incomplete := s.service("incomplete", tcp(8081))
	s.eventually(func() error { return s.is("PENDING_CREATE", incomplete) })
	s.stop()
	release()
	s.eventually(func() error { return s.is("ACTIVE", incomplete) })
	for _, v := range []*service{web, incomplete} {
		s.cloud.fail(v.tree().ID)
	}
	s.resetCalls()
	for _, p := range s.plans(2) {
		want := map[string]string{"web": "FailoverLoadBalancer", "incomplete": "DeleteLoadBalancer"}[p.Name]
		if !slices.Contains(p.kinds(), want) {
			t.Errorf("for Service %s, whose load balancer is in ERROR, plan says %v, want %s", p.Name, p.kinds(), want)
		}
	}
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("plan wrote to the cloud: %v", writes)
	}
}

func TestLoadBalancerWhoseFailoverFailsIsReplaced(t *testing.T) {
	simulatorOnly(t, "noop amphorae never fail, and a failover of one is a status")
	s := newStage(t, settings{flags: sweeping, off: true, cloud: cloudsim.Options{Release: release.Zed}})
	s.mayFailOver()
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	old := web.tree().ID
	s.cloud.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodPut, Route: failoverRoute, Kind: wire.FaultErrorState})
	s.cloud.fail(old)
	web.waitUntilReplaced(old, address)
	if n := s.callCount(http.MethodPut, failoverRoute); n != 1 {
		t.Errorf("there were %d failovers", n)
	}
}

// waitUntilReplaced waits until another load balancer serves at the same address and the
// old one is gone.
func (v *service) waitUntilReplaced(old, address string) {
	v.t.Helper()
	v.eventually(func() error {
		found := v.cloud.balancers(v.lbName())
		if len(found) != 1 || found[0].ID == old {
			return fmt.Errorf("the load balancers are %+v", found)
		}
		// Of one that was deleted, condition Programmed is still True until the id of the new one is written.
		if id := v.now().Annotations[idKey]; id != found[0].ID {
			return fmt.Errorf("the Service names load balancer %q, it has %s", id, found[0].ID)
		}
		return nil
	})
	if got := v.waitUntilProgrammed(); got != address {
		v.t.Errorf("the address changed from %s to %s", address, got)
	}
	v.waitForAnswersThrough(address, 8080, v.addresses("a", "b")...)
}

func TestLoadBalancerThatMayNotBeFailedOverIsReplacedAndKeepsItsFloatingIP(t *testing.T) {
	s := newStage(t, settings{flags: sweeping})
	web, shop := s.service("web", tcp(8080)), s.service("shop", tcp(8080))
	address, other := web.waitUntilProgrammed(), shop.waitUntilProgrammed()
	old, floating := web.tree(), s.cloud.floatingIP(address)
	s.resetCalls()
	release := s.cloud.hold()
	s.cloud.fail(old.ID)
	c := web.waitForCondition(programmed, conditionFalse, "Replacing")
	if !strings.Contains(c.Message, old.ID) || !strings.Contains(c.Message, "403") {
		t.Errorf("the message: %s", c.Message)
	}
	s.eventually(func() error {
		if found := s.cloud.balancers(web.lbName()); len(found) != 2 {
			return fmt.Errorf("there are %d load balancers", len(found))
		}
		return nil
	})
	// It may still carry traffic, so that it has the address as long as possible.
	if got, on := web.address(), web.loadBalancerBehind(address); got != address || on != old.ID {
		t.Errorf("%s is published, and %s leads to load balancer %s", got, address, on)
	}
	release()
	web.waitUntilReplaced(old.ID, address)
	web.requireOneLoadBalancer()
	if f := s.cloud.floatingIP(address); f.ID != floating.ID || f.Description != floating.Description {
		t.Errorf("floating IP %+v became %+v", floating, f)
	}
	for _, w := range s.writes() {
		if strings.HasPrefix(w, "DELETE /v2.0/floatingips") || strings.HasPrefix(w, "POST /v2.0/floatingips") {
			t.Errorf("a floating IP was made or deleted: %s", w)
		}
	}

	// A request that Octavia refused is not repeated.
	id := shop.tree().ID
	s.cloud.fail(id)
	shop.waitUntilReplaced(id, other)
	if n := s.callCount(http.MethodPut, failoverRoute); n != 1 {
		t.Errorf("a failover was asked for %d times", n)
	}
}

func TestLoadBalancerOfAnInternalServiceIsReplacedAndKeepsItsAddress(t *testing.T) {
	skipOnRealOpenStack(t, "TestLoadBalancerThatMayNotBeFailedOverIsReplacedAndKeepsItsFloatingIP replaces one there")
	s := newStage(t, settings{flags: sweeping})
	web := s.service("web", tcp(8080), annotated(internalKey, "true"))
	address := web.waitUntilProgrammed()
	for range 2 {
		old := web.tree()
		s.waitForNextSecond(old)
		release := s.cloud.hold()
		s.cloud.fail(old.ID)
		web.waitForCondition(programmed, conditionFalse, "Replacing")
		s.eventually(func() error { return s.is("PENDING_DELETE", web) })
		if got := web.address(); got != address {
			t.Errorf("the address changed from %s to %s", address, got)
		}
		release()
		s.eventually(func() error {
			found := s.cloud.balancers(web.lbName())
			if len(found) != 1 || found[0].ID == old.ID || found[0].Status != "ACTIVE" {
				return fmt.Errorf("the load balancers are %+v", found)
			}
			return nil
		})
		if got, have := web.waitUntilProgrammed(), web.tree(); got != address || have.VIP != address {
			t.Errorf("%s became %s, load balancer %s has %s", address, got, have.ID, have.VIP)
		}
	}
	s.eventually(func() error {
		if note := web.now().Annotations["kube-octavia.io/vip-address"]; note != "" {
			return fmt.Errorf("the address %s is still noted", note)
		}
		return nil
	})
}

func TestAddressThatAnotherPortHasMeanwhileIsReported(t *testing.T) {
	skipOnRealOpenStack(t, "that an address in use is refused is in the contract")
	s := newStage(t, settings{flags: sweeping, program: impatient()})
	web := s.service("web", tcp(8080), annotated(internalKey, "true"))
	address := web.waitUntilProgrammed()
	old := web.tree()
	held := s.cloud.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodPost, Route: balancersRoute, Kind: wire.FaultStatus, Status: 500,
		Body: `{"faultstring": "internal"}`})
	s.cloud.fail(old.ID)
	s.eventually(func() error {
		if found := s.cloud.balancers(web.lbName()); len(found) != 0 {
			return fmt.Errorf("load balancer %s is %s", found[0].ID, found[0].Status)
		}
		return nil
	})
	var thief struct{ Port port }
	s.eventually(func() error {
		return s.cloud.call(asUser, cloudsim.Network, http.MethodPost, "/v2.0/ports", map[string]any{"port": map[string]any{
			"network_id": s.cloud.IDs().PrivateNetwork, "fixed_ips": []any{map[string]any{"ip_address": address}},
		}}, &thief)
	})
	s.cloud.Faults().Remove(held)
	c := web.waitForCondition(programmed, conditionFalse, "AddressInUse")
	if !strings.Contains(c.Message, address) {
		t.Errorf("the message does not name %s: %s", address, c.Message)
	}
	if ingress := web.now().Status.LoadBalancer.Ingress; len(ingress) > 0 {
		t.Errorf("an address that another port has is published: %+v", ingress)
	}
	s.cloud.neutron(http.MethodDelete, "ports/"+thief.Port.ID, nil, nil)
	if got := web.waitUntilProgrammed(); got != address {
		t.Errorf("the address changed from %s to %s", address, got)
	}
}

func TestAfterThreeFailedReplacementsTheServiceWaits(t *testing.T) {
	simulatorOnly(t, "a real cloud lets one load balancer fail, not all")
	for name, c := range map[string]struct {
		edits []edit
		// goOn is what lets the controller go on.
		goOn func(web *service, old string)
		// same is whether the load balancer is the old one in the end.
		same bool
	}{
		"until the operator repairs it": {goOn: func(web *service, old string) { web.cloud.repair(old) }, same: true},
		"until the Service changes":     {goOn: func(web *service, _ string) { web.change(tcp(8081)) }},
		"until another client deletes it": {goOn: func(web *service, old string) {
			web.cloud.octavia("DELETE", "loadbalancers/"+old+"?cascade=true", nil, nil)
		}},
		"until an internal one changes": {edits: []edit{annotated(internalKey, "true")}, goOn: func(web *service, _ string) { web.change(tcp(8081)) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, settings{flags: sweeping, program: impatient()})
			web := s.service("web", append(c.edits, tcp(8080))...)
			address := web.waitUntilProgrammed()
			s.resetCalls()
			s.cloud.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodPost, Route: balancersRoute, Kind: wire.FaultErrorState})
			s.cloud.fail(web.tree().ID)
			condition := web.waitForCondition(programmed, conditionFalse, "ReplacementFailed")
			t.Log(condition.Message)
			if made := s.callCount(http.MethodPost, balancersRoute); made != 3 {
				t.Errorf("%d load balancers were built", made)
			}
			for _, text := range []string{"every hour", "req-", "Ask the cloud operator"} {
				if !strings.Contains(condition.Message, text) {
					t.Errorf("the message lacks %q", text)
				}
			}
			if got := web.address(); got != address {
				t.Errorf("the address changed from %s to %s", address, got)
			}
			s.eventually(func() error {
				if found := s.cloud.balancers(web.lbName()); len(found) != 1 {
					return fmt.Errorf("there are %d load balancers", len(found))
				}
				return nil
			})
			s.waitForPassAfter(func() { web.change(touched("1")) })
			if made := s.callCount(http.MethodPost, balancersRoute); made != 3 {
				t.Errorf("%d load balancers were built", made)
			}
			s.cloud.Faults().Clear()
			old := web.tree().ID
			c.goOn(web, old)
			if got := web.waitUntilProgrammed(); got != address {
				t.Errorf("the address changed from %s to %s", address, got)
			}
			if now := web.tree().ID; (now == old) != c.same {
				t.Errorf("load balancer %s became %s", old, now)
			}
			s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
		})
	}
}

func TestAServiceRecoversWhenTheCloudWorksAgain(t *testing.T) {
	simulatorOnly(t, "a real cloud lets one load balancer fail, not all")
	program := impatient()
	program.Timing.LastingFailure = time.Second
	s := newStage(t, settings{flags: sweeping, program: program})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	s.cloud.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodPost, Route: balancersRoute, Kind: wire.FaultErrorState})
	s.cloud.fail(web.tree().ID)
	web.waitForCondition(programmed, conditionFalse, "ReplacementFailed")
	s.cloud.Faults().Clear()
	if got := web.waitUntilProgrammed(); got != address {
		t.Errorf("the address changed from %s to %s", address, got)
	}
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
}

func TestReplacementSurvivesAControllerThatIsKilled(t *testing.T) {
	simulatorOnly(t, "it is about what the controller finds in the cloud, and a real one cannot hold an answer")
	program := build(t)
	for name, moment := range map[string]struct {
		edits []edit
		// after is the call that was carried out and not answered.
		after wire.Operation
	}{
		"after the create":              {after: wire.Operation{Method: http.MethodPost, Route: balancersRoute}},
		"after the address moved":       {after: wire.Operation{Service: cloudsim.Network, Method: http.MethodPut, Route: floatingRoute}},
		"after the deletion of the old": {after: wire.Operation{Method: http.MethodDelete, Route: balancerRoute}},
		"after the deletion of an internal one": {
			edits: []edit{annotated(internalKey, "true")}, after: wire.Operation{Method: http.MethodDelete, Route: balancerRoute}},
		"after the create of an internal one": {
			edits: []edit{annotated(internalKey, "true")}, after: wire.Operation{Method: http.MethodPost, Route: balancersRoute}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, settings{off: true})
			web := s.service("web", append(moment.edits, tcp(8080))...)
			p := s.launch(program, append(slices.Clone(alone), sweeping...)...)
			address := web.waitUntilProgrammed()
			old := web.tree().ID
			s.resetCalls()
			s.cloud.Faults().Add(wire.Fault{Service: moment.after.Service, Method: moment.after.Method, Route: moment.after.Route, Kind: wire.FaultHangAfter})
			s.cloud.fail(old)
			s.eventually(func() error { return s.checkCarriedOut(moment.after, web, address, old) })
			p.kill()
			s.cloud.Faults().Clear()
			p = s.controls(program)
			s.eventually(func() error {
				found := s.cloud.balancers(web.lbName())
				if len(found) != 1 || found[0].ID == old || found[0].Status != "ACTIVE" {
					return fmt.Errorf("the load balancers are %+v", found)
				}
				return nil
			})
			if got := web.waitUntilProgrammed(); got != address {
				t.Errorf("the address changed from %s to %s", address, got)
			}
			s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
			if len(moment.edits) == 0 {
				web.requireOneLoadBalancer()
			}
			p.terminate()
		})
	}
}

// checkCarriedOut determines from the state of the cloud whether the call was carried out.
func (s *stage) checkCarriedOut(o wire.Operation, web *service, address, old string) error {
	found := s.cloud.balancers(web.lbName())
	done := false
	switch {
	case o.Method == http.MethodPost:
		done = slices.ContainsFunc(found, func(l tree) bool { return l.ID != old })
	case o.Method == http.MethodPut:
		on := web.loadBalancerBehind(address)
		done = on != "" && on != old
	default:
		done = !slices.ContainsFunc(found, func(l tree) bool { return l.ID == old && l.Status != "PENDING_DELETE" })
	}
	if !done {
		return fmt.Errorf("%s %s was not carried out yet: %+v", o.Method, o.Route, found)
	}
	return nil
}

// TestALoadBalancerWithoutOurTagsIsReadAgainAfterItWasRepaired has one whose tags another client removed. The list
// of the cluster's load balancers, which is filtered by tag, does not show it any more.
func TestALoadBalancerWithoutOurTagsIsReadAgainAfterItWasRepaired(t *testing.T) {
	simulatorOnly(t, "noop amphorae never fail, and a failover of one is a status")
	s := newStage(t, settings{flags: sweeping})
	web := s.service("web", tcp(8080), annotated(driftKey, "report"))
	address := web.waitUntilProgrammed()
	id := web.tree().ID
	s.cloud.octavia(http.MethodPut, "loadbalancers/"+id, map[string]any{"loadbalancer": map[string]any{"tags": []string{}}}, nil)
	web.waitForCondition(programmed, conditionFalse, "Drifted")
	s.cloud.fail(id)
	web.waitForCondition(programmed, conditionFalse, "LoadBalancerFailed")
	s.cloud.repair(id)
	web.waitForCondition(programmed, conditionFalse, "Drifted")
	web.change(notAnnotated(driftKey))
	if got := web.waitUntilProgrammed(); got != address || web.tree().ID != id {
		t.Errorf("the address changed from %s to %s, load balancer %s became %s", address, got, id, web.tree().ID)
	}
}
