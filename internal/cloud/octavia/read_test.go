// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	simulator "github.com/kube-octavia/kube-octavia/cloudsim/octavia"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// create creates the load balancer and waits until it is ACTIVE.
func (s simulated) create(t *testing.T, l lb.LoadBalancer) lb.LoadBalancer {
	t.Helper()
	made, err := s.Apply(t.Context(), diff.CreateLoadBalancer{LoadBalancer: l})
	if err != nil {
		t.Fatal(err)
	}
	return s.settled(t, made.ID)
}

func TestObserveTakesTwoListsOneCallPerPoolAndOneForAllMonitors(t *testing.T) {
	s := simulate(t, cloudsim.Options{})
	head := s.create(t, wanted(s.IDs().PrivateSubnet)) // three pools, two of them with members, two with monitors
	got := s.calls(func() {
		if _, err := s.Observe(t.Context(), head); err != nil {
			t.Fatal(err)
		}
	})
	want := map[string]int{
		"GET /v2.0/lbaas/listeners": 1, "GET /v2.0/lbaas/pools": 1, "GET /v2.0/lbaas/pools/{id}/members": 2, "GET /v2.0/lbaas/healthmonitors": 1,
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestMonitorsWithoutTagsAreFoundToo(t *testing.T) {
	s := simulate(t, cloudsim.Options{})
	l := wanted(s.IDs().PrivateSubnet)
	for i := range l.Listeners {
		if m := l.Listeners[i].Pool.Monitor; m != nil {
			m.Tags = nil
		}
	}
	observed, err := s.Observe(t.Context(), s.create(t, l))
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(l.Listeners, observed.Listeners, alike); diff != "" {
		t.Errorf("listeners (-want +got):\n%s", diff)
	}
}

func TestAnOldCloudsLoadBalancerIsReadAndWrittenWithoutTags(t *testing.T) {
	s := simulate(t, cloudsim.Options{APIVersion: "2.4"})
	l := wanted(s.IDs().PrivateSubnet)
	for i := range l.Listeners {
		l.Listeners[i].AllowedCIDRs = nil
	}
	head := s.create(t, l)
	heads, err := s.Heads(t.Context(), lb.ClusterTag(owner.ClusterUID))
	if want := []octavia.Head{{ID: head.ID, ProvisioningStatus: lb.Active, UpdatedAt: head.UpdatedAt, VIPPortID: head.VIP.PortID}}; err != nil || !gocmp.Equal(want, heads) {
		t.Errorf("heads %+v (%v), want %+v", heads, err, want)
	}
	observed, err := s.Observe(t.Context(), head)
	if err != nil {
		t.Fatal(err)
	}
	for i := range l.Listeners {
		l.Listeners[i].Tags, l.Listeners[i].Pool.Tags = nil, nil
		if m := l.Listeners[i].Pool.Monitor; m != nil {
			m.Tags = nil
		}
	}
	if diff := gocmp.Diff(l.Listeners, observed.Listeners, alike); diff != "" {
		t.Errorf("listeners (-want +got):\n%s", diff)
	}
}

func TestAnOVNLoadBalancerIsCreatedAndReadLikeAnyOther(t *testing.T) {
	s := simulate(t, cloudsim.Options{Provider: "ovn"})
	pool := newPool(0, addresses(30080, "10.0.0.1"))
	pool.Algorithm, pool.Members[0].SubnetID = lb.SourceIPPort, s.IDs().PrivateSubnet
	l := lb.LoadBalancer{
		Name: "web", Provider: "ovn", VIP: lb.VIP{SubnetID: s.IDs().PrivateSubnet}, Listeners: []lb.Listener{newListener(0, 80, &pool)},
	}
	observed, err := s.Observe(t.Context(), s.create(t, l))
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(l.Listeners, observed.Listeners, alike); diff != "" || observed.Provider != "ovn" {
		t.Errorf("provider %s, listeners (-want +got):\n%s", observed.Provider, diff)
	}
}

func TestHeadsAreThoseOfTheCluster(t *testing.T) {
	s := simulate(t, cloudsim.Options{})
	ours := s.create(t, lb.LoadBalancer{Name: "a", Tags: owner.Tags(), VIP: lb.VIP{SubnetID: s.IDs().PrivateSubnet}})
	s.create(t, lb.LoadBalancer{Name: "b", VIP: lb.VIP{SubnetID: s.IDs().PrivateSubnet}})
	heads, err := s.Heads(t.Context(), lb.ClusterTag(owner.ClusterUID))
	if err != nil || len(heads) != 1 {
		t.Fatalf("heads %+v (%v)", heads, err)
	}
	slices.Sort(heads[0].Tags)
	tags := slices.Sorted(slices.Values(owner.Tags()))
	want := octavia.Head{ID: ours.ID, ProvisioningStatus: lb.Active, UpdatedAt: ours.UpdatedAt, VIPPortID: ours.VIP.PortID, Tags: tags}
	if diff := gocmp.Diff(want, heads[0]); diff != "" {
		t.Errorf("head (-want +got):\n%s", diff)
	}
	if heads, err = s.Heads(t.Context(), ""); len(heads) != 2 || err != nil {
		t.Errorf("of the project: %+v (%v)", heads, err)
	}
}

func TestALookupByNameIsOneCallAndLeavesOutOtherNames(t *testing.T) {
	s := simulate(t, cloudsim.Options{})
	made := s.create(t, lb.LoadBalancer{Name: "web", VIP: lb.VIP{SubnetID: s.IDs().PrivateSubnet}})
	s.create(t, lb.LoadBalancer{Name: "web2", VIP: lb.VIP{SubnetID: s.IDs().PrivateSubnet}})
	var found []lb.LoadBalancer
	calls := s.calls(func() {
		var err error
		if found, err = s.FindByName(t.Context(), "web"); err != nil {
			t.Fatal(err)
		}
	})
	if len(found) != 1 || !gocmp.Equal(found[0], made) {
		t.Errorf("found %+v, want %+v", found, made)
	}
	if want := map[string]int{"GET /v2.0/lbaas/loadbalancers": 1}; !gocmp.Equal(want, calls) {
		t.Errorf("calls %v", calls)
	}
}

func TestADeletedLoadBalancerIsGoneEvenIfItsRowIsStillShown(t *testing.T) {
	client := against(t, amphora, func(w http.ResponseWriter, r *http.Request) {
		row := `{"id": "lb1", "name": "web", "provisioning_status": "DELETED"}`
		if r.URL.Path == "/v2.0/lbaas/loadbalancers" {
			answer(w, 200, `{"loadbalancers": [`+row+`], "loadbalancers_links": []}`)
			return
		}
		answer(w, 200, `{"loadbalancer": `+row+`}`)
	})
	if found, err := client.FindByName(t.Context(), "web"); len(found) > 0 || err != nil {
		t.Errorf("found %+v (%v)", found, err)
	}
	if heads, err := client.Heads(t.Context(), ""); len(heads) > 0 || err != nil {
		t.Errorf("heads %+v (%v)", heads, err)
	}
	if _, err := client.Get(t.Context(), "lb1"); openstack.Classify(err) != openstack.Gone {
		t.Errorf("error %v", err)
	}
}

// pages serves a list of n load balancers in pages, as Octavia does: the links contain only the limit.
func pages(n, most int, queries *[]url.Values) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		*queries = append(*queries, query)
		first := 0
		if marker := query.Get("marker"); marker != "" {
			_, _ = fmt.Sscanf(marker, "lb-%d", &first)
			first++
		}
		items, links := []map[string]string{}, []map[string]string{}
		for i := first; i < min(first+most, n); i++ {
			items = append(items, map[string]string{"id": fmt.Sprintf("lb-%d", i), "provisioning_status": "ACTIVE"})
		}
		if len(items) == most {
			links = append(links, map[string]string{"rel": "next", "href": "http://192.0.2.1/elsewhere?limit=1000&marker=" + items[most-1]["id"]})
		}
		text, _ := json.Marshal(map[string]any{"loadbalancers": items, "loadbalancers_links": links})
		answer(w, 200, string(text))
	}
}

func TestAllPagesAreReadWithTheSameFilter(t *testing.T) {
	for _, n := range []int{0, 1, 6, 7} {
		t.Run(fmt.Sprintf("%d load balancers", n), func(t *testing.T) {
			var queries []url.Values
			client := against(t, amphora, pages(n, 3, &queries))
			heads, err := client.Heads(t.Context(), "tag")
			if err != nil || len(heads) != n {
				t.Errorf("%d of %d heads (%v)", len(heads), n, err)
			}
			if want := n/3 + 1; len(queries) != want {
				t.Errorf("%d calls for %d, want %d", len(queries), n, want)
			}
			for _, q := range queries {
				fields := []string{"id", "provisioning_status", "updated_at", "vip_port_id", "tags"}
				if q.Get("tags") != "tag" || q.Get("limit") != "1000" || !slices.Equal(q["fields"], fields) {
					t.Errorf("a page was asked for with %v", q)
				}
			}
		})
	}
}

func TestAResponseWithoutItsListIsAnError(t *testing.T) {
	for name, body := range map[string]string{
		"an empty object":              `{}`,
		"a null":                       `{"loadbalancers": null}`,
		"no list":                      `{"loadbalancers": {}}`,
		"no object":                    `[]`,
		"no JSON":                      `<html></html>`,
		"half of it":                   `{"loadbalancers": [{"id": "lb1"`,
		"nothing":                      ``,
		"links of an unknown form":     `{"loadbalancers": [{"id": "lb1"}], "loadbalancers_links": 7}`,
		"a next page that never comes": `{"loadbalancers": [{"id": "lb1"}], "loadbalancers_links": [{"rel": "next"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			client := against(t, amphora, func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, body) })
			heads, err := client.Heads(t.Context(), "tag")
			if openstack.Classify(err) != openstack.Transient || heads != nil {
				t.Errorf("%+v, %v", heads, err)
			}
		})
	}
}

func TestAResponseWithoutItsObjectIsAnError(t *testing.T) {
	client := against(t, amphora, func(w http.ResponseWriter, r *http.Request) { answer(w, 200, `{}`) })
	_, getErr := client.Get(t.Context(), "lb1")
	_, headErr := client.Head(t.Context(), "lb1")
	_, treeErr := client.Tree(t.Context(), "lb1")
	_, observeErr := client.Observe(t.Context(), lb.LoadBalancer{ID: "lb1"})
	for name, err := range map[string]error{
		"load balancer": getErr,
		"head":          headErr,
		"status tree":   treeErr,
		"children":      observeErr,
	} {
		t.Run(name, func(t *testing.T) {
			var e *openstack.Error
			if !errors.As(err, &e) || e.Class != openstack.Transient {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestReadThatFailsHalfwayReturnsNothing(t *testing.T) {
	s := simulate(t, cloudsim.Options{})
	head := s.create(t, wanted(s.IDs().PrivateSubnet))
	for _, route := range []string{"listeners", "pools", "pools/{id}/members", "healthmonitors"} {
		t.Run(route, func(t *testing.T) {
			id := s.Faults().Add(wire.Fault{
				Service: cloudsim.LoadBalancer, Method: "GET", Route: "/v2.0/lbaas/" + route, Kind: wire.FaultStatus, Status: 500,
			})
			if _, err := s.Observe(t.Context(), head); openstack.Classify(err) != openstack.Transient {
				t.Errorf("with %s failing: %v", route, err)
			}
			s.Faults().Remove(id)
		})
	}
}

func TestObjectsThatOctaviaLeftPendingAreRead(t *testing.T) {
	s := simulate(t, cloudsim.Options{Release: release.Zed, Octavia: simulator.Options{StuckChildren: true}})
	l := wanted(s.IDs().PrivateSubnet)
	head := s.create(t, l)
	observed, err := s.Observe(t.Context(), head)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := s.Tree(t.Context(), head.ID)
	if err != nil {
		t.Fatal(err)
	}
	l.ID = head.ID
	confirmed, _, err := octavia.Confirm(l, nil, tree)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]lb.LoadBalancer{
		"observed":  observed,
		"confirmed": confirmed,
	} {
		t.Run(name, func(t *testing.T) {
			if got.ProvisioningStatus != lb.Active || got.Listeners[0].ProvisioningStatus != lb.PendingCreate || got.Listeners[0].Pool.ProvisioningStatus != lb.PendingCreate {
				t.Errorf("%s, %+v", got.ProvisioningStatus, got.Listeners[0])
			}
		})
	}
}
