// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"crypto/rand"
	"encoding/hex"
	"testing"
)

func TestLoadBalancerQuotas(t *testing.T) {
	t.Parallel()
	// A project of the group's own: Octavia does not check whether the project exists.
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	project := hex.EncodeToString(random)
	quota := "/quotas/" + project
	net := newNetwork(t, k8s)
	lbs := newNursery(t)
	t.Cleanup(func() { (&try{T: t, cloud: theCloud}).quietly(admin).lb("DELETE", quota, nil) })
	set := func(c *try, limits object) answer {
		c.Helper()
		return c.as(admin).lb("PUT", quota, object{"quota": limits}).is(202)
	}
	// make requests a load balancer of that project, with the attributes of extra.
	make := func(c *try, extra object) answer {
		c.Helper()
		return lbs.post(c.as(admin), with(object{"project_id": project, "vip_subnet_id": net.subnet}, extra))
	}
	pool := object{"name": "p", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}

	state(t, []statement{
		{"a project sees its quotas, and -1 is no limit", func(c *try) {
			a := c.as(k8s).lb("GET", "/quotas/"+c.cloud.Projects[k8s], nil).is(200)
			c.must(a.at("quota.l7policy") == -1.0, "it has %s", a.Text)
		}},
		{"a project sees the defaults by its own id", func(c *try) {
			c.as(k8s).lb("GET", "/quotas/"+c.cloud.Projects[k8s]+"/default", nil).is(200)
		}},
		{"a project may not see the defaults by their name, nor another project's quotas", func(c *try) {
			c.as(k8s).lb("GET", "/quotas/defaults", nil).is(403)
			c.as(k8s).lb("GET", quota, nil).is(403)
		}},
		{"a project may not set its quotas", func(c *try) {
			c.as(k8s).lb("PUT", "/quotas/"+c.cloud.Projects[k8s], object{"quota": object{"load_balancer": 10}}).is(403)
			c.as(k8s).lb("DELETE", "/quotas/"+c.cloud.Projects[k8s], nil).is(403)
		}},
		{"a project without quotas of its own has none to delete: 404", func(c *try) {
			c.as(admin).lb("DELETE", quota, nil).is(404)
		}},
		{"an admin sets quotas, by the names with or without underscore; answers have those with it", func(c *try) {
			set(c, object{"load_balancer": 5, "healthmonitor": 6})
			a := c.as(admin).lb("GET", quota, nil).is(200)
			c.must(a.at("quota.load_balancer") == 5.0 && a.at("quota.health_monitor") == 6.0 && a.at("quota.l7policy") == -1.0, "it has %s", a.Text)
		}},
		{"a quota of null is the default again", func(c *try) {
			set(c, object{"load_balancer": nil})
			a := c.as(admin).lb("GET", quota, nil).is(200)
			c.must(a.at("quota.load_balancer") == c.as(admin).lb("GET", quota+"/default", nil).at("quota.load_balancer"), "it has %s", a.Text)
		}},
		{"quotas below -1 and of what there is not are refused", func(c *try) {
			c.as(admin).lb("PUT", quota, object{"quota": object{"load_balancer": -2}}).is(400)
			c.as(admin).lb("PUT", quota, object{"quota": object{"colour": 1}}).is(400)
			c.as(admin).lb("PUT", quota, object{"quota": object{"load_balancer": "many"}}).is(400)
		}},
		{"a load balancer beyond the quota is refused with 403, which names the resource", func(c *try) {
			set(c, object{"load_balancer": 0})
			make(c, nil).is(403)
			set(c, object{"load_balancer": -1})
		}},
		{"a listener, pool, member or monitor beyond its quota is refused with 403 in a create", func(c *try) {
			set(c, object{"listener": 1, "pool": 1, "member": 1, "health_monitor": 0})
			listener := object{"protocol": "TCP", "protocol_port": 80}
			make(c, object{"listeners": list{listener, with(listener, object{"protocol_port": 81})}}).is(403)
			make(c, object{"pools": list{pool, with(pool, object{"name": "q"})}}).is(403)
			make(c, object{"pools": list{with(pool, object{"members": list{object{"address": "10.98.0.201", "protocol_port": 80}, object{"address": "10.98.0.202", "protocol_port": 80}}})}}).is(403)
			make(c, object{"pools": list{with(pool, object{"healthmonitor": object{"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}})}}).is(403)
		}},
		{"a listener or pool beyond its quota is refused with 403 on a load balancer that is there", func(c *try) {
			set(c, object{"listener": 0, "pool": 0, "load_balancer": 1})
			id := make(c, nil).is(201).text("loadbalancer.id")
			c.as(admin).until(id, "is ACTIVE", func(status string) bool { return status == "ACTIVE" })
			c.as(admin).lb("POST", "/listeners", object{"listener": object{"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 80}}).is(403)
			c.as(admin).lb("POST", "/pools", object{"pool": with(pool, object{"loadbalancer_id": id})}).is(403)
			make(c, nil).is(403)
			c.as(admin).lb("GET", "/loadbalancers/"+id+"?fields=provisioning_status", nil).is(200)
		}},
		{"quotas that are deleted are the defaults again", func(c *try) {
			c.as(admin).lb("DELETE", quota, nil).is(202)
			a := c.as(admin).lb("GET", quota, nil).is(200)
			c.must(a.at("quota.listener") == c.as(admin).lb("GET", quota+"/default", nil).at("quota.listener"), "it has %s", a.Text)
		}},
	})
}
