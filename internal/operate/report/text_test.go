// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMigrationListsTheMostImportantOutcomesFirst(t *testing.T) {
	m := Migration{Services: []ServiceMigration{
		{Namespace: "shop", Name: "web", Outcome: OutcomeAdopted, LoadBalancerID: "lb-1", Address: "203.0.113.7",
			Ops: []Op{{Kind: "UpdateLoadBalancer", Text: "tag it"}}},
		{Namespace: "shop", Name: "api", Outcome: OutcomeChanged, LoadBalancerID: "lb-2", Address: "203.0.113.8",
			Ops: []Op{{Kind: "UpdateLoadBalancer", Text: "tag it"}, {Kind: "SetMembers", Text: "set the 2 members"}}},
		{Namespace: "shop", Name: "old", Outcome: OutcomeForeign, LoadBalancerID: "lb-3", Reasons: []string{"it is that of another cluster"}},
		{Namespace: "shop", Name: "own", Outcome: OutcomeLeftAlone, Reasons: []string{`spec.loadBalancerClass is "x"`}},
	}}
	m.Others = []OtherLoadBalancer{{ID: "lb-9", Name: "kube_service_test_shop_web", Reason: "it was made for another cluster"}}
	want := `4 Services:
  1   not-owned    the load balancer belongs to something else
  1   changed      would be taken over, then changed
  1   adopted      would be taken over unchanged
  1   left-alone   is not handled by this controller

NAMESPACE   NAME   OUTCOME      LOAD BALANCER   ADDRESS
shop        web    adopted      lb-1            203.0.113.7
shop        api    changed      lb-2            203.0.113.8
shop        old    not-owned    lb-3            -
shop        own    left-alone   -               -

shop/old: not-owned
  it is that of another cluster

shop/api: changed
  1. tag it
  2. set the 2 members

shop/own: left-alone
  spec.loadBalancerClass is "x"

Load balancers of other Services:

kube_service_test_shop_web (lb-9)
  it was made for another cluster
`
	var out bytes.Buffer
	if err := m.Print(&out); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestEveryOutcomeIsExplained(t *testing.T) {
	if n := len(told); n != 10 {
		t.Errorf("%d outcomes are explained", n)
	}
}
