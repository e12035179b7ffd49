// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/apiversions"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	providerapi "github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/providers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/quotas"

	"github.com/kube-octavia/kube-octavia/cloudsim/internal/apitest"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// client returns a gophercloud client that calls as alice.
func (c *cloud) client() *gophercloud.ServiceClient {
	return apitest.Gophercloud(c.t, wire.Options{Service: "load-balancer", Mux: c.Mux(), Public: func(route string) bool { return route == "/" }}, alice)
}

// ok returns a function that fails the test if a call has failed.
func ok[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestGophercloudCreatesReadsUpdatesAndDeletesALoadBalancer(t *testing.T) {
	c := newCloud(t, Options{})
	client, ctx := c.client(), t.Context()
	weight := 3
	lb := ok[*loadbalancers.LoadBalancer](t)(loadbalancers.Create(ctx, client, loadbalancers.CreateOpts{
		Name: "web", VipSubnetID: c.ids.PrivateSubnetID, Tags: []string{"a"},
		Listeners: []listeners.CreateOpts{{
			Name: "http", Protocol: listeners.ProtocolTCP, ProtocolPort: 80, AllowedCIDRs: []string{"10.0.0.0/8"}, Tags: []string{"l"},
			DefaultPool: &pools.CreateOpts{
				Name: "pool", Protocol: pools.ProtocolTCP, LBMethod: pools.LBMethodRoundRobin, Tags: []string{"p"},
				Members: []pools.CreateMemberOpts{{Name: "m", Address: "10.0.0.11", ProtocolPort: 80, Weight: &weight}},
				Monitor: &monitors.CreateOpts{Type: monitors.TypeTCP, Delay: 5, Timeout: 3, MaxRetries: 2},
			},
		}},
	}).Extract())
	if lb.ProvisioningStatus != "PENDING_CREATE" || lb.VipPortID == "" || len(lb.Listeners) != 1 || lb.Listeners[0].DefaultPoolID != lb.Pools[0].ID || lb.Pools[0].Members[0].Weight != 3 {
		t.Errorf("the answer to the create is %+v", lb)
	}
	c.await(lb.ID, "ACTIVE")

	shown := ok[*loadbalancers.LoadBalancer](t)(loadbalancers.Get(ctx, client, lb.ID).Extract())
	if shown.UpdatedAt.IsZero() || shown.CreatedAt.IsZero() || shown.OperatingStatus != "ONLINE" || shown.Tags[0] != "a" {
		t.Errorf("the load balancer is %+v", shown)
	}
	tree := ok[*loadbalancers.StatusTree](t)(loadbalancers.GetStatuses(ctx, client, lb.ID).Extract())
	if m := tree.Loadbalancer.Listeners[0].Pools[0].Members[0]; m.Address != "10.0.0.11" || m.ProvisioningStatus != "ACTIVE" {
		t.Errorf("the member in the status tree is %+v", m)
	}
	ok[*loadbalancers.Stats](t)(loadbalancers.GetStats(ctx, client, lb.ID).Extract())

	pool := shown.Pools[0].ID
	name := "new"
	if err := pools.BatchUpdateMembers(ctx, client, pool, []pools.BatchUpdateMemberOpts{{Address: "10.0.0.12", ProtocolPort: 81, Name: &name}}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	err := loadbalancers.Delete(ctx, client, lb.ID, nil).ExtractErr()
	if !gophercloud.ResponseCodeIs(err, http.StatusBadRequest) {
		t.Errorf("a delete without cascade gives %v", err)
	}
	c.await(lb.ID, "ACTIVE")
	members := ok[[]pools.Member](t)(pools.ExtractMembers(ok[pools.MemberPage](t)(page[pools.MemberPage](pools.ListMembers(client, pool, nil).AllPages(ctx)))))
	if len(members) != 1 || members[0].Name != "new" || members[0].CreatedAt.IsZero() {
		t.Errorf("the members are %+v", members)
	}
	found := ok[[]listeners.Listener](t)(listeners.ExtractListeners(ok[listeners.ListenerPage](t)(page[listeners.ListenerPage](listeners.List(client, listeners.ListOpts{LoadbalancerID: lb.ID}).AllPages(ctx)))))
	if len(found) != 1 || found[0].AllowedCIDRs[0] != "10.0.0.0/8" || found[0].TimeoutClientData != 50000 {
		t.Errorf("the listeners are %+v", found)
	}
	hms := ok[[]monitors.Monitor](t)(monitors.ExtractMonitors(ok[monitors.MonitorPage](t)(page[monitors.MonitorPage](monitors.List(client, monitors.ListOpts{PoolID: pool}).AllPages(ctx)))))
	if len(hms) != 1 || hms[0].Delay != 5 || hms[0].Pools[0].ID != pool {
		t.Errorf("the monitors are %+v", hms)
	}
	if err := loadbalancers.Delete(ctx, client, lb.ID, loadbalancers.DeleteOpts{Cascade: true}).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	c.await(lb.ID, "")
}

func TestGophercloudReadsProvidersFlavorsAndZones(t *testing.T) {
	c := newCloud(t, Options{DefaultQuota: &Quota{1, 2, 3, 4, 5}})
	c.AddFlavor("small", "amphora", "{}")
	client, ctx := c.client(), t.Context()
	versions := ok[[]apiversions.APIVersion](t)(apiversions.ExtractAPIVersions(ok[apiversions.APIVersionPage](t)(page[apiversions.APIVersionPage](apiversions.List(client).AllPages(ctx)))))
	if got := versions[len(versions)-1]; got.ID != fmt.Sprintf("v2.%d", usualMinor(release.Newest)) || got.Status != "CURRENT" {
		t.Errorf("the newest version is %+v", got)
	}
	quota := ok[*quotas.Quota](t)(quotas.Get(ctx, client, alice.ProjectID).Extract())
	if quota.Loadbalancer != 1 || quota.Healthmonitor != 5 || quota.Member != 4 {
		t.Errorf("the quota is %+v", quota)
	}
	offered := ok[[]providerapi.Provider](t)(providerapi.ExtractProviders(ok[providerapi.ProviderPage](t)(page[providerapi.ProviderPage](providerapi.List(client, nil).AllPages(ctx)))))
	if len(offered) != 3 || offered[0].Name != "amphora" {
		t.Errorf("the providers are %+v", offered)
	}
	sizes := ok[[]flavors.Flavor](t)(flavors.ExtractFlavors(ok[flavors.FlavorPage](t)(page[flavors.FlavorPage](flavors.List(client, nil).AllPages(ctx)))))
	if len(sizes) != 1 || sizes[0].Name != "small" || !sizes[0].Enabled {
		t.Errorf("the flavors are %+v", sizes)
	}
}

// page gives a page its own type.
func page[P any](p any, err error) (P, error) {
	typed, _ := p.(P)
	return typed, err
}
