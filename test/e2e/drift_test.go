// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// What users write about drift, and what is written about it.
const (
	driftKey      = "kube-octavia.io/drift-policy"
	programmedKey = "kube-octavia.io/programmed"
)

// sweeping lets the controller look at all load balancers every second.
var sweeping = []string{"--sweep-interval=1s"}

// waitForNextSecond waits until a change of the load balancer shows in its updated_at, which
// has whole seconds, as Octavia's has.
func (s *stage) waitForNextSecond(t tree) {
	s.t.Helper()
	updated, err := time.Parse("2006-01-02T15:04:05", t.UpdatedAt)
	if err != nil {
		s.t.Fatal(err)
	}
	s.eventually(func() error {
		if now := time.Now().UTC(); now.Before(updated.Add(time.Second)) {
			return fmt.Errorf("%v is still the second of the last change", now)
		}
		return nil
	})
}

// metricFor returns the value of one of the controller's own metrics for a kind of object.
func (s *stage) metricFor(name, kind string) int {
	s.t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if f.GetName() == name && l.GetName() == "kind" && l.GetValue() == kind {
					sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
				}
			}
		}
	}
	return int(sum)
}

const (
	driftDetected = "kube_octavia_drift_detected_total"
	driftRepaired = "kube_octavia_drift_repaired_total"
	driftReported = "kube_octavia_drift_reported_total"
)

// eventTexts returns the texts of the events about the Service that have the reason.
func (v *service) eventTexts(reason string) []string {
	v.t.Helper()
	list, err := v.client.EventsV1().Events(v.namespace).List(v.t.Context(), metav1.ListOptions{})
	if err != nil {
		v.t.Fatal(err)
	}
	var texts []string
	for _, e := range list.Items {
		if e.Regarding.Kind == "Service" && e.Regarding.Name == v.name && e.Reason == reason {
			texts = append(texts, e.Note)
		}
	}
	return texts
}

// lead lets a floating IP lead to the port, or nowhere.
func (s *stage) lead(f floatingIP, port any) {
	s.t.Helper()
	s.cloud.neutron("PUT", "floatingips/"+f.ID, map[string]any{"floatingip": map[string]any{"port_id": port}}, nil)
}

func TestSweepRepairsWhatAnotherClientChanged(t *testing.T) {
	skipOnRealOpenStack(t, "what moves updated_at is in the contract")
	s := newStage(t, settings{flags: sweeping, conf: []string{"create-monitor=true"}})
	web := s.service("web", tcp(8080, 8081))
	address := web.waitUntilProgrammed()
	nodes := s.addresses("a", "b")
	right := all(ports("TCP/8080", "TCP/8081"), membersAt(nodes...), sources("0.0.0.0/0"),
		monitored(&monitor{Type: "TCP", Delay: 5, Timeout: 3, Retries: 1, Down: 3}))
	for _, c := range []struct {
		name, kind string
		damage     func(tree)
		// event is what the event says of the repair.
		event string
	}{
		{"a listener was deleted", "listener", func(have tree) {
			s.cloud.octavia("DELETE", "listeners/"+have.listener("TCP/8081").ID, nil, nil)
		}, openPort(8081)},
		{"a pool was deleted", "pool", func(have tree) {
			s.cloud.octavia("DELETE", "pools/"+have.listener("TCP/8081").PoolID, nil, nil)
		}, "create pool"},
		{"the members were changed", "member", func(have tree) {
			s.cloud.octavia("PUT", "pools/"+have.listener("TCP/8080").PoolID+"/members", map[string]any{"members": []any{
				map[string]any{"address": nodes[0], "protocol_port": 30000, "name": "by hand"},
			}}, nil)
		}, "2 added, 1 removed"},
		{"a health monitor was deleted", "healthmonitor", func(have tree) {
			s.cloud.octavia("DELETE", "healthmonitors/"+have.listener("TCP/8080").Pool.MonitorID, nil, nil)
		}, "create TCP health monitor"},
		{"the source ranges were changed", "listener", func(have tree) {
			s.cloud.octavia("PUT", "listeners/"+have.listener("TCP/8080").ID, map[string]any{"listener": map[string]any{
				"allowed_cidrs": []string{"192.0.2.0/24"},
			}}, nil)
		}, "allowed sources"},
		{"a port was added", "listener", func(have tree) {
			s.cloud.octavia("POST", "listeners", map[string]any{"listener": map[string]any{
				"loadbalancer_id": have.ID, "protocol": "TCP", "protocol_port": freePort(9999), "name": "by hand",
			}}, nil)
		}, fmt.Sprintf("close port TCP/%d", freePort(9999))},
		{"the load balancer was switched off", "loadbalancer", func(have tree) {
			s.cloud.octavia("PUT", "loadbalancers/"+have.ID, map[string]any{"loadbalancer": map[string]any{"admin_state_up": false}}, nil)
		}, "admin down"},
		{"the tags were removed", "tags", func(have tree) {
			s.cloud.octavia("PUT", "loadbalancers/"+have.ID, map[string]any{"loadbalancer": map[string]any{"tags": []string{}}}, nil)
		}, "kube-octavia.cluster="},
		{"the floating IP was detached", "floatingip", func(tree) {
			s.lead(s.cloud.floatingIP(address), nil)
		}, "attach floating IP " + address},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.waitUntilIdle()
			have := web.waitForTree(right)
			s.waitForNextSecond(have)
			repaired, found, events := s.metricFor(driftRepaired, c.kind), s.gauge(driftDetected), len(web.eventTexts("DriftRepaired"))
			c.damage(have)
			s.eventually(func() error {
				told := web.eventTexts("DriftRepaired")
				if len(told) == events {
					return fmt.Errorf("no event tells of the repair")
				}
				if !slices.ContainsFunc(told, func(text string) bool { return strings.Contains(text, c.event) }) {
					t.Errorf("no event says %q: %q", c.event, told)
				}
				return nil
			})
			if s.metricFor(driftRepaired, c.kind) == repaired || s.gauge(driftDetected) == found {
				t.Errorf("the metrics count no repair of a %s, or nothing that was found", c.kind)
			}
			web.waitForTree(right)
			if got := web.waitUntilProgrammed(); got != address {
				t.Errorf("the address changed from %s to %s", address, got)
			}
			s.waitForAnswersThrough(address, 8081, nodes...)
			web.requireOneLoadBalancer()
		})
	}
}

func TestSweepCreatesALoadBalancerAgainThatAnotherClientDeleted(t *testing.T) {
	skipOnRealOpenStack(t, "what moves updated_at is in the contract")
	s := newStage(t, settings{flags: sweeping})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	old := web.tree().ID
	repaired := s.metricFor(driftRepaired, "loadbalancer")
	s.cloud.octavia("DELETE", "loadbalancers/"+old+"?cascade=true", nil, nil)
	s.eventually(func() error {
		for _, have := range s.cloud.balancers(web.lbName()) {
			if have.ID != old && have.Status == "ACTIVE" {
				return nil
			}
		}
		return fmt.Errorf("there is no other load balancer")
	})
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
	if got := web.waitUntilProgrammed(); got != address {
		t.Errorf("the address changed from %s to %s", address, got)
	}
	if f := s.cloud.floatingIPs(); len(f) != 1 {
		t.Errorf("floating IPs: %+v", f)
	}
	s.eventually(func() error {
		if told := web.eventTexts("DriftRepaired"); len(told) != 1 || !strings.Contains(told[0], "create load balancer "+web.lbName()) {
			return fmt.Errorf("the events of the repair: %q", told)
		}
		return nil
	})
	if n := s.metricFor(driftRepaired, "loadbalancer") - repaired; n != 1 {
		t.Errorf("%d repairs of a load balancer were counted", n)
	}
}

func TestFloatingIPThatAnotherClientDeletedIsCreatedAgain(t *testing.T) {
	skipOnRealOpenStack(t, "what a list of floating IPs shows is in the contract")
	s := newStage(t, settings{flags: sweeping})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	old := s.cloud.floatingIP(address).ID
	s.cloud.neutron("DELETE", "floatingips/"+old, nil, nil)
	s.eventually(func() error {
		if err := web.checkOneLoadBalancer(); err != nil {
			return err
		}
		if told := web.eventTexts("DriftRepaired"); len(told) != 1 || !strings.Contains(told[0], "create floating IP") {
			return fmt.Errorf("the events of the repair: %q", told)
		}
		return nil
	})
	s.waitForAnswersThrough(web.waitUntilProgrammed(), 8080, s.addresses("a", "b")...)
}

func TestFloatingIPThatAnotherClientMovedIsNotTakenBackUntilItIsFree(t *testing.T) {
	skipOnRealOpenStack(t, "what a list of floating IPs shows is in the contract")
	s := newStage(t, settings{flags: sweeping})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	moved, elsewhere := s.cloud.floatingIP(address), s.cloud.makePort()
	s.lead(moved, elsewhere.ID)
	c := web.waitForCondition(accepted, conditionFalse, "FloatingIPInUse")
	if !strings.Contains(c.Message, address) || !strings.Contains(c.Message, elsewhere.ID) {
		t.Errorf("the message does not name address and port: %s", c.Message)
	}
	// A controller that was just started knows no more than it sees.
	s.stop()
	s.waitForPassAfter(s.start)
	if now := s.cloud.floatingIP(address); now.PortID != elsewhere.ID || len(s.cloud.floatingIPs()) != 1 {
		t.Fatalf("it leads to port %q now; floating IPs: %+v", now.PortID, s.cloud.floatingIPs())
	}
	s.lead(moved, nil)
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	if got := web.waitUntilProgrammed(); got != address {
		t.Errorf("the address changed from %s to %s", address, got)
	}
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)

	// With another description it no longer belongs to the Service.
	s.lead(moved, elsewhere.ID)
	web.waitForCondition(accepted, conditionFalse, "FloatingIPInUse")
	s.cloud.neutron("PUT", "floatingips/"+moved.ID, map[string]any{"floatingip": map[string]any{"description": "the shop's"}}, nil)
	s.given = []string{address}
	s.waitForAnswersThrough(web.waitForOtherAddress(address), 8080, s.addresses("a", "b")...)
	if now := s.cloud.floatingIP(address); now.PortID != elsewhere.ID {
		t.Errorf("it leads to port %q now", now.PortID)
	}
	s.cloud.neutron("DELETE", "floatingips/"+moved.ID, nil, nil)
}

func TestFloatingIPThatWasLostIsFoundAndDeleted(t *testing.T) {
	skipOnRealOpenStack(t, "what a list of floating IPs shows is in the contract")
	s := newStage(t, settings{flags: sweeping})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	s.cloud.neutron("POST", "floatingips", map[string]any{"floatingip": map[string]any{
		"floating_network_id": s.cloud.IDs().PublicNetwork, "description": s.cloud.floatingIP(address).Description,
	}}, nil)
	s.eventually(web.checkOneLoadBalancer)
	if f := s.cloud.floatingIP(address); f.PortID == "" {
		t.Errorf("the one that serves was taken: %+v", f)
	}
}

// TestAnIdleSweepMakesTwoCalls counts them with one Service and with three, once what
// was written to each has been read again.
func TestAnIdleSweepMakesTwoCalls(t *testing.T) {
	skipOnRealOpenStack(t, "the calls are those of the controller")
	s := newStage(t, settings{flags: sweeping})
	for i := range 3 {
		s.resetCalls()
		s.service(fmt.Sprint("web-", i), tcp(8080)).waitUntilProgrammed()
		s.eventually(func() error {
			if s.callCount(http.MethodGet, "/v2.0/lbaas/listeners") == 0 {
				return errors.New("what was written has not been read again")
			}
			return nil
		})
		s.waitUntilIdle()
		s.resetCalls()
		lists := map[string]int{}
		s.eventually(func() error {
			clear(lists)
			for _, c := range s.cloud.Recorder().Calls() {
				lists[c.Method+" "+c.Route]++
			}
			if n := lists["GET /v2.0/lbaas/loadbalancers"]; n < 3 {
				return fmt.Errorf("%d sweeps", n)
			}
			return nil
		})
		// Counting begins and ends in the middle of a sweep, perhaps.
		sweeps, addresses := lists["GET /v2.0/lbaas/loadbalancers"], lists["GET /v2.0/floatingips"]
		if addresses > sweeps+1 || addresses < sweeps-1 || len(lists) != 2 {
			t.Errorf("%d sweeps made the calls %v", sweeps, lists)
		}
	}
}

func TestDriftIsOnlyReportedIfTheServiceRequestsIt(t *testing.T) {
	skipOnRealOpenStack(t, "what moves updated_at is in the contract")
	s := newStage(t, settings{flags: sweeping})
	web := s.service("web", tcp(8080, 8081), annotated(driftKey, "report"))
	address := web.waitUntilProgrammed()
	s.waitUntilIdle()
	have := web.tree()
	s.waitForNextSecond(have)
	s.resetCalls()
	listeners := s.metricFor(driftReported, "listener")
	s.cloud.octavia("DELETE", "listeners/"+have.listener("TCP/8081").ID, nil, nil)
	c := web.waitForCondition(programmed, conditionFalse, "Drifted")
	if !strings.Contains(c.Message, openPort(8081)) {
		t.Errorf("the condition does not say what differs: %s", c.Message)
	}
	if n := s.metricFor(driftReported, "listener") - listeners; n != 1 {
		t.Errorf("%d listeners were counted", n)
	}
	// Further changes are reported, too.
	s.lead(s.cloud.floatingIP(address), nil)
	s.eventually(func() error {
		if told := web.eventTexts("Drifted"); !slices.ContainsFunc(told, func(text string) bool { return strings.Contains(text, openPort(8081)) }) {
			return fmt.Errorf("events: %q", told)
		}
		if text := web.waitForCondition(programmed, conditionFalse, "Drifted").Message; !strings.Contains(text, "attach floating IP "+address) {
			return fmt.Errorf("condition: %s", text)
		}
		return nil
	})
	// Neither a change that means nothing nor another controller repairs it.
	s.waitForPassAfter(func() { web.change(touched("1")) })
	s.stop()
	s.waitForPassAfter(s.start)
	web.waitForCondition(programmed, conditionFalse, "Drifted")
	if w := s.writes(); len(w) > 0 {
		t.Errorf("the cloud was written to: %v", w)
	}

	// A change of the Service is carried out, and the rest with it.
	web.change(tcp(8082))
	web.waitForTree(ports("TCP/8080", "TCP/8081", "TCP/8082"))
	if got := web.waitUntilProgrammed(); got != address {
		t.Errorf("the address changed from %s to %s", address, got)
	}
	s.waitForAnswersThrough(address, 8082, s.addresses("a", "b")...)
	if told := web.eventTexts("DriftRepaired"); len(told) > 0 {
		t.Errorf("repairs are told: %q", told)
	}

	// So does the end of the policy.
	s.waitUntilIdle()
	have = web.tree()
	s.waitForNextSecond(have)
	s.cloud.octavia("DELETE", "listeners/"+have.listener("TCP/8081").ID, nil, nil)
	web.waitForCondition(programmed, conditionFalse, "Drifted")
	web.change(annotated(driftKey, "repair"))
	web.waitForTree(ports("TCP/8080", "TCP/8081", "TCP/8082"))
	web.waitUntilProgrammed()
	s.eventually(func() error {
		if told := web.eventTexts("DriftRepaired"); len(told) != 1 || !strings.Contains(web.now().Annotations[programmedKey], web.tree().UpdatedAt) {
			return fmt.Errorf("events %q, annotations %v", told, web.now().Annotations)
		}
		return nil
	})
}

func TestLoadBalancerThatAnotherClientDeletedStaysGoneWhereDriftIsOnlyReported(t *testing.T) {
	skipOnRealOpenStack(t, "what moves updated_at is in the contract")
	s := newStage(t, settings{flags: sweeping})
	web := s.service("web", tcp(8080), annotated(driftKey, "report"))
	address := web.waitUntilProgrammed()
	s.waitUntilIdle()
	s.resetCalls()
	s.cloud.octavia("DELETE", "loadbalancers/"+web.tree().ID+"?cascade=true", nil, nil)
	c := web.waitForCondition(programmed, conditionFalse, "Drifted")
	if !strings.Contains(c.Message, "create load balancer") {
		t.Errorf("the condition does not say what differs: %s", c.Message)
	}
	s.stop()
	s.waitForPassAfter(s.start)
	if w := s.writes(); len(w) > 0 {
		t.Errorf("the cloud was written to: %v", w)
	}
	web.change(tcp(8081))
	web.waitForTree(ports("TCP/8080", "TCP/8081"))
	if got := web.waitUntilProgrammed(); got != address {
		t.Errorf("the address changed from %s to %s", address, got)
	}
	s.waitForAnswersThrough(address, 8081, s.addresses("a", "b")...)
	web.requireOneLoadBalancer()
}

func TestNodesAreFollowedWhereDriftIsOnlyReported(t *testing.T) {
	skipOnRealOpenStack(t, "what moves updated_at is in the contract")
	s := newStage(t, settings{flags: sweeping})
	web := s.service("web", tcp(8080), annotated(driftKey, "report"))
	web.waitUntilProgrammed()
	s.waitUntilIdle()
	have := web.tree()
	s.waitForNextSecond(have)
	s.cloud.octavia("PUT", "listeners/"+have.listener("TCP/8080").ID, map[string]any{"listener": map[string]any{"connection_limit": 7}}, nil)
	web.waitForCondition(programmed, conditionFalse, "Drifted")
	s.addNode("c")
	web.waitForTree(membersAt(s.addresses("a", "b", "c")...))
	web.waitUntilProgrammed()
}

func TestDriftIsIgnoredIfTheServiceRequestsIt(t *testing.T) {
	skipOnRealOpenStack(t, "what moves updated_at is in the contract")
	s := newStage(t, settings{flags: sweeping})
	web := s.service("web", tcp(8080, 8081), annotated(driftKey, "ignore"))
	web.waitUntilProgrammed()
	s.waitUntilIdle()
	have := web.tree()
	s.waitForNextSecond(have)
	s.resetCalls()
	found, told := s.gauge(driftDetected), len(web.events())
	s.waitForPassAfter(func() { s.cloud.octavia("DELETE", "listeners/"+have.listener("TCP/8081").ID, nil, nil) })
	s.eventually(func() error {
		if s.gauge(driftDetected) == found {
			return fmt.Errorf("no sweep has seen it")
		}
		return nil
	})
	s.waitForPassAfter(func() { web.change(touched("1")) })
	web.waitUntilProgrammed()
	if w := s.writes(); len(w) > 0 {
		t.Errorf("the cloud was written to: %v", w)
	}
	if n := len(web.events()); n != told {
		t.Errorf("events: %v", web.events())
	}
	web.change(tcp(8082))
	web.waitForTree(ports("TCP/8080", "TCP/8081", "TCP/8082"))
	web.waitUntilProgrammed()
}

func TestLoadBalancerWhoseCreateFailsIsReplaced(t *testing.T) {
	skipOnRealOpenStack(t, "the part of the cloud is but a status")
	s := newStage(t, settings{})
	web := &service{stage: s, name: "web"}
	s.cloud.miscarry(web.lbName())
	if err := web.create(tcp(8080)); err != nil {
		t.Fatal(err)
	}
	address := web.waitUntilProgrammed()
	have := web.tree()
	balancers := "/v2.0/lbaas/loadbalancers"
	made, deleted := 0, ""
	for _, w := range s.writes() {
		if w == "POST "+balancers {
			made++
		} else if id, ok := strings.CutPrefix(w, "DELETE "+balancers+"/"); ok {
			deleted += id
		}
	}
	if made != 2 || deleted == "" || deleted == have.ID || have.Status != "ACTIVE" {
		t.Errorf("there is %s, %s, after these writes:\n%s", have.ID, have.Status, strings.Join(s.writes(), "\n"))
	}
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
}

func TestLoadBalancerOfAnotherClusterIsNeverWrittenTo(t *testing.T) {
	skipOnRealOpenStack(t, "what a list by name shows is in the contract")
	s := newStage(t, settings{flags: sweeping})
	web := &service{stage: s, name: "web"}
	var made struct{ LoadBalancer tree }
	s.cloud.octavia("POST", "loadbalancers", map[string]any{"loadbalancer": map[string]any{
		"name": web.lbName(), "vip_subnet_id": s.cloud.IDs().PrivateSubnet,
		"description": "Kubernetes external service " + s.namespace + "/web from cluster kubernetes",
		"tags":        []string{web.lbName(), "kube-octavia.cluster=other", "kube-octavia.service=other"},
	}}, &made)
	foreign := func() tree {
		for _, have := range s.cloud.trees(web.lbName()) {
			if have.ID == made.LoadBalancer.ID {
				return have
			}
		}
		t.Fatal("the other cluster's load balancer is gone")
		return tree{}
	}
	s.eventually(func() error {
		if have := foreign(); have.Status != "ACTIVE" {
			return fmt.Errorf("it is %s", have.Status)
		}
		return nil
	})
	was := foreign()

	if err := web.create(tcp(8080)); err != nil {
		t.Fatal(err)
	}
	s.waitForAnswersThrough(web.waitUntilProgrammed(), 8080, s.addresses("a", "b")...)
	if n := len(s.cloud.balancers(web.lbName())); n != 2 {
		t.Errorf("there are %d load balancers of the name", n)
	}
	// A Service may also name it, by mistake or on purpose.
	web.change(annotated(idKey, was.ID))
	s.waitForPassAfter(func() { web.change(touched("1")) })
	web.delete()
	web.waitUntilGone()
	if d := cmp.Diff(was, foreign()); d != "" {
		t.Errorf("the other cluster's load balancer changed (-was +is): %s", d)
	}
	for _, c := range s.writes() {
		if strings.Contains(c, was.ID) {
			t.Errorf("it was written to: %s", c)
		}
	}
	s.cloud.octavia("DELETE", "loadbalancers/"+was.ID+"?cascade=true", nil, nil)
}

func TestChangeOfAnotherClientJustBeforeTheFinalReadIsRepaired(t *testing.T) {
	skipOnRealOpenStack(t, "what moves updated_at is in the contract")
	s := newStage(t, settings{flags: sweeping})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.waitUntilIdle()
	id := web.tree().listener("TCP/8080").PoolID
	release := s.cloud.hold()
	web.change(tcp(8081))
	s.eventually(func() error { return s.is("PENDING_UPDATE", web) })
	unseen := s.cloud.Faults().Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodGet, Route: balancersRoute + "/{id}", Kind: wire.FaultStatus, Status: 503})
	release()
	path := "/v2.0/lbaas/pools/" + id
	s.eventually(func() error {
		change := map[string]any{"pool": map[string]any{"lb_algorithm": "LEAST_CONNECTIONS"}}
		return s.cloud.call(asUser, cloudsim.LoadBalancer, http.MethodPut, path, change, nil)
	})
	s.eventually(func() error {
		var now struct {
			Pool struct {
				Algorithm string `json:"lb_algorithm"`
				Status    string `json:"provisioning_status"`
			}
		}
		s.cloud.octavia(http.MethodGet, "pools/"+id, nil, &now)
		if now.Pool.Algorithm != "LEAST_CONNECTIONS" || now.Pool.Status != "ACTIVE" {
			return fmt.Errorf("the change by hand has not ended: %+v", now)
		}
		return nil
	})
	s.cloud.Faults().Remove(unseen)
	web.waitForTree(all(ports("TCP/8080", "TCP/8081"), eachPool(func(p pool) error {
		if p.Algorithm != "ROUND_ROBIN" {
			return fmt.Errorf("pool %s has %s", p.Name, p.Algorithm)
		}
		return nil
	})))
	web.waitUntilProgrammed()
}

func TestSecondLoadBalancerOfAServiceIsFoundByItsTagsWhateverItsName(t *testing.T) {
	skipOnRealOpenStack(t, "which load balancer is whose is decided without Octavia")
	s := newStage(t, settings{flags: sweeping})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	have := web.tree()
	s.cloud.octavia(http.MethodPost, "loadbalancers", map[string]any{"loadbalancer": map[string]any{
		"name": "renamed", "vip_subnet_id": have.Subnet, "tags": have.Tags, "description": have.Description,
	}}, nil)
	s.eventually(func() error {
		if left := s.cloud.balancers("renamed"); len(left) > 0 {
			return fmt.Errorf("load balancer %s is %s", left[0].ID, left[0].Status)
		}
		return nil
	})
	if got, now := web.waitUntilProgrammed(), web.tree(); got != address || now.ID != have.ID {
		t.Errorf("load balancer %s at %s became %s at %s", have.ID, address, now.ID, got)
	}
}
