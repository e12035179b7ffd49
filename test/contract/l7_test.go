// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"slices"
	"strings"
	"testing"
)

func TestL7(t *testing.T) {
	t.Parallel()
	rule := object{"type": "PATH", "compare_type": "STARTS_WITH", "value": "/api"}
	tree := newTree(t, object{"listeners": list{
		with(onPort(80, "HTTP", "web", nil), object{"l7policies": list{
			object{"name": "last", "action": "REJECT", "rules": list{rule}, "tags": list{"b", "a"}},
			object{"name": "first", "action": "REDIRECT_TO_POOL", "position": 1, "redirect_pool": object{
				"name": "api", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN", "members": list{at("10.1.0.1", 80, nil)},
			}, "rules": list{rule, with(rule, object{"value": "/v2", "invert": true})}},
			object{"name": "idle", "action": "REDIRECT_TO_URL", "redirect_url": "https://example.org/", "admin_state_up": false},
		}}),
		onPort(81, "TCP", "tcp", nil), onPort(80, "UDP", "udp", nil),
		object{"name": "metrics", "protocol": "PROMETHEUS", "protocol_port": 86},
		object{"name": "other", "protocol": "HTTP", "protocol_port": 82},
	}})
	state(t, slices.Concat(policyShapes(tree), policyRefusals(tree), policyChanges(tree), ruleRefusals(tree), ruleChanges(tree), policyEnds(tree)))
}

// policies returns the names of a listener's policies in order of their positions, with their ids.
func (c *try) policies(tree parts, listener string) (names []string, ids map[string]string) {
	c.Helper()
	a := c.quietly(k8s).lb("GET", "/l7policies?listener_id="+tree.listeners[listener]+"&sort_key=position", nil).is(200)
	ids = map[string]string{}
	for i, name := range a.texts("l7policies", "name") {
		c.must(a.list("l7policies")[i].(object)["position"] == float64(i+1), "positions have a gap: %s", a.Text)
		names = append(names, name)
		ids[name] = a.texts("l7policies", "id")[i]
	}
	return names, ids
}

// policy returns the path of a policy of the listener "web".
func (c *try) policy(tree parts, name string) string {
	c.Helper()
	_, ids := c.policies(tree, "web")
	if ids[name] == "" {
		c.Fatalf("there is no policy %s", name)
	}
	return "/l7policies/" + ids[name]
}

// rules returns the paths of a policy's rules.
func (c *try) rules(tree parts, policy string) []string {
	c.Helper()
	path := c.policy(tree, policy) + "/rules"
	var all []string
	for _, id := range c.quietly(k8s).lb("GET", path+"?sort_key=value", nil).is(200).texts("rules", "id") {
		all = append(all, path+"/"+id)
	}
	return all
}

func policyShapes(tree parts) []statement {
	return []statement{
		{"a full create takes L7 policies with rules and pools, in order of their positions", func(c *try) {
			names, _ := c.policies(tree, "web")
			c.must(slices.Equal(names, []string{"first", "last", "idle"}), "they are %v", names)
			a := c.as(k8s).lb("GET", c.policy(tree, "first"), nil).is(200)
			c.must(a.text("l7policy.redirect_pool_id") == tree.pools["api"] && len(a.list("l7policy.rules")) == 2, "not as made: %s", a.Text)
			c.must(a.text("l7policy.provisioning_status") == "ACTIVE", "it is %s", a.text("l7policy.provisioning_status"))
		}},
		{"a policy's pool has the listener, and the status tree has it under the listener", func(c *try) {
			a := c.as(k8s).lb("GET", "/pools/"+tree.pools["api"], nil).is(200)
			c.must(a.text("pool.listeners.0.id") == tree.listeners["web"], "no listener in %s", a.Text)
			pools := listenerIn(c.as(k8s).lb("GET", tree.path()+"/status", nil).is(200), tree.listeners["web"])["pools"].(list)
			c.must(len(pools) == 2, "the status tree has %v", pools)
		}},
		{"a listener names its policies", func(c *try) {
			a := c.as(k8s).lb("GET", "/listeners/"+tree.listeners["web"], nil).is(200)
			c.must(len(a.list("listener.l7policies")) == 3, "it names %v", a.at("listener.l7policies"))
		}},
		{"a redirection has the status 302 if none is named", func(c *try) {
			a := c.as(k8s).lb("GET", c.policy(tree, "idle"), nil).is(200)
			c.must(a.at("l7policy.redirect_http_code") == 302.0, "it is %v", a.at("l7policy.redirect_http_code"))
		}},
		{"policies are listed by listener, name, action, position and tags, and not by load balancer", func(c *try) {
			of := "/l7policies?listener_id=" + tree.listeners["web"]
			for query, want := range map[string]string{"&name=idle": "idle", "&action=REJECT": "last", "&position=1": "first", "&tags=a,b": "last", "&redirect_pool_id=" + tree.pools["api"]: "first"} {
				a := c.quietly(k8s).lb("GET", of+query, nil).is(200)
				c.must(slices.Equal(a.texts("l7policies", "name"), []string{want}), "%s has %s", query, a.Text)
			}
			c.as(k8s).lb("GET", of, nil).is(200)
			c.as(k8s).lb("GET", of+"&fields=position&limit=2&sort_key=position", nil).is(200)
			c.as(k8s).lb("GET", "/l7policies?loadbalancer_id="+tree.lb, nil).is(400)
		}},
		{"rules are listed by type, key and value, with all that they have", func(c *try) {
			path := c.policy(tree, "first") + "/rules"
			a := c.as(k8s).lb("GET", path, nil).is(200)
			c.must(len(a.list("rules")) == 2, "there are %s", a.Text)
			a = c.as(k8s).lb("GET", path+"?value=/v2&fields=value&fields=invert", nil).is(200)
			c.must(len(a.list("rules")) == 1 && a.at("rules.0.invert") == true, "there are %s", a.Text)
			c.as(k8s).lb("GET", path+"?colour=red", nil).is(400)
			c.as(k8s).lb("GET", c.rules(tree, "first")[0], nil).is(200)
		}},
		{"a policy or rule that is not there is answered 404", func(c *try) {
			c.as(k8s).lb("GET", "/l7policies/"+unknown, nil).is(404)
			c.as(k8s).lb("PUT", "/l7policies/"+unknown, object{"l7policy": object{"name": "x"}}).is(404)
			c.as(k8s).lb("DELETE", "/l7policies/"+unknown, nil).is(404)
			c.as(k8s).lb("GET", "/l7policies/"+unknown+"/rules", nil).is(404)
			path := c.policy(tree, "first") + "/rules/" + unknown
			c.as(k8s).lb("GET", path, nil).is(404)
			c.as(k8s).lb("PUT", path, object{"rule": object{"value": "/"}}).is(404)
			c.as(k8s).lb("DELETE", path, nil).is(404)
		}},
		{"a rule is found under any policy, not only its own", func(c *try) {
			parts := strings.Split(c.rules(tree, "first")[0], "/")
			c.as(k8s).lb("GET", c.policy(tree, "last")+"/rules/"+parts[len(parts)-1], nil).is(200)
		}},
		{"policies and rules of another project can be neither read nor written, 403", func(c *try) {
			path := c.policy(tree, "first")
			c.as(other).lb("GET", path, nil).is(403)
			c.as(other).lb("PUT", path, object{"l7policy": object{"name": "x"}}).is(403)
			c.as(other).lb("DELETE", path, nil).is(403)
			c.as(other).lb("GET", path+"/rules", nil).is(403)
			c.as(other).lb("POST", "/l7policies", object{"l7policy": object{"listener_id": tree.listeners["web"], "action": "REJECT"}}).is(403)
		}},
	}
}

func policyRefusals(tree parts) []statement {
	base := object{"listener_id": tree.listeners["web"], "action": "REJECT"}
	refuse := func(c *try, status int, changes ...object) {
		c.Helper()
		for _, change := range changes {
			c.refuse(status, "POST", "/l7policies", "l7policy", with(base, change))
		}
	}
	url, pool := object{"redirect_url": "https://example.org/"}, object{"redirect_pool_id": tree.pools["api"]}
	return []statement{
		{"a policy needs a listener that is there and an action that is known", func(c *try) {
			refuse(c, 400, object{"listener_id": missing}, object{"action": missing}, object{"action": "DROP"}, object{"action": nil})
			refuse(c, 404, object{"listener_id": unknown}, object{"listener_id": nil})
		}},
		{"a redirection needs what it redirects to", func(c *try) {
			refuse(c, 400, object{"action": "REDIRECT_TO_URL"}, object{"action": "REDIRECT_TO_POOL"}, object{"action": "REDIRECT_PREFIX"},
				with(object{"action": "REDIRECT_TO_URL"}, pool), with(object{"action": "REDIRECT_TO_POOL"}, url))
		}},
		{"a redirection to a pool cannot be one to a prefix as well", func(c *try) {
			prefix := object{"redirect_prefix": "https://example.org"}
			refuse(c, 400, with(with(object{"action": "REDIRECT_TO_POOL"}, pool), prefix), with(with(object{"action": "REDIRECT_PREFIX"}, pool), prefix))
		}},
		{"a redirection to a pool that is not there is refused with 404, to one of a protocol that does not fit with 400", func(c *try) {
			refuse(c, 404, object{"action": "REDIRECT_TO_POOL", "redirect_pool_id": unknown})
			refuse(c, 400, object{"action": "REDIRECT_TO_POOL", "redirect_pool_id": tree.pools["tcp"]}, object{"action": "REDIRECT_TO_POOL", "redirect_pool_id": "api"})
		}},
		{"a redirection's URL has a scheme and a host, and its status is a redirection's", func(c *try) {
			to := func(url any) object { return object{"action": "REDIRECT_TO_URL", "redirect_url": url} }
			refuse(c, 400, to("example.org"), to("/path"), to("ftp://example.org/"), to("https://"), to(""),
				with(to("https://example.org/"), object{"redirect_http_code": 200}), with(to("https://example.org/"), object{"redirect_http_code": 304}))
		}},
		{"a policy's position is a number from 1", func(c *try) {
			refuse(c, 400, object{"position": 0}, object{"position": -1}, object{"position": 2147483648}, object{"position": "last"})
		}},
		{"a PROMETHEUS listener takes no policies, 400; one that is not HTTP takes none with amphorae, 501", func(c *try) {
			refuse(c, 400, object{"listener_id": tree.listeners["metrics"]})
			refuse(c, 501, object{"listener_id": tree.listeners["tcp"]}, object{"listener_id": tree.listeners["udp"]})
			c.active(tree.lb)
		}},
		{"rules nested in a POST of a policy fail with 500", func(c *try) {
			refuse(c, 500, object{"rules": list{object{"type": "PATH", "compare_type": "STARTS_WITH", "value": "/"}}})
			c.active(tree.lb)
		}},
		{"texts that are too long, tags that come twice and unknown attributes of a policy are refused", func(c *try) {
			refuse(c, 400, object{"name": strings.Repeat("n", 256)}, object{"description": strings.Repeat("n", 256)}, object{"weight": 1})
			refuse(c, 409, object{"tags": list{"a", "a"}})
		}},
		{"an update that says nothing is refused, and so is one of the listener", func(c *try) {
			c.refuse(400, "PUT", c.policy(tree, "idle"), "l7policy", object{}, object{"listener_id": tree.listeners["other"]},
				object{"action": "REDIRECT_TO_POOL"}, object{"action": "REDIRECT_TO_URL"}, object{"action": nil}, object{"redirect_pool_id": tree.pools["tcp"]},
				object{"redirect_pool_id": tree.pools["api"], "redirect_url": "https://example.org/"}, object{"position": 0})
			c.refuse(404, "PUT", c.policy(tree, "idle"), "l7policy", object{"redirect_pool_id": unknown})
		}},
	}
}

func policyChanges(tree parts) []statement {
	create := func(c *try, change object) answer {
		c.Helper()
		return c.change(tree.lb, "POST", "/l7policies", object{"l7policy": with(object{"listener_id": tree.listeners["web"]}, change)}, 201)
	}
	put := func(c *try, name string, change object) answer {
		c.Helper()
		path := c.policy(tree, name)
		c.change(tree.lb, "PUT", path, object{"l7policy": change}, 200)
		return c.as(k8s).lb("GET", path, nil).is(200)
	}
	order := func(c *try, want ...string) {
		c.Helper()
		names, _ := c.policies(tree, "web")
		c.must(slices.Equal(names, want), "they are %v, not %v", names, want)
	}
	return []statement{
		{"a new policy goes where its position says, and the others move", func(c *try) {
			c.during(tree.lb, func() {
				a := c.as(k8s).lb("POST", "/l7policies", object{"l7policy": object{
					"listener_id": tree.listeners["web"], "name": "second", "action": "REDIRECT_TO_URL", "redirect_url": "https://example.org/x", "redirect_http_code": 301, "position": 2,
				}}).is(201)
				c.must(a.at("l7policy.position") == 2.0 && a.at("l7policy.updated_at") == nil, "it is %s", a.Text)
			}, func() {
				c.must(c.status("/listeners/"+tree.listeners["web"], "listener") == "PENDING_UPDATE", "the listener is not PENDING_UPDATE")
			})
			order(c, "first", "second", "last", "idle")
		}},
		{"a policy that rejects but has a prefix becomes a redirection to the prefix, and goes to the end", func(c *try) {
			a := create(c, object{"name": "odd", "action": "REJECT", "redirect_prefix": "https://example.org", "position": 99})
			c.must(a.text("l7policy.action") == "REDIRECT_PREFIX" && a.at("l7policy.position") == 5.0, "it is %s", a.Text)
		}},
		{"an update moves a policy to a position; there are never gaps", func(c *try) {
			a := put(c, "odd", object{"position": 2})
			c.must(a.at("l7policy.position") == 2.0, "it is %s", a.Text)
			order(c, "first", "odd", "second", "last", "idle")
		}},
		{"an update with another target changes the action, and drops the target before and its status", func(c *try) {
			a := put(c, "second", object{"redirect_pool_id": tree.pools["api"]})
			c.must(a.text("l7policy.action") == "REDIRECT_TO_POOL" && a.at("l7policy.redirect_url") == nil && a.at("l7policy.redirect_http_code") == nil, "it is %s", a.Text)
		}},
		{"an update to REJECT drops every target", func(c *try) {
			a := put(c, "odd", object{"action": "REJECT", "name": "odd", "description": "new", "admin_state_up": false, "tags": list{"t"}})
			c.must(a.text("l7policy.action") == "REJECT" && a.at("l7policy.redirect_prefix") == nil && a.at("l7policy.redirect_http_code") == nil, "it is %s", a.Text)
		}},
		{"a deleted policy leaves no gap", func(c *try) {
			path := c.policy(tree, "odd")
			c.during(tree.lb, func() { c.as(k8s).lb("DELETE", path, nil).is(204) }, func() {
				c.must(c.status(path, "l7policy") == "PENDING_DELETE", "it is not PENDING_DELETE")
			})
			c.as(k8s).lb("GET", path, nil).is(404)
			order(c, "first", "second", "last", "idle")
		}},
	}
}

func ruleRefusals(tree parts) []statement {
	refuse := func(c *try, rules ...object) {
		c.Helper()
		c.refuse(400, "POST", c.policy(tree, "idle")+"/rules", "rule", rules...)
	}
	of := func(kind, compare, key, value string) object {
		o := object{"type": kind, "compare_type": compare, "value": value}
		if key != "" {
			o["key"] = key
		}
		return o
	}
	return []statement{
		{"a rule needs a type, a comparison and a value", func(c *try) {
			full := of("PATH", "EQUAL_TO", "", "/")
			refuse(c, with(full, object{"type": missing}), with(full, object{"compare_type": missing}), with(full, object{"value": missing}),
				with(full, object{"value": ""}), with(full, object{"type": nil}), with(full, object{"compare_type": nil}), with(full, object{"value": nil}),
				of("METHOD", "EQUAL_TO", "", "GET"), of("PATH", "LIKE", "", "/"), with(full, object{"name": "no"}))
		}},
		{"rules on headers and cookies need a key that can be one", func(c *try) {
			refuse(c, of("HEADER", "EQUAL_TO", "", "x"), of("COOKIE", "EQUAL_TO", "", "x"), of("HEADER", "EQUAL_TO", "X Y", "x"), of("COOKIE", "REGEX", "a;b", "x"))
		}},
		{"a rule's value can be what it is compared with", func(c *try) {
			refuse(c, of("HEADER", "EQUAL_TO", "X", "a b"), of("COOKIE", "CONTAINS", "c", "a;b"), of("PATH", "STARTS_WITH", "", "/a b"), of("HOST_NAME", "ENDS_WITH", "", "ex ample"), of("PATH", "EQUAL_TO", "", "/a\nb"))
		}},
		{"a file type is compared as a whole or by a regular expression", func(c *try) {
			refuse(c, of("FILE_TYPE", "STARTS_WITH", "", "jp"), of("FILE_TYPE", "CONTAINS", "", "jp"))
		}},
		{"a regular expression must be one", func(c *try) {
			refuse(c, of("PATH", "REGEX", "", "/(a"), of("PATH", "REGEX", "", "/a)"), of("PATH", "REGEX", "", "/[a"), of("PATH", "REGEX", "", "*a"), of("HOST_NAME", "REGEX", "", "a**"), of("HEADER", "REGEX", "X", `a\`))
		}},
		{"rules on client certificates have keys and values of their own", func(c *try) {
			refuse(c, of("SSL_CONN_HAS_CERT", "EQUAL_TO", "", "false"), of("SSL_CONN_HAS_CERT", "EQUAL_TO", "k", "True"), of("SSL_CONN_HAS_CERT", "REGEX", "", "True"),
				of("SSL_VERIFY_RESULT", "EQUAL_TO", "", "ok"), of("SSL_VERIFY_RESULT", "STARTS_WITH", "", "1"), of("SSL_DN_FIELD", "EQUAL_TO", "", "x"), of("SSL_DN_FIELD", "EQUAL_TO", "1N", "x"), of("SSL_DN_FIELD", "REGEX", "CN", "("))
		}},
	}
}

func ruleChanges(tree parts) []statement {
	return []statement{
		{"a new rule makes listener and policy PENDING_UPDATE, and the policy's pool then serves the listener", func(c *try) {
			path := c.policy(tree, "second")
			var id string
			c.during(tree.lb, func() {
				a := c.as(k8s).lb("POST", path+"/rules", object{"rule": object{"type": "HEADER", "compare_type": "REGEX", "key": "X-Kind", "value": "^(?=a)[ab]+?$", "tags": list{"t"}}}).is(201)
				id = a.text("rule.id")
			}, func() {
				c.must(c.status("/listeners/"+tree.listeners["web"], "listener") == "PENDING_UPDATE", "the listener is not PENDING_UPDATE")
				c.must(c.status(path, "l7policy") == "PENDING_UPDATE", "the policy is not PENDING_UPDATE")
			})
			c.as(k8s).lb("GET", path+"/rules/"+id, nil).is(200)
		}},
		{"a rule that is changed to a type without a key loses its key", func(c *try) {
			path := c.rules(tree, "second")[0]
			a := c.change(tree.lb, "PUT", path, object{"rule": object{"type": "PATH", "compare_type": "EQUAL_TO", "value": "/x", "invert": true, "admin_state_up": false}}, 200)
			c.must(a.at("rule.key") == nil && a.at("rule.invert") == true, "it is %s", a.Text)
		}},
		{"an update of a rule is checked as a whole", func(c *try) {
			c.refuse(400, "PUT", c.rules(tree, "second")[0], "rule", object{"type": "HEADER"}, object{"compare_type": "REGEX", "value": "("}, object{"value": nil}, object{"type": nil}, object{"name": "no"})
		}},
		{"a rule is deleted with 204", func(c *try) {
			path := c.rules(tree, "second")[0]
			c.change(tree.lb, "DELETE", path, nil, 204)
			c.as(k8s).lb("GET", path, nil).is(404)
		}},
	}
}

func policyEnds(tree parts) []statement {
	return []statement{
		{"a pool that a policy redirects to cannot be deleted, 409", func(c *try) {
			// The policies' ids in the text are those of all that use it.
			c.as(k8s).lb("DELETE", "/pools/"+tree.pools["api"], nil).is(409)
		}},
		{"a deleted listener takes its policies and rules along, and sets their pools free", func(c *try) {
			path := c.policy(tree, "first")
			c.change(tree.lb, "DELETE", "/listeners/"+tree.listeners["web"], nil, 204)
			c.as(k8s).lb("GET", path, nil).is(404)
			a := c.as(k8s).lb("GET", "/pools/"+tree.pools["api"], nil).is(200)
			c.must(len(a.list("pool.listeners")) == 0, "it still has a listener: %s", a.Text)
		}},
	}
}
