// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestRequests is about how Octavia treats requests in general. The requests are about load
// balancers, but the results apply to all its objects.
func TestRequests(t *testing.T) {
	t.Parallel()
	post := func(c *try, status int, body any, headers ...string) {
		c.Helper()
		c.as(k8s).lb("POST", "/loadbalancers", body, headers...).is(status)
	}
	wish := func(more object) object {
		return object{"loadbalancer": with(object{"name": "n", "vip_subnet_id": unknown}, more)}
	}

	state(t, []statement{
		{"a body that is no JSON is refused", func(c *try) {
			post(c, 400, `{"loadbalancer": `)
			post(c, 400, `loadbalancer`)
		}},
		{"a request without a body is refused", func(c *try) {
			post(c, 400, nil)
			post(c, 400, ``)
		}},
		{"a body without the resource is answered with 500, one with another resource is refused", func(c *try) {
			post(c, 500, `{}`)
			post(c, 400, `{"listener": {}}`)
		}},
		{"a body that is no object is answered with 500", func(c *try) {
			post(c, 500, `[]`)
			post(c, 500, `7`)
			post(c, 500, `{"loadbalancer": []}`)
		}},
		{"a resource of null is answered with 500", func(c *try) { post(c, 500, `{"loadbalancer": null}`) }},
		{"a text where a number is, or the other way round, is refused with the whole body in the text", func(c *try) {
			post(c, 400, wish(object{"name": 7}))
			post(c, 400, wish(object{"tags": "red"}))
			post(c, 400, wish(object{"listeners": object{}}))
			post(c, 400, wish(object{"listeners": list{object{"protocol": "TCP", "protocol_port": "http"}}}))
		}},
		{"booleans may be words and numbers, but not any word", func(c *try) {
			for _, truth := range []any{"true", "on", "yes", 1, "0", "off", 2} {
				post(c, 400, wish(object{"admin_state_up": truth})) // for the subnet's sake
			}
			post(c, 400, wish(object{"admin_state_up": "perhaps"}))
		}},
		{"ids may be in upper case and without dashes", func(c *try) {
			post(c, 400, wish(object{"vip_subnet_id": "5D9E3B5A000040008000000000000001"}))
			post(c, 400, wish(object{"vip_subnet_id": "{5d9e3b5a-0000-4000-8000-000000000001}"}))
		}},
		{"a path that there is not is answered 404", func(c *try) {
			c.as(k8s).lb("GET", "/nonsense", nil).is(404)
			c.as(k8s).lb("GET", "/loadbalancers/"+unknown+"/nonsense", nil).is(404)
			c.as(k8s).do("load-balancer", "GET", "/v3/lbaas/loadbalancers", nil).is(404)
		}},
		{"a method that there is not is answered 405", func(c *try) {
			c.as(k8s).lb("PATCH", "/loadbalancers/"+unknown, object{}).is(405)
		}},
		{"an update or a delete that names no load balancer is refused", func(c *try) {
			c.as(k8s).lb("PUT", "/loadbalancers", object{}).is(400)
			c.as(k8s).lb("DELETE", "/loadbalancers", nil).is(400)
			c.as(k8s).lb("DELETE", "/listeners", nil).is(400)
		}},
		{"/v2.0/lbaas, /v2.0 and /v2/lbaas lead to the same resources", func(c *try) {
			for _, base := range []string{"/v2.0/lbaas", "/v2/lbaas", "/v2.0"} {
				c.as(k8s).do("load-balancer", "GET", base+"/loadbalancers/"+unknown, nil).is(404)
				c.as(k8s).do("load-balancer", "GET", base+"/loadbalancers?id="+unknown, nil).is(200)
			}
		}},
		{"a slash at the end does no harm", func(c *try) {
			c.as(k8s).do("load-balancer", "GET", "/v2.0/lbaas/loadbalancers/?id="+unknown, nil).is(200)
		}},
	})
}
