// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"encoding/base64"
	"path"
	"strings"
	"testing"
)

const noSecret = "/secrets/00000000-0000-4000-8000-000000000001"

// newSecret creates a secret of k8s, which is deleted when the case ends, and returns its path. The
// call is compared.
func (c *try) newSecret(wish object) string {
	c.Helper()
	a := c.as(k8s).keys("POST", "/secrets", wish).is(201)
	c.must(a.Header.Get("Location") == a.text("secret_ref"), "Location is %s, the reference %s", a.Header.Get("Location"), a.text("secret_ref"))
	p := "/secrets/" + path.Base(a.text("secret_ref"))
	c.Cleanup(func() { c.quietly(k8s).keys("DELETE", p, nil) })
	return p
}

// text creates a secret that is a text.
func (c *try) text(content string) object {
	return object{"name": c.newName(), "payload": content, "payload_content_type": "text/plain"}
}

// bytes creates a secret that is not a text.
func (c *try) bytes(content string) object {
	return object{
		"name": c.newName(), "payload": base64.StdEncoding.EncodeToString([]byte(content)),
		"payload_content_type": "application/octet-stream", "payload_content_encoding": "base64",
	}
}

// ref returns the reference of what has the path.
func (c *try) ref(path string) string {
	return tokens.of(c, k8s).endpoint(c, "key-manager") + "/v1" + path
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	state(t, []statement{
		{"a secret that is a text is described without its content", func(c *try) {
			wish := c.text("hello")
			p := c.newSecret(wish)
			a := c.as(k8s).keys("GET", p, nil).is(200)
			c.must(a.text("name") == wish["name"] && a.text("secret_type") == "opaque" && a.text("status") == "ACTIVE", "it is %s", a.Text)
			c.must(a.text("content_types.default") == "text/plain" && a.text("secret_ref") == c.ref(p), "it is %s", a.Text)
			c.must(a.text("creator_id") == c.userID(k8s), "it was made by %s", a.text("creator_id"))
			c.must(!strings.Contains(a.Text, "hello"), "the content is shown")
		}},
		{"bytes are sent in base64 and come back as they were", func(c *try) {
			p := c.newSecret(c.bytes("\x30\x82\x00\xff"))
			a := c.quietly(k8s).keys("GET", p+"/payload", nil, "Accept: application/octet-stream").is(200)
			c.must(a.Text == "\x30\x82\x00\xff" && a.Header.Get("Content-Type") == "application/octet-stream", "it is %q, %s", a.Text, a.Header.Get("Content-Type"))
			c.must(c.as(k8s).keys("GET", p, nil).is(200).text("content_types.default") == "application/octet-stream", "it has another type")
		}},
		{"the type of a payload is the one that is asked for, whatever it was stored as", func(c *try) {
			for _, p := range []string{c.newSecret(c.text("hello")), c.newSecret(c.bytes("hello"))} {
				for accept, want := range map[string]string{
					"text/plain": "text/plain; charset=UTF-8", "application/octet-stream": "application/octet-stream", "*/*": "*/*",
				} {
					a := c.quietly(k8s).keys("GET", p+"/payload", nil, "Accept: "+accept).is(200)
					c.must(a.Text == "hello" && a.Header.Get("Content-Type") == want, "%s gives %q, %s", accept, a.Text, a.Header.Get("Content-Type"))
				}
			}
		}},
		{"a payload is no JSON: 406", func(c *try) {
			c.as(k8s).keys("GET", c.newSecret(c.text("hello"))+"/payload", nil).is(406)
		}},
		{"a secret that is asked for as a text gives its content, an old way", func(c *try) {
			a := c.as(k8s).keys("GET", c.newSecret(c.text("hello")), nil, "Accept: text/plain").is(200)
			c.must(a.Text == "hello", "it is %s", a.Text)
		}},
		{"a secret may be made without content, which is put in once", func(c *try) {
			p := c.newSecret(object{"name": c.newName()})
			c.must(c.as(k8s).keys("GET", p, nil).is(200).at("content_types") == nil, "it has content types")
			c.as(k8s).keys("GET", p+"/payload", nil, "Accept: text/plain").is(404)
			c.as(k8s).keys("PUT", p, "later", "Content-Type: text/plain").is(204)
			c.must(c.as(k8s).keys("GET", p+"/payload", nil, "Accept: text/plain").is(200).Text == "later", "another content")
			c.as(k8s).keys("PUT", p, "again", "Content-Type: text/plain").is(409)
		}},
		{"content that is put in is a text or bytes, or bytes in base64", func(c *try) {
			p := c.newSecret(object{})
			c.as(k8s).keys("PUT", p, "{}").is(415)
			c.as(k8s).keys("PUT", p, "", "Content-Type: text/plain").is(400)
			c.as(k8s).keys("PUT", p, "aGVsbG8=", "Content-Type: application/octet-stream", "Content-Encoding: base64").is(204)
			c.must(c.as(k8s).keys("GET", p+"/payload", nil, "Accept: application/octet-stream").is(200).Text == "hello", "it was not decoded")
		}},
		{"white space around a text is cut off", func(c *try) {
			p := c.newSecret(c.text("\n hello \n"))
			c.must(c.as(k8s).keys("GET", p+"/payload", nil, "Accept: text/plain").is(200).Text == "hello", "it is there")
		}},
		{"a secret may have a type, an algorithm and an expiry", func(c *try) {
			wish := c.text("-----BEGIN CERTIFICATE-----")
			wish["secret_type"], wish["algorithm"], wish["mode"], wish["bit_length"], wish["expiration"] = "certificate", "RSA", "cbc", 2048, "2040-01-02T03:04:05"
			a := c.as(k8s).keys("GET", c.newSecret(wish), nil).is(200)
			c.must(a.text("secret_type") == "certificate" && a.text("expiration") == "2040-01-02T03:04:05", "it is %s", a.Text)
		}},
		{"a secret that is not what it should be is refused with 400 and a reason", func(c *try) {
			for _, wish := range []object{
				{"payload": "x"},
				{"payload": "x", "payload_content_type": "nonsense/x"},
				{"payload": "", "payload_content_type": "text/plain"},
				{"payload": "a", "payload_content_type": "application/octet-stream", "payload_content_encoding": "base64"},
				{"payload": "aa", "payload_content_type": "application/octet-stream"},
				{"payload": "aa", "payload_content_type": "application/octet-stream", "payload_content_encoding": "nonsense"},
				{"payload_content_type": "text/plain"},
				{"secret_type": "nonsense"},
				{"expiration": "2020-01-01T00:00:00"},
				{"expiration": "nonsense"},
				{"name": 5},
				{"bit_length": 0},
			} {
				c.as(k8s).keys("POST", "/secrets", wish).is(400)
			}
		}},
		{"base64 with strange characters in it is taken, the characters are passed over", func(c *try) {
			wish := c.bytes("")
			wish["payload"] = "aGVs!bG8="
			p := c.newSecret(wish)
			c.must(c.as(k8s).keys("GET", p+"/payload", nil, "Accept: application/octet-stream").is(200).Text == "hello", "it is something else")
		}},
		{"a request that is no JSON is answered 400, one that does not claim to be JSON 415", func(c *try) {
			c.as(k8s).keys("POST", "/secrets", "nonsense").is(400)
			c.as(k8s).keys("POST", "/secrets", "hello", "Content-Type: text/plain").is(415)
		}},
		{"a secret of 20,000 bytes is taken, a larger one is refused with 413", func(c *try) {
			c.newSecret(c.text(strings.Repeat("x", 20000)))
			c.as(k8s).keys("POST", "/secrets", c.text(strings.Repeat("x", 20001))).is(413)
		}},
		{"a secret that is not there is answered 404, and so is an id that is none", func(c *try) {
			c.as(k8s).keys("GET", noSecret, nil).is(404)
			c.as(k8s).keys("GET", noSecret+"/payload", nil, "Accept: text/plain").is(404)
			c.as(k8s).keys("DELETE", noSecret, nil).is(404)
			c.as(k8s).keys("GET", "/secrets/nonsense", nil).is(404)
		}},
		{"a secret that was deleted is not there", func(c *try) {
			p := c.newSecret(c.text("hello"))
			c.as(k8s).keys("DELETE", p, nil).is(204)
			c.as(k8s).keys("GET", p, nil).is(404)
			c.as(k8s).keys("DELETE", p, nil).is(404)
		}},
		{"another project's secret is answered 403, not 404", func(c *try) {
			p := c.newSecret(c.text("hello"))
			c.as(other).keys("GET", p, nil).is(403)
			c.as(other).keys("GET", p+"/payload", nil, "Accept: text/plain").is(403)
			c.as(other).keys("GET", p+"/acl", nil).is(403)
			c.as(other).keys("PUT", p+"/acl", object{}).is(403)
			c.as(other).keys("DELETE", p, nil).is(403)
		}},
		{"a user with the role reader alone does not see its own project's secrets", func(c *try) {
			p := c.newSecret(c.text("hello"))
			c.as(reader).keys("GET", p, nil).is(403)
			c.as(reader).keys("GET", p+"/payload", nil, "Accept: text/plain").is(403)
			c.as(reader).keys("DELETE", p, nil).is(403)
			c.as(reader).keys("GET", p+"/acl", nil).is(403)
		}},
		{"a user whose roles are those of a load balancer member alone makes no secrets", until(release2025, func(c *try) {
			made := c.newCredential(object{"roles": list{object{"name": "member"}, object{"name": "load-balancer_member"}}})
			c.as(k8s).with(c.use(made)).keys("POST", "/secrets", c.text("hello")).is(403)
		})},
		{"a user with the role member makes secrets; one without it does not, whatever else it may do with load balancers", since(newest, func(c *try) {
			member := c.newCredential(object{"roles": list{object{"name": "member"}, object{"name": "load-balancer_member"}}})
			a := c.as(k8s).with(c.use(member)).keys("POST", "/secrets", c.text("hello")).is(201)
			c.as(k8s).keys("DELETE", strings.TrimPrefix(a.text("secret_ref"), c.ref("")), nil).is(204)
			other := c.newCredential(object{"roles": list{object{"name": "load-balancer_member"}}})
			c.as(k8s).with(c.use(other)).keys("POST", "/secrets", c.text("hello")).is(403)
		})},
		{"secrets are listed by name, which need not be of one secret only", func(c *try) {
			wish := c.text("hello")
			c.newSecret(wish)
			c.newSecret(wish)
			a := c.as(k8s).keys("GET", "/secrets?name="+wish["name"].(string), nil).is(200)
			c.must(len(a.list("secrets")) == 2 && a.at("total") == 2.0, "they are %s", a.Text)
			b := c.as(k8s).keys("GET", "/secrets?name=none", nil).is(200)
			c.must(len(b.list("secrets")) == 0 && b.at("total") == 0.0, "they are %s", b.Text)
		}},
		{"the link to the next page of secrets counts on, and keeps the name", since(newest, func(c *try) {
			wish := c.text("hello")
			for range 3 {
				c.newSecret(wish)
			}
			name := "&name=" + wish["name"].(string)
			a := c.as(k8s).keys("GET", "/secrets?limit=2"+name, nil).is(200)
			c.must(a.text("next") == c.ref("/secrets?limit=2&offset=2")+name, "next is %s", a.text("next"))
			b := c.as(k8s).keys("GET", "/secrets?limit=2&offset=2"+name, nil).is(200)
			c.must(b.at("next") == nil && b.text("previous") == c.ref("/secrets?limit=2&offset=0")+name, "previous is %s", b.text("previous"))
		})},
		{"the link to the next page of secrets counts on, and forgets the name", until(release2025, func(c *try) {
			wish := c.text("hello")
			for range 3 {
				c.newSecret(wish)
			}
			query := "/secrets?limit=2&name=" + wish["name"].(string)
			a := c.as(k8s).keys("GET", query, nil).is(200)
			c.must(len(a.list("secrets")) == 2 && a.at("total") == 3.0, "they are %s", a.Text)
			c.must(a.text("next") == c.ref("/secrets?limit=2&offset=2"), "next is %s", a.text("next"))
			b := c.as(k8s).keys("GET", query+"&offset=2", nil).is(200)
			c.must(len(b.list("secrets")) == 1 && b.at("next") == nil, "they are %s", b.Text)
			c.must(b.text("previous") == c.ref("/secrets?limit=2&offset=0"), "previous is %s", b.text("previous"))
		})},
		{"a page size or a start that is no number, or not positive, counts for nothing", func(c *try) {
			wish := c.text("hello")
			c.newSecret(wish)
			for _, query := range []string{"limit=x", "limit=-1", "limit=0", "offset=x", "offset=-1"} {
				a := c.as(k8s).keys("GET", "/secrets?"+query+"&name="+wish["name"].(string), nil).is(200)
				c.must(len(a.list("secrets")) == 1, "%s gives %s", query, a.Text)
			}
		}},
		{"secrets are listed by type, algorithm, mode and size, and sorted as asked", func(c *try) {
			wish := c.text("hello")
			wish["secret_type"], wish["algorithm"], wish["mode"], wish["bit_length"] = "passphrase", "aes", "cbc", 256
			c.newSecret(wish)
			name := wish["name"].(string)
			for query, want := range map[string]int{
				"secret_type=passphrase": 1, "secret_type=opaque": 0, "alg=aes": 1, "alg=des": 0, "mode=cbc": 1, "mode=ctr": 0, "bits=256": 1, "bits=128": 0,
				"bits=nonsense": 1, "sort=name:desc": 1, "sort=created": 1,
			} {
				a := c.quietly(k8s).keys("GET", "/secrets?"+query+"&name="+name, nil).is(200)
				c.must(len(a.list("secrets")) == want, "%s gives %s", query, a.Text)
			}
			c.as(k8s).keys("GET", "/secrets?sort=nonsense", nil).is(400)
		}},
		{"a list has the secrets of the project only", func(c *try) {
			wish := c.text("hello")
			c.newSecret(wish)
			a := c.as(other).keys("GET", "/secrets?name="+wish["name"].(string), nil).is(200)
			c.must(len(a.list("secrets")) == 0, "they are %s", a.Text)
		}},
		{"a secret can be read by its project, unless its list of access says otherwise", func(c *try) {
			p := c.newSecret(c.text("hello"))
			a := c.as(k8s).keys("GET", p+"/acl", nil).is(200)
			c.must(a.at("read.project-access") == true && a.at("read.users") == nil, "it is %s", a.Text)
			b := c.as(k8s).keys("PUT", p+"/acl", object{"read": object{"users": list{c.userID(other)}, "project-access": false}}).is(200)
			c.must(b.text("acl_ref") == c.ref(p+"/acl"), "it is %s", b.Text)
			d := c.as(k8s).keys("GET", p+"/acl", nil).is(200)
			c.must(d.at("read.project-access") == false && d.text("read.users.0") == c.userID(other), "it is %s", d.Text)
		}},
		{"a user whom the list of access names reads the secret from another project, but does not change it", func(c *try) {
			p := c.newSecret(c.text("hello"))
			c.as(k8s).keys("PUT", p+"/acl", object{"read": object{"users": list{c.userID(other)}}}).is(200)
			c.as(other).keys("GET", p, nil).is(200)
			c.must(c.as(other).keys("GET", p+"/payload", nil, "Accept: text/plain").is(200).Text == "hello", "it reads something else")
			c.as(other).keys("DELETE", p, nil).is(403)
			c.as(other).keys("GET", p+"/acl", nil).is(403)
		}},
		{"the list of access is changed in part, replaced and taken away", func(c *try) {
			p := c.newSecret(c.text("hello"))
			c.as(k8s).keys("PUT", p+"/acl", object{"read": object{"users": list{"one"}, "project-access": false}}).is(200)
			c.as(k8s).keys("PATCH", p+"/acl", object{"read": object{"users": list{"two"}}}).is(200)
			a := c.as(k8s).keys("GET", p+"/acl", nil).is(200)
			c.must(a.text("read.users.0") == "two" && len(a.list("read.users")) == 1 && a.at("read.project-access") == false, "it is %s", a.Text)
			c.as(k8s).keys("PUT", p+"/acl", object{"read": object{"users": list{"three"}}}).is(200)
			b := c.as(k8s).keys("GET", p+"/acl", nil).is(200)
			c.must(b.text("read.users.0") == "three" && b.at("read.project-access") == true, "it is %s", b.Text)
			c.as(k8s).keys("DELETE", p+"/acl", nil).is(200)
			c.must(c.as(k8s).keys("GET", p+"/acl", nil).is(200).at("read.users") == nil, "it is still there")
		}},
		{"a list of access that is not what it should be is refused with 400", func(c *try) {
			p := c.newSecret(c.text("hello"))
			c.as(k8s).keys("PUT", p+"/acl", object{"read": object{"users": "one"}}).is(400)
			c.as(k8s).keys("PUT", p+"/acl", object{"read": object{"project-access": "yes"}}).is(400)
			c.as(k8s).keys("PUT", p+"/acl", object{"read": object{"nonsense": 1}}).is(400)
			c.as(k8s).keys("PUT", p+"/acl", object{"write": object{}}).is(400)
		}},
		{"a slash at the end of a path counts for nothing", func(c *try) {
			a := c.as(k8s).keys("POST", "/secrets/", c.text("hello")).is(201)
			p := "/secrets/" + path.Base(a.text("secret_ref"))
			c.Cleanup(func() { c.quietly(k8s).keys("DELETE", p, nil) })
			c.as(k8s).keys("GET", p+"/", nil).is(200)
			c.as(k8s).keys("GET", p+"/acl/", nil).is(200)
			c.as(k8s).keys("GET", "/secrets/?name=none", nil).is(200)
			c.as(k8s).keys("GET", "/containers/?name=none", nil).is(200)
		}},
		{"a secret has metadata of the user's", func(c *try) {
			p := c.newSecret(c.text("hello"))
			c.must(len(c.as(k8s).keys("GET", p+"/metadata", nil).is(200).at("metadata").(map[string]any)) == 0, "it has some")
			c.as(k8s).keys("PUT", p+"/metadata", object{"metadata": object{"cluster": "blue"}}).is(201)
			c.must(c.as(k8s).keys("GET", p+"/metadata", nil).is(200).text("metadata.cluster") == "blue", "it is not kept")
		}},
		{"microversion 1.1 shows the consumers of a secret, one that Barbican does not have is answered 406", func(c *try) {
			p := c.newSecret(c.text("hello"))
			a := c.as(k8s).keys("GET", p, nil, "OpenStack-API-Version: key-manager 1.1").is(200)
			c.must(a.at("consumers") != nil && a.Header.Get("OpenStack-API-Version") == "key-manager 1.1", "it is %s", a.Text)
			c.must(c.as(k8s).keys("GET", p, nil).is(200).at("consumers") == nil, "1.0 shows them too")
			c.as(k8s).keys("GET", p, nil, "OpenStack-API-Version: key-manager 9.9").is(406)
		}},
	})
}
