// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican_test

import (
	"net/http"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/cloud/barbican"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/test/mutate"
)

func TestAnswersOfOtherReleasesMeanTheSame(t *testing.T) {
	c := newCloud(t)
	stored, err := c.Store(t.Context(), "kube-octavia", []byte("bundle"))
	if err != nil {
		t.Fatal(err)
	}
	ref, _ := lb.ParseSecretRef(stored.Ref)
	direct := &http.Transport{} // without the rate limit
	t.Cleanup(direct.CloseIdleConnections)
	client := &c.session.KeyManager().HTTPClient
	rapid.Check(t, func(t *rapid.T) {
		client.Transport = mutate.Newer{Next: direct, Choose: mutate.Choices(rapid.Uint64().Draw(t, "seed"))}
		fresh := barbican.New(c.session.KeyManager(), never)
		if found, err := fresh.Find(t.Context(), stored.Name); err != nil || !slices.Contains(found, stored) {
			t.Errorf("found %v, %v, want %v", found, err, stored)
		}
		if err := fresh.Check(t.Context(), ref); err != nil {
			t.Error(err)
		}
	})
}
