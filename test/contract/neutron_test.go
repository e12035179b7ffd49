// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// kindOf names one object of a collection of Neutron, as bodies do.
var kindOf = map[string]string{
	"networks": "network", "subnets": "subnet", "ports": "port", "routers": "router", "floatingips": "floatingip",
	"security-groups": "security_group", "security-group-rules": "security_group_rule",
}

// shared returns a try for what the cases of a group share; nothing of it is compared.
func shared(t *testing.T) *try { return &try{T: t, cloud: theCloud} }

// make creates an object of Neutron, which is deleted when the case, or the group that shares it,
// ends.
func (u caller) make(collection string, wish object) answer {
	u.c.Helper()
	a := u.net("POST", "/"+collection, object{kindOf[collection]: wish}).is(201)
	u.disposes(collection, a.text(kindOf[collection]+".id"))
	return a
}

// disposes deletes objects of Neutron when the case ends, if they are still
// there.
func (u caller) disposes(collection string, ids ...string) {
	u.c.Helper()
	u.quiet = true
	u.c.Cleanup(func() {
		for _, id := range ids {
			if a := u.net("DELETE", "/"+collection+"/"+id, nil); a.Status != http.StatusNoContent && a.Status != http.StatusNotFound {
				u.c.Errorf("clean up: DELETE %s %s: %d %s", collection, id, a.Status, a.Text)
			}
		}
	})
}

// has creates an object of Neutron quietly and returns its id.
func (c *try) has(user, collection string, wish object) string {
	c.Helper()
	return c.quietly(user).make(collection, wish).text(kindOf[collection] + ".id")
}

// subnetPair is a network of its own with a subnet, that no router joins.
type subnetPair struct{ network, subnet string }

// hasSubnet creates a network with a subnet for the user's project.
func (c *try) hasSubnet(user, cidr string) subnetPair {
	c.Helper()
	n := c.has(user, "networks", object{"name": c.newName()})
	return subnetPair{n, c.has(user, "subnets", object{"network_id": n, "ip_version": 4, "cidr": cidr, "allocation_pools": highAddresses(c, cidr)})}
}

// highAddresses returns those from .100 on of a subnet with 24 bits: the cases request others by
// themselves, which must not be given to a port before.
func highAddresses(c *try, cidr string) list {
	c.Helper()
	net, of := strings.CutSuffix(cidr, ".0/24")
	c.must(of, "%s is no subnet with 24 bits", cidr)
	return list{object{"start": net + ".100", "end": net + ".199"}}
}

// refused asserts the type of a Neutron refusal and its status.
func (a answer) refused(status int, kind string) answer {
	a.t.Helper()
	a.is(status)
	if got := a.text("NeutronError.type"); got != kind {
		a.t.Fatalf("%s: the error is of type %q, want %q: %s", a.what, got, kind, a.Text)
	}
	return a
}

// project makes up a project that is no other test's. Neutron takes any id from
// an admin, and keeps a quota and objects for it.
func (c *try) project() string {
	id := fmt.Sprintf("%x", []byte(c.newName()))
	return (id + "00000000000000000000000000000000")[:32]
}

// projectOf returns the id of the user's project.
func (c *try) projectOf(user string) string {
	c.Helper()
	return tokens.of(c, user).body.text("token.project.id")
}

// hasQuota sets a quota of a project in Neutron, which the test takes back.
func (c *try) hasQuota(project string, quota object) {
	c.Helper()
	c.quietly(admin).net("PUT", "/quotas/"+project, object{"quota": quota}).is(200)
	c.Cleanup(func() { c.quietly(admin).net("DELETE", "/quotas/"+project, nil) })
}

// holds reports whether the network contains the address.
func holds(cidr, address string) bool {
	prefix, err := netip.ParsePrefix(cidr)
	addr, errAddr := netip.ParseAddr(address)
	return err == nil && errAddr == nil && prefix.Contains(addr)
}

// sameSet reports whether both have the same texts, in any order.
func sameSet(have []string, want ...string) bool {
	have, want = slices.Clone(have), slices.Clone(want)
	slices.Sort(have)
	slices.Sort(want)
	return slices.Equal(have, want)
}

// ifMatch returns the header of a change that is for one revision of an object only.
func ifMatch(revision float64) string { return fmt.Sprintf("If-Match: revision_number=%v", revision) }
