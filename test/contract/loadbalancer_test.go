// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

func TestLoadBalancers(t *testing.T) {
	t.Parallel()
	state(t, []statement{
		{"a load balancer that is not there is answered 404", func(c *try) {
			c.as(k8s).lb("GET", "/loadbalancers/5d9e3b5a-0000-4000-8000-000000000001", nil).is(404)
		}},
		{"a create with a subnet only is answered at once with PENDING_CREATE, the VIP's port and its address", func(c *try) {
			a := c.as(k8s).lb("POST", "/loadbalancers", object{"loadbalancer": object{"name": c.newName(), "vip_subnet_id": c.cloud.Subnet}}).is(201)
			id := a.text("loadbalancer.id")
			c.T.Cleanup(func() { deleteLB(c.T, id) })
			c.must(a.text("loadbalancer.provisioning_status") == "PENDING_CREATE", "it is %s", a.text("loadbalancer.provisioning_status"))
			c.must(a.text("loadbalancer.vip_port_id") != "" && a.text("loadbalancer.vip_address") != "", "no VIP in %s", a.Text)
			c.active(id)
			c.as(k8s).lb("GET", "/loadbalancers/"+id, nil).is(200)
		}},
	})
}
