// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/securitygroup"
)

// lonelyGroup is one that was made for a Service that is gone.
func lonelyGroup() securitygroup.Group {
	o := lb.Owner{ClusterName: "prod", Namespace: "shop", Name: "web", ServiceUID: string(uidOf("web"))}
	return securitygroup.Group{ID: "g", Name: o.SecurityGroupName(), Description: o.SecurityGroupDescription()}
}

func TestSecurityGroupIsProvenToBeTheClustersByTheNodesThatHaveIt(t *testing.T) {
	on := func(server string, groups ...string) securitygroup.Port {
		return securitygroup.Port{ID: "port-of-" + server, ServerID: server, Groups: groups}
	}
	for _, c := range []struct {
		why    string
		ports  []securitygroup.Port
		proven bool
		adopt  Adoption
		says   string
	}{
		{why: "on ports of nodes alone", ports: []securitygroup.Port{on("node-a", "default", "g"), on("node-b", "g"), on("stranger", "default")}},
		{why: "on no port", says: "it is on no port"},
		{why: "on no port any more", proven: true},
		{why: "on another server's port, too", ports: []securitygroup.Port{on("node-a", "g"), on("stranger", "g")}, says: "port-of-stranger"},
		{why: "on another server's port by now", ports: []securitygroup.Port{on("stranger", "g")}, proven: true, says: "port-of-stranger"},
		{why: "on a port of no server", ports: []securitygroup.Port{on("", "g")}, says: "port-of-"},
		{why: "where nothing is taken over", ports: []securitygroup.Port{on("node-a", "g")}, adopt: AdoptObserve, says: "--adopt=observe"},
	} {
		found := groupInventory{groups: []securitygroup.Group{lonelyGroup()}, ports: c.ports, servers: map[string]bool{"node-a": true, "node-b": true}}
		p := &Planner{Policy: claim.Policy{ClusterName: "prod"}, Adopt: c.adopt}
		p.Config.ManageSecurityGroups = true
		kinds := p.orphanKinds()
		all := kinds[len(kinds)-1].marked(inventory{groups: found}, "c")
		why := found.unproven("g", "prod", c.proven)
		if c.adopt == AdoptObserve {
			why = all[0].inUse
		} else if !c.proven && all[0].inUse != why {
			t.Errorf("%s: %q in one place and %q in the other", c.why, all[0].inUse, why)
		}
		if (why == "") != (c.says == "") || !strings.Contains(why, c.says) {
			t.Errorf("%s: %q does not say %q", c.why, why, c.says)
		}
		if len(all) != 1 || all[0].serviceUID != string(uidOf("web")) || all[0].kind != securityGroupKind {
			t.Errorf("%s: %+v", c.why, all)
		}
	}
}

func TestSecurityGroupsAreNoOrphansWhereNoneAreManaged(t *testing.T) {
	p := &Planner{Config: config.LoadBalancer{}}
	for _, kind := range p.orphanKinds() {
		if kind.name == securityGroupKind {
			t.Error("they are looked for")
		}
	}
}
