// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package topologyfacts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
)

// A concurrent read and write of the details once crashed the whole program. The race detector detects it here.
func TestDetailsOfManyLoadBalancersAreReadAtOnce(t *testing.T) {
	w := New(Options{})
	var all []octavia.Listed
	for i := range 40 {
		var b octavia.Listed
		b.Bare.ID = fmt.Sprintf("lb-%d", i)
		all = append(all, b)
	}
	gone := &openstack.Error{Class: openstack.Gone, Status: http.StatusNotFound}
	bad := errors.New("no answer")
	fail := map[string]error{}
	read := func(_ context.Context, b octavia.Listed, d *detail) error {
		d.health = "ONLINE"
		return fail[b.Bare.ID]
	}
	for _, c := range []struct {
		name string
		fail map[string]error
		want error
	}{
		{"all answer", nil, nil},
		{"one is gone", map[string]error{"lb-7": gone}, nil},
		{"one does not answer", map[string]error{"lb-7": bad}, bad},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, b := range all {
				w.lists.details[b.Bare.ID] = detail{health: "OFFLINE", version: "1"}
			}
			fail = c.fail
			if err := w.each(t.Context(), all, read); !errors.Is(err, c.want) {
				t.Fatalf("error: %v, want %v", err, c.want)
			}
			for id, d := range w.lists.details {
				want := "ONLINE"
				if c.fail[id] != nil {
					want = "OFFLINE"
				}
				if d.health != want || d.version != "1" {
					t.Errorf("%s: %+v, want health %s and the version as before", id, d, want)
				}
			}
		})
	}
}
