// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"fmt"
	"net/url"
	"slices"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func TestMoreThanAThousandLoadBalancersAreListedCompletely(t *testing.T) {
	s := simulate(t, cloudsim.Options{Neutron: neutron.Options{Quotas: map[string]int{"port": -1}}})
	const tag, most, pages = "kube-octavia.cluster=c1", 1000, 3
	create := func(name string, tags ...string) string {
		made, err := s.Apply(t.Context(), diff.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{
			Name: name, Tags: tags, VIP: lb.VIP{SubnetID: s.IDs().PrivateSubnet}}})
		if err != nil {
			t.Fatal(err)
		}
		return made.ID
	}
	left := map[string]bool{}
	for i := range (pages-1)*most + 1 {
		if i%50 == 0 {
			create("other", "kube-octavia.cluster=c2")
		}
		left[create(fmt.Sprint("lb-", i), "a", tag)] = true
	}
	s.Recorder().Reset()
	heads, err := s.Heads(t.Context(), tag)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range heads {
		if !left[h.ID] || h.ProvisioningStatus == "" || !slices.Equal(h.Tags, []string{"a", tag}) {
			t.Fatalf("not ours, or listed twice, or not as it is: %+v", h)
		}
		delete(left, h.ID)
	}
	if len(left) > 0 {
		t.Errorf("%d of them are not listed", len(left))
	}
	calls := s.Recorder().Calls()
	if len(calls) != pages {
		t.Errorf("%d calls, want %d", len(calls), pages)
	}
	for i, call := range calls {
		q, err := url.ParseQuery(call.Query)
		if err != nil || call.Route != "/v2.0/lbaas/loadbalancers" || q.Get("tags") != tag || q.Has("marker") != (i > 0) || len(q["fields"]) != 5 {
			t.Errorf("call %d: %s?%s", i, call.Route, call.Query)
		}
	}
}
