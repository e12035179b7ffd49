// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"path"
	"testing"
	"time"
)

// bundle is a certificate with its key, made by "openssl pkcs12 -export" without
// a password; it ends in a hundred years.
//
//go:embed testdata/web.p12
var bundle []byte

// selfSigned returns a certificate, that of an authority, and its key, as PEM.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "example.org"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"example.org"},
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: public}))
	return certificate, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

func TestListenerTLS(t *testing.T) {
	t.Parallel()
	setup := &try{T: t, cloud: theCloud}
	// store keeps something in Barbican for the group and returns its reference.
	store := func(user, kind, key string, wish object) string {
		a := setup.quietly(user).keys("POST", "/"+kind, with(object{"name": setup.newName()}, wish)).is(201)
		ref := a.text(key)
		t.Cleanup(func() { setup.quietly(user).keys("DELETE", "/"+kind+"/"+path.Base(ref), nil) })
		return ref
	}
	secret := func(user string, payload []byte) string {
		return store(user, "secrets", "secret_ref", object{"payload": base64.StdEncoding.EncodeToString(payload), "payload_content_type": "application/octet-stream", "payload_content_encoding": "base64"})
	}
	text := func(payload string) string {
		return store(k8s, "secrets", "secret_ref", object{"payload": payload, "payload_content_type": "text/plain"})
	}
	certificate, key := selfSigned(t)
	web, second, garbage, foreign := secret(k8s, bundle), secret(k8s, bundle), secret(k8s, []byte("no bundle")), secret(other, bundle)
	authority, nonsense := text(certificate), text("no certificate")
	container := store(k8s, "containers", "container_ref", object{"type": "certificate", "secret_refs": list{
		object{"name": "certificate", "secret_ref": authority}, object{"name": "private_key", "secret_ref": text(key)}}})
	gone := web[:len(web)-len(path.Base(web))] + unknown

	net := newNetwork(t, k8s)
	lbs := newNursery(t)
	id := lbs.make(t, object{"pools": list{object{"name": "http", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}}, "listeners": list{
		object{"name": "tls", "protocol": "TERMINATED_HTTPS", "protocol_port": 443, "default_tls_container_ref": web, "default_pool": object{"name": "http"}},
		object{"name": "tcp", "protocol": "TCP", "protocol_port": 80}}})[0]
	listeners := setup.byName("listeners", id)
	add := func(c *try, wish object) answer {
		c.Helper()
		return c.as(k8s).lb("POST", "/listeners", object{"listener": with(object{"loadbalancer_id": id, "protocol": "TERMINATED_HTTPS", "protocol_port": 444, "default_tls_container_ref": web}, wish)})
	}
	refused := func(c *try, wishes ...object) {
		c.Helper()
		for _, wish := range wishes {
			add(c, wish).is(400)
		}
	}
	update := func(c *try, name string, change object) answer {
		c.Helper()
		return c.as(k8s).lb("PUT", "/listeners/"+listeners[name], object{"listener": change})
	}

	state(t, []statement{
		{"a TLS listener has TLS 1.2 and 1.3, ciphers and HTTP/2 unless it says otherwise", func(c *try) {
			a := c.as(k8s).lb("GET", "/listeners/"+listeners["tls"], nil).is(200)
			c.must(same(texts(a.list("listener.tls_versions")), []string{"TLSv1.2", "TLSv1.3"}) && a.text("listener.tls_ciphers") != "", "it is %s", a.Text)
			c.must(same(texts(a.list("listener.alpn_protocols")), []string{"h2", "http/1.1", "http/1.0"}), "it is %s", a.Text)
			c.must(a.text("listener.default_tls_container_ref") == web && a.text("listener.client_authentication") == "NONE", "it is %s", a.Text)
		}},
		{"Octavia lets itself read the secret that a listener names", func(c *try) {
			a := c.as(k8s).keys("GET", "/secrets/"+path.Base(web)+"/acl", nil).is(200)
			c.must(len(a.list("read.users")) == 1, "it has %s", a.Text)
		}},
		{"a TLS listener without a certificate is refused", func(c *try) {
			refused(c, object{"default_tls_container_ref": missing}, object{"default_tls_container_ref": nil})
		}},
		{"a certificate that is not there, is another project's or no reference is refused with its reference", func(c *try) {
			refused(c, object{"default_tls_container_ref": gone}, object{"default_tls_container_ref": foreign}, object{"default_tls_container_ref": "web"},
				object{"sni_container_refs": list{second, gone}})
		}},
		{"a secret that is no PKCS#12 bundle is refused", func(c *try) { refused(c, object{"default_tls_container_ref": garbage}) }},
		{"a certificate is refused on a listener without TLS", func(c *try) {
			refused(c, object{"protocol": "TCP"}, object{"protocol": "HTTP"}, object{"protocol": "HTTPS"}, object{"protocol": "UDP"}, object{"protocol": "SCTP"})
			update(c, "tcp", object{"default_tls_container_ref": web}).is(400)
			update(c, "tcp", object{"sni_container_refs": list{web}}).is(400)
		}},
		{"TLS versions must be known, and not none at all", func(c *try) {
			refused(c, object{"tls_versions": list{"TLSv1.4"}}, object{"tls_versions": list{}})
			update(c, "tls", object{"tls_versions": list{}}).is(400)
		}},
		{"protocols of ALPN must be known", func(c *try) { refused(c, object{"alpn_protocols": list{"h3"}}) }},
		{"client authentication needs an authority, and so does a revocation list", func(c *try) {
			refused(c, object{"client_authentication": "MANDATORY"}, object{"client_crl_container_ref": nonsense}, object{"client_authentication": "SOMETIMES"})
			update(c, "tls", object{"client_authentication": "MANDATORY"}).is(400)
			update(c, "tls", object{"client_crl_container_ref": nonsense}).is(400)
		}},
		{"an authority that is not there or no certificate is refused", func(c *try) {
			refused(c, object{"client_ca_tls_container_ref": gone})
			a := c.quietly(k8s).lb("POST", "/listeners", object{"listener": object{"loadbalancer_id": id, "protocol": "TERMINATED_HTTPS", "protocol_port": 444, "default_tls_container_ref": web, "client_ca_tls_container_ref": nonsense}}).is(400)
			c.must(len(a.text("faultstring")) > 0, "it has %s", a.Text) // what follows is Python's
		}},
		{"a port that a TLS listener has is refused to TCP, and the other way round", func(c *try) {
			add(c, object{"protocol_port": 80}).is(409)
			add(c, object{"protocol": "TCP", "protocol_port": 443, "default_tls_container_ref": missing}).is(409)
		}},
		{"a create with a certificate that is not there is refused, and leaves the port of its VIP behind", func(c *try) {
			lbs.post(c.as(k8s), object{"vip_subnet_id": net.subnet, "vip_address": "10.98.0.71", "listeners": list{
				object{"protocol": "TERMINATED_HTTPS", "protocol_port": 443, "default_tls_container_ref": gone}}}).is(400)
			left := c.portsAt("10.98.0.71")
			c.must(len(left) == 1, "ports are %v", left)
		}},
		{"a listener may have a certificate container, more certificates, an authority, versions, and headers about the client's certificate", func(c *try) {
			c.active(id)
			a := add(c, object{"name": "all", "default_tls_container_ref": container, "sni_container_refs": list{web, second}, "client_ca_tls_container_ref": authority,
				"client_authentication": "OPTIONAL", "tls_versions": list{"TLSv1.3"}, "tls_ciphers": "TLS_AES_256_GCM_SHA384", "alpn_protocols": list{"http/1.1"},
				"insert_headers": object{"X-SSL-Client-Verify": "true", "X-Forwarded-Proto": "true"}}).is(201)
			listeners["all"] = a.text("listener.id")
			c.must(same(texts(a.list("listener.tls_versions")), []string{"TLSv1.3"}), "it is %s", a.Text)
			c.active(id)
			c.listenerActive(listeners["all"])
			a = c.as(k8s).lb("GET", "/listeners/"+listeners["all"], nil).is(200)
			c.must(same(texts(a.list("listener.sni_container_refs")), []string{web, second}) && a.text("listener.default_tls_container_ref") == container, "it is %s", a.Text)
		}},
		{"a certificate is exchanged by an update, for one that is there", func(c *try) {
			c.active(id)
			update(c, "tls", object{"default_tls_container_ref": gone}).is(400)
			a := update(c, "tls", object{"default_tls_container_ref": second}).is(200)
			c.must(a.text("listener.default_tls_container_ref") == second, "it is %s", a.Text)
		}},
		{"versions, ciphers and protocols of null are the defaults again, an empty list of further certificates none", func(c *try) {
			c.active(id)
			update(c, "all", object{"tls_versions": nil, "tls_ciphers": nil, "alpn_protocols": nil, "sni_container_refs": list{}}).is(200)
			c.active(id)
			a := c.as(k8s).lb("GET", "/listeners/"+listeners["all"], nil).is(200)
			c.must(len(a.list("listener.tls_versions")) == 2 && len(a.list("listener.alpn_protocols")) == 3 && len(a.list("listener.sni_container_refs")) == 0, "it is %s", a.Text)
		}},

		{"a TLS listener sends no header of HSTS unless it says so, and may say so by an update", since(release2025, func(c *try) {
			c.active(id)
			a := c.as(k8s).lb("GET", "/listeners/"+listeners["tls"], nil).is(200)
			c.must(a.at("listener.hsts_max_age") == nil && a.at("listener.hsts_preload") == false && a.at("listener.hsts_include_subdomains") == false, "it is %s", a.Text)
			a = update(c, "tls", object{"hsts_max_age": 31536000, "hsts_include_subdomains": true, "hsts_preload": true}).is(200)
			c.must(a.at("listener.hsts_max_age") == 31536000.0 && a.at("listener.hsts_preload") == true && a.at("listener.hsts_include_subdomains") == true, "it is %s", a.Text)
			c.active(id)
		})},
		{"an update that says nothing about HSTS leaves it", since(release2025, func(c *try) {
			a := update(c, "tls", object{"description": "web"}).is(200)
			c.must(a.at("listener.hsts_max_age") == 31536000.0 && a.at("listener.hsts_preload") == true, "it is %s", a.Text)
			c.active(id)
		})},
		{"a max age of 0 is sent; null removes the header", since(release2025, func(c *try) {
			a := update(c, "tls", object{"hsts_max_age": 0, "hsts_include_subdomains": false, "hsts_preload": false}).is(200)
			c.must(a.at("listener.hsts_max_age") == 0.0, "it is %s", a.Text)
			c.active(id)
			a = update(c, "tls", object{"hsts_max_age": nil}).is(200)
			c.must(a.at("listener.hsts_max_age") == nil, "it is %s", a.Text)
			c.active(id)
		})},
		{"HSTS of subdomains and of the preload list needs an age, which is not negative, and TLS", since(release2025, func(c *try) {
			for _, wish := range []object{{"hsts_preload": true}, {"hsts_include_subdomains": true}, {"hsts_max_age": -1}, {"hsts_max_age": 60, "protocol": "HTTP", "default_tls_container_ref": missing}} {
				refused(c, with(object{"protocol_port": 445}, wish))
			}
			update(c, "tls", object{"hsts_preload": true}).is(400)
			update(c, "tls", object{"hsts_max_age": -1}).is(400)
			update(c, "tcp", object{"hsts_max_age": 60}).is(400)
		})},
	})
}
