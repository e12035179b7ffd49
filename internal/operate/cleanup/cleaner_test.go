// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cloud/barbican"
	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/node/routes"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// leftBehind starts a cloud with a load balancer of the cluster uid-1 and its floating IP, and returns its Cleaner.
func leftBehind(t *testing.T) (*cloudsim.Cloud, *Cleaner) {
	t.Helper()
	cloud, err := cloudsim.Start(cloudsim.Options{})
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
	session, err := openstack.Connect(t.Context(), openstack.Options{Config: conf.Global, Rate: openstack.Rate{PerSecond: 10000, Burst: 10000}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	can := lb.Capabilities{APIVersion: lb.Version{Major: 2, Minor: 27}, Provider: "amphora"}
	c := &Cleaner{
		Octavia: octavia.New(session.LoadBalancer(), session.ProjectID(), can), Neutron: neutron.New(session.Network(), session.ProjectID()),
		Barbican: barbican.New(session.KeyManager(), func() bool { return true }),
		Options:  Options{Cluster: lb.Cluster{UID: "uid-1"}}, Interval: 10 * time.Millisecond,
	}
	ours := owner("prod", "uid-1", "web")
	made, err := c.Octavia.Apply(t.Context(), diff.CreateLoadBalancer{LoadBalancer: lb.LoadBalancer{Name: ours.LoadBalancerName(), Description: ours.Description(),
		Tags: ours.Tags(), Provider: "amphora", VIP: lb.VIP{SubnetID: cloud.IDs().PrivateSubnet}}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.Octavia.Get(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Neutron.Apply(t.Context(), diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: cloud.IDs().PublicNetwork, PortID: l.VIP.PortID,
		Description: ours.FloatingIPDescription()}}); err != nil {
		t.Fatal(err)
	}
	c.Routes = routes.New(routes.Options{Cloud: routes.NewCloud(session.Network(), session.ProjectID()), RouterID: cloud.IDs().Router})
	return cloud, c
}

// refuse makes the cloud answer with 403 from now on.
func refuse(cloud *cloudsim.Cloud, service, method, route string) {
	cloud.Faults().Add(wire.Fault{Service: service, Method: method, Route: route, Kind: wire.FaultStatus, Status: http.StatusForbidden, Times: 1 << 20})
}

func TestUnreadableObjectsAreReportedAndTheOthersDeleted(t *testing.T) {
	for what, prepare := range map[string]func(*cloudsim.Cloud, *Cleaner){
		"certificates in Barbican": func(cloud *cloudsim.Cloud, _ *Cleaner) {
			refuse(cloud, cloudsim.KeyManager, http.MethodGet, "/v1/secrets")
		},
		"routes to Pods": func(_ *cloudsim.Cloud, c *Cleaner) { c.Routes.RouterID = "11111111-2222-4333-8444-555555555555" },
	} {
		t.Run(what, func(t *testing.T) {
			cloud, c := leftBehind(t)
			prepare(cloud, c)
			plan, err := c.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("error %v", err)
			}
			if len(plan.Objects) > 0 {
				t.Errorf("left: %+v", plan.Objects)
			}
		})
	}
}

// TestCleanupThatCannotContinueEndsWithTheReason refuses the deletion of the floating IP, for which the load balancer waits.
func TestCleanupThatCannotContinueEndsWithTheReason(t *testing.T) {
	cloud, c := leftBehind(t)
	refuse(cloud, cloudsim.Network, http.MethodDelete, "/v2.0/floatingips/{id}")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	plan, err := c.Run(ctx)
	if err == nil || !strings.Contains(err.Error(), "2 objects are left") || !strings.Contains(err.Error(), "403") {
		t.Errorf("error %v", err)
	}
	if ctx.Err() != nil || len(plan.Remaining()) != 2 {
		t.Errorf("%v, left: %+v", ctx.Err(), plan.Remaining())
	}
}
