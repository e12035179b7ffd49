// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"net/http"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/test/mutate"
)

// readAll is everything that is read from the answers.
type readAll struct {
	Heads    []octavia.Head
	Balancer lb.LoadBalancer
	Tree     octavia.Tree
}

func TestAnswersOfOtherReleasesMeanTheSame(t *testing.T) {
	read := func(transport http.RoundTripper) (all readAll) {
		client := through(transport)
		found, err := client.FindByName(t.Context(), owner.LoadBalancerName())
		if err != nil || len(found) == 0 {
			t.Fatal(found, err)
		}
		if all.Balancer, err = client.Observe(t.Context(), found[0]); err != nil {
			t.Fatal(err)
		}
		if all.Tree, err = client.Tree(t.Context(), found[0].ID); err != nil {
			t.Fatal(err)
		}
		if all.Heads, err = client.Heads(t.Context(), lb.ClusterTag(owner.ClusterUID)); err != nil {
			t.Fatal(err)
		}
		return all
	}
	document := mutate.Parse(answers)
	want := read(&mutate.Cloud{Document: document, Words: words})
	rapid.Check(t, func(t *rapid.T) {
		newer := mutate.Newer{Next: &mutate.Cloud{Document: document, Words: words}, Open: []string{"insert_headers"}, Choose: mutate.Choices(rapid.Uint64().Draw(t, "seed"))}
		if diff := cmp.Diff(want, read(newer), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
