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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// TestCallsStayWithinTheBudget counts OpenStack calls, with one port and with
// five: at most four to create, none for a Service that did not change, one for
// each port and one more when a node joins or leaves, and three to delete.
func TestCallsStayWithinTheBudget(t *testing.T) {
	for _, ports := range [][]int32{{8080}, {8081, 8082, 8083, 8084, 8085}} {
		t.Run(fmt.Sprintf("P=%d", len(ports)), func(t *testing.T) {
			if len(ports) == 1 {
				skipOnRealOpenStack(t, "with five ports it takes the same calls to create and delete, and more for a node")
			}
			s := newStage(t, settings{})
			late := 0
			if s.hasNewOVN() {
				late = 10 // reads until the last child is ACTIVE
			}
			s.waitUntilIdle() // and so has a start
			s.resetCalls()
			web := s.service("web", tcp(ports...))
			address := web.waitUntilProgrammed()
			s.waitUntilIdle()
			s.requireCallsAtMost("create", 4+late)

			s.resetCalls()
			for i := range 5 {
				s.waitForPassAfter(func() { web.change(labelled(fmt.Sprint(i)), touched(fmt.Sprint(i))) })
			}
			s.requireCallsAtMost("five changes that mean nothing", 0)

			s.resetCalls()
			s.heartbeat("a")
			s.addNode("c")
			web.waitForTree(membersAt(s.addresses("a", "b", "c")...))
			s.waitUntilIdle()
			s.requireCallsAtMost("a heartbeat and a node that joins", len(ports)+1+late)
			s.waitForAnswersThrough(address, int(ports[0]), s.addresses("a", "b", "c")...)

			left := s.addresses("a", "b")
			s.resetCalls()
			if err := s.nodes.Remove(t.Context(), s.node("c")); err != nil {
				t.Fatal(err)
			}
			web.waitForTree(membersAt(left...))
			s.waitUntilIdle()
			s.requireCallsAtMost("a node that leaves", len(ports)+1+late)

			s.resetCalls()
			web.delete()
			web.waitUntilGone()
			s.requireCallsAtMost("delete", 3)
		})
	}
}

// Without a quota for what is below load balancers, also a load balancer at a ClusterIP is created with one call. The first
// Service also reads the subnets, three times, and its Pods may come after it: then each pool costs a write, and a read.
func TestCallsToCreateALoadBalancerAtAClusterIPStayWithinTheBudget(t *testing.T) {
	for _, numbers := range [][]int32{{8080}, {8081, 8082, 8083}} {
		t.Run(fmt.Sprintf("P=%d", len(numbers)), func(t *testing.T) {
			onSimulatedServiceSubnet(t)
			s := newStage(t, settings{off: true})
			s.atClusterIPs(s.serviceSubnet(nil), "namespaces = "+s.namespace)
			s.start()
			s.waitUntilIdle()
			s.resetCalls()
			web := s.service("web", tcp(numbers...), toClusterIP)
			web.waitForCondition(programmed, conditionTrue, "Programmed")
			s.waitUntilIdle()
			s.requireCallsAtMost("create", 3+3+2*len(numbers))
		})
	}
}

func TestManyServicesAtOnceTakeNoMoreCallsThanEachAlone(t *testing.T) {
	skipOnRealOpenStack(t, "the calls of each are counted by TestCallsStayWithinTheBudget")
	s := newStage(t, settings{cloud: cloudsim.Options{BuildTime: time.Second}})
	n := 20
	if *stateDir != "" {
		n = 6 // each takes a real Octavia a second and a half of its processor
	}
	s.waitUntilIdle()
	s.resetCalls()
	var all []*service
	for i := range n {
		all = append(all, s.service(fmt.Sprintf("web-%d", i), tcp(8080)))
	}
	for _, web := range all {
		web.waitUntilProgrammed()
	}
	s.requireCallsAtMost(fmt.Sprintf("%d creates", n), n*4)
	for _, web := range all {
		web.requireOneLoadBalancer()
	}
	s.resetCalls()
	s.addNode("c")
	for _, web := range all {
		web.waitForTree(membersAt(s.addresses("a", "b", "c")...))
	}
	s.waitUntilIdle()
	s.requireCallsAtMost(fmt.Sprintf("a node that joins %d Services", n), n*2)
}

// TestServicesThatChangeTogetherShareTheirReads counts every call, also the polls: of ten
// Services with three ports, on a cloud that takes its time.
func TestServicesThatChangeTogetherShareTheirReads(t *testing.T) {
	skipOnRealOpenStack(t, "how many polls there are depends on how long it takes; test/bench counts them")
	const answer = 80 * time.Millisecond
	s := newStage(t, settings{cloud: cloudsim.Options{
		BuildTime: 4 * time.Second, UpdateTime: 2 * time.Second, DeleteTime: 2 * time.Second,
	}})
	for _, service := range []string{cloudsim.LoadBalancer, cloudsim.Network} {
		s.cloud.Latency().Set(wire.Operation{Service: service}, answer)
	}
	const n = 10
	s.waitUntilIdle()
	s.resetCalls()
	var all []*service
	for i := range n {
		all = append(all, s.service(fmt.Sprintf("web-%d", i), tcp(8080, 8081, 8082)))
	}
	for _, web := range all {
		web.waitUntilProgrammed()
	}
	s.requireSharedReads("create", n, 4, answer)

	s.resetCalls()
	s.addNode("c")
	for _, web := range all {
		web.waitForTree(membersAt(s.addresses("a", "b", "c")...))
	}
	s.waitUntilTreesAreRead(n)
	s.requireSharedReads("a node that joins", n, 4, answer)

	s.resetCalls()
	for _, web := range all {
		web.change(tcp(8083))
	}
	for _, web := range all {
		web.waitForTree(ports("TCP/8080", "TCP/8081", "TCP/8082", "TCP/8083"))
	}
	s.waitUntilTreesAreRead(n)
	s.requireSharedReads("a port that is added", n, 4, answer)

	s.resetCalls()
	for _, web := range all {
		web.delete()
	}
	for _, web := range all {
		web.waitUntilGone()
	}
	s.requireSharedReads("delete", n, 3, answer)
}

// waitUntilTreesAreRead waits until the controller has read n status trees: it looks once at the result of
// each Service's change. What comes later would count as a call for the next change.
func (s *stage) waitUntilTreesAreRead(n int) {
	s.t.Helper()
	s.eventually(func() error {
		if read := s.callCount(http.MethodGet, balancersRoute+"/{id}/status"); read < n {
			return fmt.Errorf("%d of %d status trees are read", read, n)
		}
		return nil
	})
}

// requireSharedReads fails the test when n Services took more calls each, or polls that they
// do not share. Polls continue while the machine or the cloud is slow, so they are counted against the
// time: however many wait, one round of polls follows another after 10 times the time of an answer, and
// has two calls at most: for load balancers, and for the ports of VIPs that are being deleted.
func (s *stage) requireSharedReads(what string, n, most int, answer time.Duration) {
	s.t.Helper()
	routes := map[string]int{}
	all := s.cloud.Recorder().Calls()
	polls := 0
	for _, c := range all {
		routes[c.Method+" "+c.Route]++
		if c.Method == http.MethodGet && slices.Contains([]string{"/v2.0/lbaas/loadbalancers", "/v2.0/lbaas/loadbalancers/{id}", "/v2.0/ports"}, c.Route) {
			polls++
		}
	}
	took := all[len(all)-1].At.Sub(all[0].At)
	s.t.Logf("%s of %d Services took %v and %d calls: %v", what, n, took.Round(100*time.Millisecond), len(all), routes)
	if others := len(all) - polls; others > n*most {
		s.t.Errorf("%s of %d Services took %d calls besides polls, more than %d each: %v", what, n, others, most, routes)
	}
	if rounds := int(took/(10*answer)) + 2; polls > 2*rounds {
		s.t.Errorf("%s of %d Services took %d polls in %v, more than %d: %v", what, n, polls, took, 2*rounds, routes)
	}
}

// waitUntilIdle waits until the controller is idle, no load balancer is being changed, and the
// controller has read the result of its last write to Octavia.
func (s *stage) waitUntilIdle() {
	s.t.Helper()
	s.eventually(func() error {
		if _, open := s.passes(); open > 0 {
			return fmt.Errorf("%d passes are under way", open)
		}
		looked := true
		for _, call := range s.calls() {
			if strings.Contains(call, "/lbaas/") {
				looked = strings.HasPrefix(call, http.MethodGet)
			}
		}
		if !looked {
			return fmt.Errorf("the controller has not looked at what its last write led to")
		}
		return s.cloud.pending()
	})
}

// heartbeat sends the regular status update of a kubelet.
func (s *stage) heartbeat(suffix string) {
	s.t.Helper()
	s.changeNodeStatus(suffix, func(n *corev1.Node) {
		for i := range n.Status.Conditions {
			n.Status.Conditions[i].LastHeartbeatTime = metav1.Now()
		}
		n.Status.Images = []corev1.ContainerImage{{Names: []string{"registry.example/image:1"}, SizeBytes: 1}}
	})
}
