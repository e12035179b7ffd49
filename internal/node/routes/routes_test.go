// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package routes

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inCloud starts a cloud and returns what keeps routes in its router, with this rate of calls.
func inCloud(t *testing.T, options neutron.Options, rate openstack.Rate) (*cloudsim.Cloud, *Routes) {
	t.Helper()
	return inCloudOf(t, cloudsim.Options{Neutron: options}, rate)
}

// inCloudOf is inCloud with all options.
func inCloudOf(t *testing.T, options cloudsim.Options, rate openstack.Rate) (*cloudsim.Cloud, *Routes) {
	t.Helper()
	cloud, err := cloudsim.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	conf, err := config.Parse("cloud.conf", []byte(cloud.CloudConf()))
	if err != nil {
		t.Fatal(err)
	}
	session, err := openstack.Connect(t.Context(), openstack.Options{Config: conf.Global, Rate: rate})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return cloud, New(Options{
		Cloud: NewCloud(session.Network(), session.ProjectID()), RouterID: cloud.IDs().Router, ClusterUID: "uid",
		ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
	})
}

// addServers adds servers and returns their addresses.
func addServers(t *testing.T, cloud *cloudsim.Cloud, r *Routes, n int) (addresses []string) {
	t.Helper()
	for i := range n {
		if _, err := cloud.AddServer(fmt.Sprint("node-", i)); err != nil {
			t.Fatal(err)
		}
	}
	facts, err := r.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range facts.Ports {
		if p.DeviceID != r.RouterID {
			addresses = append(addresses, p.FixedIPs[0].Address)
		}
	}
	return addresses
}

// toPods returns the route that Kubernetes requests for the Node with the address.
func toPods(i int, address string) *cloudprovider.Route {
	return &cloudprovider.Route{
		DestinationCIDR:     fmt.Sprintf("10.244.%d.0/24", i),
		TargetNodeAddresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}},
	}
}

// TestRoutesOfManyNodesLeaveCallsOfTheRateLimitToServices holds that no call is refused for the rate limit, although all Nodes of a
// cluster get their routes at the same time.
func TestRoutesOfManyNodesLeaveCallsOfTheRateLimitToServices(t *testing.T) {
	const nodes = 60
	cloud, r := inCloud(t, neutron.Options{MaxRoutes: 100}, openstack.Rate{PerSecond: 200, Burst: 1, MaxWait: 100 * time.Millisecond})
	addresses := addServers(t, cloud, r, nodes)
	var creates errgroup.Group
	for i, address := range addresses {
		creates.Go(func() error {
			return r.CreateRoute(t.Context(), "", "", toPods(i, address))
		})
	}
	if err := creates.Wait(); err != nil {
		t.Error(err)
	}
	if facts, err := r.Facts(t.Context()); err != nil || len(facts.Routes) != len(addresses) {
		t.Errorf("%d routes, error %v", len(facts.Routes), err)
	}
}

func TestWhenTheRouterIsFullOneRefusalIsEnough(t *testing.T) {
	for name, without := range map[string][]string{"single routes": nil, "all routes": {"extraroute-atomic"}} {
		t.Run(name, func(t *testing.T) {
			cloud, r := inCloud(t, neutron.Options{MaxRoutes: 3, Without: without}, openstack.Rate{})
			address := addServers(t, cloud, r, 1)[0]
			key := func(i int) string { return fmt.Sprintf("add %s 10.244.%d.0/24 %s", r.RouterID, i, address) }
			there, keys := []string{key(1), key(8)}, []string{}
			for i := range 9 {
				keys = append(keys, key(i))
			}
			if _, err := r.Cloud.change(t.Context(), there); err != nil {
				t.Fatal(err)
			}
			cloud.Recorder().Reset()
			results, err := r.Cloud.change(t.Context(), keys)
			if err != nil {
				t.Fatal(err)
			}
			for i, key := range keys { // one more has a place
				if fits := i < 2 || i == 8; fits != (results[key] == nil) || !fits && openstack.Classify(results[key]) != openstack.Quota {
					t.Errorf("%s: %v", key, results[key])
				}
			}
			writes := 0
			for _, call := range cloud.Recorder().Calls() {
				if call.Method == http.MethodPut {
					writes++
				}
			}
			if writes > 4 { // all, 0, 1, 2
				t.Errorf("%d writes", writes)
			}
		})
	}
}

// A router has more routes than it may if the limit was lowered.
func TestARouterThatIsTooFullLosesEachRouteThatIsRemoved(t *testing.T) {
	cloud, r := inCloud(t, neutron.Options{}, openstack.Rate{})
	address := addServers(t, cloud, r, 1)[0]
	changes := func(kind string) (keys []string) {
		for i := range 3 {
			keys = append(keys, fmt.Sprintf("%s %s 10.244.%d.0/24 %s", kind, r.RouterID, i, address))
		}
		return keys
	}
	if _, err := r.Cloud.change(t.Context(), changes(adding)); err != nil {
		t.Fatal(err)
	}
	cloud.Faults().Add(wire.Fault{
		Service: cloudsim.Network, Method: http.MethodPut, Route: "/v2.0/routers/{id}/remove_extraroutes", Kind: wire.FaultStatus, Status: http.StatusBadRequest,
		Body: `{"NeutronError": {"type": "RoutesExhausted", "message": "The number of routes exceeds the maximum 1.", "detail": ""}}`, Times: 2,
	})
	results, err := r.Cloud.change(t.Context(), changes(removing))
	if err != nil {
		t.Fatal(err)
	}
	router, err := r.Cloud.Router(t.Context(), r.RouterID)
	if err != nil || len(router.Routes) != 1 || results[changes(removing)[0]] == nil {
		t.Errorf("%v, %v, %v", router.Routes, results, err)
	}
}

func TestACloudWithoutAddressPairsHasRoutes(t *testing.T) {
	cloud, r := inCloud(t, neutron.Options{Without: []string{"allowed-address-pairs"}}, openstack.Rate{})
	address := addServers(t, cloud, r, 1)[0]
	cloud.Faults().Add(wire.Fault{
		Service: cloudsim.Network, Method: http.MethodPut, Route: "/v2.0/ports/{id}", Kind: wire.FaultStatus, Status: http.StatusBadRequest,
		Body: `{"NeutronError": {"type": "HTTPBadRequest", "message": "Unrecognized attribute(s) 'allowed_address_pairs'", "detail": ""}}`,
	})
	if err := r.CreateRoute(t.Context(), "", "", toPods(1, address)); err != nil {
		t.Fatal(err)
	}
	requireListed(t, r, address, "10.244.1.0/24")
}

// Without its routes, Kubernetes would keep Pods off a Node.
func TestARouteDoesNotWaitForTheTagOfItsPort(t *testing.T) {
	cloud, r := inCloud(t, neutron.Options{}, openstack.Rate{})
	address := addServers(t, cloud, r, 1)[0]
	fault := cloud.Faults().Add(wire.Fault{
		Service: cloudsim.Network, Method: http.MethodPut, Route: "/v2.0/ports/{id}/tags/{tag}", Kind: wire.FaultStatus, Status: http.StatusForbidden,
	})
	for range 2 {
		if err := r.CreateRoute(t.Context(), "", "", toPods(1, address)); err != nil {
			t.Fatal(err)
		}
		requireListed(t, r, address) // so that Kubernetes requests it again
	}
	facts, err := r.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Route{{"10.244.1.0/24", address}}, facts.Routes); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	writes := map[string]int{}
	for _, call := range cloud.Recorder().Calls() {
		if call.Method == http.MethodPut {
			writes[call.Route]++
		}
	}
	want := map[string]int{"/v2.0/ports/{id}": 1, "/v2.0/ports/{id}/tags/{tag}": 2, "/v2.0/routers/{id}/add_extraroutes": 2}
	if diff := cmp.Diff(want, writes); diff != "" {
		t.Errorf("writes of two passes (-want +got):\n%s", diff)
	}
	cloud.Faults().Remove(fault)
	if err := r.CreateRoute(t.Context(), "", "", toPods(1, address)); err != nil {
		t.Fatal(err)
	}
	requireListed(t, r, address, "10.244.1.0/24")
}

// requireListed requires that exactly these destinations are listed, if the address is that of a Node with Pods in 10.244.1.0/24.
func requireListed(t *testing.T, r *Routes, address string, want ...string) {
	t.Helper()
	r.Nodes = func() ([]*corev1.Node, error) { return []*corev1.Node{node("a", address, "10.244.1.0/24")}, nil }
	listed, err := r.ListRoutes(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, route := range listed {
		got = append(got, route.DestinationCIDR)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
