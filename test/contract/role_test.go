// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"slices"
	"testing"
)

// newUser creates a user with a password, by the admin, for the length of the case. It returns the
// user's id and name.
func (c *try) newUser(password string) (id, name string) {
	c.Helper()
	name = c.newName()
	id = c.as(admin).identity("POST", "/users", object{"user": object{"name": name, "password": password, "domain_id": "default"}}).is(201).text("user.id")
	c.Cleanup(func() { c.quietly(admin).identity("DELETE", "/users/"+id, nil) })
	return id, name
}

// newProject creates a project, by the admin, for the length of the case.
func (c *try) newProject() (id, name string) {
	c.Helper()
	name = c.newName()
	id = c.as(admin).identity("POST", "/projects", object{"project": object{"name": name, "domain_id": "default"}}).is(201).text("project.id")
	c.Cleanup(func() { c.quietly(admin).identity("DELETE", "/projects/"+id, nil) })
	return id, name
}

// roleID returns the id of a role.
func (c *try) roleID(name string) string {
	c.Helper()
	return c.quietly(admin).identity("GET", "/roles?name="+name, nil).is(200).text("roles.0.id")
}

// credentialOfNewUser creates a user with the roles member and creator in a new project, and an
// application credential of it with both. It returns that, and where the user's roles are.
func (c *try) credentialOfNewUser() (made answer, roles string) {
	c.Helper()
	id, name := c.newUser("secret-of-a-case")
	project, projectName := c.newProject()
	roles = "/projects/" + project + "/users/" + id + "/roles/"
	wanted := list{}
	for _, role := range []string{"member", "creator"} {
		c.as(admin).identity("PUT", roles+c.roleID(role), nil).is(204)
		wanted = append(wanted, object{"name": role})
	}
	token := c.identify(plain3, byPassword(name, "secret-of-a-case"), projectNamed(projectName)).is(201).Header.Get("X-Subject-Token")
	made = c.as(k8s).with(token).identity("POST", "/users/"+id+"/application_credentials", object{"application_credential": object{
		"name": c.newName(), "roles": wanted}}).is(201)
	return made, roles
}

func TestUsersAndRoles(t *testing.T) {
	t.Parallel()
	state(t, []statement{
		{"a user looks at itself and at the project of its token", func(c *try) {
			a := c.as(k8s).identity("GET", "/users/"+c.userID(k8s), nil).is(200)
			c.must(a.text("user.name") == k8s, "it is %s", a.Text)
			b := c.as(k8s).identity("GET", "/projects/"+c.cloud.Projects[k8s], nil).is(200)
			c.must(b.text("project.name") == k8s && b.at("project.enabled") == true, "it is %s", b.Text)
			c.as(k8s).identity("GET", "/users/"+c.userID(k8s)+"/projects", nil).is(200)
		}},
		{"a user does not see other users and projects, whether they are there or not", func(c *try) {
			c.as(k8s).identity("GET", "/users/"+c.userID(other), nil).is(403)
			c.as(k8s).identity("GET", "/users/"+noID, nil).is(403)
			c.as(k8s).identity("GET", "/projects/"+noID, nil).is(403)
			for _, kind := range []string{"users", "projects", "roles", "domains", "role_assignments"} {
				c.as(k8s).identity("GET", "/"+kind, nil).is(403)
			}
		}},
		{"everybody may look at a domain by its id", func(c *try) {
			c.as(k8s).identity("GET", "/domains/default", nil).is(200)
		}},
		{"an admin finds users, projects and roles by name, and is told 404 of those that are not there", func(c *try) {
			c.must(c.as(admin).identity("GET", "/users?name="+k8s, nil).is(200).text("users.0.id") == c.userID(k8s), "another user")
			c.must(c.as(admin).identity("GET", "/projects?name="+k8s, nil).is(200).text("projects.0.id") == c.cloud.Projects[k8s], "another project")
			c.as(admin).identity("GET", "/roles?name=member", nil).is(200)
			c.as(admin).identity("GET", "/users/"+noID, nil).is(404)
			c.as(admin).identity("GET", "/projects/"+noID, nil).is(404)
		}},
		{"a user without any role logs in without a scope, and for no project", func(c *try) {
			_, name := c.newUser("secret-of-a-case")
			c.identify(plain3, byPassword(name, "secret-of-a-case"), nil).is(201)
			c.identify(plain3, byPassword(name, "secret-of-a-case"), projectNamed(k8s)).is(401)
		}},
		{"a role that is given or taken away counts at the next login", func(c *try) {
			id, name := c.newUser("secret-of-a-case")
			project, projectName := c.newProject()
			role := "/projects/" + project + "/users/" + id + "/roles/" + c.roleID("member")
			c.as(admin).identity("PUT", role, nil).is(204)
			c.as(admin).identity("HEAD", role, nil).is(204)
			a := c.identify(plain3, byPassword(name, "secret-of-a-case"), projectNamed(projectName)).is(201)
			roles := a.texts("token.roles", "name")
			slices.Sort(roles)
			c.must(slices.Equal(roles, []string{"member", "reader"}), "the roles are %v", roles)
			c.as(admin).identity("DELETE", role, nil).is(204)
			c.as(admin).identity("HEAD", role, nil).is(404)
			c.identify(plain3, byPassword(name, "secret-of-a-case"), projectNamed(projectName)).is(401)
		}},
		{"an application credential gives the roles that its user has still, and nothing when none is left", until(release2022, rolesLeft("member"))},
		{"an application credential gives the roles that its user has still and what they imply, and nothing when none is left", since(release2025, rolesLeft("member", "reader"))},
		{"an application credential of a user who is disabled gives no token: 401", func(c *try) {
			made, _ := c.credentialOfNewUser()
			c.as(admin).identity("PATCH", "/users/"+made.text("application_credential.user_id"), object{"user": object{"enabled": false}}).is(200)
			c.identify(plain3, byCredential(made.text("application_credential.id"), made.text("application_credential.secret")), nil).is(401)
		}},
		{"a user who is disabled does not log in: 401", func(c *try) {
			id, name := c.newUser("secret-of-a-case")
			c.as(admin).identity("PATCH", "/users/"+id, object{"user": object{"enabled": false}}).is(200)
			c.identify(plain3, byPassword(name, "secret-of-a-case"), nil).is(401)
		}},
		{"a project that is disabled gives no tokens: 401", func(c *try) {
			id, name := c.newUser("secret-of-a-case")
			project, projectName := c.newProject()
			c.as(admin).identity("PUT", "/projects/"+project+"/users/"+id+"/roles/"+c.roleID("member"), nil).is(204)
			c.as(admin).identity("PATCH", "/projects/"+project, object{"project": object{"enabled": false}}).is(200)
			c.identify(plain3, byPassword(name, "secret-of-a-case"), projectNamed(projectName)).is(401)
		}},
		{"a new password counts at once, the old one no more", func(c *try) {
			id, name := c.newUser("secret-of-a-case")
			c.as(admin).identity("PATCH", "/users/"+id, object{"user": object{"password": "another-secret"}}).is(200)
			c.identify(plain3, byPassword(name, "secret-of-a-case"), nil).is(401)
			c.identify(plain3, byPassword(name, "another-secret"), nil).is(201)
		}},
		{"a user who was deleted is unknown", func(c *try) {
			id, name := c.newUser("secret-of-a-case")
			c.as(admin).identity("DELETE", "/users/"+id, nil).is(204)
			c.as(admin).identity("DELETE", "/users/"+id, nil).is(404)
			c.identify(plain3, byPassword(name, "secret-of-a-case"), nil).is(401)
		}},
		{"users and projects are made by admins only, and once only", func(c *try) {
			c.as(k8s).identity("POST", "/users", object{"user": object{"name": c.newName(), "domain_id": "default"}}).is(403)
			c.as(k8s).identity("POST", "/projects", object{"project": object{"name": c.newName(), "domain_id": "default"}}).is(403)
			_, name := c.newProject()
			c.as(admin).identity("POST", "/projects", object{"project": object{"name": name, "domain_id": "default"}}).is(409)
		}},
		{"a user with the role reader alone looks at itself, its project and the catalogue", func(c *try) {
			c.as(reader).identity("GET", "/users/"+c.userID(reader), nil).is(200)
			c.as(reader).identity("GET", "/projects/"+c.cloud.Projects[k8s], nil).is(200)
			c.as(reader).identity("GET", "/auth/catalog", nil).is(200)
		}},
		{"a user with the role reader alone reads in Neutron and Nova", func(c *try) {
			for _, kind := range []string{"networks", "subnets", "ports", "floatingips", "security-groups", "routers"} {
				c.quietly(reader).net("GET", "/"+kind, nil).is(200)
			}
			c.must(len(c.as(reader).compute("GET", "/servers?name=node-1", nil).is(200).list("servers")) == 1, "it does not see the server")
		}},
		{"a user with the role reader alone may write in Neutron, because its defaults ask for the project only", until(release2022, func(c *try) {
			a := c.quietly(reader).net("POST", "/security-groups", object{"security_group": object{"name": c.newName()}}).is(201)
			c.quietly(reader).net("DELETE", "/security-groups/"+a.text("security_group.id"), nil).is(204)
		})},
		{"a user with the role reader alone may not write in Neutron: 403", since(release2025, func(c *try) {
			c.as(reader).net("POST", "/security-groups", object{"security_group": object{"name": c.newName()}}).refused(403, "PolicyNotAuthorized")
		})},
		{"a user with the role reader alone is refused by Octavia with 403, for reading too", until(release2022, func(c *try) {
			for _, path := range []string{"/loadbalancers", "/listeners", "/pools", "/healthmonitors", "/l7policies", "/providers", "/flavors", "/availabilityzones", "/quotas"} {
				c.as(reader).lb("GET", path, nil).is(403)
			}
			c.as(reader).lb("POST", "/loadbalancers", object{"loadbalancer": object{"vip_subnet_id": c.cloud.Subnet}}).is(403)
			c.as(reader).lb("GET", "/quotas/"+c.cloud.Projects[k8s], nil).is(403)
		})},
		{"a user with the role reader alone reads in Octavia", since(release2025, func(c *try) {
			c.quietly(reader).lb("GET", "/loadbalancers", nil).is(200)
		})},
		{"a user with the role reader alone is refused by Barbican with 403, for reading too", func(c *try) {
			c.as(reader).keys("GET", "/secrets", nil).is(403)
			c.as(reader).keys("POST", "/secrets", object{"name": c.newName()}).is(403)
			c.as(reader).keys("GET", "/containers", nil).is(403)
			c.as(reader).keys("POST", "/containers", object{"type": "generic"}).is(403)
		}},
	})
}

// rolesLeft returns the case of an application credential whose user loses the role creator, and
// then the role member, of which there is ofMember in a token.
func rolesLeft(ofMember ...string) func(*try) {
	return func(c *try) {
		made, roles := c.credentialOfNewUser()
		identity := byCredential(made.text("application_credential.id"), made.text("application_credential.secret"))
		c.as(admin).identity("DELETE", roles+c.roleID("creator"), nil).is(204)
		a := c.identify(plain3, identity, nil).is(201)
		c.must(sameSet(a.texts("token.roles", "name"), ofMember...), "the roles are %v", a.texts("token.roles", "name"))
		c.as(admin).identity("DELETE", roles+c.roleID("member"), nil).is(204)
		c.identify(plain3, identity, nil).is(401)
	}
}
