// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/report"
)

// prospects are one Service of each outcome that a text tells differently.
var prospects = map[string]report.ServiceMigration{
	"adopted": {Namespace: "shop", Name: "web", Outcome: report.OutcomeAdopted, LoadBalancerID: "lb-1", Address: "203.0.113.7",
		Ops: []report.Op{{Kind: "UpdateLoadBalancer", Text: "tag it"}}},
	"changed": {Namespace: "shop", Name: "api", Outcome: report.OutcomeChanged, LoadBalancerID: "lb-2", Address: "203.0.113.8",
		Ops: []report.Op{{Kind: "UpdateLoadBalancer", Text: "tag it"}, {Kind: "SetMembers", Text: "set the 2 members"}}},
	"not-owned": {Namespace: "shop", Name: "old", Outcome: report.OutcomeForeign, LoadBalancerID: "lb-3", Reasons: []string{"it is that of another cluster"}},
	"unknown":   {Namespace: "shop", Name: "lost", Outcome: report.OutcomeUnknown, Reasons: []string{"no answer"}},
	"left-alone": {Namespace: "shop", Name: "own", Outcome: report.OutcomeLeftAlone,
		Reasons: []string{`spec.loadBalancerClass is "x"`}},
}

func migrationOf(names ...string) report.Migration {
	var m report.Migration
	for _, name := range names {
		m.Services = append(m.Services, prospects[name])
	}
	return m
}

func TestAMigrationReadsFromWhatMattersMost(t *testing.T) {
	m := migrationOf("adopted", "changed", "not-owned", "left-alone")
	m.Others = []report.OtherLoadBalancer{{ID: "lb-9", Name: "kube_service_test_shop_web", Reason: "it was made for another cluster"}}
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
	if err := printMigration(&out, m); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestTheExitStatusOfAMigrationSaysWhetherSomebodyHasToLook(t *testing.T) {
	for _, c := range []struct {
		names       []string
		differences bool
		failure     string
	}{
		{nil, false, ""},
		{[]string{"adopted", "left-alone"}, false, ""},
		{[]string{"adopted", "changed"}, true, ""},
		{[]string{"not-owned"}, true, ""},
		{[]string{"not-owned", "unknown"}, false, "shop/lost: no answer"},
	} {
		err := verdict(migrationOf(c.names...))
		switch {
		case c.failure != "" && (err == nil || !strings.Contains(err.Error(), c.failure)), errors.Is(err, errDifferences) != c.differences,
			c.failure == "" && !c.differences && err != nil:
			t.Errorf("%v: %v", c.names, err)
		}
	}
}

func TestEveryOutcomeIsExplained(t *testing.T) {
	if n := len(told); n != 10 {
		t.Errorf("%d outcomes are explained", n)
	}
}
