// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// TestNamesThatAreSearchedDuringASearchTakeOneList uses a search that hangs, so that the others, which wait for
// it, are made together.
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

func TestHeadsOfSomeLoadBalancersTakeOneListUnlessTheyAreFew(t *testing.T) {
	for name, test := range map[string]struct {
		ids   []string
		want  []octavia.Head
		calls []string
		fails bool
	}{
		"two": {ids: []string{"a", "b"}, calls: []string{"a", "b"},
			want: []octavia.Head{{ID: "a", ProvisioningStatus: lb.Active}, {ID: "b", ProvisioningStatus: lb.Error}}},
		"three":                   {ids: []string{"a", "b", "c"}, calls: []string{""}, want: []octavia.Head{{ID: "a", ProvisioningStatus: lb.Active}, {ID: "b", ProvisioningStatus: lb.Error}, {ID: "c", ProvisioningStatus: lb.Active}}},
		"one that does not exist": {ids: []string{"a", "b", "gone"}, calls: []string{"", "gone"}, want: []octavia.Head{{ID: "a", ProvisioningStatus: lb.Active}, {ID: "b", ProvisioningStatus: lb.Error}, {ID: "gone", Gone: true}}},
		"one that may not be read": {ids: []string{"a", "forbidden"}, calls: []string{"a", "forbidden"}, fails: true,
			want: []octavia.Head{{ID: "a", ProvisioningStatus: lb.Active}}},
	} {
		t.Run(name, func(t *testing.T) {
			statuses := map[string]lb.ProvisioningStatus{"a": lb.Active, "b": lb.Error, "c": lb.Active, "foreign": lb.Active}
			var mu sync.Mutex
			var calls []string
			c := against(t, amphora, func(w http.ResponseWriter, r *http.Request) {
				_, id, _ := strings.Cut(r.URL.Path, "/loadbalancers/")
				mu.Lock()
				calls = append(calls, id)
				mu.Unlock()
				document := func(id string) string { return fmt.Sprintf(`{"id": %q, "provisioning_status": %q}`, id, statuses[id]) }
				switch {
				case id == "":
					_, _ = fmt.Fprintf(w, `{"loadbalancers": [%s, %s, %s, %s]}`, document("a"), document("b"), document("c"), document("foreign"))
				case id == "forbidden":
					w.WriteHeader(http.StatusForbidden)
				case statuses[id] == "":
					w.WriteHeader(http.StatusNotFound)
				default:
					_, _ = fmt.Fprintf(w, `{"loadbalancer": %s}`, document(id))
				}
			})
			heads, err := c.HeadsOf(t.Context(), test.ids)
			if (err != nil) != test.fails {
				t.Errorf("error: %v", err)
			}
			if diff := cmp.Diff(test.want, heads); diff != "" {
				t.Errorf("heads (-want +got):\n%s", diff)
			}
			slices.Sort(calls)
			if diff := cmp.Diff(test.calls, calls); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}
