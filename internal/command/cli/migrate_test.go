// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/operate/report"
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

func TestTheExitStatusOfAMigrationSaysWhetherAnOperatorHasToLook(t *testing.T) {
	for _, c := range []struct {
		name string

		names       []string
		differences bool
		failure     string
	}{
		{"no Services", nil, false, ""},
		{"nothing changes", []string{"adopted", "left-alone"}, false, ""},
		{"a change", []string{"adopted", "changed"}, true, ""},
		{"a load balancer that is not owned", []string{"not-owned"}, true, ""},
		{"a Service without an answer", []string{"not-owned", "unknown"}, false, "shop/lost: no answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := verdict(migrationOf(c.names...))
			switch {
			case c.failure != "" && (err == nil || !strings.Contains(err.Error(), c.failure)), errors.Is(err, errDifferences) != c.differences,
				c.failure == "" && !c.differences && err != nil:
				t.Errorf("%v: %v", c.names, err)
			}
		})
	}
}
