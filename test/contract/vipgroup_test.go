// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"slices"
	"testing"
)

// What is new in Octavia API 2.29: security groups of VIPs.
func TestVIPGroups(t *testing.T) {
	t.Parallel()
	setup := &try{T: t, cloud: theCloud}
	newGroup := func(user string) string {
		id := setup.quietly(user).net("POST", "/security-groups", object{"security_group": object{"name": setup.newName()}}).is(201).text("security_group.id")
		t.Cleanup(func() { setup.quietly(user).net("DELETE", "/security-groups/"+id, nil) })
		return id
	}
	office, home, foreign := newGroup(k8s), newGroup(k8s), newGroup(other)
	net := newNetwork(t, k8s)
	lbs := newNursery(t)
	ids := lbs.make(t, object{"listeners": list{object{"name": "open", "protocol": "TCP", "protocol_port": 80}}},
		object{"listeners": list{object{"name": "ranges", "protocol": "TCP", "protocol_port": 80, "allowed_cidrs": list{"192.0.2.0/24"}}}})
	open, ranges := ids[0], ids[1]
	listeners := setup.byName("listeners", open)
	restricted := setup.byName("listeners", ranges)["ranges"]
	set := func(c *try, id string, groups any) answer {
		c.Helper()
		c.active(id)
		return c.as(k8s).lb("PUT", "/loadbalancers/"+id, object{"loadbalancer": object{"vip_sg_ids": groups}})
	}
	// groupsOn are those of the groups that the port of the VIP has.
	groupsOn := func(c *try, id string, groups ...string) []string {
		c.Helper()
		c.active(id)
		port := c.quietly(k8s).lb("GET", "/loadbalancers/"+id, nil).is(200).text("loadbalancer.vip_port_id")
		all := texts(c.quietly(admin).net("GET", "/ports/"+port, nil).is(200).list("port.security_groups"))
		return slices.DeleteFunc(all, func(group string) bool { return !slices.Contains(groups, group) })
	}
	// opened are the rules for port 80 of the group that Octavia makes for a load balancer.
	opened := func(c *try, id string) []any {
		c.Helper()
		c.active(id)
		group := c.quietly(admin).net("GET", "/security-groups?name=lb-"+id, nil).is(200).text("security_groups.0.id")
		return c.quietly(admin).net("GET", "/security-group-rules?port_range_min=80&security_group_id="+group, nil).is(200).list("security_group_rules")
	}

	state(t, []statement{
		{"a load balancer has no security groups of its VIP unless it asks for some", since(release2025, func(c *try) {
			a := c.as(k8s).lb("GET", "/loadbalancers/"+open, nil).is(200)
			c.must(len(a.list("loadbalancer.vip_sg_ids")) == 0, "it is %s", a.Text)
			c.must(len(opened(c, open)) == 1, "its port has the rules %v", opened(c, open))
		})},
		{"a create asks for security groups, and the port of the VIP has them", since(release2025, func(c *try) {
			a := lbs.post(c.as(k8s), object{"vip_sg_ids": list{office}, "listeners": list{object{"protocol": "TCP", "protocol_port": 80}}}).is(201)
			c.must(same(texts(a.list("loadbalancer.vip_sg_ids")), []string{office}), "it is %s", a.Text)
			id := a.text("loadbalancer.id")
			c.must(same(groupsOn(c, id, office), []string{office}), "the port has %v", groupsOn(c, id, office))
			c.must(len(opened(c, id)) == 0, "Octavia opens the port to all addresses: %v", opened(c, id))
		})},
		{"an update sets security groups in place of the former ones, and Octavia opens no port by itself then", since(release2025, func(c *try) {
			set(c, open, list{office}).is(200)
			c.must(same(groupsOn(c, open, office, home), []string{office}), "the port has %v", groupsOn(c, open, office, home))
			c.must(len(opened(c, open)) == 0, "it has the rules %v", opened(c, open))
			a := set(c, open, list{office, home}).is(200)
			c.must(same(texts(a.list("loadbalancer.vip_sg_ids")), []string{office, home}), "it is %s", a.Text)
			c.must(same(groupsOn(c, open, office, home), []string{office, home}), "the port has %v", groupsOn(c, open, office, home))
		})},
		{"an update that says nothing about security groups leaves them", since(release2025, func(c *try) {
			c.active(open)
			a := c.as(k8s).lb("PUT", "/loadbalancers/"+open, object{"loadbalancer": object{"description": "web"}}).is(200)
			c.must(len(a.list("loadbalancer.vip_sg_ids")) == 2, "it is %s", a.Text)
			c.active(open)
		})},
		{"a security group that does not exist or belongs to another project is refused with 400", since(release2025, func(c *try) {
			for _, group := range []string{unknown, foreign} {
				set(c, open, list{group}).is(400)
				lbs.post(c.as(k8s), object{"vip_subnet_id": net.subnet, "vip_sg_ids": list{group}}).is(400)
			}
			set(c, open, list{"office"}).is(400)
		})},
		{"a security group that a VIP has cannot be deleted: 409", since(release2025, func(c *try) {
			c.as(k8s).net("DELETE", "/security-groups/"+office, nil).is(409)
		})},
		{"source ranges are refused with 400 where the VIP has security groups, including ranges that admit everybody", since(release2025, func(c *try) {
			c.active(open)
			for _, cidr := range []string{"192.0.2.0/24", "0.0.0.0/0"} {
				c.as(k8s).lb("PUT", "/listeners/"+listeners["open"], object{"listener": object{"allowed_cidrs": list{cidr}}}).is(400)
				c.as(k8s).lb("POST", "/listeners", object{"listener": object{"loadbalancer_id": open, "protocol": "TCP", "protocol_port": 81, "allowed_cidrs": list{cidr}}}).is(400)
			}
			lbs.post(c.as(k8s), object{"vip_subnet_id": net.subnet, "vip_sg_ids": list{office}, "listeners": list{
				object{"protocol": "TCP", "protocol_port": 80, "allowed_cidrs": list{"192.0.2.0/24"}}}}).is(400)
			c.as(k8s).lb("PUT", "/listeners/"+listeners["open"], object{"listener": object{"allowed_cidrs": list{}}}).is(200)
			c.active(open)
		})},
		{"null and an empty list take the security groups away, and Octavia opens the ports", since(release2025, func(c *try) {
			for _, none := range []any{nil, list{}} {
				set(c, open, none).is(200)
				c.must(len(groupsOn(c, open, office, home)) == 0, "the port has %v", groupsOn(c, open, office, home))
				c.must(len(opened(c, open)) == 1, "it has the rules %v", opened(c, open))
				set(c, open, list{office}).is(200)
			}
			c.active(open)
		})},
		{"security groups are taken although a listener has source ranges, which are shown and do nothing then", since(release2025, func(c *try) {
			c.must(len(opened(c, ranges)) == 1, "before, it has the rules %v", opened(c, ranges))
			set(c, ranges, list{office}).is(200)
			c.must(len(opened(c, ranges)) == 0, "it has the rules %v", opened(c, ranges))
			a := c.as(k8s).lb("GET", "/listeners/"+restricted, nil).is(200)
			c.must(same(texts(a.list("listener.allowed_cidrs")), []string{"192.0.2.0/24"}), "the listener is %s", a.Text)
			c.must(a.text("listener.provisioning_status") == "ACTIVE", "the listener is %s", a.Text)
		})},
		{"the source ranges of such a listener can be taken away, not changed", since(release2025, func(c *try) {
			c.as(k8s).lb("PUT", "/listeners/"+restricted, object{"listener": object{"allowed_cidrs": list{"198.51.100.0/24"}}}).is(400)
			c.as(k8s).lb("PUT", "/listeners/"+restricted, object{"listener": object{"allowed_cidrs": list{}}}).is(200)
			c.active(ranges)
		})},
	})
}
