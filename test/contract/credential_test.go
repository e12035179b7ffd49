// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"slices"
	"strings"
	"testing"
)

// newCredential creates an application credential of k8s, which is deleted when the case ends. The
// call is compared.
func (c *try) newCredential(extra object) answer {
	c.Helper()
	wish := object{"name": c.newName()}
	for key, value := range extra {
		wish[key] = value
	}
	a := c.as(k8s).identity("POST", "/users/"+c.userID(k8s)+"/application_credentials", object{"application_credential": wish}).is(201)
	path := "/users/" + c.userID(k8s) + "/application_credentials/" + a.text("application_credential.id")
	c.Cleanup(func() {
		c.quietly(k8s).identity("DELETE", path, nil)
		for _, rule := range a.texts("application_credential.access_rules", "id") {
			c.quietly(k8s).identity("DELETE", "/users/"+c.userID(k8s)+"/access_rules/"+rule, nil)
		}
	})
	return a
}

func byCredential(id, secret string) object {
	return object{"methods": list{"application_credential"}, "application_credential": object{"id": id, "secret": secret}}
}

// use gets a token for the application credential in the answer that made it.
func (c *try) use(made answer) string {
	c.Helper()
	identity := byCredential(made.text("application_credential.id"), made.text("application_credential.secret"))
	return c.identify(plain3, identity, nil).is(201).Header.Get("X-Subject-Token")
}

func TestApplicationCredentials(t *testing.T) {
	t.Parallel()
	mine := func(c *try) string { return "/users/" + c.userID(k8s) + "/application_credentials" }
	networks := object{"service": "network", "method": "GET", "path": "/v2.0/networks"}
	state(t, []statement{
		{"an application credential is made by its user, and the secret is in that answer only", func(c *try) {
			a := c.newCredential(nil)
			c.must(a.text("application_credential.secret") != "", "no secret in %s", a.Text)
			c.must(a.text("application_credential.project_id") == c.cloud.Projects[k8s], "it is for %s", a.text("application_credential.project_id"))
			path := mine(c) + "/" + a.text("application_credential.id")
			b := c.as(k8s).identity("GET", path, nil).is(200)
			c.must(b.at("application_credential.secret") == nil, "the secret is shown again")
		}},
		{"an application credential authenticates by id and secret, for the project and the roles it was made with", func(c *try) {
			made := c.newCredential(nil)
			a := c.identify(tokens3, byCredential(made.text("application_credential.id"), made.text("application_credential.secret")), nil).is(201)
			c.must(a.text("token.project.id") == c.cloud.Projects[k8s], "it is for %s", a.text("token.project.id"))
			c.must(slices.Contains(a.texts("token.roles", "name"), "load-balancer_member"), "the roles are %v", a.texts("token.roles", "name"))
		}},
		{"an application credential authenticates by its name and its user's", func(c *try) {
			made := c.newCredential(nil)
			identity := object{"methods": list{"application_credential"}, "application_credential": object{
				"name": made.text("application_credential.name"), "secret": made.text("application_credential.secret"),
				"user": object{"name": k8s, "domain": object{"id": "default"}}}}
			c.identify(plain3, identity, nil).is(201)
		}},
		{"a token of an application credential is no login for another token", func(c *try) {
			token := c.use(c.newCredential(nil))
			// Keystone 22 answered 500 before Debian's security update, which refuses it.
			auth := object{"identity": byToken(token), "scope": projectNamed(k8s)}
			a := c.quietly(k8s).with("").identity("POST", plain3, object{"auth": auth})
			c.must(a.Status == 403 || a.Status == 500 && !c.cloud.simulated, "it is answered %d %s", a.Status, a.Text)
		}},
		{"an application credential's token may not be asked for with another project as its scope", func(c *try) {
			made := c.newCredential(nil)
			identity := byCredential(made.text("application_credential.id"), made.text("application_credential.secret"))
			c.identify(plain3, identity, projectNamed(other)).is(401)
		}},
		{"a wrong secret is answered 401", func(c *try) {
			made := c.newCredential(nil)
			c.identify(plain3, byCredential(made.text("application_credential.id"), "wrong"), nil).is(401)
		}},
		{"an application credential that is not there is answered 404 when it is named by its id, not 401", func(c *try) {
			c.identify(plain3, byCredential(noID, "x"), nil).is(404)
		}},
		{"an application credential that is not there is answered 401 when it is named by its name", func(c *try) {
			identity := object{"methods": list{"application_credential"}, "application_credential": object{
				"name": "nothing", "secret": "x", "user": object{"name": k8s, "domain": object{"id": "default"}}}}
			c.identify(plain3, identity, nil).is(401)
		}},
		{"an application credential with fewer roles gives only those", func(c *try) {
			made := c.newCredential(object{"roles": list{object{"name": "load-balancer_member"}}})
			a := c.identify(plain3, byCredential(made.text("application_credential.id"), made.text("application_credential.secret")), nil).is(201)
			c.must(slices.Equal(a.texts("token.roles", "name"), []string{"load-balancer_member"}), "the roles are %v", a.texts("token.roles", "name"))
		}},
		{"an application credential with the role member alone does not give what member implies", until(release2022, func(c *try) {
			made := c.newCredential(object{"roles": list{object{"name": "member"}}})
			a := c.identify(plain3, byCredential(made.text("application_credential.id"), made.text("application_credential.secret")), nil).is(201)
			c.must(slices.Equal(a.texts("token.roles", "name"), []string{"member"}), "the roles are %v", a.texts("token.roles", "name"))
		})},
		{"an application credential with the role member alone gives what member implies too", since(release2025, func(c *try) {
			made := c.newCredential(object{"roles": list{object{"name": "member"}}})
			a := c.identify(plain3, byCredential(made.text("application_credential.id"), made.text("application_credential.secret")), nil).is(201)
			c.must(sameSet(a.texts("token.roles", "name"), "member", "reader"), "the roles are %v", a.texts("token.roles", "name"))
		})},
		{"access rules allow what they name", func(c *try) {
			token := c.use(c.newCredential(object{"access_rules": list{networks}}))
			c.quietly(k8s).with(token).net("GET", "/networks?fields=id", nil).is(200)
		}},
		{"what no access rule names is answered 401, not 403, by every service", func(c *try) {
			token := c.use(c.newCredential(object{"access_rules": list{networks}}))
			c.as(k8s).with(token).net("GET", "/ports", nil).is(401)
			c.as(k8s).with(token).net("POST", "/networks", object{"network": object{}}).is(401)
			c.as(k8s).with(token).net("GET", "/networks/"+c.cloud.Network, nil).is(401)
			c.as(k8s).with(token).lb("GET", "/loadbalancers", nil).is(401)
			c.as(k8s).with(token).compute("GET", "/servers", nil).is(401)
			c.as(k8s).with(token).keys("GET", "/secrets", nil).is(401)
		}},
		{"Octavia asks Neutron for the network, the subnet and the port of a VIP with the caller's token, and finds only what its access rules allow", func(c *try) {
			create := func(rules list, lb object) answer {
				token := c.use(c.newCredential(object{"access_rules": append(rules,
					object{"service": "load-balancer", "method": "POST", "path": "/v2.0/lbaas/loadbalancers"})}))
				lb["provider"] = "noprovider" // refused only after these checks
				return c.as(k8s).with(token).lb("POST", "/loadbalancers", object{"loadbalancer": lb})
			}
			for _, tc := range []struct{ collection, key, id, noun string }{
				{"networks", "vip_network_id", c.cloud.Network, "Network"},
				{"subnets", "vip_subnet_id", c.cloud.Subnet, "Subnet"},
				{"ports", "vip_port_id", c.has(k8s, "ports", object{"network_id": c.cloud.Network, "fixed_ips": list{object{"subnet_id": c.cloud.Subnet}}}), "Port"},
			} {
				refused := create(nil, object{tc.key: tc.id}).is(400)
				c.must(strings.Contains(refused.Text, tc.noun+" "+tc.id+" not found."), "it says %s", refused.Text)
				rule := object{"service": "network", "method": "GET", "path": "/v2.0/" + tc.collection + "/*"}
				later := create(list{rule}, object{tc.key: tc.id})
				c.must(!strings.Contains(later.Text, "not found"), "with the rule it says %s", later.Text)
			}
		}},
		{"access rules may have wildcards, for a segment and for any number", func(c *try) {
			token := c.use(c.newCredential(object{"access_rules": list{
				object{"service": "network", "method": "GET", "path": "/v2.0/networks/*"},
				object{"service": "compute", "method": "GET", "path": "/v2.1/servers/{id}"},
				object{"service": "load-balancer", "method": "GET", "path": "/v2.0/**"},
			}}))
			c.quietly(k8s).with(token).net("GET", "/networks/"+c.cloud.Network+"?fields=id", nil).is(200)
			c.as(k8s).with(token).net("GET", "/networks", nil).is(401)
			c.as(k8s).with(token).compute("GET", "/servers/"+c.cloud.Servers["node-1"], nil).is(200)
			c.as(k8s).with(token).compute("GET", "/servers/"+c.cloud.Servers["node-1"]+"/os-interface", nil).is(401)
			c.quietly(k8s).with(token).lb("GET", "/loadbalancers", nil).is(200)
		}},
		{"Keystone itself does not ask for access rules", until(release2022, func(c *try) {
			token := c.use(c.newCredential(object{"access_rules": list{networks}}))
			c.as(k8s).with(token).identity("GET", "/auth/projects", nil).is(200)
		})},
		{"Keystone asks for access rules as every service does: 401", since(release2025, func(c *try) {
			token := c.use(c.newCredential(object{"access_rules": list{networks}}))
			c.as(k8s).with(token).identity("GET", "/auth/projects", nil).is(401)
		})},
		{"a token with access rules is unknown to those who ask about it without saying that they know such rules", func(c *try) {
			token := c.use(c.newCredential(object{"access_rules": list{networks}}))
			c.as(k8s).with(token).identity("GET", tokens3, nil, "X-Subject-Token: "+token).is(404)
			a := c.as(k8s).with(token).identity("GET", plain3, nil, "X-Subject-Token: "+token, "OpenStack-Identity-Access-Rules: 1.0").is(200)
			c.must(len(a.list("token.application_credential.access_rules")) == 1, "the rules are not in %s", a.Text)
			c.identify(plain3, byToken(token), nil).is(404)
		}},
		{"access rules stay when their application credential goes, until they are deleted", func(c *try) {
			made := c.newCredential(object{"access_rules": list{object{"service": "network", "method": "GET", "path": "/v2.0/" + c.newName()}}})
			rule := made.texts("application_credential.access_rules", "id")[0]
			rules := "/users/" + c.userID(k8s) + "/access_rules"
			c.as(k8s).identity("DELETE", rules+"/"+rule, nil).is(403)
			c.as(k8s).identity("DELETE", mine(c)+"/"+made.text("application_credential.id"), nil).is(204)
			c.must(slices.Contains(c.as(k8s).identity("GET", rules, nil).is(200).texts("access_rules", "id"), rule), "the rule is gone")
			c.as(k8s).identity("GET", rules+"/"+rule, nil).is(200)
			c.as(k8s).identity("DELETE", rules+"/"+rule, nil).is(204)
			c.as(k8s).identity("GET", rules+"/"+rule, nil).is(404)
		}},
		{"a restricted application credential, which is the default, neither makes nor deletes others", func(c *try) {
			made := c.newCredential(nil)
			token := c.use(made)
			c.as(k8s).with(token).identity("POST", mine(c), object{"application_credential": object{"name": c.newName()}}).is(403)
			c.as(k8s).with(token).identity("DELETE", mine(c)+"/"+made.text("application_credential.id"), nil).is(403)
			// Debian's security updates of Keystone 22 changed the message.
			c.quietly(k8s).with(token).identity("POST", "/OS-TRUST/trusts", object{"trust": c.trust(nil)}).is(403)
		}},
		{"an unrestricted application credential may delete itself", func(c *try) {
			made := c.newCredential(object{"unrestricted": true})
			c.as(k8s).with(c.use(made)).identity("DELETE", mine(c)+"/"+made.text("application_credential.id"), nil).is(204)
		}},
		{"an application credential that was deleted authenticates no more: 404", func(c *try) {
			made := c.newCredential(nil)
			c.use(made)
			c.as(k8s).identity("DELETE", mine(c)+"/"+made.text("application_credential.id"), nil).is(204)
			c.as(k8s).identity("GET", mine(c)+"/"+made.text("application_credential.id"), nil).is(404)
			c.as(k8s).identity("DELETE", mine(c)+"/"+made.text("application_credential.id"), nil).is(404)
			c.identify(plain3, byCredential(made.text("application_credential.id"), made.text("application_credential.secret")), nil).is(404)
		}},
		{"application credentials are listed by name", func(c *try) {
			made := c.newCredential(object{"description": "for a cluster", "expires_at": "2040-01-02T03:04:05"})
			a := c.as(k8s).identity("GET", mine(c)+"?name="+made.text("application_credential.name"), nil).is(200)
			c.must(len(a.list("application_credentials")) == 1, "they are %s", a.Text)
			c.must(strings.HasPrefix(a.text("application_credentials.0.expires_at"), "2040-01-02T03:04:05"), "it expires at %s", a.text("application_credentials.0.expires_at"))
		}},
		{"a second application credential of the same name is refused with 409", func(c *try) {
			name := c.newCredential(nil).text("application_credential.name")
			c.as(k8s).identity("POST", mine(c), object{"application_credential": object{"name": name}}).is(409)
		}},
		{"an application credential needs a name, a time that can be read and roles that its user has", func(c *try) {
			for _, wish := range []object{
				{},
				{"name": c.newName(), "expires_at": "tomorrow"},
				{"name": c.newName(), "roles": list{object{"name": "admin"}}},
			} {
				c.as(k8s).identity("POST", mine(c), object{"application_credential": wish}).is(400)
			}
		}},
		{"application credentials of another user are out of sight", func(c *try) {
			made := c.newCredential(nil)
			c.as(other).identity("GET", mine(c), nil).is(403)
			c.as(other).identity("GET", mine(c)+"/"+made.text("application_credential.id"), nil).is(403)
			c.as(other).identity("DELETE", mine(c)+"/"+made.text("application_credential.id"), nil).is(403)
			c.as(other).identity("POST", mine(c), object{"application_credential": object{"name": c.newName()}}).is(403)
		}},
	})
}
