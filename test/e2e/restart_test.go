// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// settled creates the Services and waits until a restart finds nothing to do for them.
func (s *stage) settled(edits ...[]edit) []*service {
	s.t.Helper()
	var all []*service
	for i, e := range edits {
		all = append(all, s.service(fmt.Sprintf("web-%d", i), e...))
	}
	for _, web := range all {
		web.waitUntilProgrammed()
		web.waitUntilNoted()
	}
	return all
}

// sweepWithNewOVN starts the controller again, with sweeps, where only these notice the last change that Octavia makes.
func (s *stage) sweepWithNewOVN() {
	s.t.Helper()
	if s.hasNewOVN() {
		s.stop()
		s.settings.flags = append(s.settings.flags, sweeping...)
		s.start()
	}
}

// waitUntilNoted waits until the Service says that its load balancer was confirmed as it is.
func (v *service) waitUntilNoted() {
	v.t.Helper()
	v.eventually(func() error {
		if note, have := v.now().Annotations[programmedKey], v.tree(); have.Status != "ACTIVE" || !strings.Contains(note, have.UpdatedAt) {
			return fmt.Errorf("the note of %s is %q, and the load balancer is %s since %s", v.name, note, have.Status, have.UpdatedAt)
		}
		return nil
	})
}

// callsToTheCloud are all calls since resetCalls but those for tokens and API versions.
func (s *stage) callsToTheCloud() []string {
	var found []string
	for _, c := range s.cloud.Recorder().Calls() {
		if c.Service != cloudsim.Identity && strings.HasPrefix(c.Path, "/v2.0/") {
			found = append(found, c.Method+" "+c.Path+"?"+c.Query)
		}
	}
	return found
}

// requireCallsToTheCloud fails the test if there were more calls than this, except to Keystone.
func (s *stage) requireCallsToTheCloud(what string, most int) {
	s.t.Helper()
	if calls := s.callsToTheCloud(); len(calls) > most {
		s.t.Errorf("%s took %d calls, more than %d:\n%s", what, len(calls), most, strings.Join(calls, "\n"))
	}
}

func TestRestartReadsAFewListsAndOnlyWhatHasChanged(t *testing.T) {
	skipOnRealOpenStack(t, "the simulator counts the calls")
	s := newStage(t, settings{})
	services := s.settled([]edit{tcp(8080, 8081)}, []edit{tcp(8082)}, []edit{tcp(8083), annotated(internalKey, "true")}, []edit{udp(5300)})

	s.stop()
	s.resetCalls()
	s.waitForPassAfter(s.start)
	s.requireCallsToTheCloud("a restart without a change", 7)

	// Of each load balancer, the members are read before they are written, and compared after.
	s.stop()
	s.addNode("c")
	s.resetCalls()
	s.start()
	nodes := s.addresses("a", "b", "c")
	for _, web := range services {
		web.waitForTree(membersAt(nodes...))
		web.waitUntilNoted()
	}
	pools := 5
	s.requireCallsAtMost("a restart after a node joined", 7+2*len(services)+pools)

	// A change that leaves the members as they are takes no call of its own to find out.
	s.stop()
	services[1].change(annotated(annotation.ConnectionLimit, "7"))
	s.resetCalls()
	s.start()
	services[1].waitForTree(func(have tree) error {
		if l := have.listener("TCP/8082"); l.Limit != 7 {
			return fmt.Errorf("the listener is %+v", l)
		}
		return nil
	})
	services[1].waitUntilNoted()
	s.requireCallsAtMost("a restart after another limit of connections", 7+2)
}

func TestRestartReadsNoServiceOfBothFamiliesThatIsUnchanged(t *testing.T) {
	skipOnRealOpenStack(t, "the simulator counts the calls")
	s := newStage(t, settings{})
	s.gainIPv6("a")
	for _, web := range []*service{
		s.service("required", tcp(8080, 8081), stack(requiresBoth)), s.service("preferred", udp(5300), stack(prefersBoth)),
	} {
		web.waitForCondition(programmed, conditionTrue, "Programmed")
		web.waitUntilNoted()
	}
	s.stop()
	s.resetCalls()
	s.waitForPassAfter(s.start)
	s.requireCallsToTheCloud("a restart without a change", 7)
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("the cloud was written to: %v", writes)
	}
}

func TestRestartFindsWhatAnotherClientChangedMeanwhile(t *testing.T) {
	skipOnRealOpenStack(t, "what moves updated_at is in the contract")
	s := newStage(t, settings{})
	web := s.settled([]edit{tcp(8080, 8081)})[0]
	address := web.waitUntilProgrammed()
	nodes := s.addresses("a", "b")
	right := all(ports("TCP/8080", "TCP/8081"), membersAt(nodes...), sources("0.0.0.0/0"))
	for _, c := range []struct {
		name   string
		damage func(tree)
	}{
		{"a listener was deleted", func(have tree) {
			s.cloud.octavia("DELETE", "listeners/"+have.listener("TCP/8081").ID, nil, nil)
		}},
		{"source ranges were changed", func(have tree) {
			s.cloud.octavia("PUT", "listeners/"+have.listener("TCP/8080").ID, map[string]any{"listener": map[string]any{
				"allowed_cidrs": []string{"192.0.2.0/24"},
			}}, nil)
		}},
		{"members were changed", func(have tree) {
			s.cloud.octavia("PUT", "pools/"+have.listener("TCP/8080").PoolID+"/members", map[string]any{"members": []any{
				map[string]any{"address": nodes[0], "protocol_port": 30000, "name": "by hand"},
				map[string]any{"address": nodes[1], "protocol_port": 30000, "name": "by hand"},
			}}, nil)
		}},
		{"the floating IP was detached", func(tree) { s.lead(s.cloud.floatingIP(address), nil) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			have := web.waitForTree(right)
			web.waitUntilNoted()
			s.waitForNextSecond(have)
			s.stop()
			c.damage(have)
			s.start()
			web.waitForTree(right)
			s.eventually(func() error {
				if f := s.cloud.floatingIP(address); f.PortID != have.VIPPort {
					return fmt.Errorf("the floating IP is on port %q", f.PortID)
				}
				return nil
			})
			web.requireOneLoadBalancer()
		})
	}
}

func TestServiceWithoutANoteIsReadOnceAndGetsOne(t *testing.T) {
	skipOnRealOpenStack(t, "the simulator counts the calls")
	s := newStage(t, settings{})
	web := s.settled([]edit{tcp(8080, 8081)})[0]
	for name, e := range map[string]edit{
		"no note": notAnnotated(programmedKey), "a note of an earlier version": annotated(programmedKey, "0123456789abcdef"),
	} {
		s.stop()
		web.change(e)
		s.resetCalls()
		s.waitForPassAfter(s.start)
		web.waitUntilNoted()
		s.requireCallsToTheCloud(name+": a restart", 6+2)
		if writes := s.writes(); len(writes) > 0 {
			t.Errorf("%s: the cloud was written to: %v", name, writes)
		}
	}
}

func TestRestartedControllerReadsInFullWhatThePreviousOneHadNotRead(t *testing.T) {
	skipOnRealOpenStack(t, "the simulator is quick enough")
	s := newStage(t, settings{})
	web := s.settled([]edit{tcp(8080)})[0]
	if note := web.now().Annotations[programmedKey]; !strings.HasSuffix(note, " unread") {
		t.Fatalf("the note of a load balancer that was only written is %q", note)
	}
	s.stop()
	s.settings.flags = sweeping
	s.start()
	s.eventually(func() error {
		if note := web.now().Annotations[programmedKey]; strings.HasSuffix(note, " unread") {
			return fmt.Errorf("the note is still %q", note)
		}
		return nil
	})
	web.waitUntilNoted()
}

func TestChangedServiceDoesNotWaitForListsThatHang(t *testing.T) {
	skipOnRealOpenStack(t, "the simulator holds calls")
	s := newStage(t, settings{})
	services := s.settled([]edit{tcp(8080)}, []edit{tcp(8081)}, []edit{tcp(8082)})
	s.stop()
	services[2].change(tcp(8083))
	s.resetCalls()
	s.cloud.Faults().Add(wire.Fault{
		Kind: wire.FaultHang, Times: 1, Service: cloudsim.LoadBalancer, Method: http.MethodGet, Route: "/v2.0/lbaas/loadbalancers",
	})
	s.start()
	services[2].waitForTree(ports("TCP/8082", "TCP/8083"))
	if n := s.cloud.Faults().Held(); n != 1 {
		t.Errorf("%d calls hang: the lists should", n)
	}
	for _, call := range s.callsToTheCloud() {
		for _, other := range services[:2] {
			if strings.Contains(call, other.lbName()) {
				t.Errorf("an unchanged Service was read on its own: %s", call)
			}
		}
	}
	s.cloud.Faults().Clear()
	s.waitUntilIdle()
}
