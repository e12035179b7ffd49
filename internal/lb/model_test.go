// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestListenersAreToldApartByTransportAndPort(t *testing.T) {
	for protocol, want := range map[ListenerProtocol]Transport{
		ListenerTCP: TCP, ListenerHTTP: TCP, ListenerHTTPS: TCP, ListenerTerminatedHTTPS: TCP, ListenerPrometheus: TCP,
		ListenerUDP: UDP, ListenerSCTP: "SCTP",
	} {
		got := Listener{Protocol: protocol, Port: 443, Name: "any"}.Key()
		if diff := cmp.Diff(ListenerKey{Transport: want, Port: 443}, got); diff != "" {
			t.Errorf("key of a %s listener (-want +got):\n%s", protocol, diff)
		}
	}
}

func TestMembersAreToldApartByAddressAndPort(t *testing.T) {
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

func TestTheModelGoesThroughJSONUnchanged(t *testing.T) {
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

func TestOctaviaIsAtWorkInPendingStatusesOnly(t *testing.T) {
	for status, want := range map[ProvisioningStatus]bool{
		Active: false, Error: false, Deleted: false, "": false, PendingCreate: true, PendingUpdate: true, PendingDelete: true,
	} {
		if got := status.Pending(); got != want {
			t.Errorf("%q.Pending() = %v, want %v", status, got, want)
		}
	}
}
