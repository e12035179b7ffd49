// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package routes

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inCloud starts a cloud and returns what keeps routes in its router, with this rate of calls.
func inCloud(t *testing.T, rate openstack.Rate) (*cloudsim.Cloud, *Routes) {
	t.Helper()
	cloud, err := cloudsim.Start(cloudsim.Options{Neutron: neutron.Options{MaxRoutes: 100}})
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

// TestRoutesOfManyNodesLeaveTheRateLimitToServices holds that no call is refused for the rate limit, although all Nodes of a
// cluster get their routes at the same time.
func TestRoutesOfManyNodesLeaveTheRateLimitToServices(t *testing.T) {
	const nodes = 60
	cloud, r := inCloud(t, openstack.Rate{PerSecond: 200, Burst: 1, MaxWait: 100 * time.Millisecond})
	for i := range nodes {
		if _, err := cloud.AddServer(fmt.Sprint("node-", i)); err != nil {
			t.Fatal(err)
		}
	}
	facts, err := r.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for _, p := range facts.Ports {
		if p.DeviceID != r.RouterID {
			addresses = append(addresses, p.FixedIPs[0].Address)
		}
	}
	var creates errgroup.Group
	for i, address := range addresses {
		creates.Go(func() error {
			return r.CreateRoute(t.Context(), "", "", &cloudprovider.Route{
				DestinationCIDR:     fmt.Sprintf("10.244.%d.0/24", i),
				TargetNodeAddresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}},
			})
		})
	}
	if err := creates.Wait(); err != nil {
		t.Error(err)
	}
	if facts, err = r.Facts(t.Context()); err != nil || len(facts.Routes) != len(addresses) {
		t.Errorf("%d routes, error %v", len(facts.Routes), err)
	}
}
