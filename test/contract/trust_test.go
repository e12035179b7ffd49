// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// trust returns the wish for a trust of k8s in other, with changes.
func (c *try) trust(changes object) object {
	wish := object{
		"trustor_user_id": c.userID(k8s), "trustee_user_id": c.userID(other), "project_id": c.cloud.Projects[k8s],
		"impersonation": true, "roles": list{object{"name": "member"}, object{"name": "load-balancer_member"}},
	}
	for key, value := range changes {
		wish[key] = value
		if value == nil {
			delete(wish, key)
		}
	}
	return wish
}

// newTrust creates a trust of k8s in other, which is deleted when the case ends. The call is
// compared. It returns the trust's id.
func (c *try) newTrust(changes object) string {
	c.Helper()
	id := c.as(k8s).identity("POST", "/OS-TRUST/trusts", object{"trust": c.trust(changes)}).is(201).text("trust.id")
	c.Cleanup(func() { c.quietly(k8s).identity("DELETE", "/OS-TRUST/trusts/"+id, nil) })
	return id
}

func trustScope(id string) object { return object{"OS-TRUST:trust": object{"id": id}} }

// trusted gets a token of other's for a trust.
func (c *try) trusted(id string) answer {
	c.Helper()
	return c.identify(plain3, byPassword(other, c.cloud.Passwords[other]), trustScope(id))
}

// someExpiry returns a time in 2040 that no other trust has.
func someExpiry() string {
	begin := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC)
	return begin.Add(time.Duration(rand.IntN(366*24*3600)) * time.Second).Format("2006-01-02T15:04:05.000000Z")
}

func TestTrusts(t *testing.T) {
	t.Parallel()
	state(t, []statement{
		{"a trust with impersonation gives the trustee a token of the trustor, with the trust's roles", func(c *try) {
			a := c.trusted(c.newTrust(nil)).is(201)
			c.must(a.text("token.user.name") == k8s && a.text("token.project.name") == k8s, "it is %s's for %s", a.text("token.user.name"), a.text("token.project.name"))
			roles := a.texts("token.roles", "name")
			slices.Sort(roles)
			c.must(slices.Equal(roles, []string{"load-balancer_member", "member", "reader"}), "the roles are %v", roles)
		}},
		{"a trust without impersonation gives the trustee a token of its own for the trustor's project", func(c *try) {
			a := c.trusted(c.newTrust(object{"impersonation": false})).is(201)
			c.must(a.text("token.user.name") == other && a.text("token.project.name") == k8s, "it is %s's for %s", a.text("token.user.name"), a.text("token.project.name"))
		}},
		{"every service takes the token of a trust", func(c *try) {
			token := c.trusted(c.newTrust(nil)).is(201).Header.Get("X-Subject-Token")
			c.quietly(k8s).with(token).lb("GET", "/loadbalancers?name=none", nil).is(200)
			c.quietly(k8s).with(token).net("GET", "/ports?name=none", nil).is(200)
			c.as(k8s).with(token).compute("GET", "/servers?name=none", nil).is(200)
		}},
		{"the trustee gets the token of a trust for a token, too", func(c *try) {
			token := c.identify(plain3, byPassword(other, c.cloud.Passwords[other]), projectNamed(other)).is(201).Header.Get("X-Subject-Token")
			c.identify(plain3, byToken(token), trustScope(c.newTrust(nil))).is(201)
		}},
		{"a token of a trust is no login for another token", func(c *try) {
			token := c.trusted(c.newTrust(nil)).is(201).Header.Get("X-Subject-Token")
			c.identify(plain3, byToken(token), projectNamed(k8s)).is(403)
		}},
		{"a token of a trust makes no other trust", func(c *try) {
			token := c.trusted(c.newTrust(nil)).is(201).Header.Get("X-Subject-Token")
			c.as(k8s).with(token).identity("POST", "/OS-TRUST/trusts", object{"trust": c.trust(nil)}).is(403)
		}},
		{"nobody but the trustee gets a token for a trust: 403", func(c *try) {
			c.identify(plain3, byPassword(k8s, c.cloud.Passwords[k8s]), trustScope(c.newTrust(nil))).is(403)
		}},
		{"an unknown trust as scope is answered 401", func(c *try) {
			c.trusted(noID).is(401)
		}},
		{"both sides of a trust can look at it, others cannot", func(c *try) {
			path := "/OS-TRUST/trusts/" + c.newTrust(nil)
			c.as(k8s).identity("GET", path, nil).is(200)
			c.as(other).identity("GET", path, nil).is(200)
			c.as(reader).identity("GET", path, nil).is(403)
			c.as(k8s).identity("GET", path+"/roles", nil).is(200)
		}},
		{"trusts are listed by trustor and by trustee, by the one who is it", func(c *try) {
			id := c.newTrust(nil)
			for _, l := range []struct{ user, query string }{
				{k8s, "trustor_user_id=" + c.userID(k8s)}, {other, "trustee_user_id=" + c.userID(other)},
			} {
				a := c.as(l.user).identity("GET", "/OS-TRUST/trusts?"+l.query, nil).is(200)
				c.must(slices.Contains(a.texts("trusts", "id"), id), "%s sees %s", l.user, a.Text)
			}
			c.as(other).identity("GET", "/OS-TRUST/trusts?trustor_user_id="+c.userID(k8s), nil).is(403)
			c.as(k8s).identity("GET", "/OS-TRUST/trusts", nil).is(403)
		}},
		{"only the trustor deletes a trust", func(c *try) {
			path := "/OS-TRUST/trusts/" + c.newTrust(nil)
			c.as(other).identity("DELETE", path, nil).is(403)
			c.as(k8s).identity("DELETE", path, nil).is(204)
			c.as(k8s).identity("DELETE", path, nil).is(404)
			c.as(k8s).identity("GET", path, nil).is(404)
		}},
		{"a trust that was deleted gives no token: 401", func(c *try) {
			id := c.newTrust(nil)
			c.trusted(id).is(201)
			c.as(k8s).identity("DELETE", "/OS-TRUST/trusts/"+id, nil).is(204)
			c.trusted(id).is(401)
		}},
		{"a token of a trust that was deleted is refused by Keystone, with 401, or 404 when Keystone remembers the token", func(c *try) {
			id := c.newTrust(nil)
			token := c.trusted(id).is(201).Header.Get("X-Subject-Token")
			c.as(k8s).identity("DELETE", "/OS-TRUST/trusts/"+id, nil).is(204)
			a := c.quietly(k8s).with(token).identity("GET", "/auth/projects", nil)
			c.must(a.Status == 401 || a.Status == 404, "%d: %s", a.Status, a.Text)
		}},
		{"a trust needs a role", func(c *try) {
			c.as(k8s).identity("POST", "/OS-TRUST/trusts", object{"trust": c.trust(object{"roles": list{}})}).is(403)
		}},
		{"a role that the trustor has not is not found", func(c *try) {
			c.as(k8s).identity("POST", "/OS-TRUST/trusts", object{"trust": c.trust(object{"roles": list{object{"name": "admin"}}})}).is(404)
		}},
		{"a trust is made by its trustor only", func(c *try) {
			c.as(k8s).identity("POST", "/OS-TRUST/trusts", object{"trust": c.trust(object{"trustor_user_id": c.userID(other)})}).is(403)
		}},
		{"a trust needs a trustee and a project that are there", func(c *try) {
			c.as(k8s).identity("POST", "/OS-TRUST/trusts", object{"trust": c.trust(object{"trustee_user_id": noID})}).is(404)
			c.as(k8s).identity("POST", "/OS-TRUST/trusts", object{"trust": c.trust(object{"project_id": noID})}).is(404)
		}},
		{"a trust needs to say whether the trustee impersonates the trustor", func(c *try) {
			c.as(k8s).identity("POST", "/OS-TRUST/trusts", object{"trust": c.trust(object{"impersonation": nil})}).is(400)
		}},
		{"a trust with uses is used up by logins, is then unknown, and can no more be deleted", func(c *try) {
			// The other way round, because such a trust cannot be deleted: others would
			// find it among theirs.
			wish := c.trust(object{
				"remaining_uses": 1, "trustor_user_id": c.userID(other), "trustee_user_id": c.userID(k8s), "project_id": c.projectID(other),
				"roles": list{object{"name": "member"}},
			})
			id := c.as(other).identity("POST", "/OS-TRUST/trusts", object{"trust": wish}).is(201).text("trust.id")
			login := func() answer { return c.identify(plain3, byPassword(k8s, c.cloud.Passwords[k8s]), trustScope(id)) }
			login().is(201)
			login().is(401)
			c.as(other).identity("DELETE", "/OS-TRUST/trusts/"+id, nil).is(404)
		}},
		{"a trust may expire, and a token of it lives no longer than others", func(c *try) {
			expiry := someExpiry()
			id := c.newTrust(object{"expires_at": expiry})
			a := c.as(k8s).identity("GET", "/OS-TRUST/trusts/"+id, nil).is(200)
			c.must(a.text("trust.expires_at") == expiry, "the trust expires at %s", a.text("trust.expires_at"))
			c.must(c.trusted(id).is(201).text("token.expires_at") < "2040", "the token lives too long")
		}},
		{"a trust that expires at the same time as another between the two is refused with 409, even when the other was deleted", func(c *try) {
			wish := object{"expires_at": someExpiry()}
			id := c.newTrust(wish)
			c.as(k8s).identity("POST", "/OS-TRUST/trusts", object{"trust": c.trust(wish)}).is(409)
			c.as(k8s).identity("DELETE", "/OS-TRUST/trusts/"+id, nil).is(204)
			c.as(k8s).identity("POST", "/OS-TRUST/trusts", object{"trust": c.trust(wish)}).is(409)
		}},
		{"a trust that would have expired already is refused", func(c *try) {
			c.as(k8s).identity("POST", "/OS-TRUST/trusts", object{"trust": c.trust(object{"expires_at": "2020-01-01T00:00:00Z"})}).is(400)
		}},
	})
}
