// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// groupPerService is a security group for each Service.
const groupPerService = "security-group-mode=service"

// groupName returns the name of the security group that openstack-cloud-controller-manager makes
// for the Service.
func (v *service) groupName() string {
	return cut255(fmt.Sprintf("lb-sg-%s-%s-%s", v.now().UID, v.namespace, v.name))
}

// makeGroup creates a security group as openstack-cloud-controller-manager of the cluster does,
// with rules for what is given ("tcp 30080 10.0.0.0/24"), and puts it on the ports of the nodes.
func (s *stage) makeGroup(cluster, name, object string, rules []string, nodes ...string) group {
	s.t.Helper()
	var made struct {
		Group group `json:"security_group"`
	}
	s.cloud.neutron(http.MethodPost, "security-groups", fields{"security_group": fields{
		"name": name, "description": fmt.Sprintf("Security Group for %s Service LoadBalancer in cluster %s", object, cluster)}}, &made)
	for _, r := range made.Group.Rules {
		s.cloud.neutron(http.MethodDelete, "security-group-rules/"+r.ID, nil, nil)
	}
	for _, r := range rules {
		part := strings.Fields(r)
		s.cloud.neutron(http.MethodPost, "security-group-rules", fields{"security_group_rule": fields{"security_group_id": made.Group.ID, "direction": "ingress",
			"ethertype": "IPv4", "protocol": part[0], "port_range_min": part[1], "port_range_max": part[1], "remote_ip_prefix": part[2]}}, nil)
	}
	for _, n := range nodes {
		p := s.portOf(n)
		s.cloud.neutron(http.MethodPut, "ports/"+p.ID, fields{"port": fields{"security_groups": append(p.Groups, made.Group.ID)}}, nil)
	}
	return made.Group
}

// makesGroup makes that of the Service.
func (o *occmService) makesGroup() group {
	o.t.Helper()
	source := o.nodeSubnet()
	if o.cloud.provider() == "ovn" {
		source = "0.0.0.0/0"
	}
	return o.makeGroup(o.cluster, o.groupName(), o.namespace+"/"+o.name, o.from(source, o.service), "a", "b")
}

// serviceGroups returns all security groups of Services of the stage, by name.
func (s *stage) serviceGroups() map[string]group {
	s.t.Helper()
	var answer struct {
		Groups []group `json:"security_groups"`
	}
	s.cloud.neutron(http.MethodGet, "security-groups", nil, &answer)
	all := map[string]group{}
	for _, g := range answer.Groups {
		if strings.HasPrefix(g.Name, "lb-sg-") && strings.Contains(g.Name, "-"+s.namespace+"-") {
			all[g.Name] = g
		}
	}
	return all
}

// dropGroup takes a group off all ports and deletes it.
func (s *stage) dropGroup(id string) {
	var answer struct{ Ports []groupedPort }
	s.cloud.neutron(http.MethodGet, "ports?security_groups="+id, nil, &answer)
	for _, p := range answer.Ports {
		left := slices.DeleteFunc(p.Groups, func(other string) bool { return other == id })
		s.cloud.neutron(http.MethodPut, "ports/"+p.ID, fields{"port": fields{"security_groups": left}}, nil)
	}
	s.cloud.neutron(http.MethodDelete, "security-groups/"+id, nil, nil)
}

// withGroup fails the test unless the ports of the nodes bear the group.
func (s *stage) withGroup(name string, nodes ...string) {
	s.t.Helper()
	s.eventually(func() error {
		g, there := s.serviceGroups()[name]
		for _, n := range nodes {
			if p := s.portOf(n); !there || !slices.Contains(p.Groups, g.ID) {
				return fmt.Errorf("the port of node %s has %v, and not %s (%s)", n, p.Groups, name, g.ID)
			}
		}
		return nil
	})
}

// withoutGroup waits until the port of the node does not have the security group.
func (s *stage) withoutGroup(name, node string) {
	s.t.Helper()
	s.eventually(func() error {
		if p, g := s.portOf(node), s.serviceGroups()[name]; slices.Contains(p.Groups, g.ID) {
			return fmt.Errorf("the port of node %s has %s (%s)", node, name, g.ID)
		}
		return nil
	})
}

// groupWrites are the writes about security groups since resetCalls.
func (s *stage) groupWrites() []string {
	s.t.Helper()
	return slices.DeleteFunc(s.groupCalls(), func(c string) bool { return strings.HasPrefix(c, http.MethodGet) })
}

// occmPair are two Services of openstack-cloud-controller-manager.
func occmPair(s *stage) []*occmService {
	all := []*occmService{
		{service: &service{stage: s, name: "web"}, cluster: clusterName, edits: []edit{tcp(8080)}},
		{service: &service{stage: s, name: "shop"}, cluster: clusterName, edits: []edit{tcp(8081), annotated(internalKey, "true")}, internal: true},
	}
	makeAll(s, all)
	slices.SortFunc(all, func(a, b *occmService) int { return cmp.Compare(b.name, a.name) })
	return all
}

func TestSecurityGroupsOfServicesAreTakenOverWithoutAWriteAndDeletedWithThem(t *testing.T) {
	skipOnRealOpenStack(t, "what Neutron makes of groups on ports is in the contract")
	s := newStage(t, settings{off: true, conf: []string{manageGroups, groupPerService}})
	all := occmPair(s)
	web, shop := all[0], all[1]
	for _, o := range all {
		o.makesGroup()
	}
	for _, g := range s.migration(0).SecurityGroups {
		if g.Outcome != "adopted" {
			t.Errorf("migrate says %+v", g)
		}
	}
	s.resetCalls()
	s.start()
	reads(all, conditionTrue, "Programmed")
	s.waitUntilIdle()
	if w := s.groupWrites(); len(w) > 0 {
		t.Errorf("groups that are as they are to be were written to: %v", w)
	}

	// A node that joins is written to once.
	s.resetCalls()
	s.addNode("c")
	s.withGroup(web.groupName(), "c")
	s.withGroup(shop.groupName(), "c")
	s.waitUntilIdle()
	if w := s.groupWrites(); len(w) != 1 {
		t.Errorf("writes for a node that joins: %v", w)
	}

	// A new Service has one of its own, as openstack-cloud-controller-manager would make it.
	fresh := s.service("fresh", tcp(8082))
	fresh.waitUntilProgrammed()
	s.withGroup(fresh.groupName(), "a", "b", "c")
	if g := s.serviceGroups()[fresh.groupName()]; g.Description != fmt.Sprintf("Security Group for %s/fresh Service LoadBalancer in cluster %s", s.namespace, clusterName) || len(g.Rules) != 1 {
		t.Errorf("made was %+v", g)
	}

	// They go with their Services, however often that is refused.
	name := web.groupName()
	if *stateDir == "" {
		s.failNext(wire.Fault{Kind: wire.FaultStatus, Status: 409, Body: `{"NeutronError": {"type": "SecurityGroupInUse", "message": "in use", "detail": ""}}`},
			wire.Operation{Service: cloudsim.Network, Method: http.MethodDelete, Route: "/v2.0/security-groups/{id}"})
	}
	web.delete()
	web.waitUntilGone()
	if groups := s.serviceGroups(); len(groups) != 2 || groups[name].ID != "" {
		t.Errorf("groups: %+v", groups)
	}
	if *stateDir == "" {
		s.requireFaultMet(t)
	}
}

func TestSecurityGroupOfAServiceMovesToTheNodesThatItSelects(t *testing.T) {
	skipOnRealOpenStack(t, "what Neutron makes of groups on ports is in the contract")
	s := newStage(t, settings{conf: []string{manageGroups, groupPerService}})
	s.changeNode("a", func(n *corev1.Node) { n.Labels = map[string]string{"disk": "ssd"} })
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.withGroup(web.groupName(), "a", "b")
	web.change(annotated(prefix+"node-selector", "disk=ssd"))
	s.withoutGroup(web.groupName(), "b")
	s.withGroup(web.groupName(), "a")
	web.change(notAnnotated(prefix + "node-selector"))
	s.withGroup(web.groupName(), "a", "b")
}

func TestSecurityGroupsOfServicesAreDeletedWhenThatOfTheClusterReplacesThem(t *testing.T) {
	skipOnRealOpenStack(t, "what Neutron makes of groups on ports is in the contract")
	s := newStage(t, settings{off: true, conf: []string{manageGroups}, flags: []string{observing}})
	s.withoutGroups()
	all := occmPair(s)
	web, shop := all[0], all[1]
	old := web.makesGroup()
	shop.cluster = "other"
	theirs := shop.makesGroup()
	s.afterwards = append(s.afterwards, func() { s.dropGroup(theirs.ID) })
	fates := map[string]string{}
	for _, g := range s.migration(0).SecurityGroups {
		fates[g.ID] = g.Outcome
	}
	if fates[old.ID] != "replaced" || fates[theirs.ID] != "left-alone" {
		t.Errorf("migrate says %v", fates)
	}
	visitor := s.visit(web.address(), 8080)

	s.resetCalls()
	s.start()
	reads(all, metav1.ConditionUnknown, readyForAdoption)
	s.waitUntilIdle()
	s.requireUntouched()
	s.stop()

	s.settings.flags = nil
	s.start()
	reads(all, conditionTrue, "Programmed")
	s.bearsGroup("a", "b")
	s.eventually(func() error {
		if groups := s.serviceGroups(); len(groups) != 1 || groups[theirs.Name].ID != theirs.ID {
			return fmt.Errorf("groups of Services: %+v", groups)
		}
		return nil
	})
	s.withGroup(theirs.Name, "a", "b")
	s.requireNoFailedRequest(visitor)
}

func TestSecurityGroupsOfServicesThatAreGoneAreDeletedOnlyIfTheyAreProvenToBeTheClusters(t *testing.T) {
	skipOnRealOpenStack(t, "it takes a server that is no node")
	s := newStage(t, settings{off: true, conf: []string{manageGroups}, flags: collecting})
	stranger, err := s.cloud.server(s.node("stranger"))
	if err != nil {
		t.Fatal(err)
	}
	strangers := s.portOfServer(stranger.ServerID)
	lost := func(i int, cluster string, nodes ...string) group {
		name := fmt.Sprintf("lb-sg-11111111-2222-4333-8444-%012d-%s-lost", i, s.namespace)
		return s.makeGroup(cluster, name, s.namespace+"/lost", nil, nodes...)
	}
	ours, loose, theirs, both := lost(1, clusterName, "a", "b"), lost(2, clusterName), lost(3, "other", "a"), lost(4, clusterName, "a")
	kept := []group{loose, theirs, both}
	s.cloud.neutron(http.MethodPut, "ports/"+strangers.ID, fields{"port": fields{"security_groups": append(slices.Clone(strangers.Groups), both.ID)}}, nil)
	s.afterwards = append(s.afterwards, func() {
		for _, g := range kept {
			s.dropGroup(g.ID)
		}
	})
	if *stateDir == "" {
		// What is off the ports by then is not forgotten.
		s.failNext(wire.Fault{Kind: wire.FaultStatus, Status: 503}, wire.Operation{Service: cloudsim.Network, Method: http.MethodDelete, Route: "/v2.0/security-groups/{id}"})
	}
	s.start()
	s.eventually(func() error {
		if told := s.orphanEvents("OrphanDeleted", ours.Name); len(told) != 1 {
			return fmt.Errorf("events: %q", told)
		}
		return nil
	})
	for object, says := range map[string]string{loose.Name: "attached to no port", both.Name: stranger.ServerID} {
		s.eventually(func() error {
			if told := s.orphanEvents("OrphanFound", object); len(told) != 1 || !strings.Contains(told[0], says) {
				return fmt.Errorf("events about %s: %q", object, told)
			}
			return nil
		})
	}
	s.resetCalls()
	s.waitForSweeps(3)
	s.requireUntouched()
	if n := s.metricFor(orphansGauge, "securitygroup"); n != 2 {
		t.Errorf("%d groups are counted", n)
	}
	groups := s.serviceGroups()
	for _, g := range kept {
		if groups[g.Name].ID != g.ID {
			t.Errorf("%s is gone", g.Name)
		}
	}
	if len(groups) != len(kept) || len(s.orphanEvents("OrphanFound", theirs.Name)) > 0 {
		t.Errorf("groups: %+v", groups)
	}
	if _, text, _ := s.run("status"); !strings.Contains(text, loose.ID) || strings.Contains(text, theirs.ID) {
		t.Errorf("status says:\n%s", text)
	}
	if *stateDir == "" {
		s.requireFaultMet(t)
	}
}
