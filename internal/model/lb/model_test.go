// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestALoadBalancerIsDualStackWhenItHasAVIPOfEachFamily(t *testing.T) {
	of := func(vip string, more ...string) LoadBalancer {
		l := LoadBalancer{VIP: VIP{Address: vip}}
		for _, m := range more {
			l.AdditionalVIPs = append(l.AdditionalVIPs, VIP{Address: m})
		}
		return l
	}
	for name, c := range map[string]struct {
		l          LoadBalancer
		ipv4, ipv6 string
	}{
		"IPv4 first":        {of("10.0.0.9", "fd00::9"), "10.0.0.9", "fd00::9"},
		"IPv6 first":        {of("fd00::9", "10.0.0.9"), "10.0.0.9", "fd00::9"},
		"IPv4 only":         {of("10.0.0.9"), "10.0.0.9", ""},
		"two of one family": {of("10.0.0.9", "10.1.0.9"), "10.0.0.9", ""},
		"no address yet":    {of(""), "", ""},
		"two of IPv6":       {of("10.0.0.9", "fd00::9", "fd00:1::9"), "10.0.0.9", "fd00::9"},
	} {
		t.Run(name, func(t *testing.T) {
			ipv4, has4 := c.l.VIPOf(true)
			ipv6, has6 := c.l.VIPOf(false)
			if ipv4.Address != c.ipv4 || ipv6.Address != c.ipv6 || has4 != (c.ipv4 != "") || has6 != (c.ipv6 != "") {
				t.Errorf("%q %v, %q %v", ipv4.Address, has4, ipv6.Address, has6)
			}
			if got := c.l.DualStack(); got != (c.ipv4 != "" && c.ipv6 != "") {
				t.Errorf("dual-stack %v", got)
			}
			if c.ipv6 != "" && !c.l.Has(c.ipv6) || c.l.Has("192.0.2.1") {
				t.Error("which addresses it has")
			}
		})
	}
}

func TestListenersAreIdentifiedByTransportAndPort(t *testing.T) {
	for protocol, want := range map[ListenerProtocol]Transport{
		ListenerTCP: TCP, ListenerHTTP: TCP, ListenerHTTPS: TCP, ListenerTerminatedHTTPS: TCP, ListenerPrometheus: TCP,
		ListenerUDP: UDP, ListenerSCTP: "SCTP",
	} {
		t.Run(string(protocol), func(t *testing.T) {
			got := Listener{Protocol: protocol, Port: 443, Name: "any"}.Key()
			if diff := cmp.Diff(ListenerKey{Transport: want, Port: 443}, got); diff != "" {
				t.Errorf("key of a %s listener (-want +got):\n%s", protocol, diff)
			}
		})
	}
}

func TestMembersAreIdentifiedByAddressAndPort(t *testing.T) {
	m := Member{ID: "1", Name: "node-a", Address: "10.0.0.1", Port: 30080, Weight: 3}
	if diff := cmp.Diff(MemberKey{"10.0.0.1", 30080}, m.Key()); diff != "" {
		t.Errorf("key (-want +got):\n%s", diff)
	}
}

func TestClientsUseTheFloatingIPOnTheVIPPortElseTheVIP(t *testing.T) {
	balancer := &LoadBalancer{VIP: VIP{Address: "10.0.0.5", PortID: "port-1"}}
	elsewhere := FloatingIP{Address: "203.0.113.9", PortID: "port-2"}
	detached := FloatingIP{Address: "203.0.113.8"}
	for name, c := range map[string]struct {
		o    Observed
		want string
	}{
		"nothing there":            {Observed{FloatingIPs: []FloatingIP{detached}}, ""},
		"no floating IP":           {Observed{LoadBalancer: balancer}, "10.0.0.5"},
		"floating IPs elsewhere":   {Observed{LoadBalancer: balancer, FloatingIPs: []FloatingIP{elsewhere, detached}}, "10.0.0.5"},
		"a floating IP on it":      {Observed{LoadBalancer: balancer, FloatingIPs: []FloatingIP{elsewhere, {Address: "203.0.113.7", PortID: "port-1"}}}, "203.0.113.7"},
		"a VIP port not yet known": {Observed{LoadBalancer: &LoadBalancer{}, FloatingIPs: []FloatingIP{detached}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.o.Address(); got != c.want {
				t.Errorf("Address() = %q, want %q", got, c.want)
			}
		})
	}
}

func TestModelIsUnchangedByEncodingToJSON(t *testing.T) {
	want := Observed{
		LoadBalancer: &LoadBalancer{
			ID: "lb-1", Name: "n", Description: "d", Tags: []string{"t"}, Provider: "amphora",
			VIP: VIP{Address: "10.0.0.5", SubnetID: "s", NetworkID: "n", PortID: "p"},
			Listeners: []Listener{{ID: "l", Name: "l", Protocol: ListenerUDP, Port: 53, ConnectionLimit: -1, AllowedCIDRs: []string{"10.0.0.0/8"},
				Pool: &Pool{ID: "p", Name: "p", Protocol: PoolUDP, Algorithm: RoundRobin,
					Persistence: &Persistence{Type: PersistenceSourceIP, TimeoutSeconds: 3},
					Members:     []Member{{Address: "10.0.0.9", Port: 30053, Weight: 0, MonitorPort: 30000}},
					Monitor:     &HealthMonitor{Type: MonitorUDPConnect, DelaySeconds: 5, TimeoutSeconds: 3, MaxRetries: 1, MaxRetriesDown: 3}}}},
			DetachedPools: []Pool{{ID: "q", Name: "q", Protocol: PoolTCP, Algorithm: SourceIP}}, ProvisioningStatus: Active,
		},
		FloatingIPs: []FloatingIP{{ID: "f", Address: "203.0.113.7", PortID: "p"}},
		Duplicates:  []string{"lb-2"},
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Observed
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("after a way through JSON (-want +got):\n%s", diff)
	}
}

func TestOnlyPendingStatusesArePending(t *testing.T) {
	for status, want := range map[ProvisioningStatus]bool{
		Active: false, Error: false, Deleted: false, "": false, PendingCreate: true, PendingUpdate: true, PendingDelete: true,
	} {
		t.Run(fmt.Sprintf("%q", status), func(t *testing.T) {
			if got := status.Pending(); got != want {
				t.Errorf("%q.Pending() = %v, want %v", status, got, want)
			}
		})
	}
}

func TestJSONNamesOfWantedDoNotChange(t *testing.T) {
	// Digests of it are stored on Services: with another name all of them would change.
	got, err := json.Marshal(Wanted{Serial: true, KeepMonitors: true, KeepAddress: true, MoveMembers: true, KeepFloatingIP: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"serial", "monitorsAsFound", "addressAsFound", "subnetsMatter", "keepFloatingIP"} {
		if !strings.Contains(string(got), `"`+name+`":true`) {
			t.Errorf("%s lacks %q", got, name)
		}
	}
}
