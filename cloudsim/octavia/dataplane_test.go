// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-octavia/kube-octavia/cloudsim/dataplane"
)

func TestDataPlaneGetsTheCompleteConfiguration(t *testing.T) {
	c := newCloud(t, Options{})
	lb := c.create(`"vip_address": "10.0.0.5", "listeners": [
		{"protocol": "HTTP", "protocol_port": 80, "connection_limit": 9, "allowed_cidrs": ["10.0.0.0/8"], "insert_headers": {"X-Forwarded-For": "true"},
		 "timeout_client_data": 1000, "timeout_member_data": 2000, "timeout_member_connect": 3000,
		 "default_pool": {"name": "p", "protocol": "PROXY", "lb_algorithm": "LEAST_CONNECTIONS", "session_persistence": {"type": "SOURCE_IP"},
			"members": [{"address": "10.0.0.11", "protocol_port": 81, "weight": 0, "backup": true, "monitor_address": "10.0.0.12", "monitor_port": 82}],
			"healthmonitor": {"type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 2, "max_retries_down": 4, "url_path": "/healthz"}}},
		{"protocol": "UDP", "protocol_port": 53},
		{"protocol": "TCP", "protocol_port": 99, "admin_state_up": false}]`)
	got, ok := c.DataPlane(lb)
	if !ok {
		t.Fatal("there is nothing for the data plane")
	}
	want := dataplane.LoadBalancer{
		ID: lb, Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.5")},
		Listeners: []dataplane.Listener{
			{
				Protocol: "HTTP", Port: 80, ConnectionLimit: 9, AllowedCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, XForwardedFor: true,
				ClientTimeout: time.Second, MemberTimeout: 2 * time.Second, ConnectTimeout: 3 * time.Second,
				Pool: &dataplane.Pool{
					Protocol: "PROXY", Algorithm: "LEAST_CONNECTIONS", SourceIPPersistence: true,
					Members: []dataplane.Member{{
						Address: netip.MustParseAddr("10.0.0.11"), Port: 81, Backup: true, AdminUp: true,
						MonitorAddress: netip.MustParseAddr("10.0.0.12"), MonitorPort: 82,
					}},
					Monitor: &dataplane.Monitor{
						Type: "HTTP", Delay: 5 * time.Second, Timeout: 3 * time.Second, MaxRetries: 2, MaxRetriesDown: 4,
						HTTPMethod: "GET", URLPath: "/healthz", ExpectedCodes: "200", AdminUp: true,
					},
				},
			},
			{Protocol: "UDP", Port: 53, ConnectionLimit: -1, ClientTimeout: 50 * time.Second, MemberTimeout: 50 * time.Second, ConnectTimeout: 5 * time.Second},
		},
	}
	ids := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".ID" && len(p) > 3 }, cmp.Ignore())
	if diff := cmp.Diff(want, got, ids, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestDataPlaneGetsAChangeWhenItIsComplete(t *testing.T) {
	c := newCloud(t, Options{})
	c.HoldPending("")
	id := c.post(web).must(201).str("loadbalancer.id")
	if _, ok := c.DataPlane(id); ok {
		t.Error("a load balancer that is being built is told to the data plane")
	}
	c.Release("")
	c.await(id, "ACTIVE")
	members := func() int {
		plane, _ := c.DataPlane(id)
		return len(plane.Listeners[0].Pool.Members)
	}
	c.HoldPending(id)
	pool := c.call("GET", "/loadbalancers/"+id, "").str("loadbalancer.pools.0.id")
	c.call("PUT", "/pools/"+pool+"/members", `{"members": [{"address": "10.0.0.11", "protocol_port": 30080}, {"address": "10.0.0.13", "protocol_port": 1}]}`).must(202)
	if got := members(); got != 2 {
		t.Errorf("%d members during the change, want the 2 old ones", got)
	}
	c.Release(id)
	c.await(id, "ACTIVE")
	if got := members(); got != 2 {
		t.Errorf("%d members after the change, want 2", got)
	}
	c.call("DELETE", "/loadbalancers/"+id+"?cascade=true", "").must(204)
	c.await(id, "")
	if _, ok := c.DataPlane(id); ok {
		t.Error("a load balancer that is gone is told to the data plane")
	}
}

func TestOperatingStatusFollowsTheMembers(t *testing.T) {
	tests := []struct{ member1, member2, pool, lb string }{
		{"ONLINE", "ONLINE", "ONLINE", "ONLINE"},
		{"ONLINE", "ERROR", "DEGRADED", "DEGRADED"},
		{"ERROR", "ERROR", "ERROR", "ERROR"},
		{"ERROR", "ONLINE", "DEGRADED", "DEGRADED"},
		{"DRAINING", "ERROR", "DEGRADED", "DEGRADED"},
	}
	c := newCloud(t, Options{MonitorsReport: true})
	tr := c.web()
	tree := func() reply { return c.call("GET", "/loadbalancers/"+tr.lb+"/status", "") }
	at := "statuses.loadbalancer."
	if got := tree().str(at + "listeners.0.pools.0.members.0.operating_status"); got != "OFFLINE" {
		t.Errorf("a member is %s before the first report", got)
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.member1, " ", test.member2), func(t *testing.T) {
			c.SetMemberStatus(tr.member1, test.member1)
			c.SetMemberStatus(tr.member2, test.member2)
			a := tree()
			got := []string{
				a.str(at + "listeners.0.pools.0.operating_status"), a.str(at + "listeners.0.operating_status"), a.str(at + "operating_status"),
				c.call("GET", "/pools/"+tr.pool+"/members/"+tr.member1, "").str("member.operating_status"),
			}
			if diff := cmp.Diff([]string{test.pool, "ONLINE", test.lb, test.member1}, got); diff != "" {
				t.Errorf("pool, listener, load balancer, member -want +got\n%s", diff)
			}
		})
	}
	c.settled(tr.lb, c.call("DELETE", "/healthmonitors/"+tr.monitor, ""))
	if got := tree().str(at + "listeners.0.pools.0.members.0.operating_status"); got != "NO_MONITOR" {
		t.Errorf("a member is %s without a monitor", got)
	}
	c.settled(tr.lb, c.call("PUT", "/loadbalancers/"+tr.lb, `{"loadbalancer": {"admin_state_up": false}}`))
	if got := tree().str(at + "operating_status"); got != "OFFLINE" {
		t.Errorf("a load balancer that is switched off is %s", got)
	}
}
