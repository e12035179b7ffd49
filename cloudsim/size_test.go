// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsim_test

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
)

// large starts a cloud with that many load balancers, each of 5 listeners with
// 50 members.
func large(tb testing.TB, n int) (*cloudsim.Cloud, *gophercloud.ServiceClient) {
	tb.Helper()
	c := start(tb, cloudsim.Options{Neutron: neutron.Options{Quotas: map[string]int{"port": -1}}})
	octavia, _ := balancers(tb, c)
	var open []listeners.CreateOpts
	for port := range 5 {
		var members []pools.CreateMemberOpts
		for m := range 50 {
			members = append(members, pools.CreateMemberOpts{Name: fmt.Sprintf("node-%d", m), Address: fmt.Sprintf("10.0.0.%d", m+1), ProtocolPort: 30000 + port, SubnetID: c.IDs().PrivateSubnet})
		}
		open = append(open, listeners.CreateOpts{
			Name: fmt.Sprintf("listener_%d", port), Protocol: listeners.ProtocolTCP, ProtocolPort: 80 + port,
			DefaultPool: &pools.CreateOpts{Name: fmt.Sprintf("pool_%d", port), Protocol: pools.ProtocolTCP, LBMethod: pools.LBMethodRoundRobin, Members: members},
		})
	}
	for i := range n {
		_, err := loadbalancers.Create(tb.Context(), octavia, loadbalancers.CreateOpts{
			Name: fmt.Sprintf("kube_service_kubernetes_default_web-%d", i), VipSubnetID: c.IDs().PrivateSubnet, Listeners: open,
			Tags: []string{fmt.Sprintf("kube_service_kubernetes_default_web-%d", i), "cluster=6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
		}).Extract()
		if err != nil {
			tb.Fatal(err)
		}
	}
	return c, octavia
}

// page fetches one page of the list of load balancers.
func page(tb testing.TB, octavia *gophercloud.ServiceClient, query string) {
	tb.Helper()
	resp, err := octavia.Get(tb.Context(), octavia.ServiceURL("lbaas", "loadbalancers")+query, nil, &gophercloud.RequestOpts{KeepResponseBody: true})
	if err != nil || resp.StatusCode != http.StatusOK {
		tb.Fatal(resp, err)
	}
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n < 10_000 {
		tb.Fatal("page of", n, "bytes:", err)
	}
	_ = resp.Body.Close()
}

func BenchmarkListPageOf1000LoadBalancers(b *testing.B) {
	_, octavia := large(b, 2000)
	for name, query := range map[string]string{
		"whole": "?limit=1000", "fields": "?limit=1000&fields=id&fields=provisioning_status&fields=updated_at", "tags": "?limit=1000&tags=cluster=6ba7b810-9dad-11d1-80b4-00c04fd430c8",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				page(b, octavia, query)
			}
		})
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.Logf("heap in use %d MiB, obtained from the system %d MiB", m.HeapInuse>>20, m.Sys>>20)
}
