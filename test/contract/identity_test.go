// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	noID     = "00000000000000000000000000000000"
	tokens3  = "/auth/tokens"
	plain3   = "/auth/tokens?nocatalog"
	madeUp   = "made-up"
	unscoped = "unscoped"
)

// identify requests a token: with an identity, and a scope unless it is nil.
func (c *try) identify(path string, identity, scope any) answer {
	c.Helper()
	auth := object{"identity": identity}
	if scope != nil {
		auth["scope"] = scope
	}
	return c.as(k8s).with("").identity("POST", path, object{"auth": auth})
}

// byPassword returns the identity of a user of the domain with the id default.
func byPassword(name, password string) object {
	return object{"methods": list{"password"}, "password": object{"user": object{
		"name": name, "password": password, "domain": object{"id": "default"}}}}
}

func byToken(id string) object {
	return object{"methods": list{"token"}, "token": object{"id": id}}
}

// projectNamed returns the scope of a project of the domain with the id default.
func projectNamed(name string) object {
	return object{"project": object{"name": name, "domain": object{"id": "default"}}}
}

// newToken gets a token for k8s that no other case uses. The call is not
// compared.
func (c *try) newToken() answer {
	c.Helper()
	return c.quietly(k8s).with("").identity("POST", plain3, object{"auth": object{
		"identity": byPassword(k8s, c.cloud.Passwords[k8s]), "scope": projectNamed(k8s)}}).is(201)
}

// userID returns the id of a user of the cloud.
func (c *try) userID(user string) string { return tokens.of(c, user).body.text("token.user.id") }

// projectID returns the id of the project that a user's tokens are for.
func (c *try) projectID(user string) string { return tokens.of(c, user).body.text("token.project.id") }

func TestPasswords(t *testing.T) {
	t.Parallel()
	state(t, []statement{
		{"a password gives a token for the project that is named, with the user's roles and the catalogue", func(c *try) {
			a := c.identify(tokens3, byPassword(k8s, c.cloud.Passwords[k8s]), projectNamed(k8s)).is(201)
			c.must(a.Header.Get("X-Subject-Token") != "", "no token in the answer's header")
			c.must(a.text("token.project.id") == c.cloud.Projects[k8s], "it is for the project %s", a.text("token.project.id"))
			c.must(slices.Contains(a.texts("token.roles", "name"), "load-balancer_member"), "the roles are %v", a.texts("token.roles", "name"))
			c.must(len(a.list("token.catalog")) > 0, "no catalogue in %s", a.Text)
		}},
		{"a project may be named by its id alone", func(c *try) {
			a := c.identify(plain3, byPassword(k8s, c.cloud.Passwords[k8s]), object{"project": object{"id": c.cloud.Projects[k8s]}}).is(201)
			c.must(a.text("token.project.name") == k8s, "it is for the project %s", a.text("token.project.name"))
		}},
		{"domains may be named by their names", func(c *try) {
			identity := object{"methods": list{"password"}, "password": object{"user": object{
				"name": k8s, "password": c.cloud.Passwords[k8s], "domain": object{"name": "Default"}}}}
			c.identify(plain3, identity, object{"project": object{"name": k8s, "domain": object{"name": "Default"}}}).is(201)
		}},
		{"a user may be named by the id alone", func(c *try) {
			identity := object{"methods": list{"password"}, "password": object{"user": object{"id": c.userID(k8s), "password": c.cloud.Passwords[k8s]}}}
			c.identify(plain3, identity, projectNamed(k8s)).is(201)
		}},
		{"a login with ?nocatalog gets a token without the catalogue", func(c *try) {
			a := c.identify(plain3, byPassword(k8s, c.cloud.Passwords[k8s]), projectNamed(k8s)).is(201)
			c.must(a.at("token.catalog") == nil, "a catalogue: %s", a.Text)
		}},
		{"a login that names no scope is scoped to the user's default project", func(c *try) {
			a := c.identify(plain3, byPassword(k8s, c.cloud.Passwords[k8s]), nil).is(201)
			c.must(a.text("token.project.id") == c.cloud.Projects[k8s], "it is for the project %q", a.text("token.project.id"))
		}},
		{"a login that asks for no scope gets a token without project, roles and catalogue", func(c *try) {
			a := c.identify(tokens3, byPassword(k8s, c.cloud.Passwords[k8s]), unscoped).is(201)
			for _, key := range []string{"project", "roles", "catalog"} {
				c.must(a.at("token."+key) == nil, "it has %s: %s", key, a.Text)
			}
		}},
		{"a wrong password is answered 401 and WWW-Authenticate names Keystone", func(c *try) {
			a := c.identify(plain3, byPassword(k8s, "wrong"), projectNamed(k8s)).is(401)
			c.must(a.Header.Get("Www-Authenticate") == `Keystone uri="`+c.cloud.AuthURL+`"`, "it says %s", a.Header.Get("Www-Authenticate"))
		}},
		{"an unknown user is answered like a wrong password", func(c *try) {
			c.identify(plain3, byPassword("nobody", "wrong"), projectNamed(k8s)).is(401)
		}},
		{"a user that is named without a domain is answered 400", func(c *try) {
			identity := object{"methods": list{"password"}, "password": object{"user": object{"name": k8s, "password": "x"}}}
			c.identify(plain3, identity, projectNamed(k8s)).is(400)
		}},
		{"a user of an unknown domain is answered 401", func(c *try) {
			identity := object{"methods": list{"password"}, "password": object{"user": object{"name": k8s, "password": "x", "domain": object{"id": "nowhere"}}}}
			c.identify(plain3, identity, projectNamed(k8s)).is(401)
		}},
		{"a project in which the user has no role is answered 401, not 403", func(c *try) {
			c.identify(plain3, byPassword(k8s, c.cloud.Passwords[k8s]), projectNamed(other)).is(401)
		}},
		{"an unknown project is answered 401, not 404", func(c *try) {
			c.identify(plain3, byPassword(k8s, c.cloud.Passwords[k8s]), projectNamed("nowhere")).is(401)
		}},
		{"a project that is named without a domain is answered 400", func(c *try) {
			c.identify(plain3, byPassword(k8s, c.cloud.Passwords[k8s]), object{"project": object{"name": k8s}}).is(400)
		}},
		{"a user without a role on the domain gets no token for it", func(c *try) {
			c.identify(plain3, byPassword(k8s, c.cloud.Passwords[k8s]), object{"domain": object{"id": "default"}}).is(401)
		}},
		{"a user without a role on the system gets no token for it", func(c *try) {
			c.identify(plain3, byPassword(k8s, c.cloud.Passwords[k8s]), object{"system": object{"all": true}}).is(401)
		}},
		{"a login without methods is answered 401", func(c *try) {
			c.identify(plain3, object{"methods": list{}}, nil).is(401)
		}},
		{"a login that does not name its methods is answered 400", func(c *try) {
			c.identify(plain3, object{}, nil).is(400)
		}},
		{"a login by a method whose data is missing is answered 400", func(c *try) {
			c.identify(plain3, object{"methods": list{"password"}}, nil).is(400)
		}},
		{"a login with nothing in it is answered 400", func(c *try) {
			c.as(k8s).with("").identity("POST", plain3, object{}).is(400)
			c.as(k8s).with("").identity("POST", plain3, object{"auth": object{}}).is(400)
		}},
		{"a login that is no JSON is answered 400", func(c *try) {
			c.as(k8s).with("").identity("POST", plain3, "{").is(400)
		}},
	})
}

var keystoneTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000000Z$`)

func TestTokens(t *testing.T) {
	t.Parallel()
	state(t, []statement{
		{"a token says when it was issued and when it expires, in UTC, to the second, with six zeros behind", func(c *try) {
			a := c.newToken()
			for _, key := range []string{"issued_at", "expires_at"} {
				c.must(keystoneTime.MatchString(a.text("token."+key)), "%s is %s", key, a.text("token."+key))
			}
			issued, err := time.Parse(time.RFC3339, a.text("token.issued_at"))
			c.must(err == nil, "%v", err)
			expires, err := time.Parse(time.RFC3339, a.text("token.expires_at"))
			c.must(err == nil, "%v", err)
			c.must(expires.Sub(issued) == time.Hour, "it lives %v", expires.Sub(issued))
		}},
		{"every login gets a token of its own", func(c *try) {
			one, two := c.newToken().Header.Get("X-Subject-Token"), c.newToken().Header.Get("X-Subject-Token")
			c.must(one != two, "the same token twice")
		}},
		{"a token for a token has both methods and the first one's expiry", func(c *try) {
			first := c.newToken()
			a := c.identify(plain3, byToken(first.Header.Get("X-Subject-Token")), projectNamed(k8s)).is(201)
			methods := a.list("token.methods")
			c.must(len(methods) == 2 && slices.Contains(methods, any("password")) && slices.Contains(methods, any("token")), "the methods are %v", methods)
			c.must(a.text("token.expires_at") == first.text("token.expires_at"), "it expires at %s", a.text("token.expires_at"))
			c.must(len(a.list("token.audit_ids")) == 2, "the audit ids are %v", a.list("token.audit_ids"))
		}},
		{"a made-up token as a login is answered 404, not 401", func(c *try) {
			c.identify(plain3, byToken(madeUp), projectNamed(k8s)).is(404)
		}},
		{"a token that asks about itself is told all that the login was told", func(c *try) {
			id := c.newToken().Header.Get("X-Subject-Token")
			a := c.as(k8s).with(id).identity("GET", plain3, nil, "X-Subject-Token: "+id).is(200)
			c.must(a.Header.Get("X-Subject-Token") == id, "the header names another token")
		}},
		{"HEAD about a token is answered 200 without a body", func(c *try) {
			id := c.newToken().Header.Get("X-Subject-Token")
			a := c.as(k8s).identity("HEAD", tokens3, nil, "X-Subject-Token: "+id).is(200)
			c.must(a.Text == "", "the body is %s", a.Text)
		}},
		{"a user may not ask about another user's token", func(c *try) {
			c.as(k8s).identity("GET", plain3, nil, "X-Subject-Token: "+tokens.of(c, other).id).is(403)
		}},
		{"an admin may ask about anybody's token", func(c *try) {
			c.as(admin).identity("GET", plain3, nil, "X-Subject-Token: "+c.newToken().Header.Get("X-Subject-Token")).is(200)
		}},
		{"asking about a made-up token is answered 404", func(c *try) {
			c.as(k8s).identity("GET", tokens3, nil, "X-Subject-Token: "+madeUp).is(404)
		}},
		{"asking about no token is answered 403", func(c *try) {
			c.as(k8s).identity("GET", tokens3, nil).is(403)
		}},
		{"a token that was revoked is unknown to those who ask about it, and Keystone takes it no more", func(c *try) {
			id := c.newToken().Header.Get("X-Subject-Token")
			c.as(k8s).identity("DELETE", tokens3, nil, "X-Subject-Token: "+id).is(204)
			c.as(k8s).identity("GET", tokens3, nil, "X-Subject-Token: "+id).is(404)
			c.as(k8s).identity("HEAD", tokens3, nil, "X-Subject-Token: "+id).is(404)
			c.as(k8s).identity("DELETE", tokens3, nil, "X-Subject-Token: "+id).is(404)
			c.as(k8s).with(id).identity("GET", "/auth/projects", nil).is(401)
			c.identify(plain3, byToken(id), projectNamed(k8s)).is(404)
		}},
		{"a token may revoke itself", func(c *try) {
			id := c.newToken().Header.Get("X-Subject-Token")
			c.as(k8s).with(id).identity("DELETE", tokens3, nil, "X-Subject-Token: "+id).is(204)
			c.as(k8s).with(id).identity("GET", "/auth/projects", nil).is(401)
		}},
		{"a user may not revoke another user's token", func(c *try) {
			c.as(k8s).identity("DELETE", tokens3, nil, "X-Subject-Token: "+tokens.of(c, other).id).is(403)
		}},
		{"a token that no service has seen is refused by all of them once it is revoked", func(c *try) {
			id := c.newToken().Header.Get("X-Subject-Token")
			c.as(k8s).identity("DELETE", tokens3, nil, "X-Subject-Token: "+id).is(204)
			c.refusedByAll(id)
		}},
	})
}

// oneOfEach is a request for each service.
var oneOfEach = []struct{ service, path string }{
	{"network", "/v2.0/networks?fields=id"}, {"load-balancer", "/v2.0/lbaas/loadbalancers"},
	{"compute", "/v2.1/servers"}, {"key-manager", "/v1/secrets"},
}

// refusedByAll states that every service refuses the token, naming Keystone.
func (c *try) refusedByAll(id string) {
	c.Helper()
	for _, s := range oneOfEach {
		a := c.as(k8s).with(id).do(s.service, "GET", s.path, nil).is(401)
		c.must(a.Header.Get("Www-Authenticate") == `Keystone uri="`+c.cloud.AuthURL+`"`, "%s says %s", s.service, a.Header.Get("Www-Authenticate"))
	}
}

func TestCatalogue(t *testing.T) {
	t.Parallel()
	state(t, []statement{
		{"the catalogue has a public endpoint in the region for each service", func(c *try) {
			a := c.as(k8s).identity("GET", "/auth/catalog", nil).is(200)
			for _, service := range []string{"identity", "network", "load-balancer", "compute", "key-manager", "image"} {
				c.must(publicURL(a, c.cloud.Region, service) != "", "no %s in %s", service, a.Text)
			}
		}},
		{"the catalogue of a token is the one that GET /auth/catalog has", func(c *try) {
			token := tokens.of(c, k8s).body
			a := c.quietly(k8s).identity("GET", "/auth/catalog", nil).is(200)
			for _, service := range []string{"network", "load-balancer", "compute", "key-manager"} {
				c.must(publicURL(a, c.cloud.Region, service) == publicURLOf(token, c.cloud.Region, service), "%s differs", service)
			}
		}},
		{"an unscoped token has no catalogue to show", func(c *try) {
			id := c.identify(tokens3, byPassword(k8s, c.cloud.Passwords[k8s]), unscoped).is(201).Header.Get("X-Subject-Token")
			c.as(k8s).with(id).identity("GET", "/auth/catalog", nil).is(403)
		}},
		{"a token lists the projects that its user has a role in, whatever it is scoped to", func(c *try) {
			a := c.as(k8s).identity("GET", "/auth/projects", nil).is(200)
			c.must(slices.Contains(a.texts("projects", "id"), c.cloud.Projects[k8s]), "the projects are %s", a.Text)
			id := c.identify(tokens3, byPassword(k8s, c.cloud.Passwords[k8s]), unscoped).is(201).Header.Get("X-Subject-Token")
			b := c.as(k8s).with(id).identity("GET", "/auth/projects", nil).is(200)
			c.must(len(a.list("projects")) == len(b.list("projects")), "the unscoped token's are %s", b.Text)
		}},
		{"every service refuses a request without a token, and names Keystone", func(c *try) { c.refusedByAll("") }},
		{"every service refuses a made-up token, and names Keystone", func(c *try) { c.refusedByAll(madeUp) }},
		{"Keystone refuses a request without a token, and a made-up one", func(c *try) {
			c.as(k8s).with("").identity("GET", "/auth/projects", nil).is(401)
			c.as(k8s).with(madeUp).identity("GET", "/auth/projects", nil).is(401)
			c.as(k8s).with("").identity("GET", tokens3, nil).is(401)
			c.as(k8s).with(madeUp).identity("GET", tokens3, nil).is(401)
		}},
		{"Keystone has a list of versions, answered 300, for everybody", func(c *try) {
			a := c.as(k8s).with("").do("identity", "GET", "/", nil).is(300)
			c.must(strings.HasPrefix(a.text("versions.values.0.id"), "v3."), "it has %s", a.Text)
			c.must(a.Header.Get("Location") == c.cloud.AuthURL+"/", "Location is %s", a.Header.Get("Location"))
			c.must(a.text("versions.values.0.links.0.href") == c.cloud.AuthURL+"/", "it is at %s", a.text("versions.values.0.links.0.href"))
		}},
		{"Keystone's version 3 describes itself, with and without a slash behind", func(c *try) {
			c.as(k8s).with("").do("identity", "GET", "/v3", nil).is(200)
			c.as(k8s).with("").do("identity", "GET", "/v3/", nil).is(200)
		}},
		{"Neutron has a list of versions for everybody", func(c *try) {
			a := c.as(k8s).with("").do("network", "GET", "/", nil).is(200)
			c.must(a.text("versions.0.id") == "v2.0" && a.text("versions.0.status") == "CURRENT", "it has %s", a.Text)
		}},
		{"Neutron's version 2.0 describes itself to those with a token only", func(c *try) {
			c.as(k8s).with("").do("network", "GET", "/v2.0/", nil).is(401)
			c.as(k8s).do("network", "GET", "/v2.0/", nil).is(200)
		}},
		{"Octavia lists all of its versions for everybody, from 2.0 on, the last one CURRENT", func(c *try) {
			a := c.as(k8s).with("").do("load-balancer", "GET", "/", nil).is(200)
			for i, id := range a.texts("versions", "id") {
				c.must(id == fmt.Sprintf("v2.%d", i), "number %d is %s", i, id)
			}
			last := len(a.list("versions")) - 1
			c.must(a.text(fmt.Sprintf("versions.%d.status", last)) == "CURRENT" && a.text(fmt.Sprintf("versions.%d.status", last-1)) == "SUPPORTED", "it has %s", a.Text)
			if want, known := newestVersions[c.cloud.release]; known {
				c.must(a.text(fmt.Sprintf("versions.%d.id", last)) == want.octavia, "it has %s", a.Text)
			}
		}},
		{"Nova lists its versions for everybody, also 2.0, which has no microversions", func(c *try) {
			a := c.as(k8s).with("").do("compute", "GET", "/", nil).is(200)
			c.must(slices.Equal(a.texts("versions", "id"), []string{"v2.0", "v2.1"}), "it has %s", a.Text)
			c.must(a.text("versions.1.min_version") == "2.1", "it has %s", a.Text)
			if want, known := newestVersions[c.cloud.release]; known {
				c.must(a.text("versions.1.version") == want.nova, "it has %s", a.Text)
			}
		}},
		{"Nova's version 2.1 describes itself to everybody, and says which microversion that is", func(c *try) {
			for _, path := range []string{"/v2.1", "/v2.1/"} {
				a := c.as(k8s).with("").do("compute", "GET", path, nil).is(200)
				c.must(a.Header.Get("OpenStack-API-Version") == "compute 2.1", "it is %s", a.Header.Get("OpenStack-API-Version"))
			}
		}},
		{"Barbican lists its versions for everybody, answered 300", func(c *try) {
			a := c.as(k8s).with("").do("key-manager", "GET", "/", nil).is(300)
			c.must(a.text("versions.values.0.id") == "v1", "it has %s", a.Text)
		}},
		{"paths that a service does not have are answered 404 to those with a token", func(c *try) {
			c.as(k8s).do("identity", "GET", "/v3/nonsense", nil).is(404)
			c.as(k8s).do("compute", "GET", "/v2.1/nonsense", nil).is(404)
			c.as(k8s).do("key-manager", "GET", "/v1/nonsense", nil).is(404)
		}},
	})
}

// publicURL returns a service's public endpoint in the answer of GET /auth/catalog.
func publicURL(a answer, region, service string) string {
	return urlIn(a.list("catalog"), region, service)
}

// publicURLOf returns a service's public endpoint in a token.
func publicURLOf(a answer, region, service string) string {
	return urlIn(a.list("token.catalog"), region, service)
}

func urlIn(catalogue []any, region, service string) string {
	for _, s := range catalogue {
		s := s.(map[string]any)
		if s["type"] != service {
			continue
		}
		for _, e := range s["endpoints"].([]any) {
			if e := e.(map[string]any); e["interface"] == "public" && e["region"] == region && e["region_id"] == region {
				return e["url"].(string)
			}
		}
	}
	return ""
}
