// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// Tests of faults that were reproduced with openstack-cloud-controller-manager, each named
// after its fault. docs/compatibility.md lists them with those that stand elsewhere.

// Names of listeners have an index, which repeats when a port is put before others.
func TestListenersWhoseIndexNamesRepeatAreIdentifiedByTheirPorts(t *testing.T) {
	skipOnRealOpenStack(t, "what a name means is not for the cloud to say")
	s := newStage(t, settings{off: true})
	web := &occmService{service: &service{stage: s, name: "web"}, cluster: clusterName, edits: []edit{tcp(8081, 8080)}, serial: true}
	web.differs(func(balancer fields) { renumber(web, balancer, 0, 0) })
	makeAll(s, []*occmService{web})
	address, before := web.address(), web.read()
	visitor := s.visit(address, 8080)
	s.start()
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	web.change(without(8081))
	after := web.waitForTree(ports("TCP/8080"))
	if got, want := after.listener("TCP/8080").ID, before.listener("TCP/8080").ID; got != want {
		t.Errorf("port 8080 has listener %s, and had %s", got, want)
	}
	s.requireNoFailedRequest(visitor)
}

// It dropped the tags of a listener when it added its own.
func TestTagsThatOtherClientsSetOnAListenerStay(t *testing.T) {
	skipOnRealOpenStack(t, "a PUT replaces only what it names: that is in the contract")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	listener := web.tree().listener("TCP/8080")
	tags := append(slices.Clone(listener.Tags), "cost-centre=42")
	slices.Sort(tags)
	s.cloud.octavia(http.MethodPut, "listeners/"+listener.ID, fields{"listener": fields{"tags": tags}}, nil)
	s.eventually(s.cloud.pending)
	s.stop()
	s.start() // so that it reads them
	web.change(annotated(limitKey, "1000"), tcp(8081))
	after := web.waitForTree(all(ports("TCP/8080", "TCP/8081"), limited("TCP/8080", 1000)))
	web.waitUntilProgrammed()
	if d := cmp.Diff(tags, slices.Sorted(slices.Values(after.listener("TCP/8080").Tags))); d != "" {
		t.Errorf("tags (-want +got):\n%s", d)
	}
}

// limited checks how many connections the listener takes.
func limited(key string, want int) func(tree) error {
	return func(t tree) error {
		if got := t.listener(key).Limit; got != want {
			return fmt.Errorf("listener %s takes %d connections, want %d", key, got, want)
		}
		return nil
	}
}

// It looked at loadBalancerIP only when it made a floating IP.
func TestLoadBalancerIPThatChangesMovesTheService(t *testing.T) {
	skipOnRealOpenStack(t, "floating IPs that come and go are in the contract")
	s := newStage(t, settings{})
	first, second := s.cloud.makeFloatingIP(""), s.cloud.makeFloatingIP("")
	s.given = append(s.given, first.Address, second.Address)
	web := s.service("web", tcp(8080), at(first.Address))
	if got := web.waitUntilProgrammed(); got != first.Address {
		t.Fatalf("it is at %s, not at %s", got, first.Address)
	}
	web.change(at(second.Address))
	if got := web.waitForOtherAddress(first.Address); got != second.Address {
		t.Errorf("it is at %s, not at %s", got, second.Address)
	}
	s.waitForAnswersThrough(second.Address, 8080, s.addresses("a", "b")...)
	s.waitUntilSilent(first.Address, 8080)
}

// Where the load balancer was gone, openstack-cloud-controller-manager did not look for the rest.
func TestFloatingIPAndSecurityGroupRulesAreDeletedIfTheLoadBalancerIsGone(t *testing.T) {
	s := newStage(t, settings{conf: []string{manageGroups}})
	s.withoutGroups()
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.stop()
	s.cloud.octavia(http.MethodDelete, "loadbalancers/"+web.tree().ID+"?cascade=true", nil, nil)
	web.delete()
	s.eventually(func() error {
		if s.cloud.count("loadbalancers") > 0 {
			return errLeft
		}
		return nil
	})
	s.start()
	web.waitUntilGone()
	if err := s.empty(); err != nil {
		t.Errorf("when the Service was gone: %v", err)
	}
	s.waitForGroupRules()
}

// A process to which Octavia had not yet told its versions took tags for unsupported, the
// load balancer for its own, and deleted it with what others had on it.
func TestSharedLoadBalancerStaysWhenVersionDiscoveryFails(t *testing.T) {
	simulatorOnly(t, "its discovery cannot be made to fail")
	s := newStage(t, settings{})
	web, api, address, balancer := sharing(s)
	visitor := s.visit(address, 9090)
	s.stop()
	s.cloud.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodGet, Route: "/", Kind: wire.FaultStatus, Status: http.StatusServiceUnavailable})
	web.delete()
	s.resetCalls()
	s.begin()
	s.eventually(func() error { return s.checkLogged("OpenStack does not answer") })
	s.requireUntouched()
	s.cloud.Faults().Clear()
	web.waitUntilGone()
	s.requirePorts(balancer.ID, "TCP/9090", "UDP/5300")
	s.requireNoFailedRequest(visitor)
	api.delete()
	api.waitUntilGone()
	s.requireFloatingIPGone(address)
}

// The Service of another cluster that shared a load balancer renamed it, and was its owner.
func TestSharerOfAnotherClusterDoesNotChangeNamesAndOwner(t *testing.T) {
	s := newStage(t, settings{conf: []string{"shared-lb-scope=any", "max-shared-lb=3"}})
	web := s.service("web", tcp(8080))
	address, before := web.waitUntilProgrammed(), web.tree()
	far := s.inOtherNamespace()
	far.service("guest", tcp(9090), annotated(idKey, before.ID)).waitUntilProgrammed()
	s.requirePorts(before.ID, "TCP/8080", "TCP/9090")
	after := web.tree()
	lost := slices.DeleteFunc(slices.Clone(before.Tags), func(tag string) bool { return slices.Contains(after.Tags, tag) })
	if after.Name != before.Name || len(lost) > 0 || after.listener("TCP/8080").Name != before.listener("TCP/8080").Name {
		t.Errorf("the load balancer was %+v, and is %+v", before, after)
	}
	visitor := s.visit(address, 8080)
	(&service{stage: far, name: "guest"}).delete()
	(&service{stage: far, name: "guest"}).waitUntilGone()
	s.requirePorts(before.ID, "TCP/8080")
	s.requireNoFailedRequest(visitor)
}

// The monitor of a Service that shared was renamed by one pass, and back by another.
func TestHealthMonitorsOfSharersAreNotRenamedInEveryPass(t *testing.T) {
	skipOnRealOpenStack(t, "which calls are made is not for the cloud to say")
	s := newStage(t, settings{conf: []string{"create-monitor=true"}})
	web, api, _, _ := sharing(s)
	s.addNode("c")
	web.waitForTree(membersAt(s.addresses("a", "b", "c")...)) // the pools of both
	s.waitUntilIdle()
	s.resetCalls()
	s.waitForPassAfter(func() { web.change(touched("1")) })
	s.waitForPassAfter(func() { api.change(touched("1")) })
	s.waitUntilIdle()
	s.requireUntouched()
	api.delete() // before the one that owns the floating IP
	api.waitUntilGone()
}

// With provider ovn it wanted of members what it had never sent, and wrote in every pass.
func TestMembersOfALocalServiceOnProviderOVNAreNotWrittenInEveryPass(t *testing.T) {
	simulatorOnly(t, "a real OVN cannot make monitors without a distributed port to ask from")
	s := newStage(t, settings{cloud: cloudsim.Options{Provider: "ovn"}, conf: []string{"lb-provider=ovn", "create-monitor=true"}})
	s.runPod("echo-a", "a")
	web := s.service("web", tcp(8080), local)
	web.waitForCondition(programmed, metav1.ConditionTrue, "Programmed")
	s.waitUntilIdle()
	s.resetCalls()
	s.waitForPassAfter(func() { web.change(touched("1")) })
	s.waitUntilIdle()
	s.requireUntouched()
}

// A later Service with the name of the first one of a shared load balancer took it over.
func TestServiceWithTheNameOfADeletedOwnerDoesNotTakeTheSharedLoadBalancer(t *testing.T) {
	skipOnRealOpenStack(t, "TestSharerOfAnotherClusterDoesNotChangeNamesAndOwner shares one there, too")
	s := newStage(t, settings{})
	web, api, address, balancer := sharing(s)
	web.delete()
	web.waitUntilGone()
	s.resetCalls()
	again := s.service("web", tcp(8080))
	if got := again.waitUntilProgrammed(); got == address {
		t.Errorf("the new Service is at %s too", got)
	}
	if got := again.now().Annotations[idKey]; got == balancer.ID {
		t.Error("the new Service has the load balancer of the old one")
	}
	again.delete()
	again.waitUntilGone()
	if got := api.address(); got != address {
		t.Errorf("the one that is left is at %s, not at %s", got, address)
	}
	s.waitForAnswersThrough(address, 9090, s.addresses("a", "b")...)
	api.delete()
	api.waitUntilGone()
	s.requireFloatingIPGone(address)
}
