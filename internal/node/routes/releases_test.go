// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package routes

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/test/mutate"
)

func TestAnswersOfOtherReleasesMeanTheSame(t *testing.T) {
	cloud, r := inCloud(t, neutron.Options{}, openstack.Rate{})
	address := addServers(t, cloud, r, 1)[0]
	if err := r.CreateRoute(t.Context(), "kubernetes", "", toPods(0, address)); err != nil {
		t.Fatal(err)
	}
	c := r.Cloud
	type all struct {
		Router Router
		Ports  []Port
		Atomic bool
	}
	read := func() (a all) {
		c.extensions = nil
		var err error
		if a.Router, err = c.Router(t.Context(), cloud.IDs().Router); err != nil {
			t.Fatal(err)
		}
		if a.Ports, err = c.Ports(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a.Atomic, err = c.Atomic(t.Context()); err != nil {
			t.Fatal(err)
		}
		return a
	}
	want := read()
	direct := &http.Transport{} // without the limit of the rate of calls
	t.Cleanup(direct.CloseIdleConnections)
	client := &c.network.HTTPClient // of all services
	rapid.Check(t, func(t *rapid.T) {
		client.Transport = mutate.Newer{Next: direct, Choose: mutate.Choices(rapid.Uint64().Draw(t, "seed"))}
		if diff := cmp.Diff(want, read()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
