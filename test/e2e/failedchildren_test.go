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
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// The changes of children at which Octavia's worker can fail.
var (
	listenerChange = wire.Operation{Method: http.MethodPut, Route: "/v2.0/lbaas/listeners/{id}"}
	poolChange     = wire.Operation{Method: http.MethodPut, Route: "/v2.0/lbaas/pools/{id}"}
	memberChange   = wire.Operation{Method: http.MethodPut, Route: "/v2.0/lbaas/pools/{id}/members"}
	monitorChange  = wire.Operation{Method: http.MethodPut, Route: "/v2.0/lbaas/healthmonitors/{id}"}
	listenerEnd    = wire.Operation{Method: http.MethodDelete, Route: "/v2.0/lbaas/listeners/{id}"}
	poolCreate     = wire.Operation{Method: http.MethodPost, Route: "/v2.0/lbaas/pools"}
)

// repeating returns a program that soon repeats changes that Octavia did not carry out.
func repeating() cli.Options {
	delays := usualDelays()
	delays.Repeat = timing.Backoff{First: 500 * time.Millisecond, Last: time.Second}
	return cli.Options{Timing: delays}
}

// failWorker lets Octavia's worker fail at the next changes of the kind, or at all if times is 0.
func (s *stage) failWorker(at wire.Operation, times int) {
	s.cloud.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: at.Method, Route: at.Route, Kind: wire.FaultErrorChildren, Times: times})
}

// TestSourceRangesThatOctaviaDidNotEnforceAreWrittenAgain has an Octavia whose worker cannot change the rules of the
// VIP's security group: the API shows the new ranges, and clients outside of them still get in.
func TestSourceRangesThatOctaviaDidNotEnforceAreWrittenAgain(t *testing.T) {
	simulatorOnly(t, "noop amphorae never fail")
	s := newStage(t, settings{program: repeating()})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	s.answers(address, 8080)
	s.failWorker(listenerChange, 0)
	web.change(openTo("192.0.2.0/24"))
	c := web.waitForCondition(programmed, conditionFalse, "ChildrenNotActive")
	for _, want := range []string{web.tree().Listeners[0].ID, "is in ERROR", "may still admit clients outside of 192.0.2.0/24"} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("the message lacks %q: %s", want, c.Message)
		}
	}
	if sources := web.tree().Listeners[0].Sources; !slices.Equal(sources, []string{"192.0.2.0/24"}) {
		t.Fatalf("the API shows source ranges %v", sources)
	}
	s.answers(address, 8080)

	// A restart does not make the ranges look enforced.
	s.stop()
	s.start()
	s.resetCalls()
	s.eventually(func() error {
		if n := s.callCount(listenerChange.Method, listenerChange.Route); n < 2 {
			return fmt.Errorf("the listener was written %d times since the restart", n)
		}
		return nil
	})
	web.waitForCondition(programmed, conditionFalse, "ChildrenNotActive")
	if n := len(web.eventTexts("ChildrenNotActive")) + len(web.eventTexts("Updating")); n > 2 {
		t.Errorf("%d events for one failure: %v", n, web.events())
	}

	s.cloud.Faults().Clear()
	web.waitUntilProgrammed()
	s.waitUntilSilent(address, 8080)
	s.resetCalls()
	web.change(touched("now"))
	s.waitForPassAfter(func() { web.change(touched("again")) })
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("wrote %v although everything is ACTIVE", writes)
	}
}

// TestChangesThatOctaviaFailedToCarryOutAreRepeated fails each kind of change of a child twice.
func TestChangesThatOctaviaFailedToCarryOutAreRepeated(t *testing.T) {
	simulatorOnly(t, "noop amphorae never fail")
	const monitorKey = "loadbalancer.openstack.org/enable-health-monitor"
	for name, test := range map[string]struct {
		at     wire.Operation
		change edit
		// repeat is what is written after the failure, if it is not the same.
		repeat wire.Operation
		check  func(tree) error
	}{
		"a pool":         {at: poolChange, change: sticky(600)},
		"members":        {at: memberChange, change: annotated("kube-octavia.io/max-members", "1")},
		"a monitor":      {at: monitorChange, change: annotated("loadbalancer.openstack.org/health-monitor-delay", "7")},
		"a listener":     {at: listenerChange, change: annotated("loadbalancer.openstack.org/connection-limit", "7")},
		"a new port":     {at: poolCreate, change: tcp(8081), repeat: poolChange, check: ports("TCP/8080", "TCP/8081")},
		"a removed port": {at: listenerEnd, change: without(8082), check: ports("TCP/8080")},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, settings{program: repeating()})
			edits := []edit{tcp(8080), annotated(monitorKey, "true")}
			if name == "a removed port" {
				edits = append(edits, tcp(8082))
			}
			web := s.service("web", edits...)
			web.waitUntilProgrammed()
			s.resetCalls()
			most := 3
			if test.repeat.Method == "" {
				test.repeat = test.at
				s.failWorker(test.at, 2)
			} else {
				most = 2
				s.failWorker(test.at, 1)
				s.failWorker(test.repeat, 1)
			}
			web.change(test.change)
			s.eventually(func() error {
				if n := s.callCount(test.repeat.Method, test.repeat.Route); n != most {
					return fmt.Errorf("%s %s was sent %d times, want %d: %v", test.repeat.Method, test.repeat.Route, n, most, s.writes())
				}
				return nil
			})
			web.waitUntilProgrammed()
			if events := web.eventTexts("ChildrenNotActive"); len(events) != 1 || !strings.Contains(events[0], "in ERROR") {
				t.Errorf("events: %v", web.events())
			}
			if n := s.callCount(test.repeat.Method, test.repeat.Route); n != most {
				t.Errorf("%s %s was sent %d times, want %d: %v", test.repeat.Method, test.repeat.Route, n, most, s.writes())
			}
			if test.check != nil {
				web.waitForTree(test.check)
			}
		})
	}
}

// TestSourceRangesOverTheQuotaForRulesAreEnforcedWhenItIsRaised has an Octavia whose project may have no more rules of
// security groups. Its worker has by then deleted the rule for all addresses, and added as many of the others as it could.
func TestSourceRangesOverTheQuotaForRulesAreEnforcedWhenItIsRaised(t *testing.T) {
	simulatorOnly(t, "noop amphorae have no security groups")
	s := newStage(t, settings{program: repeating()})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	s.answers(address, 8080)
	cloud := s.cloud.Cloud().Neutron()
	cloud.SetServiceQuota("security_group_rule", cloud.ServiceUse("security_group_rule")+1)
	web.change(openTo("192.0.2.0/24", "198.51.100.0/24", "127.0.0.0/8"))
	c := web.waitForCondition(programmed, conditionFalse, "ChildrenNotActive")
	if want := "outside of 127.0.0.0/8, 192.0.2.0/24, 198.51.100.0/24"; !strings.Contains(c.Message, want) {
		t.Errorf("the message lacks %q: %s", want, c.Message)
	}
	cloud.SetServiceQuota("security_group_rule", -1)
	web.waitUntilProgrammed()
	s.answers(address, 8080)
}
