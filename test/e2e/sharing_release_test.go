// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// requireNothingLeft checks that no object of the Services is left in the cloud.
func (s *stage) requireNothingLeft() {
	s.t.Helper()
	s.eventually(func() error {
		counts := map[string]int{"floating IPs": len(s.cloud.floatingIPs())}
		for _, kind := range []string{"loadbalancers", "listeners", "pools", "healthmonitors"} {
			counts[kind] = s.cloud.count(kind)
		}
		for kind, n := range counts {
			if n > 0 {
				return fmt.Errorf("%d %s are left: %v", n, kind, counts)
			}
		}
		return nil
	})
}

// leave takes a Service's load balancer away, and waits until the controller has released it.
func (v *service) leave(byType bool) {
	v.t.Helper()
	if !byType {
		v.delete()
		v.waitUntilGone()
		return
	}
	v.change(ofType(corev1.ServiceTypeClusterIP))
	v.eventually(func() error {
		if f := v.now().Finalizers; len(f) > 0 {
			return fmt.Errorf("finalizers %v", f)
		}
		return nil
	})
}

// waitForTrace waits until the name of the Service is on a load balancer.
func (v *service) waitForTrace(on string) {
	v.t.Helper()
	v.eventually(func() error {
		for _, l := range v.cloud.trees(on) {
			if slices.Contains(l.Tags, v.lbName()) {
				return nil
			}
		}
		return fmt.Errorf("no load balancer %s has the tag %s", on, v.lbName())
	})
}

func TestNothingIsLeftOfASharedLoadBalancerWhateverTheStateOfItsServices(t *testing.T) {
	simulatorOnly(t, "quotas are changed")
	joins := func(one *service) edit { return annotated(idKey, one.tree().ID) }
	states := map[string]func(s *stage, one *service) *service{
		"served": func(s *stage, _ *service) *service {
			two := s.service("two", tcp(8081), grouped("shop"))
			two.waitUntilProgrammed()
			return two
		},
		"served by id": func(s *stage, one *service) *service {
			two := s.service("two", tcp(8081), joins(one))
			two.waitUntilProgrammed()
			return two
		},
		"no quota for its pool": func(s *stage, one *service) *service {
			s.cloud.quota(cloudsim.LoadBalancer, "pool", 1)
			two := s.service("two", tcp(8081), grouped("shop"))
			two.waitForCondition(programmed, conditionFalse, "QuotaExceeded")
			two.waitForTrace(one.lbName())
			return two
		},
		"no quota for its listener": func(s *stage, one *service) *service {
			s.cloud.quota(cloudsim.LoadBalancer, "listener", 1)
			two := s.service("two", tcp(8081), joins(one))
			two.waitForCondition(programmed, conditionFalse, "QuotaExceeded")
			two.waitForTrace(one.lbName())
			return two
		},
		"its port is in use": func(s *stage, one *service) *service {
			two := s.service("two", tcp(8080), grouped("shop"))
			two.waitForCondition(accepted, conditionFalse, "PortInUse")
			if at := two.now().Status.LoadBalancer.Ingress; len(at) > 0 {
				s.t.Errorf("%v is published, where another Service is", at)
			}
			return two
		},
	}
	for state, join := range states {
		for _, first := range []string{"one", "two"} {
			for _, byType := range []bool{false, true} {
				if byType && state != "served" {
					continue // random walks change types in all states
				}
				name := fmt.Sprintf("%s, %s goes first, by its type %t", state, first, byType)
				t.Run(name, func(t *testing.T) {
					s := newStage(t, settings{})
					one := s.service("one", tcp(8080), grouped("shop"))
					if state == "served by id" || state == "no quota for its listener" {
						one.change(notAnnotated(groupKey))
					}
					one.waitUntilProgrammed()
					two := join(s, one)
					s.stop() // what was remembered is lost
					s.start()
					a, b := one, two
					if first == "two" {
						a, b = two, one
					}
					a.leave(byType)
					if first == "two" {
						for _, l := range s.cloud.trees(one.lbName()) {
							if slices.Contains(l.Tags, two.lbName()) || len(l.Listeners) != 1 || len(l.Unused) > 0 {
								t.Errorf("when the sharer is gone, this is left: %+v", l)
							}
						}
					}
					b.leave(byType)
					s.requireNothingLeft()
				})
			}
		}
	}
}

// TestNextControllerReleasesAServiceOfAGroupWheneverThePreviousOneWasKilled kills the controller when the cloud has
// carried out a call of the release and not answered it.
func TestNextControllerReleasesAServiceOfAGroupWheneverThePreviousOneWasKilled(t *testing.T) {
	simulatorOnly(t, "a real one cannot hold an answer")
	program := build(t)
	for name, after := range map[string]wire.Operation{
		"after the deletion of its listener": listenerEnd,
		"after the deletion of its pool":     {Method: http.MethodDelete, Route: "/v2.0/lbaas/pools/{id}"},
		"after the removal of its tag":       {Method: http.MethodPut, Route: balancerRoute},
	} {
		for _, first := range []string{"one", "two"} {
			t.Run(name+", "+first+" goes first", func(t *testing.T) {
				s := newStage(t, settings{off: true})
				p := s.launch(program, alone...)
				one := s.service("one", tcp(8080), grouped("shop"))
				one.waitUntilProgrammed()
				balancer := one.tree()
				two := s.service("two", tcp(8081), grouped("shop"))
				address := two.waitUntilProgrammed()
				leaves, stays, port := one, two, 8081
				if first == "two" {
					leaves, stays, port = two, one, 8080
				}
				s.cloud.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: after.Method, Route: after.Route, Kind: wire.FaultHangAfter})
				leaves.delete()
				s.eventually(func() error {
					if s.cloud.Faults().Held() == 0 {
						return fmt.Errorf("%s %s was not called yet", after.Method, after.Route)
					}
					return nil
				})
				p.kill()
				s.cloud.Faults().Clear()

				p = s.controls(program)
				leaves.waitUntilGone()
				s.requirePorts(balancer.ID, fmt.Sprintf("TCP/%d", port))
				have := tree{ID: balancer.ID}
				s.cloud.fill(&have)
				if slices.Contains(have.Tags, leaves.lbName()) || len(have.Unused) > 0 {
					t.Errorf("when Service %s is gone, this is left: %+v", first, have)
				}
				if at := stays.waitUntilProgrammed(); at != address {
					t.Errorf("the other Service is at %s, and was at %s", at, address)
				}
				s.answers(address, port)
				stays.leave(false)
				s.requireNothingLeft()
				p.terminate()
			})
		}
	}
}

func TestNothingIsLeftOfASharedLoadBalancerWhenItsNamespaceIsDeleted(t *testing.T) {
	simulatorOnly(t, "for the cloud they are Services that are deleted")
	s := newStage(t, settings{})
	one := s.service("one", tcp(8080), grouped("shop"))
	one.waitUntilProgrammed()
	two := s.service("two", tcp(8081), grouped("shop"))
	two.waitUntilProgrammed()
	if err := s.client.CoreV1().Namespaces().Delete(t.Context(), s.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	one.waitUntilGone()
	two.waitUntilGone()
	s.requireNothingLeft()
	s.eventually(func() error {
		if _, err := s.client.CoreV1().Namespaces().Get(t.Context(), s.namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the namespace is still there: %v", err)
		}
		return nil
	})
}

func TestASharerWhoseIDWasRemovedWhileNoControllerRanLeavesNothing(t *testing.T) {
	simulatorOnly(t, "for the cloud it is sharing")
	s := newStage(t, settings{})
	web, api, address, balancer := sharing(s)
	s.stop()
	api.change(notAnnotated(idKey))
	s.start()
	if got := api.waitUntilProgrammed(); got != address {
		t.Errorf("it moved to %s", got)
	}
	s.requirePorts(balancer.ID, "TCP/8080", "TCP/9090", "UDP/5300")
	s.stop()
	api.change(notAnnotated(idKey))
	api.delete()
	s.start()
	api.waitUntilGone()
	s.requirePorts(balancer.ID, "TCP/8080")
	web.leave(false)
	s.requireNothingLeft()
}

func TestAServiceOfAGroupThatBecomesInternalClosesItsPortsAndCutsOffNoOtherService(t *testing.T) {
	simulatorOnly(t, "the cloud has no part in it")
	for _, flips := range []string{"one", "two"} {
		t.Run(flips, func(t *testing.T) {
			s := newStage(t, settings{})
			one := s.service("one", tcp(8080), grouped("shop"))
			address := one.waitUntilProgrammed()
			balancer := one.tree()
			two := s.service("two", tcp(8081), grouped("shop"))
			two.waitUntilProgrammed()
			turns, stays, port := one, two, 8081
			if flips == "two" {
				turns, stays, port = two, one, 8080
			}
			visitor := s.visit(address, port)
			turns.change(annotated(internalKey, "true"))
			turns.waitForCondition(accepted, conditionFalse, "SharingRefused")
			s.requirePorts(balancer.ID, fmt.Sprintf("TCP/%d", port))
			turns.eventually(func() error {
				if at := turns.now().Status.LoadBalancer.Ingress; len(at) > 0 {
					return fmt.Errorf("%v is still published", at)
				}
				return nil
			})
			stays.waitUntilProgrammed()
			if at := stays.address(); at != address {
				t.Errorf("the other one is at %s, and was at %s", at, address)
			}
			s.requireNoFailedRequest(visitor)
			turns.change(annotated(internalKey, "false"))
			if at := turns.waitUntilProgrammed(); at != address {
				t.Errorf("it comes back at %s", at)
			}
			turns.change(annotated(internalKey, "true"))
			turns.waitForCondition(accepted, conditionFalse, "SharingRefused")
			stays.leave(false)
			turns.waitUntilProgrammed()
			turns.leave(false)
			s.requireNothingLeft()
		})
	}
}

func TestAnOwnerWithoutAGroupThatBecomesInternalGetsALoadBalancerOfItsOwn(t *testing.T) {
	simulatorOnly(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web, api, address, balancer := sharing(s)
	visitor := s.visit(address, 9090)
	web.change(annotated(internalKey, "true"))
	web.eventually(func() error {
		if at := web.now().Status.LoadBalancer.Ingress; len(at) != 1 || at[0].IP == address {
			return fmt.Errorf("it is at %v", at)
		}
		return nil
	})
	web.waitUntilProgrammed()
	for _, l := range s.cloud.trees(web.lbName()) {
		want := 1
		if l.ID == balancer.ID {
			want = 2
		}
		if len(l.Listeners) != want {
			t.Errorf("load balancer %s has %d listeners, not %d", l.ID, len(l.Listeners), want)
		}
	}
	s.requireNoFailedRequest(visitor)
	api.leave(false)
	if n := len(s.cloud.floatingIPs()); n != 0 {
		t.Errorf("%d floating IPs are left", n)
	}
	web.leave(false)
	s.requireNothingLeft()
}
