// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package orphan

import (
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

const gone = "00000000-0000-4000-9000-000000000001"

// orphanedGroup returns a group of a Service that does not exist.
func orphanedGroup() securitygroup.Group {
	o := lb.Owner{ClusterName: "prod", Namespace: "shop", Name: "web", ServiceUID: gone}
	return securitygroup.Group{ID: "g", Name: o.SecurityGroupName(), Description: o.SecurityGroupDescription()}
}

func TestPortsOfNodesProveThatASecurityGroupBelongsToTheCluster(t *testing.T) {
	on := func(server string, groups ...string) securitygroup.Port {
		return securitygroup.Port{ID: "port-of-" + server, ServerID: server, Groups: groups}
	}
	for _, c := range []struct {
		why    string
		ports  []securitygroup.Port
		proven bool
		keep   bool
		says   string
	}{
		{why: "on ports of nodes only", ports: []securitygroup.Port{on("node-a", "default", "g"), on("node-b", "g"), on("stranger", "default")}},
		{why: "on no port", says: "it is attached to no port"},
		{why: "on no port any more, after it was on ports of nodes only", proven: true},
		{why: "also on a port of another server", ports: []securitygroup.Port{on("node-a", "g"), on("stranger", "g")}, says: "port-of-stranger"},
		{why: "now on a port of another server", ports: []securitygroup.Port{on("stranger", "g")}, proven: true, says: "port-of-stranger"},
		{why: "on a port of no server", ports: []securitygroup.Port{on("", "g")}, says: "port-of-"},
		{why: "with --adopt=observe", ports: []securitygroup.Port{on("node-a", "g")}, keep: true, says: "--adopt=observe"},
	} {
		t.Run(c.why, func(t *testing.T) {
			found := SecurityGroups{groups: []securitygroup.Group{orphanedGroup()}, ports: c.ports, servers: map[string]bool{"node-a": true, "node-b": true}}
			f := &Finder{Policy: claim.Policy{ClusterName: "prod"}, Config: config.LoadBalancer{ManageSecurityGroups: true}, KeepSecurityGroups: c.keep}
			if c.proven {
				f.proven = map[string]bool{"g": true}
			}
			all := f.marked(Inventory{SecurityGroups: found})
			if len(all) != 1 || all[0].ServiceUID != gone || all[0].Kind != securityGroupKind {
				t.Fatalf("%+v", all)
			}
			if why := all[0].InUse; (why == "") != (c.says == "") || !strings.Contains(why, c.says) {
				t.Errorf("%q does not say %q", why, c.says)
			}
		})
	}
}

func TestSecurityGroupsAreNoOrphansIfTheyAreNotManaged(t *testing.T) {
	var f Finder
	if found, err := f.SecurityGroups(t.Context()); err != nil || len(found.groups) > 0 {
		t.Errorf("found: %+v, %v", found, err)
	}
	if all := f.marked(Inventory{SecurityGroups: SecurityGroups{groups: []securitygroup.Group{orphanedGroup()}}}); len(all) > 0 {
		t.Errorf("marked: %+v", all)
	}
}
