// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority is a certificate that may sign others, made for this run.
type authority struct {
	// Certificate, Key and Revocations are PEM.
	certificate, key, revocations string
}

func newAuthority(t *testing.T, name string, dnsNames ...string) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	plan := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: dnsNames,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, SubjectKeyId: []byte{1},
	}
	der, err := x509.CreateCertificate(rand.Reader, plan, plan, key.Public(), key)
	check(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	list := &x509.RevocationList{Number: big.NewInt(1), ThisUpdate: time.Now().Add(-time.Hour), NextUpdate: time.Now().Add(time.Hour)}
	crl, err := x509.CreateRevocationList(rand.Reader, list, plan, key)
	check(t, err)
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return authority{text("CERTIFICATE", der), text("PRIVATE KEY", keyDER), text("X509 CRL", crl)}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// file returns a secret that is one of the files in testdata/certificate: a certificate with its
// key as a PKCS#12 bundle, one with a password, one as tools made it before 2022, and one with two
// certificates.
func (c *try) file(name string) object {
	c.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "certificate", name))
	check(c.T, err)
	return c.bytes(string(content))
}

// shelf is what the cases about certificates refer to.
type shelf struct {
	bundle, legacy, protected, chain, text, pem, revocations, strange string // secrets
	fresh                                                             string // a secret that one case alone names
	good, misfit, broken, ofDNSName, nameless, generic                string // containers
}

// newShelf creates the secrets and containers, which stay as long as the group.
func newShelf(t *testing.T) shelf {
	t.Helper()
	c := &try{T: t, cloud: theCloud}
	const name = "web.example.test"
	ca, stranger := newAuthority(t, name, name), newAuthority(t, name, name)
	ofDNSName, nameless := newAuthority(t, "", name), newAuthority(t, "")
	secret := func(wish object) string { return c.ref(c.newSecret(wish)) }
	container := func(kind, certificate, key string) string {
		return c.ref(c.newContainer(kind, object{"certificate": c.newSecret(c.text(certificate)), "private_key": c.newSecret(c.text(key))}))
	}
	return shelf{
		fresh:  secret(c.file("bundle.p12")),
		bundle: secret(c.file("bundle.p12")), legacy: secret(c.file("legacy.p12")), protected: secret(c.file("protected.p12")), chain: secret(c.file("chain.p12")),
		text: secret(c.text("hello")), pem: secret(c.text(ca.certificate)),
		revocations: secret(c.text(ca.revocations)), strange: secret(c.text(stranger.revocations)),
		good: container("certificate", ca.certificate, ca.key), misfit: container("certificate", ca.certificate, stranger.key),
		ofDNSName: container("certificate", ofDNSName.certificate, ofDNSName.key), nameless: container("certificate", nameless.certificate, nameless.key),
		broken: container("certificate", "hello", ca.key), generic: container("generic", ca.certificate, ca.key),
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	// Before the load balancer, so that they are deleted after it: Octavia 11 leaves
	// a load balancer in PENDING_UPDATE or PENDING_DELETE for ever when a secret of
	// one of its listeners is gone.
	has := newShelf(t)
	lb := newLB(t, nil)
	net := newNetwork(t, k8s) // for a create that is refused: the port of its VIP stays
	wish := func(changes object) object {
		w := object{"loadbalancer_id": lb, "protocol": "TERMINATED_HTTPS", "protocol_port": 8443, "name": "https"}
		for key, value := range changes {
			w[key] = value
		}
		return object{"listener": w}
	}
	// refused requests a listener, and states that it is refused with the words.
	refused := func(c *try, words string, changes object) {
		c.Helper()
		a := c.as(k8s).lb("POST", "/listeners", wish(changes)).is(400)
		c.must(strings.Contains(a.text("faultstring"), words), "it says %s", a.Text)
	}
	const unreadable = "The PKCS12 bundle is unreadable."
	missing := func(refs ...string) string {
		return "Could not retrieve certificate: ['" + strings.Join(refs, "', '") + "']"
	}
	state(t, []statement{
		{"references that lead to nothing are refused with 400, all of them in one list", func(c *try) {
			for _, ref := range []string{c.ref(noSecret), c.ref(noContainer), "nonsense", "http://nowhere.invalid/v1" + noSecret} {
				refused(c, missing(ref), object{"default_tls_container_ref": ref})
			}
			refused(c, missing(c.ref(noSecret), c.ref(noContainer)), object{"default_tls_container_ref": c.ref(noContainer), "sni_container_refs": list{c.ref(noSecret)}})
		}},
		{"a secret that is no PKCS#12 bundle is refused with 400 in other words: a text, or a certificate as PEM", func(c *try) {
			refused(c, unreadable, object{"default_tls_container_ref": has.text})
			refused(c, unreadable, object{"default_tls_container_ref": has.pem})
			refused(c, unreadable, object{"default_tls_container_ref": c.ref(noSecret), "sni_container_refs": list{has.text}})
		}},
		{"a PKCS#12 bundle with a password is refused with 400", func(c *try) {
			refused(c, unreadable, object{"default_tls_container_ref": has.protected})
		}},
		{"a container whose key does not fit, or that is of another type, is refused with 400 like one that is not there", func(c *try) {
			for _, ref := range []string{has.misfit, has.broken, has.generic} {
				refused(c, missing(ref), object{"default_tls_container_ref": ref})
			}
		}},
		{"a client CA or a revocation list that is something else, or of somebody else, is refused with 400", func(c *try) {
			for words, changes := range map[string]object{
				"CA certificate is invalid":           {"client_ca_tls_container_ref": has.text},
				missing(c.ref(noSecret)):              {"client_ca_tls_container_ref": c.ref(noSecret)},
				"revocation list is invalid":          {"client_ca_tls_container_ref": has.pem, "client_crl_container_ref": has.text},
				"CRL specified is not valid for":      {"client_ca_tls_container_ref": has.pem, "client_crl_container_ref": has.strange},
				missing(c.ref(noSecret), has.generic): {"client_ca_tls_container_ref": c.ref(noSecret), "client_crl_container_ref": has.generic},
			} {
				changes["default_tls_container_ref"], changes["client_authentication"] = has.bundle, "OPTIONAL"
				a := c.quietly(k8s).lb("POST", "/listeners", wish(changes)).is(400)
				c.must(strings.Contains(a.text("faultstring"), words), "%v: it says %s", changes, a.Text)
			}
		}},
		{"a user without a role in Barbican cannot name its project's secrets: 400", until(release2025, func(c *try) {
			quiet := &try{T: c.T, cloud: c.cloud}
			token := quiet.use(quiet.newCredential(object{"roles": list{object{"name": "member"}, object{"name": "load-balancer_member"}}}))
			c.as(k8s).with(token).lb("POST", "/listeners", wish(object{"default_tls_container_ref": has.legacy})).is(400)
		})},
		{"a user with the role member may name its project's secrets, without a role in Barbican", since(newest, func(c *try) {
			quiet := &try{T: c.T, cloud: c.cloud}
			token := quiet.use(quiet.newCredential(object{"roles": list{object{"name": "member"}, object{"name": "load-balancer_member"}}}))
			c.as(k8s).with(token).lb("POST", "/listeners", wish(object{"default_tls_container_ref": has.legacy, "protocol_port": 8448})).is(201)
			c.active(lb)
		})},
		{"who comes with an application credential or a trust cannot name secrets, whatever the roles: Octavia gets no token in their name", until(release2022, func(c *try) {
			quiet := &try{T: c.T, cloud: c.cloud}
			token := quiet.use(quiet.newCredential(nil))
			c.as(k8s).with(token).lb("POST", "/listeners", wish(object{"default_tls_container_ref": has.legacy})).is(400)
			c.as(k8s).with(token).keys("GET", strings.TrimPrefix(has.legacy, c.ref("")), nil).is(200)
		})},
		{"who comes with an application credential may name secrets: Octavia uses the token it was called with", since(release2025, func(c *try) {
			quiet := &try{T: c.T, cloud: c.cloud}
			token := quiet.use(quiet.newCredential(nil))
			c.as(k8s).with(token).lb("POST", "/listeners", wish(object{"default_tls_container_ref": has.legacy, "protocol_port": 8445})).is(201)
			c.active(lb)
		})},
		{"access rules of an application credential must allow GET and PUT of who may read the secret, for the request to Barbican is made with its token", since(release2025, func(c *try) {
			quiet := &try{T: c.T, cloud: c.cloud}
			rule := func(service, method, path string) object {
				return object{"service": service, "method": method, "path": path}
			}
			get, put := rule("key-manager", "GET", "/v1/secrets/*/acl"), rule("key-manager", "PUT", "/v1/secrets/*/acl")
			for _, rules := range []list{{}, {put}, {get}, {get, put}} {
				status := map[bool]int{true: 201, false: 400}[len(rules) == 2]
				token := quiet.use(quiet.newCredential(object{"access_rules": append(list{rule("load-balancer", "POST", "/v2.0/lbaas/listeners")}, rules...)}))
				quiet.as(k8s).with(token).lb("POST", "/listeners", wish(object{"default_tls_container_ref": has.fresh, "protocol_port": 8447})).is(status)
			}
			quiet.active(lb)
		})},
		{"a create with everything checks certificates too, and makes nothing when it refuses them", func(c *try) {
			name := c.newName()
			a := c.as(k8s).lb("POST", "/loadbalancers", object{"loadbalancer": object{"name": name, "vip_subnet_id": net.subnet, "listeners": list{
				object{"name": "https", "protocol": "TERMINATED_HTTPS", "protocol_port": 443, "default_tls_container_ref": c.ref(noSecret)}}}}).is(400)
			c.must(strings.HasPrefix(a.text("faultstring"), missing(c.ref(noSecret))), "it says %s", a.Text)
			c.must(len(c.as(k8s).lb("GET", "/loadbalancers?name="+name, nil).is(200).list("loadbalancers")) == 0, "the load balancer is there")
		}},
		{"a certificate whose subject has no common name is refused with 400", until(release2022, func(c *try) {
			refused(c, "Could not retrieve certificate: "+has.ofDNSName, object{"default_tls_container_ref": has.ofDNSName})
		})},
		{"a default certificate with neither a common name nor a DNS name is refused with 400, in words of its own", since(release2025, func(c *try) {
			const missing = "No CN or DNSName(s) found in certificate."
			refused(c, missing, object{"default_tls_container_ref": has.nameless})
			refused(c, missing, object{"default_tls_container_ref": has.nameless, "sni_container_refs": list{has.nameless}})
		})},
		{"a certificate with neither name is refused with 400 also as one of those that are chosen by name; the newest takes it, and its load balancer stays in PENDING_UPDATE", since(release2025, until(release2025, func(c *try) {
			refused(c, "Could not retrieve certificate: "+has.nameless, object{"default_tls_container_ref": has.good, "sni_container_refs": list{has.nameless}})
		}))},
		{"the subject of a certificate needs no common name", since(release2025, func(c *try) {
			c.as(k8s).lb("POST", "/listeners", wish(object{"default_tls_container_ref": has.ofDNSName, "protocol_port": 8446})).is(201)
			c.active(lb)
		})},
		{"a bundle with more than one certificate is a certificate", func(c *try) {
			c.as(k8s).lb("POST", "/listeners", wish(object{"default_tls_container_ref": has.chain, "protocol_port": 8444})).is(201)
			c.active(lb)
		}},
		{"certificates are bundles and certificate containers, the client's CA and revocation list are PEM, and Octavia puts itself on the list of those who may read them", func(c *try) {
			id := c.as(k8s).lb("POST", "/listeners", wish(object{
				"default_tls_container_ref": has.bundle, "sni_container_refs": list{has.legacy, has.good},
				"client_ca_tls_container_ref": has.pem, "client_crl_container_ref": has.revocations, "client_authentication": "OPTIONAL",
			})).is(201).text("listener.id")
			c.active(lb)
			refs := []string{has.bundle, has.legacy, has.good, has.pem, has.revocations}
			refs = append(refs, c.quietly(k8s).keys("GET", strings.TrimPrefix(has.good, c.ref("")), nil).is(200).texts("secret_refs", "secret_ref")...)
			for _, ref := range refs {
				a := c.as(k8s).keys("GET", strings.TrimPrefix(ref, c.ref(""))+"/acl", nil).is(200)
				c.must(len(a.list("read.users")) == 1 && a.at("read.project-access") == true, "the list of %s is %s", ref, a.Text)
			}
			c.as(k8s).lb("PUT", "/listeners/"+id, object{"listener": object{"default_tls_container_ref": c.ref(noSecret)}}).is(400)
			c.as(k8s).lb("GET", "/listeners/"+id, nil).is(200)
		}},
	})
}
