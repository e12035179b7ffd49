// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"path"
	"slices"
	"testing"
)

const noContainer = "/containers/00000000-0000-4000-8000-000000000001"

// newContainer creates a container of k8s, which is deleted when the case ends, and returns its
// path. The call is compared.
func (c *try) newContainer(kind string, secrets object) string {
	c.Helper()
	a := c.as(k8s).keys("POST", "/containers", c.container(kind, secrets)).is(201)
	c.must(a.Header.Get("Location") == a.text("container_ref"), "Location is %s, the reference %s", a.Header.Get("Location"), a.text("container_ref"))
	p := "/containers/" + path.Base(a.text("container_ref"))
	c.Cleanup(func() { c.quietly(k8s).keys("DELETE", p, nil) })
	return p
}

// container returns the wish for a container; secrets are paths by name.
func (c *try) container(kind string, secrets object) object {
	refs := list{}
	for name, p := range secrets {
		refs = append(refs, object{"name": name, "secret_ref": c.ref(p.(string))})
	}
	return object{"name": c.newName(), "type": kind, "secret_refs": refs}
}

func TestContainers(t *testing.T) {
	t.Parallel()
	pair := func(c *try) object {
		return object{"certificate": c.newSecret(c.text("a certificate")), "private_key": c.newSecret(c.text("a key"))}
	}
	state(t, []statement{
		{"a certificate container holds references to certificate, key and intermediates", func(c *try) {
			secrets := pair(c)
			secrets["intermediates"], secrets["private_key_passphrase"] = c.newSecret(c.text("others")), c.newSecret(c.text("secret"))
			p := c.newContainer("certificate", secrets)
			a := c.as(k8s).keys("GET", p, nil).is(200)
			c.must(a.text("type") == "certificate" && a.text("status") == "ACTIVE" && a.text("container_ref") == c.ref(p), "it is %s", a.Text)
			names := a.texts("secret_refs", "name")
			slices.Sort(names)
			c.must(slices.Equal(names, []string{"certificate", "intermediates", "private_key", "private_key_passphrase"}), "it has %v", names)
			c.must(slices.Contains(a.texts("secret_refs", "secret_ref"), c.ref(secrets["certificate"].(string))), "it has %s", a.Text)
		}},
		{"a certificate container may be empty, but when it has something it needs a certificate", func(c *try) {
			c.newContainer("certificate", object{})
			c.as(k8s).keys("POST", "/containers", c.container("certificate", object{"private_key": c.newSecret(c.text("a key"))})).is(400)
			c.as(k8s).keys("POST", "/containers", c.container("certificate", object{"nonsense": c.newSecret(c.text("something"))})).is(400)
		}},
		{"a generic container holds anything", func(c *try) {
			c.newContainer("generic", object{"anything": c.newSecret(c.text("something"))})
		}},
		{"a container needs a type that there is, and secrets that are there, each once", func(c *try) {
			c.as(k8s).keys("POST", "/containers", object{"name": "x"}).is(400)
			c.as(k8s).keys("POST", "/containers", object{"name": "x", "type": "nonsense"}).is(400)
			c.as(k8s).keys("POST", "/containers", c.container("generic", object{"a": noSecret})).is(404)
			one := c.newSecret(c.text("something"))
			c.as(k8s).keys("POST", "/containers", c.container("generic", object{"a": one, "b": one})).is(400)
		}},
		{"a secret of another host is refused", func(c *try) {
			wish := object{"type": "generic", "secret_refs": list{object{"name": "a", "secret_ref": "http://nowhere.invalid/v1" + noSecret}}}
			c.as(k8s).keys("POST", "/containers", wish).is(400)
		}},
		{"containers are listed by name and by type", func(c *try) {
			p := c.newContainer("generic", object{"a": c.newSecret(c.text("something"))})
			name := c.quietly(k8s).keys("GET", p, nil).is(200).text("name")
			a := c.as(k8s).keys("GET", "/containers?name="+name, nil).is(200)
			c.must(len(a.list("containers")) == 1 && a.at("total") == 1.0, "they are %s", a.Text)
			c.must(len(c.as(k8s).keys("GET", "/containers?type=certificate&name="+name, nil).is(200).list("containers")) == 0, "it is a certificate")
			c.must(len(c.as(other).keys("GET", "/containers?name="+name, nil).is(200).list("containers")) == 0, "others see it")
		}},
		{"a container that is not there is answered 404, another project's 403", func(c *try) {
			c.as(k8s).keys("GET", noContainer, nil).is(404)
			c.as(k8s).keys("DELETE", noContainer, nil).is(404)
			c.as(k8s).keys("GET", "/containers/nonsense", nil).is(404)
			p := c.newContainer("generic", object{})
			c.as(other).keys("GET", p, nil).is(403)
			c.as(other).keys("DELETE", p, nil).is(403)
			c.as(reader).keys("GET", p, nil).is(403)
		}},
		{"a container that was deleted is not there, its secrets are", func(c *try) {
			secret := c.newSecret(c.text("something"))
			p := c.newContainer("generic", object{"a": secret})
			c.as(k8s).keys("DELETE", p, nil).is(204)
			c.as(k8s).keys("GET", p, nil).is(404)
			c.as(k8s).keys("DELETE", p, nil).is(404)
			c.as(k8s).keys("GET", secret, nil).is(200)
		}},
		{"a secret that is deleted goes from the containers that hold it, which stay", func(c *try) {
			secrets := pair(c)
			p := c.newContainer("certificate", secrets)
			c.as(k8s).keys("DELETE", secrets["certificate"].(string), nil).is(204)
			a := c.as(k8s).keys("GET", p, nil).is(200)
			c.must(slices.Equal(a.texts("secret_refs", "name"), []string{"private_key"}), "it has %s", a.Text)
		}},
		{"those who use a container may be registered with it, once, and taken off", func(c *try) {
			p := c.newContainer("certificate", pair(c))
			consumer := object{"name": "octavia", "URL": "http://load-balancer/1"}
			a := c.as(k8s).keys("POST", p+"/consumers", consumer).is(200)
			c.must(a.text("consumers.0.name") == "octavia", "it is %s", a.Text)
			c.as(k8s).keys("POST", p+"/consumers", consumer).is(200)
			b := c.as(k8s).keys("GET", p+"/consumers", nil).is(200)
			c.must(len(b.list("consumers")) == 1 && b.at("total") == 1.0 && b.text("consumers.0.URL") == "http://load-balancer/1", "they are %s", b.Text)
			c.as(k8s).keys("DELETE", p+"/consumers", consumer).is(200)
			c.as(k8s).keys("DELETE", p+"/consumers", consumer).is(404)
			c.must(len(c.as(k8s).keys("GET", p+"/consumers", nil).is(200).list("consumers")) == 0, "it is still there")
		}},
		{"a container that is used may be deleted all the same", func(c *try) {
			p := c.newContainer("certificate", pair(c))
			c.as(k8s).keys("POST", p+"/consumers", object{"name": "octavia", "URL": "http://load-balancer/1"}).is(200)
			c.as(k8s).keys("DELETE", p, nil).is(204)
		}},
		{"a consumer has a name and a URL, and belongs to a container of the project", func(c *try) {
			p := c.newContainer("generic", object{})
			c.as(k8s).keys("POST", p+"/consumers", object{"name": "octavia"}).is(400)
			c.as(k8s).keys("POST", p+"/consumers", object{"URL": "http://load-balancer/1"}).is(400)
			c.as(other).keys("GET", p+"/consumers", nil).is(403)
			c.as(other).keys("POST", p+"/consumers", object{"name": "octavia", "URL": "http://load-balancer/1"}).is(403)
			c.as(k8s).keys("GET", noContainer+"/consumers", nil).is(404)
		}},
		{"a container has a list of access like a secret", func(c *try) {
			p := c.newContainer("generic", object{})
			c.must(c.as(k8s).keys("GET", p+"/acl", nil).is(200).at("read.project-access") == true, "the project has no access")
			c.as(k8s).keys("PUT", p+"/acl", object{"read": object{"users": list{c.userID(other)}}}).is(200)
			c.as(other).keys("GET", p, nil).is(200)
			c.as(other).keys("GET", p+"/acl", nil).is(403)
		}},
	})
}
