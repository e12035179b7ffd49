// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// Octavia 16 fails when it is to create such a listener together with its pool.
func TestTheOtherTransportOfAPortIsAddedInEveryRelease(t *testing.T) {
	releases := release.All
	if *stateDir != "" {
		releases = releases[:1] // a real cloud is of one release
	}
	for _, r := range releases {
		t.Run(r.String(), func(t *testing.T) {
			s := newStage(t, settings{cloud: cloudsim.Options{Release: r}})
			web := s.service("web", tcp(8080))
			web.waitUntilProgrammed()
			web.change(udp(8080))
			web.waitForTree(all(ports("TCP/8080", "UDP/8080"), membersAt(s.addresses("a", "b")...)))
			web.waitUntilProgrammed()
			s.echoes(web.address(), 8080)
		})
	}
}

// TestPortsChangeWhileOtherPortsServe changes the ports of a live Service in
// every way while a client uses port 8080, which does not change.
func TestPortsChangeWhileOtherPortsServe(t *testing.T) {
	skipOnRealOpenStack(t, "TestPortIsOpenedAndClosedWithoutAFailureOnOthers changes them with packets")
	s := newStage(t, settings{conf: []string{"create-monitor=true"}})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	kept := web.tree().listener("TCP/8080")
	visitor := s.visit(address, 8080)
	nodes := s.addresses("a", "b")

	web.change(tcp(8081, 8082))
	web.waitForTree(all(ports("TCP/8080", "TCP/8081", "TCP/8082"), membersAt(nodes...)))
	s.waitForAnswersThrough(address, 8082, nodes...)

	// A port in front of the others moves the index that names are made of.
	web.change(func(v *corev1.Service) { v.Spec.Ports = append(pick(v, 8082), pick(v, 8080, 8081)...) })
	// Nodes lose the endpoints of a port that is renamed for a moment, so it is
	// not the one in use.
	web.change(func(v *corev1.Service) { v.Spec.Ports[0].Name = "renamed" })
	s.waitForPassAfter(func() { web.change(touched("1")) })
	web.waitForTree(ports("TCP/8080", "TCP/8081", "TCP/8082"))

	web.change(without(8081))
	web.waitForTree(ports("TCP/8080", "TCP/8082"))
	s.waitUntilSilent(address, 8081)

	web.change(without(8082), udp(8082))
	web.waitForTree(all(ports("TCP/8080", "UDP/8082"), membersAt(nodes...)))
	s.echoes(address, 8082)
	s.waitUntilSilent(address, 8082)

	// Now the other way round, with a port number that both take.
	web.change(without(8082), tcp(8082))
	web.waitForTree(all(ports("TCP/8080", "TCP/8082"), membersAt(nodes...)))
	web.change(udp(8080))
	web.waitForTree(all(ports("TCP/8080", "TCP/8082", "UDP/8080"), membersAt(nodes...)))
	s.echoes(address, 8080)
	s.answers(address, 8082)

	s.requireNoFailedRequest(visitor)
	web.waitUntilProgrammed()
	if now := web.tree().listener("TCP/8080"); now.ID != kept.ID || now.PoolID != kept.PoolID {
		t.Errorf("the port that does not change was replaced: %+v is %+v", kept, now)
	}
}

// pick returns the Service's ports with the numbers, in their order.
func pick(v *corev1.Service, numbers ...int32) []corev1.ServicePort {
	var found []corev1.ServicePort
	for _, n := range numbers {
		for _, p := range v.Spec.Ports {
			if p.Port == int32(freePort(int(n))) {
				found = append(found, p)
			}
		}
	}
	return found
}

func TestMembersFollowANodePortThatChanges(t *testing.T) {
	skipOnRealOpenStack(t, "batches of members are in the contract")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080, 8081))
	address := web.waitUntilProgrammed()
	visitor := s.visit(address, 8080)
	was := web.now().Spec.Ports[1].NodePort
	var other int32
	s.eventually(func() error {
		// Some other Service may have the number: the API server tells.
		object := web.now()
		other = 30000 + (object.Spec.Ports[1].NodePort-30000+101)%2768
		object.Spec.Ports[1].NodePort = other
		return web.update(object)
	})
	if was == other {
		t.Fatalf("the NodePort is %d as before", was)
	}
	web.waitForTree(func(have tree) error {
		for _, m := range have.listener("TCP/8081").Pool.Members {
			if m.Port != int(other) {
				return fmt.Errorf("member %s:%d, the NodePort is %d", m.Address, m.Port, other)
			}
		}
		return nil
	})
	s.waitForAnswersThrough(address, 8081, s.addresses("a", "b")...)
	s.requireNoFailedRequest(visitor)
}

func TestTargetPortDoesNotAffectTheLoadBalancer(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.resetCalls()
	s.waitForPassAfter(func() {
		web.change(func(v *corev1.Service) { v.Spec.Ports[0].TargetPort = intstr.FromInt(freePort(8080)) })
	})
	if calls := s.calls(); len(calls) > 0 {
		t.Errorf("calls were made: %v", calls)
	}
}

func TestServiceIsReleasedAndServedAgainWhenItsTypeChanges(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a deletion and a creation")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	first := web.waitUntilProgrammed()
	id := web.tree().ID

	web.change(ofType(corev1.ServiceTypeClusterIP))
	web.waitUntilUnmarked()
	if err := s.empty(); err != nil {
		t.Errorf("the finalizer went off before everything was gone: %v", err)
	}
	s.waitUntilSilent(first, 8080)

	web.change(ofType(corev1.ServiceTypeLoadBalancer))
	s.waitForAnswersThrough(web.waitUntilProgrammed(), 8080, s.addresses("a", "b")...)
	if again := web.tree().ID; again == id {
		t.Errorf("load balancer %s is there again", id)
	}
}

func TestLastOfManyChangesTakesEffect(t *testing.T) {
	skipOnRealOpenStack(t, "which change is the last is not for the cloud to say")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	visitor := s.visit(address, 8080)
	for i := range 10 {
		web.change(tcp(int32(9000 + i)))
		if i > 0 {
			web.change(without(int32(9000+i-1)), annotated(monitorKey, fmt.Sprint(i%2 == 0)))
		}
	}
	web.waitForTree(all(ports("TCP/8080", "TCP/9009"), monitored(nil), membersAt(s.addresses("a", "b")...)))
	s.answers(address, 9009)
	s.requireNoFailedRequest(visitor)
	web.waitUntilProgrammed()
}
