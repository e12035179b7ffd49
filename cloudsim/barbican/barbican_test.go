// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"crypto/ecdsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim/internal/apitest"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// vault is a Barbican with a clock that tests set.
type vault struct {
	*Service
	clock time.Time
}

func newVault() *vault { return newVaultOf(release.Newest) }

func newVaultOf(played release.Release) *vault {
	v := &vault{clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	v.Service = New(Options{Release: played, Now: func() time.Time { return v.clock }})
	return v
}

var (
	alice  = wire.Identity{UserID: "alice", ProjectID: "web", Roles: []string{"member", "creator"}}
	carol  = wire.Identity{UserID: "carol", ProjectID: "web", Roles: []string{"member", "creator"}}
	member = wire.Identity{UserID: "mallory", ProjectID: "web", Roles: []string{"member"}}
	stray  = wire.Identity{UserID: "bob", ProjectID: "database", Roles: []string{"member", "creator"}}
)

func (v *vault) do(t *testing.T, who wire.Identity, method, path, body string) (int, map[string]any) {
	t.Helper()
	r := apitest.Request(method, "http://barbican.test"+path, body, "Content-Type", "application/json", "Accept", "application/json")
	got := apitest.Do(t, v.Mux(), apitest.As(who, r))
	return got.Status, got.Body
}

// secret makes a secret of alice's and returns its reference.
func (v *vault) secret(t *testing.T, body string) string {
	t.Helper()
	status, answer := v.do(t, alice, "POST", "/v1/secrets", body)
	if status != http.StatusCreated {
		t.Fatalf("got %d %v", status, answer)
	}
	return answer["secret_ref"].(string)
}

const hello = `{"name": "hello", "payload": "hello", "payload_content_type": "text/plain"}`

func pathOf(ref string) string { return strings.TrimPrefix(ref, "http://barbican.test") }

func TestSecretThatHasExpiredIsGone(t *testing.T) {
	v := newVault()
	ref := v.secret(t, strings.Replace(hello, "{", `{"expiration": "2026-01-02T03:05:00", `, 1))
	if status, _ := v.do(t, alice, "GET", pathOf(ref), ""); status != http.StatusOK {
		t.Errorf("before: %d", status)
	}
	v.clock = v.clock.Add(time.Minute)
	if status, _ := v.do(t, alice, "GET", pathOf(ref), ""); status != http.StatusNotFound {
		t.Errorf("after: %d", status)
	}
	if _, list := v.do(t, alice, "GET", "/v1/secrets", ""); list["total"] != 0.0 {
		t.Errorf("it is listed: %v", list)
	}
}

func TestPrivateSecretIsReadableByItsCreatorOnly(t *testing.T) {
	v := newVault()
	path := pathOf(v.secret(t, hello))
	v.do(t, alice, "PUT", path+"/acl", `{"read": {"project-access": false}}`)
	for name, tc := range map[string]struct {
		who  wire.Identity
		want int
	}{"its creator": {alice, 200}, "another creator of the project": {carol, 403}, "a member": {member, 403}, "a stranger": {stray, 403}} {
		t.Run(name, func(t *testing.T) {
			if status, _ := v.do(t, tc.who, "GET", path, ""); status != tc.want {
				t.Errorf("got %d, want %d", status, tc.want)
			}
		})
	}
	if status, _ := v.do(t, carol, "DELETE", path, ""); status != http.StatusForbidden {
		t.Errorf("another deletes it: %d", status)
	}
}

func TestOctaviaReadsOnlySecretsThatTheCallerMayGrant(t *testing.T) {
	v := newVaultOf(release.Zed)
	ref := v.secret(t, hello)
	reader := v.ReaderFor("octavia")
	for name, who := range map[string]wire.Identity{"a member without a role of Barbican's": member, "a stranger": stray} {
		t.Run(name, func(t *testing.T) {
			if _, err := reader.Payload(who, ref); err == nil {
				t.Error("the secret was read")
			}
		})
	}
	payload, err := reader.Payload(alice, ref)
	if err != nil || string(payload) != "hello" {
		t.Errorf("got %q %v", payload, err)
	}
	if _, answer := v.do(t, alice, "GET", pathOf(ref)+"/acl", ""); answer["read"].(map[string]any)["users"].([]any)[0] != "octavia" {
		t.Errorf("the reader is not on the list: %v", answer)
	}
}

// A release before 2025.1 gets another token in the caller's name, which a delegated one is no login for. Later ones use the
// caller's, as far as its access rules allow.
func TestOctaviaReadsSecretsForADelegatedCallerSince2025AsFarAsAccessRulesAllow(t *testing.T) {
	only := func(methods ...string) func(service, method, path string) bool {
		return func(service, method, path string) bool {
			return service == "key-manager" && slices.Contains(methods, method) && strings.HasSuffix(path, "/acl")
		}
	}
	for name, tc := range map[string]struct {
		delegated bool
		allowed   func(service, method, path string) bool
		old, new  bool
	}{
		"a user":          {old: true, new: true},
		"no access rules": {delegated: true, new: true},
		"access rules without the lists of access":       {delegated: true, allowed: only()},
		"access rules that let it read the lists":        {delegated: true, allowed: only(http.MethodGet)},
		"access rules that let it change the lists":      {delegated: true, allowed: only(http.MethodPut)},
		"access rules that let it read and change these": {delegated: true, allowed: only(http.MethodGet, http.MethodPut), new: true},
	} {
		t.Run(name, func(t *testing.T) {
			for r, want := range map[release.Release]bool{release.Zed: tc.old, release.Epoxy: tc.new, release.Newest: tc.new} {
				t.Run(r.String(), func(t *testing.T) {
					v := newVault()
					v.release = r
					ref := v.secret(t, hello)
					_, answer := v.do(t, alice, "POST", "/v1/containers", fmt.Sprintf(`{"type": "generic", "secret_refs": [{"name": "it", "secret_ref": %q}]}`, ref))
					who := alice
					who.Delegated, who.Allowed = tc.delegated, tc.allowed
					for _, ref := range []string{answer["container_ref"].(string), ref} {
						if err := v.ReaderFor("octavia").grant(who, ref); (err == nil) != want {
							t.Errorf("%s: %v", ref, err)
						}
					}
				})
			}
		})
	}
}

func TestBundleIsReadUnlessItHasAPassword(t *testing.T) {
	for name, readable := range map[string]bool{"bundle.p12": true, "legacy.p12": true, "chain.p12": true, "protected.p12": false} {
		t.Run(name, func(t *testing.T) {
			bundle, err := os.ReadFile("../../test/contract/testdata/certificate/" + name)
			if err != nil {
				t.Fatal(err)
			}
			var unreadable UnreadablePKCS12Error
			reader := New(Options{}).ReaderFor("octavia")
			if _, err := reader.pairOfPKCS12(&secret{payload: bundle}); (err == nil) != readable || err != nil && !errors.As(err, &unreadable) {
				t.Error(err)
			}
			if _, err := reader.pairOfPKCS12(&secret{payload: bundle[:len(bundle)-1]}); !errors.As(err, &unreadable) {
				t.Errorf("cut short: %v", err)
			}
		})
	}
}

func TestOctaviaAcceptsCertificatesWithTheNamesThatItsReleaseReads(t *testing.T) {
	common, dns, address := pkix.Name{CommonName: "web.example"}, []string{"web.example"}, []net.IP{net.ParseIP("192.0.2.1")}
	for name, tc := range map[string]struct {
		leaf     x509.Certificate
		old, new error
	}{
		"a common name":   {leaf: x509.Certificate{Subject: common}},
		"a DNS name only": {leaf: x509.Certificate{DNSNames: dns}, old: ErrNoName},
		"an address only": {leaf: x509.Certificate{IPAddresses: address}, old: ErrNoName, new: ErrNoName},
		"no name":         {old: ErrNoName, new: ErrNoName},
	} {
		t.Run(name, func(t *testing.T) {
			for r, want := range map[release.Release]error{release.Zed: tc.old, release.Epoxy: tc.new, release.Newest: tc.new} {
				t.Run(r.String(), func(t *testing.T) {
					if err := New(Options{Release: r}).ReaderFor("octavia").named(&tc.leaf); !errors.Is(err, want) {
						t.Errorf("got %v, want %v", err, want)
					}
				})
			}
		})
	}
}

// part returns a secret of alice's with bytes.
func (v *vault) part(t *testing.T, payload []byte) string {
	t.Helper()
	return v.secret(t, `{"payload": "`+base64.StdEncoding.EncodeToString(payload)+`", "payload_content_type": "application/octet-stream", "payload_content_encoding": "base64"}`)
}

func TestCertificateIsReadWithItsChainByUsersOnItsAccessList(t *testing.T) {
	bundle, err := os.ReadFile("../../test/contract/testdata/certificate/chain.p12")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := New(Options{}).ReaderFor("octavia").pairOfPKCS12(&secret{payload: bundle})
	if err != nil || len(pair.Certificate) < 2 {
		t.Fatalf("the bundle has %d certificates, %v", len(pair.Certificate), err)
	}
	encode := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	v := newVault()
	var between []byte
	for _, der := range pair.Certificate[1:] {
		between = append(between, encode("CERTIFICATE", der)...)
	}
	status, answer := v.do(t, alice, "POST", "/v1/containers", fmt.Sprintf(`{"type": "certificate", "secret_refs": [
		{"name": "certificate", "secret_ref": %q}, {"name": "private_key", "secret_ref": %q}, {"name": "intermediates", "secret_ref": %q}]}`,
		v.part(t, encode("CERTIFICATE", pair.Certificate[0])), v.part(t, encode("PRIVATE KEY", key)), v.part(t, between)))
	if status != http.StatusCreated {
		t.Fatalf("got %d %v", status, answer)
	}
	reader := v.ReaderFor("octavia")
	for name, ref := range map[string]string{"bundle": v.part(t, bundle), "container": answer["container_ref"].(string)} {
		t.Run(name, func(t *testing.T) {
			if got, err := reader.KeyPair(ref); err == nil {
				t.Errorf("a certificate of %d parts is read without a right", len(got.Certificate))
			}
			if err := reader.Certificate(alice, ref); err != nil {
				t.Fatal(err)
			}
			got, err := reader.KeyPair(ref)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(pair.Certificate, got.Certificate); diff != "" || !got.PrivateKey.(*ecdsa.PrivateKey).Equal(pair.PrivateKey) {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
