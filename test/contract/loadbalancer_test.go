// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"
)

func TestLoadBalancers(t *testing.T) {
	t.Parallel()
	lbs := newNursery(t)
	first := &try{T: t, cloud: theCloud}
	minimal := lbs.post(first.as(k8s), nil).is(201)
	parent := lbs.make(t, object{"name": missing, "listeners": list{object{"protocol": "TCP", "protocol_port": 80}},
		"pools": list{object{"name": "p", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}}})[0]
	id := minimal.text("loadbalancer.id")
	lb, parentLB := "/loadbalancers/"+id, "/loadbalancers/"+parent
	update := func(c *try, change object) answer {
		c.active(id)
		return c.as(k8s).lb("PUT", lb, object{"loadbalancer": change})
	}

	state(t, []statement{
		{"a create with a subnet only is answered at once with PENDING_CREATE, the VIP's port and its address", func(c *try) {
			c.saw(first)
			c.must(minimal.text("loadbalancer.provisioning_status") == "PENDING_CREATE", "it is %s", minimal.text("loadbalancer.provisioning_status"))
			c.must(minimal.text("loadbalancer.vip_port_id") != "" && minimal.text("loadbalancer.vip_address") != "", "no VIP in %s", minimal.Text)
		}},
		{"a load balancer is shown with its VIP, and its parts by id only", func(c *try) {
			a := c.as(k8s).lb("GET", parentLB, nil).is(200)
			c.must(same(a.keys("loadbalancer.listeners.0"), []string{"id"}), "listeners are %v", a.at("loadbalancer.listeners"))
			c.must(same(a.keys("loadbalancer.pools.0"), []string{"id"}), "pools are %v", a.at("loadbalancer.pools"))
		}},
		{"a load balancer made without a name has the empty one", func(c *try) {
			a := c.as(k8s).lb("GET", parentLB+"?fields=name", nil).is(200)
			c.must(a.at("loadbalancer.name") == "", "it has %s", a.Text)
		}},
		{"a load balancer that is not there is answered 404", func(c *try) {
			c.as(k8s).lb("GET", "/loadbalancers/"+unknown, nil).is(404)
			c.as(k8s).lb("PUT", "/loadbalancers/"+unknown, object{"loadbalancer": object{}}).is(404)
			c.as(k8s).lb("DELETE", "/loadbalancers/"+unknown+"?cascade=true", nil).is(404)
			c.as(k8s).lb("GET", "/loadbalancers/"+unknown+"/status", nil).is(404)
			c.as(k8s).lb("GET", "/loadbalancers/"+unknown+"/stats", nil).is(404)
		}},
		{"an id that is no UUID is answered 404 as well", func(c *try) {
			c.as(k8s).lb("GET", "/loadbalancers/web", nil).is(404)
			c.as(k8s).lb("DELETE", "/loadbalancers/web", nil).is(404)
		}},
		{"an id in upper case finds the load balancer", func(c *try) {
			c.as(k8s).lb("GET", "/loadbalancers/"+strings.ToUpper(id), nil).is(200)
		}},
		{"?fields= of a load balancer leaves everything else out", func(c *try) {
			a := c.as(k8s).lb("GET", lb+"?fields=id&fields=provisioning_status&fields=updated_at", nil).is(200)
			c.must(same(a.keys("loadbalancer"), []string{"id", "provisioning_status", "updated_at"}), "it has %v", a.keys("loadbalancer"))
		}},
		{"a field that there is not leaves an empty object, not an error", func(c *try) {
			a := c.as(k8s).lb("GET", lb+"?fields=colour", nil).is(200)
			c.must(len(a.keys("loadbalancer")) == 0, "it has %v", a.keys("loadbalancer"))
		}},
		{"another project's load balancer is refused with 403, not 404, to readers and writers", func(c *try) {
			c.as(other).lb("GET", lb, nil).is(403)
			c.as(other).lb("GET", lb+"/status", nil).is(403)
			c.as(other).lb("GET", lb+"/stats", nil).is(403)
			c.as(other).lb("PUT", lb, object{"loadbalancer": object{"name": "mine"}}).is(403)
			c.as(other).lb("DELETE", lb, nil).is(403)
		}},
		{"a listener or pool on another project's load balancer is refused with 403", func(c *try) {
			c.as(other).lb("POST", "/listeners", object{"listener": object{"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 1}}).is(403)
			c.as(other).lb("POST", "/pools", object{"pool": object{"loadbalancer_id": id, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}}).is(403)
		}},
		{"an admin sees every project's load balancers", func(c *try) {
			c.as(admin).lb("GET", lb, nil).is(200)
		}},
		{"failover is for admins: 403", func(c *try) {
			c.as(k8s).lb("PUT", lb+"/failover", nil).is(403)
			c.as(admin).lb("PUT", "/loadbalancers/"+unknown+"/failover", nil).is(404)
		}},
		{"the statistics of a load balancer without traffic are zeros", func(c *try) {
			a := c.as(k8s).lb("GET", lb+"/stats", nil).is(200)
			c.must(a.at("stats.total_connections") == 0.0, "it has %s", a.Text)
		}},
		{"/statuses is the older name of /status", func(c *try) {
			a := c.as(k8s).lb("GET", lb+"/statuses", nil).is(200)
			c.must(a.text("statuses.loadbalancer.id") == id, "it has %s", a.Text)
		}},

		{"an update answers at once with PENDING_UPDATE and the new values", func(c *try) {
			name := c.newName()
			c.active(id)
			c.during(id, func() {
				a := update(c, object{"name": name, "description": "renamed", "tags": list{"green"}}).is(200)
				c.must(a.text("loadbalancer.name") == name && a.text("loadbalancer.description") == "renamed", "it has %s", a.Text)
				c.must(a.text("loadbalancer.provisioning_status") == "PENDING_UPDATE", "it is %s", a.text("loadbalancer.provisioning_status"))
			}, func() {})
		}},
		{"an update with nothing in it locks the load balancer as any other, and keeps the tags", func(c *try) {
			c.during(id, func() {
				a := update(c, object{}).is(200)
				c.must(a.text("loadbalancer.provisioning_status") == "PENDING_UPDATE", "it is %s", a.text("loadbalancer.provisioning_status"))
				c.must(same(texts(a.list("loadbalancer.tags")), []string{"green"}), "it has %s", a.Text)
			}, func() {})
		}},
		{"an update of the tags replaces them all", func(c *try) {
			update(c, object{"tags": list{"red", "blue"}}).is(200)
			a := c.as(k8s).lb("GET", lb+"?fields=tags", nil).is(200)
			c.must(same(texts(a.list("loadbalancer.tags")), []string{"red", "blue"}), "it has %s", a.Text)
		}},
		{"an update with an empty list removes the tags", func(c *try) {
			a := update(c, object{"tags": list{}}).is(200)
			c.must(len(a.list("loadbalancer.tags")) == 0, "it has %s", a.Text)
		}},
		{"a name of null becomes empty, a description too; a load balancer that is switched off stays ACTIVE", func(c *try) {
			a := update(c, object{"name": nil, "description": nil, "admin_state_up": false}).is(200)
			c.must(a.at("loadbalancer.name") == "" && a.at("loadbalancer.description") == "", "it has %s", a.Text)
			c.must(a.at("loadbalancer.admin_state_up") == false, "it has %s", a.Text)
			c.active(id)
		}},
		{"what a load balancer was made with cannot be changed: 400", func(c *try) {
			for name, value := range map[string]any{
				"vip_address": "10.0.0.9", "vip_subnet_id": c.cloud.Subnet, "vip_network_id": c.cloud.Network, "vip_port_id": unknown,
				"provider": "amphora", "flavor_id": unknown, "availability_zone": "nova", "project_id": c.cloud.Projects[k8s],
				"listeners": list{}, "pools": list{}, "additional_vips": list{}, "provisioning_status": "ACTIVE", "id": unknown,
			} {
				a := c.quietly(k8s).lb("PUT", lb, object{"loadbalancer": object{name: value}}).is(400)
				c.must(strings.HasPrefix(a.text("faultstring"), "Unknown attribute for argument load_balancer.loadbalancer: "+name), "it says %s", a.Text)
			}
			c.as(k8s).lb("PUT", lb, object{"loadbalancer": object{"vip_address": "10.0.0.9"}}).is(400)
			c.as(k8s).lb("PUT", lb, object{"loadbalancer": object{"vip_address": "10.0.0.9", "name": "n", "provider": "amphora"}}).is(400)
		}},
		{"a QoS policy is refused where Neutron has none, even one of null", func(c *try) {
			c.as(k8s).lb("PUT", lb, object{"loadbalancer": object{"vip_qos_policy_id": unknown}}).is(400)
			c.as(k8s).lb("PUT", lb, object{"loadbalancer": object{"vip_qos_policy_id": nil}}).is(400)
			lbs.post(c.as(k8s), object{"vip_qos_policy_id": unknown}).is(400)
		}},

		{"a delete without cascade is refused while there are listeners or pools", func(c *try) {
			c.as(k8s).lb("DELETE", parentLB, nil).is(400)
			c.as(k8s).lb("DELETE", parentLB+"?cascade=false", nil).is(400)
			c.as(k8s).lb("DELETE", parentLB+"?cascade=nonsense", nil).is(400)
			c.as(k8s).lb("GET", parentLB, nil).is(200)
		}},
		{"a load balancer that is being deleted is shown as PENDING_DELETE and refuses writes with 409; then it is gone with all its parts and its VIP's port", func(c *try) {
			c.active(parent)
			a := c.quietly(k8s).lb("GET", parentLB, nil)
			listener, pool, port := a.text("loadbalancer.listeners.0.id"), a.text("loadbalancer.pools.0.id"), a.text("loadbalancer.vip_port_id")
			release := c.hold(parent)
			c.as(k8s).lb("DELETE", parentLB+"?cascade=True", nil).is(204)
			a = c.as(k8s).lb("GET", parentLB, nil).is(200)
			c.must(a.text("loadbalancer.provisioning_status") == "PENDING_DELETE", "it is %s", a.text("loadbalancer.provisioning_status"))
			c.as(k8s).lb("DELETE", parentLB+"?cascade=true", nil).is(409)
			c.as(k8s).lb("PUT", parentLB, object{"loadbalancer": object{"name": "late"}}).is(409)
			c.as(k8s).lb("DELETE", "/listeners/"+listener, nil).is(409)
			release()
			c.gone(parent)
			c.as(k8s).lb("GET", parentLB, nil).is(404)
			c.as(k8s).lb("DELETE", parentLB+"?cascade=true", nil).is(404)
			c.as(k8s).lb("GET", "/listeners/"+listener, nil).is(404)
			c.as(k8s).lb("GET", "/pools/"+pool, nil).is(404)
			c.as(k8s).net("GET", "/ports/"+port, nil).is(404)
			a = c.as(k8s).lb("GET", "/loadbalancers?id="+parent, nil).is(200)
			c.must(len(a.list("loadbalancers")) == 0, "the list has %s", a.Text)
		}},
		{"a load balancer without parts is deleted without cascade", func(c *try) {
			c.active(id)
			c.as(k8s).lb("DELETE", lb, nil).is(204)
			c.gone(id)
		}},
	})
}
