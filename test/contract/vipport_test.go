// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

func TestPortsOfVIPs(t *testing.T) {
	t.Parallel()
	g := shared(t)
	id := newLB(t, nil)
	lb := g.quietly(k8s).lb("GET", "/loadbalancers/"+id, nil).is(200)
	path := "/ports/" + lb.text("loadbalancer.vip_port_id")

	state(t, []statement{
		{"the port of a VIP belongs to the project, is named after the load balancer, and its owner is Octavia", func(c *try) {
			a := c.as(k8s).net("GET", path, nil).is(200)
			c.must(a.text("port.device_owner") == "Octavia" && a.text("port.device_id") == "lb-"+id && a.text("port.name") == "octavia-lb-"+id, "it is %s", a.Text)
			c.must(a.text("port.project_id") == lb.text("loadbalancer.project_id"), "it is of the project %s", a.text("port.project_id"))
		}},
		{"the port of a VIP is DOWN and switched off although the load balancer is ACTIVE", func(c *try) {
			a := c.as(k8s).net("GET", path+"?fields=status&fields=admin_state_up", nil).is(200)
			c.must(a.text("port.status") == "DOWN" && a.at("port.admin_state_up") == false, "it is %s", a.Text)
		}},
		{"the port of a VIP has a security group of Octavia's, which the project does not see", func(c *try) {
			a := c.as(k8s).net("GET", path+"?fields=security_groups", nil).is(200)
			c.must(len(a.list("port.security_groups")) == 1, "it has %v", a.at("port.security_groups"))
			c.as(k8s).net("GET", "/security-groups/"+a.text("port.security_groups.0"), nil).refused(404, "SecurityGroupNotFound")
			seen := c.as(admin).net("GET", "/security-groups/"+a.text("port.security_groups.0")+"?fields=name&fields=stateful", nil).is(200)
			c.must(seen.text("security_group.name") == "lb-"+id, "it is named %s", seen.text("security_group.name"))
		}},
		{"the port of a VIP is found by its device, its owner, its name and its address", func(c *try) {
			for _, query := range []string{
				"device_id=lb-" + id, "name=octavia-lb-" + id, "device_owner=Octavia&device_id=lb-" + id, "fixed_ips=ip_address%3D" + lb.text("loadbalancer.vip_address") + "&device_owner=Octavia",
			} {
				a := c.as(k8s).net("GET", "/ports?fields=id&"+query, nil).is(200)
				c.must(sameSet(a.texts("ports", "id"), lb.text("loadbalancer.vip_port_id")), "%s finds %s", query, a.Text)
			}
		}},
		{"the project may give the port of a VIP another name, tags and security groups", func(c *try) {
			group := c.has(k8s, "security-groups", object{"name": c.newName()})
			before := c.quietly(k8s).net("GET", path, nil).is(200)
			c.as(k8s).net("PUT", path+"/tags", object{"tags": list{"mine"}}).is(200)
			a := c.as(k8s).net("PUT", path, object{"port": object{"security_groups": list{group}, "name": "mine"}}).is(200)
			c.must(a.text("port.name") == "mine" && a.text("port.security_groups.0") == group, "it is %s", a.Text)
			c.as(k8s).net("PUT", path, object{"port": object{"name": before.text("port.name"), "security_groups": list{}}}).is(200)
		}},
		{"the address of a VIP's port does not change with its load balancer's name", func(c *try) {
			c.quietly(k8s).lb("PUT", "/loadbalancers/"+id, object{"loadbalancer": object{"name": c.newName()}}).is(200)
			c.active(id)
			a := c.as(k8s).net("GET", path+"?fields=name&fields=fixed_ips", nil).is(200)
			c.must(a.text("port.name") == "octavia-lb-"+id && a.text("port.fixed_ips.0.ip_address") == lb.text("loadbalancer.vip_address"), "it is %s", a.Text)
		}},
		{"another project finds neither the port of a VIP by its id nor by its address", func(c *try) {
			c.as(other).net("GET", path, nil).refused(404, "PortNotFound")
			c.must(len(c.as(other).net("GET", "/ports?device_id=lb-"+id, nil).is(200).list("ports")) == 0, "it is found")
		}},
		{"the project may delete the port of a VIP, surprisingly, and the load balancer stays ACTIVE with the port's id", func(c *try) {
			c.as(k8s).net("DELETE", path, nil).is(204)
			c.as(k8s).net("GET", path, nil).refused(404, "PortNotFound")
			a := c.quietly(k8s).lb("GET", "/loadbalancers/"+id, nil).is(200)
			c.must(a.text("loadbalancer.provisioning_status") == "ACTIVE" && a.text("loadbalancer.vip_port_id") != "", "it is %s", a.Text)
		}},
		{"a load balancer whose port was deleted can be deleted", func(c *try) {
			c.as(k8s).lb("DELETE", "/loadbalancers/"+id, nil).is(204)
			c.gone(id)
		}},
	})
}
