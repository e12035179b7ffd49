// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/test/mutate"
)

func TestAnswersOfOtherReleasesMeanTheSame(t *testing.T) {
	cloud, options := inCloud(t)
	id, err := cloud.AddServer("node-1")
	if err != nil {
		t.Fatal(err)
	}
	type all struct {
		Inventory Inventory
		Server    Server
		Flavors   map[string]string
	}
	read := func() (a all) {
		if a.Inventory, err = options.Cloud.Inventory(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a.Server, _, err = options.Cloud.Server(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if a.Flavors, err = options.Cloud.flavorIDs(t.Context()); err != nil {
			t.Fatal(err)
		}
		return a
	}
	want := read()
	direct := &http.Transport{} // without the limit of the rate of calls
	t.Cleanup(direct.CloseIdleConnections)
	client := &options.Cloud.network.HTTPClient // of all services
	rapid.Check(t, func(t *rapid.T) {
		client.Transport = mutate.Newer{Next: direct, Open: []string{"addresses", "metadata"}, Choose: mutate.Choices(rapid.Uint64().Draw(t, "seed"))}
		if diff := cmp.Diff(want, read()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
