// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/internal/apitest"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// vault is a Barbican at some time.
type vault struct {
	*Service
	clock time.Time
}

func newVault() *vault {
	v := &vault{clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	v.Service = New(Options{Now: func() time.Time { return v.clock }})
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

func TestPrivateSecretIsItsCreatorsAlone(t *testing.T) {
	v := newVault()
	path := pathOf(v.secret(t, hello))
	v.do(t, alice, "PUT", path+"/acl", `{"read": {"project-access": false}}`)
	for name, tc := range map[string]struct {
		who  wire.Identity
		want int
	}{"its creator": {alice, 200}, "another creator of the project": {carol, 403}, "a member": {member, 403}, "a stranger": {stray, 403}} {
		if status, _ := v.do(t, tc.who, "GET", path, ""); status != tc.want {
			t.Errorf("%s: got %d, want %d", name, status, tc.want)
		}
	}
	if status, _ := v.do(t, carol, "DELETE", path, ""); status != http.StatusForbidden {
		t.Errorf("another deletes it: %d", status)
	}
}

func TestReaderReadsOnlyWhatTheCallerMayGive(t *testing.T) {
	v := newVault()
	ref := v.secret(t, hello)
	reader := v.ReaderFor("octavia")
	for name, who := range map[string]wire.Identity{"a member without a role of Barbican's": member, "a stranger": stray} {
		if _, err := reader.Payload(who, ref); err == nil {
			t.Errorf("%s gave it away", name)
		}
	}
	payload, err := reader.Payload(alice, ref)
	if err != nil || string(payload) != "hello" {
		t.Errorf("got %q %v", payload, err)
	}
	if _, answer := v.do(t, alice, "GET", pathOf(ref)+"/acl", ""); answer["read"].(map[string]any)["users"].([]any)[0] != "octavia" {
		t.Errorf("the reader is not on the list: %v", answer)
	}
}

func TestBundleIsReadUnlessItHasAPassword(t *testing.T) {
	for name, readable := range map[string]bool{"bundle.p12": true, "legacy.p12": true, "chain.p12": true, "protected.p12": false} {
		bundle, err := os.ReadFile("../../test/contract/testdata/certificate/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkPKCS12(bundle); (err == nil) != readable || err != nil && !errors.Is(err, ErrUnreadablePKCS12) {
			t.Errorf("%s: %v", name, err)
		}
		if err := checkPKCS12(bundle[:len(bundle)-1]); !errors.Is(err, ErrUnreadablePKCS12) {
			t.Errorf("%s cut short: %v", name, err)
		}
	}
}
