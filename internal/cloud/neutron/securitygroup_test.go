// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron_test

import (
	"net/http"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	simulator "github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
)

var byValue = cmp.Options{
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
}

func ruleFor(transport lb.Transport, port int, source string) securitygroup.Rule {
	return securitygroup.Rule{PortKey: securitygroup.PortKey{Transport: transport, Port: port}, Source: netip.MustParsePrefix(source)}
}

// plainRules returns the rules of our form.
func plainRules(g securitygroup.Group) []securitygroup.Rule {
	var all []securitygroup.Rule
	for _, r := range g.Rules {
		if !r.Foreign {
			all = append(all, r.Rule)
		}
	}
	return all
}

// apply carries out an op that must succeed.
func (c *cloud) apply(op securitygroup.Op) securitygroup.Made {
	c.t.Helper()
	made, err := c.ApplySecurityGroup(c.t.Context(), op)
	if err != nil {
		c.t.Fatal(err)
	}
	return made
}

func TestASecurityGroupIsCreatedFilledReadAndDeleted(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	group := c.apply(securitygroup.CreateGroup{Name: "nodes", Description: "ours"}).Group
	if len(group.Rules) != 2 || len(plainRules(group)) > 0 {
		t.Fatalf("a new group lets everything out: %+v", group)
	}
	want := []securitygroup.Rule{
		ruleFor(lb.TCP, 30080, "10.0.0.0/16"), ruleFor(lb.UDP, 30053, "0.0.0.0/0"), ruleFor(lb.TCP, 30080, "2001:db8::/64"), ruleFor(lb.TCP, 30443, "::/0"),
	}
	made := c.apply(securitygroup.AddRules{GroupID: group.ID, Rules: want})
	if diff := cmp.Diff(want, plainRules(securitygroup.Group{Rules: made.Rules}), byValue); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
	for _, read := range [][]string{nil, {group.ID}} {
		groups, err := c.SecurityGroups(t.Context(), read...)
		i := slices.IndexFunc(groups, func(g securitygroup.Group) bool { return g.ID == group.ID })
		if err != nil || i < 0 || groups[i].Description != "ours" || len(read) == 1 && len(groups) != 1 {
			t.Fatalf("read by %q: %+v, %v", read, groups, err)
		}
		if diff := cmp.Diff(want, plainRules(groups[i]), byValue); diff != "" {
			t.Errorf("read by %q (-want +got):\n%s", read, diff)
		}
	}
	for _, r := range append(group.Rules, made.Rules...) {
		c.apply(securitygroup.RemoveRule{GroupID: group.ID, Rule: r})
		c.apply(securitygroup.RemoveRule{GroupID: group.ID, Rule: r}) // the second time, it does not exist
	}
	missing := []bool{c.apply(securitygroup.DeleteGroup{ID: group.ID}).Missing, c.apply(securitygroup.DeleteGroup{ID: group.ID}).Missing}
	if groups, err := c.SecurityGroups(t.Context(), group.ID); err != nil || len(groups) > 0 || !slices.Equal(missing, []bool{false, true}) {
		t.Errorf("after the deletion: %+v, %v, missing at the first and the second attempt %v", groups, err, missing)
	}
}

func TestRulesAreAddedAllOrNone(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	group := c.apply(securitygroup.CreateGroup{Name: "nodes"}).Group
	c.apply(securitygroup.AddRules{GroupID: group.ID, Rules: []securitygroup.Rule{ruleFor(lb.TCP, 1, "10.0.0.0/16")}})
	_, err := c.ApplySecurityGroup(t.Context(), securitygroup.AddRules{GroupID: group.ID, Rules: []securitygroup.Rule{
		ruleFor(lb.TCP, 2, "10.0.0.0/16"), ruleFor(lb.TCP, 1, "10.0.0.0/16"),
	}})
	if class := openstack.Classify(err); class != openstack.Conflict {
		t.Errorf("one that is there already: %q, %v", class, err)
	}
	groups, err := c.SecurityGroups(t.Context(), group.ID)
	if err != nil || len(plainRules(groups[0])) != 1 {
		t.Errorf("rules: %+v, %v", groups, err)
	}
}

func TestAConcurrentlyAddedSecurityGroupOfAPortIsNotLost(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	ours, others := c.apply(securitygroup.CreateGroup{Name: "ours"}).Group.ID, c.apply(securitygroup.CreateGroup{Name: "others"}).Group.ID
	server, err := c.AddServer("node-a")
	if err != nil {
		t.Fatal(err)
	}
	read := func() securitygroup.Port {
		found, err := c.PortsOfServers(t.Context(), server)
		if err != nil || len(found) != 1 || len(found[0].Addresses) == 0 {
			t.Fatalf("ports of the server: %+v, %v", found, err)
		}
		return found[0]
	}
	port := read()
	meanwhile := append(slices.Clone(port.Groups), others)
	if _, err := ports.Update(t.Context(), c.service, port.ID, ports.UpdateOpts{SecurityGroups: &meanwhile}).Extract(); err != nil {
		t.Fatal(err)
	}
	_, err = c.ApplySecurityGroup(t.Context(), securitygroup.SetGroups{Port: port, Groups: append(port.Groups, ours)})
	if class := openstack.Classify(err); class != openstack.Conflict {
		t.Errorf("a change of what another client has changed: %q, %v", class, err)
	}
	port = read()
	port = c.apply(securitygroup.SetGroups{Port: port, Groups: append(port.Groups, ours)}).Port
	if !slices.Contains(port.Groups, ours) || !slices.Contains(port.Groups, others) {
		t.Errorf("the port has %v, want %s and %s among them", port.Groups, ours, others)
	}
	with, err := c.PortsWithGroups(t.Context(), ours)
	if diff := cmp.Diff([]securitygroup.Port{port}, with, byValue); diff != "" || err != nil {
		t.Errorf("ports with the group: %v (-want +got):\n%s", err, diff)
	}
}

func TestAPortWithoutPortSecurityIsUnprotected(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want bool
	}{
		"port security is off":       {`,"port_security_enabled":false`, true},
		"port security is on":        {`,"port_security_enabled":true`, false},
		"port security is not shown": {``, false},
	} {
		t.Run(name, func(t *testing.T) {
			const id = "11111111-2222-4333-8444-555555555555"
			client := against(func(w http.ResponseWriter, _ *http.Request) {
				answer(w, http.StatusOK, `{"ports":[{"id":"`+id+`","device_id":"s","security_groups":[],"fixed_ips":[]`+test.body+`}]}`)
			})
			found, err := client.PortsOfServers(t.Context(), "s")
			if err != nil || len(found) != 1 || found[0].Unprotected != test.want {
				t.Errorf("with %q: %+v, %v", test.body, found, err)
			}
		})
	}
}

func TestARuleOfAnotherFormIsForeign(t *testing.T) {
	const id = "11111111-2222-4333-8444-555555555555"
	rule := func(more string) string {
		return `{"id":"` + id + `","direction":"ingress","ethertype":"IPv4","protocol":"tcp","port_range_min":1,"port_range_max":1` + more + `}`
	}
	for name, test := range map[string]struct {
		text string
		odd  bool
	}{
		"one port of TCP":           {rule(``), false},
		"CIDR with host bits":       {rule(`,"remote_ip_prefix":"10.0.0.7/24"`), false},
		"protocol as a number":      {rule(`,"protocol":"6"`), false},
		"ICMP":                      {rule(`,"protocol":"icmp"`), true},
		"any protocol":              {rule(`,"protocol":null`), true},
		"egress":                    {rule(`,"direction":"egress"`), true},
		"range of ports":            {rule(`,"port_range_max":2`), true},
		"no last port":              {rule(`,"port_range_max":null`), true},
		"remote group":              {rule(`,"remote_group_id":"g"`), true},
		"remote address group":      {rule(`,"remote_address_group_id":"g"`), true},
		"invalid CIDR":              {rule(`,"remote_ip_prefix":"x"`), true},
		"IPv6 CIDR in an IPv4 rule": {rule(`,"remote_ip_prefix":"2001:db8::/64"`), true},
		"IPv6":                      {rule(`,"ethertype":"IPv6","remote_ip_prefix":"::1/128"`), false},
	} {
		t.Run(name, func(t *testing.T) {
			client := against(func(w http.ResponseWriter, _ *http.Request) {
				answer(w, http.StatusOK, `{"security_groups":[{"id":"`+id+`","security_group_rules":[`+test.text+`]}]}`)
			})
			found, err := client.SecurityGroups(t.Context(), id)
			if err != nil || len(found) != 1 || len(found[0].Rules) != 1 || found[0].Rules[0].Foreign != test.odd {
				t.Errorf("%+v, %v; want odd %v", found, err, test.odd)
			}
		})
	}
}

func TestSubnetOfTheNodesIsRead(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	subnet, err := c.Subnet(t.Context(), c.IDs().PrivateSubnet)
	if err != nil || subnet.CIDR.String() != "10.0.0.0/16" || subnet.NetworkID != c.IDs().PrivateNetwork {
		t.Errorf("%+v, %v", subnet, err)
	}
	if _, err := c.Subnet(t.Context(), "11111111-2222-4333-8444-555555555555"); openstack.Classify(err) != openstack.Gone {
		t.Errorf("one that is not there: %v", err)
	}
}
