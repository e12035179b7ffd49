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
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
)

// waiting returns a program that requests what the quota does not allow once an hour: what comes
// sooner was brought by something else.
func waiting() cli.Options {
	timing := usualDelays()
	timing.SlowRetry, timing.LastQuotaRetry = time.Hour, time.Hour
	return cli.Options{Timing: timing}
}

// waitForQuotaMessage waits until the Service says that the quota is exhausted, and of what.
func (v *service) waitForQuotaMessage(what string) {
	v.t.Helper()
	if c := v.waitForCondition(programmed, conditionFalse, "QuotaExceeded"); !strings.Contains(c.Message, what) {
		v.t.Errorf("the message lacks %q: %s", what, c.Message)
	}
}

func TestServiceThatWaitsForQuotaIsServedWhenQuotaIsFreed(t *testing.T) {
	skipOnRealOpenStack(t, "what a refusal by quota looks like is in the contract")
	for name, c := range map[string]struct {
		service, kind string
		limit         int
		what          string
		first, second []edit
		free          func(first *service)
		// left is how many ports Octavia leaves behind: one for a create that it
		// refuses for a part.
		left int
	}{
		"a load balancer": {
			service: cloudsim.LoadBalancer, kind: "load_balancer", limit: 1,
			what:  "Load Balancer",
			first: []edit{tcp(8080)}, second: []edit{tcp(8080)}, free: func(first *service) { first.delete() },
		},
		"a floating IP": {
			service: cloudsim.Network, kind: "floatingip", limit: 1,
			what:  "floatingip",
			first: []edit{tcp(8080)}, second: []edit{tcp(8080)}, free: func(first *service) { first.change(annotated(internalKey, "true")) },
		},
		"a pool": {
			service: cloudsim.LoadBalancer, kind: "pool", limit: 3,
			what:  "Pool",
			first: []edit{tcp(8080, 8081)}, second: []edit{tcp(8080, 8081)}, free: func(first *service) { first.change(without(8081)) }, left: 1,
		},
		"members": {
			service: cloudsim.LoadBalancer, kind: "member", limit: 4,
			what:  "Member",
			first: []edit{tcp(8080, 8081)}, second: []edit{tcp(8080)}, free: func(first *service) { first.change(without(8081)) }, left: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, settings{program: waiting()})
			s.cloud.quota(c.service, c.kind, c.limit)
			first := s.service("first", c.first...)
			first.waitUntilProgrammed()
			second := s.service("second", c.second...)
			second.waitForQuotaMessage(c.what)
			// The others continue meanwhile.
			first.change(openTo("127.0.0.0/8"))
			first.waitForTree(sources("127.0.0.0/8"))
			first.waitUntilProgrammed()
			second.waitForCondition(programmed, conditionFalse, "QuotaExceeded")

			c.free(first)
			s.waitForAnswersThrough(second.waitUntilProgrammed(), 8080, s.addresses("a", "b")...)
			second.requireOneLoadBalancer()
			s.dropPortsLeft(c.left)
		})
	}
}

// Octavia refuses the whole set of members if it is larger than the quota allows, also if all of the present ones are gone.
func TestNewPodsReplaceThoseThatEndIfTheQuotaIsExhausted(t *testing.T) {
	skipOnRealOpenStack(t, "what a refusal by quota looks like is in the contract")
	s := newStage(t, reachingPods(t, settings{program: waiting()}))
	s.cloud.quota(cloudsim.LoadBalancer, "member", 2)
	web := s.service("web", tcp(8080), toPods)
	web.waitUntilProgrammed()
	old := s.podAddresses("a", "b")
	web.waitForTree(membersAt(old...))
	for _, name := range []string{"c", "d", "e"} {
		s.runPod(name, "a")
	}
	web.waitForQuotaMessage("Member")
	for _, name := range []string{"a", "b"} {
		s.deletePod(name)
	}
	web.waitForTree(eachPool(func(p pool) error {
		for _, m := range p.Members {
			if slices.Contains(old, m.Address) {
				return fmt.Errorf("member %s is a Pod that does not exist any more", m.Address)
			}
		}
		if len(p.Members) != len(old) {
			return fmt.Errorf("%d members, want %d", len(p.Members), len(old))
		}
		return nil
	}))
	web.waitForQuotaMessage("Member")
	s.cloud.quota(cloudsim.LoadBalancer, "member", 3)
	web.change(touched("again"))
	web.waitForTree(membersAt(s.podAddresses("c", "d", "e")...))
	web.waitUntilProgrammed()
}

// Octavia would leave a port with the ClusterIP behind if it refused the create because of a pool. So with a quota for pools,
// the load balancer is created without them.
func TestAServiceAtItsClusterIPIsServedOnceThereIsQuotaForItsPools(t *testing.T) {
	onSimulatedServiceSubnet(t)
	s := newStage(t, settings{off: true, program: waiting()})
	subnet := s.serviceSubnet(nil)
	s.atClusterIPs(subnet, "namespaces = "+s.namespace)
	s.cloud.quota(cloudsim.LoadBalancer, "pool", 1)
	s.start()
	web := s.service("web", tcp(8080, 8081), toClusterIP)
	web.waitForQuotaMessage("Pool")
	s.cloud.quota(cloudsim.LoadBalancer, "pool", 2)
	web.change(touched("1"))
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	web.waitForTree(all(web.vipAtClusterIP(subnet), ports("TCP/8080", "TCP/8081"), membersAt(s.podAddresses("a", "b")...)))
	s.dropPortsLeft(0)
}

// dropPortsLeft deletes the ports of load balancers that never were, of which there
// are to be no more than n.
func (s *stage) dropPortsLeft(n int) {
	s.t.Helper()
	there := map[string]bool{}
	for _, id := range s.cloud.ids("loadbalancers") {
		there["lb-"+id] = true
	}
	for _, p := range s.cloud.ports() {
		if strings.HasPrefix(p.DeviceID, "lb-") && !there[p.DeviceID] {
			n--
			s.cloud.neutron(http.MethodDelete, "ports/"+p.ID, nil, nil)
		}
	}
	if n < 0 {
		s.t.Errorf("Octavia left %d more ports behind than it has to", -n)
	}
}

// What is free is offered to all that wait, one after the other, until one of them is refused. Whoever
// has an event of its own may try in between, so which one is left is not certain.
func TestServicesThatWaitForQuotaAreServedOneAfterTheOther(t *testing.T) {
	skipOnRealOpenStack(t, "what a refusal by quota looks like is in the contract")
	s := newStage(t, settings{program: waiting()})
	s.cloud.quota(cloudsim.LoadBalancer, "load_balancer", 1)
	first := s.service("web-0", tcp(8080))
	first.waitUntilProgrammed()
	var others []*service
	for i := range 4 {
		v := s.service(fmt.Sprintf("web-%d", i+1), tcp(8080))
		v.waitForQuotaMessage("Load Balancer")
		others = append(others, v)
	}
	s.resetCalls()
	// The controller is not told that the quota is raised; the first Service for which
	// it finds out lets the next one try.
	s.cloud.quota(cloudsim.LoadBalancer, "load_balancer", 4)
	others[2].change(touched("1"))
	var served []*service
	left := others[0]
	s.eventually(func() error {
		served = nil
		for _, v := range others {
			if len(s.cloud.balancers(v.lbName())) > 0 {
				served = append(served, v)
			} else {
				left = v
			}
		}
		if len(served) != 3 {
			return fmt.Errorf("%d of those that waited have a load balancer", len(served))
		}
		return nil
	})
	left.waitForCondition(programmed, conditionFalse, "QuotaExceeded")
	if n := s.callCount(http.MethodPost, balancersRoute); n > 4+1 {
		t.Errorf("%d load balancers were asked for", n)
	}
	for _, v := range served {
		v.waitUntilProgrammed()
	}
	left.waitForQuotaMessage("Load Balancer")
}
