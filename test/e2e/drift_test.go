// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sweeping lets the controller look at all load balancers every second.
var sweeping = []string{"--sweep-interval=1s"}

// ages waits until a change of the load balancer shows in its updated_at, which
// has whole seconds, as Octavia's has.
func (s *stage) ages(t tree) {
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

func TestSweepRepairsWhatSomebodyChangedByHand(t *testing.T) {
	spares(t, "what moves updated_at is in the contract")
	s := newStage(t, settings{flags: sweeping, conf: []string{"create-monitor=true"}})
	web := s.service("web", tcp(8080, 8081))
	address := web.programmed()
	nodes := s.addresses("a", "b")
	right := all(ports("TCP/8080", "TCP/8081"), membersAt(nodes...), sources("0.0.0.0/0"),
		monitored(&monitor{Type: "TCP", Delay: 5, Timeout: 3, Retries: 1, Down: 3}))
	for _, c := range []struct {
		name   string
		damage func(tree)
	}{
		{"a listener was deleted", func(have tree) {
			s.cloud.octavia("DELETE", "listeners/"+have.listener("TCP/8081").ID, nil, nil)
		}},
		{"the members were changed", func(have tree) {
			s.cloud.octavia("PUT", "pools/"+have.listener("TCP/8080").PoolID+"/members", map[string]any{"members": []any{
				map[string]any{"address": nodes[0], "protocol_port": 30000, "name": "by hand"},
			}}, nil)
		}},
		{"a health monitor was deleted", func(have tree) {
			s.cloud.octavia("DELETE", "healthmonitors/"+have.listener("TCP/8080").Pool.MonitorID, nil, nil)
		}},
		{"the source ranges were changed", func(have tree) {
			s.cloud.octavia("PUT", "listeners/"+have.listener("TCP/8080").ID, map[string]any{"listener": map[string]any{
				"allowed_cidrs": []string{"192.0.2.0/24"},
			}}, nil)
		}},
		{"a port was added", func(have tree) {
			s.cloud.octavia("POST", "listeners", map[string]any{"listener": map[string]any{
				"loadbalancer_id": have.ID, "protocol": "TCP", "protocol_port": 9999, "name": "by hand",
			}}, nil)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.rests()
			have := web.becomes(right)
			s.ages(have)
			c.damage(have)
			s.eventually(func() error {
				if trees := s.cloud.balancers(web.lbName()); len(trees) == 1 && trees[0].UpdatedAt == have.UpdatedAt {
					return fmt.Errorf("the load balancer is as it was")
				}
				return nil
			})
			web.becomes(right)
			web.programmed()
			s.answeredBy(address, 8081, nodes...)
		})
	}
}

func TestSweepMakesALoadBalancerAgainThatSomebodyDeleted(t *testing.T) {
	spares(t, "what moves updated_at is in the contract")
	s := newStage(t, settings{flags: sweeping})
	web := s.service("web", tcp(8080))
	address := web.programmed()
	old := web.tree().ID
	s.cloud.octavia("DELETE", "loadbalancers/"+old+"?cascade=true", nil, nil)
	s.eventually(func() error {
		for _, have := range s.cloud.balancers(web.lbName()) {
			if have.ID != old && have.Status == "ACTIVE" {
				return nil
			}
		}
		return fmt.Errorf("there is no other load balancer")
	})
	s.answeredBy(address, 8080, s.addresses("a", "b")...)
	if got := web.programmed(); got != address {
		t.Errorf("the address changed from %s to %s", address, got)
	}
	if f := s.cloud.floatingIPs(); len(f) != 1 {
		t.Errorf("floating IPs: %+v", f)
	}
}

func TestLoadBalancerThatFailsAtBirthIsReplaced(t *testing.T) {
	spares(t, "the part of the cloud is but a status")
	s := newStage(t, settings{})
	web := &service{stage: s, name: "web"}
	s.cloud.miscarry(web.lbName())
	if err := web.create(tcp(8080)); err != nil {
		t.Fatal(err)
	}
	address := web.programmed()
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
	s.answeredBy(address, 8080, s.addresses("a", "b")...)
}

func TestLoadBalancerThatFailsLaterKeepsItsAddressAndIsTold(t *testing.T) {
	s := newStage(t, settings{flags: sweeping})
	web := s.service("web", tcp(8080))
	address := web.programmed()
	id := web.tree().ID
	s.cloud.fail(id)
	c := web.has(programmed, conditionFalse, "LoadBalancerFailed")
	if !strings.Contains(c.Message, id) {
		t.Errorf("the message does not name load balancer %s: %s", id, c.Message)
	}
	if got := web.address(); got != address {
		t.Errorf("the address changed from %s to %s", address, got)
	}
	// The cloud's operator repairs it.
	s.cloud.repair(id)
	if got := web.programmed(); got != address {
		t.Errorf("the address changed from %s to %s", address, got)
	}
	if have := web.tree(); have.ID != id {
		t.Errorf("load balancer %s became %s", id, have.ID)
	}
}

func TestLoadBalancerOfAnotherClusterIsNeverWrittenTo(t *testing.T) {
	spares(t, "what a list by name shows is in the contract")
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
	s.answeredBy(web.programmed(), 8080, s.addresses("a", "b")...)
	if n := len(s.cloud.balancers(web.lbName())); n != 2 {
		t.Errorf("there are %d load balancers of the name", n)
	}
	// A Service may also name it, by mistake or on purpose.
	web.change(annotated(idKey, was.ID))
	s.settles(func() { web.change(touched("1")) })
	web.delete()
	web.gone()
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
