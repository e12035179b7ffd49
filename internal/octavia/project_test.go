// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// TestNamesThatAreSearchedDuringASearchTakeOneList has a search that hangs, so that the others, which wait for it,
// are certainly together.
func TestNamesThatAreSearchedDuringASearchTakeOneList(t *testing.T) {
	var mu sync.Mutex
	var queries []string
	first, second := make(chan struct{}), make(chan struct{})
	c := against(t, amphora, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		queries = append(queries, r.URL.Query().Get("name"))
		n := len(queries)
		mu.Unlock()
		if n == 1 {
			close(first)
			<-second
		} else if n == 2 {
			close(second)
		}
		_, _ = io.WriteString(w, `{"loadbalancers": [{"id": "1", "name": "one", "provisioning_status": "ACTIVE"},
			{"id": "2", "name": "two", "provisioning_status": "ACTIVE"}, {"id": "3", "name": "two", "provisioning_status": "ERROR"},
			{"id": "4", "name": "four", "provisioning_status": "ACTIVE"}]}`)
	})
	var searches sync.WaitGroup
	search := func(name string, want ...string) {
		searches.Go(func() {
			found, err := c.FindByName(t.Context(), name)
			var ids []string
			for _, l := range found {
				ids = append(ids, l.ID)
			}
			if diff := cmp.Diff(want, ids); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
			}
		})
	}
	search("one", "1")
	<-first
	search("two", "2", "3")
	search("three")
	search("four", "4")
	search("two", "2", "3")
	searches.Wait()
	if diff := cmp.Diff([]string{"one", ""}, queries); diff != "" {
		t.Errorf("searched for (-want +got):\n%s", diff)
	}
}

func TestTheListOfAProjectHasAllItsLoadBalancersWithAndWithoutTags(t *testing.T) {
	s := simulate(t, cloudsim.Options{})
	want := map[string]bool{}
	for i, tags := range [][]string{nil, {"kube-octavia.cluster=c1"}, {"kube-octavia.cluster=c2"}} {
		made, err := s.Apply(t.Context(), diff.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{
			Name: fmt.Sprint("lb-", i), Tags: tags, VIP: lb.VIP{SubnetID: s.IDs().PrivateSubnet}}})
		if err != nil {
			t.Fatal(err)
		}
		want[made.ID] = true
		s.settled(t, made.ID)
	}
	heads, err := s.ProjectHeads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, h := range heads {
		got[h.ID] = h.ProvisioningStatus == lb.Active && h.UpdatedAt != ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}
