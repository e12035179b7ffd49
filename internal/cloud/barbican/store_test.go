// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/cloud/barbican"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// owner has certificates.
var owner = lb.Owner{ClusterUID: "c", ServiceUID: "s"}

// nameOf returns the name of the owner's certificate with a number.
func nameOf(o lb.Owner, i int) string { return o.CertificateName(fmt.Sprintf("%064x", i)) }

// asked returns the calls since its last call.
func (c cloud) asked() []string {
	var calls []string
	for _, call := range c.Recorder().Calls() {
		calls = append(calls, call.Method+" "+call.Path)
	}
	c.Recorder().Reset()
	return calls
}

func TestACertificateIsStoredInOneCallAndFoundByName(t *testing.T) {
	c := newCloud(t)
	name := nameOf(owner, 1)
	if found, err := c.Find(t.Context(), name); err != nil || len(found) > 0 {
		t.Fatalf("before it is stored: %v, %v", found, err)
	}
	stored, err := c.Store(t.Context(), name, []byte("a bundle"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		found, err := c.Find(t.Context(), name)
		if d := cmp.Diff([]lb.Certificate{stored}, found); err != nil || d != "" {
			t.Errorf("found (-want +got): %s, %v", d, err)
		}
	}
	if ref, _ := lb.ParseSecretRef(stored.Ref); c.Check(t.Context(), ref) != nil {
		t.Error("what was stored is no certificate")
	}
	if calls := c.asked(); !slices.Equal(calls, []string{"GET /v1/secrets", "POST /v1/secrets"}) {
		t.Errorf("calls: %v", calls)
	}
	if err := c.Delete(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), stored); err != nil {
		t.Errorf("deleted once more: %v", err)
	}
	if found, err := c.Find(t.Context(), name); err != nil || len(found) > 0 {
		t.Errorf("after it was deleted: %v, %v", found, err)
	}
}

func TestCertificatesOfTheClusterAreFoundAmongAllSecretsOfTheProject(t *testing.T) {
	c := newCloud(t)
	other, foreign := lb.Owner{ClusterUID: "c", ServiceUID: "t"}, lb.Owner{ClusterUID: "d", ServiceUID: "s"}
	var want []lb.Certificate
	keep := func(name string, ours bool) {
		ref := c.store("secrets", map[string]any{"name": name, "payload": "AAAA", "payload_content_type": "application/octet-stream", "payload_content_encoding": "base64"})
		if ours {
			want = append(want, lb.Certificate{Name: name, Ref: ref.ID})
		}
	}
	c.store("secrets", map[string]any{"payload": "no name", "payload_content_type": "text/plain"})
	for i := range 120 {
		keep(nameOf(owner, i), true)
		keep(nameOf(foreign, i), false)
	}
	keep(nameOf(owner, 0), true) // the same again
	keep(nameOf(other, 0), true)
	keep("by hand", false)
	c.Recorder().Reset()
	found, err := c.Certificates(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	if calls := c.asked(); len(calls) != 3 {
		t.Errorf("243 secrets were listed by %v", calls)
	}
	for i, one := range found { // the reference ends in the id
		found[i].Ref = one.Ref[strings.LastIndex(one.Ref, "/")+1:]
	}
	inOrder := func(a, b lb.Certificate) int { return strings.Compare(a.Name+a.Ref, b.Name+b.Ref) }
	if d := cmp.Diff(slices.SortedFunc(slices.Values(want), inOrder), slices.SortedFunc(slices.Values(found), inOrder)); d != "" {
		t.Errorf("found (-want +got): %s", d)
	}
	if of := c.CertificatesOf(lb.Mark{ClusterUID: "c", ServiceUID: "s"}); len(of) != 121 {
		t.Errorf("%d of one Service are remembered", len(of))
	}
	if same, err := c.Find(t.Context(), nameOf(owner, 0)); err != nil || len(same) != 2 || len(c.asked()) != 0 {
		t.Errorf("two of a name: %v, %v", same, err)
	}
}

func TestAListForgetsDeletedCertificates(t *testing.T) {
	c := newCloud(t)
	stored, err := c.Store(t.Context(), nameOf(owner, 1), []byte("a bundle"))
	if err != nil {
		t.Fatal(err)
	}
	another := barbican.New(c.session.KeyManager(), never)
	if err := another.Delete(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	if found, err := c.Find(t.Context(), stored.Name); err != nil || len(found) != 1 {
		t.Errorf("before the list: %v, %v", found, err)
	}
	if found, err := c.Certificates(t.Context(), "c"); err != nil || len(found) > 0 {
		t.Errorf("the list: %v, %v", found, err)
	}
	if found, err := c.Find(t.Context(), stored.Name); err != nil || len(found) > 0 {
		t.Errorf("after it: %v, %v", found, err)
	}
}

func TestNothingIsDeletedThatWasNotStoredHere(t *testing.T) {
	c := newCloud(t)
	for _, ref := range []string{"", "my-certificate", "http://barbican.test/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"} {
		if err := c.Delete(t.Context(), lb.Certificate{Name: nameOf(owner, 1), Ref: ref}); openstack.Classify(err) != openstack.Foreign {
			t.Errorf("%q: %v", ref, err)
		}
	}
	if calls := c.asked(); len(calls) > 0 {
		t.Errorf("calls: %v", calls)
	}
}

func TestErrorsOfBarbicanDoNotContainThePayload(t *testing.T) {
	c := newCloud(t)
	_, err := c.Store(t.Context(), nameOf(owner, 1), []byte(strings.Repeat("too much ", 2000)))
	if openstack.Classify(err) != openstack.Invalid || !strings.Contains(err.Error(), "413") || strings.Contains(err.Error(), "dG9v") {
		t.Errorf("error %v", err)
	}
	if calls := c.Recorder().Calls(); len(calls) != 1 || calls[0].Method != http.MethodPost {
		t.Errorf("calls: %v", calls)
	}
}

func TestCertificatesAreListedOnlyWhileSomeMayExist(t *testing.T) {
	c := newCloud(t)
	expecting := barbican.New(c.session.KeyManager(), func() bool { return true })
	lists := func(client *barbican.Client, calls, found int) {
		t.Helper()
		c.Recorder().Reset()
		got, err := client.Stored(t.Context(), owner.ClusterUID)
		if err != nil || len(got) != found || len(c.Recorder().Calls()) != calls {
			t.Errorf("%d certificates by %d calls, want %d by %d; %v", len(got), len(c.Recorder().Calls()), found, calls, err)
		}
	}
	lists(c.Client, 0, 0) // no process has stored any
	lists(expecting, 1, 0)
	lists(expecting, 0, 0)
	for _, client := range []*barbican.Client{c.Client, expecting} {
		if _, err := client.Find(t.Context(), nameOf(owner, 1)); err != nil {
			t.Fatal(err)
		}
	}
	lists(c.Client, 1, 0) // a Service has requested one
	lists(expecting, 1, 0)
	lists(expecting, 0, 0)
	if _, err := c.Store(t.Context(), nameOf(owner, 1), []byte("a bundle")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Find(t.Context(), nameOf(owner, 2)); err != nil {
		t.Fatal(err)
	}
	lists(c.Client, 1, 1)
	lists(c.Client, 1, 1)
}
