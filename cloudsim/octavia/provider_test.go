// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// ovnPoolJSON is a pool that the ovn provider accepts.
const ovnPoolJSON = `"protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT"`

func TestOVNRefusesUnsupportedFeatures(t *testing.T) {
	c := newCloud(t, Options{Provider: "ovn"})
	lb := c.create("")
	pool := c.settled(lb, c.call("POST", "/pools", fmt.Sprintf(`{"pool": {"loadbalancer_id": %q, %s}}`, lb, ovnPoolJSON))).str("pool.id")
	tests := map[string]struct{ path, body, reason string }{
		"HTTP listener":         {"/listeners", `{"listener": {"loadbalancer_id": "$lb", "protocol": "HTTP", "protocol_port": 80}}`, "OVN provider does not support HTTP protocol"},
		"TLS listener":          {"/listeners", `{"listener": {"loadbalancer_id": "$lb", "protocol": "TERMINATED_HTTPS", "protocol_port": 80, "default_tls_container_ref": "x"}}`, "OVN provider does not support TERMINATED_HTTPS protocol"},
		"source ranges":         {"/listeners", `{"listener": {"loadbalancer_id": "$lb", "protocol": "TCP", "protocol_port": 80, "allowed_cidrs": ["10.0.0.0/8"]}}`, "OVN provider does not support allowed_cidrs option"},
		"round robin":           {"/pools", `{"pool": {"loadbalancer_id": "$lb", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}}`, "OVN provider does not support ROUND_ROBIN algorithm"},
		"PROXY pool":            {"/pools", `{"pool": {"loadbalancer_id": "$lb", "protocol": "PROXY", "lb_algorithm": "SOURCE_IP_PORT"}}`, "OVN provider does not support PROXY protocol"},
		"HTTP monitor":          {"/healthmonitors", `{"healthmonitor": {"pool_id": "$pool", "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 2}}`, "OVN provider does not support HTTP health monitor type. Supported types: UDP-CONNECT, TCP"},
		"member's monitor port": {"/pools/$pool/members", `{"member": {"address": "10.0.0.9", "protocol_port": 1, "monitor_port": 2}}`, "OVN Load Balancer does not support different member monitor address or port."},
		"member of IPv6":        {"/pools/$pool/members", `{"member": {"address": "fd00::1", "protocol_port": 1}}`, "OVN provider does not support mixing IPv4/IPv6 configuration within the same Load Balancer."},
		"member without subnet": {"/pools/$pool/members", `{"member": {"address": "192.168.0.9", "protocol_port": 1}}`, "Subnet is required, or Loadbalancer associated with Pool must have a subnet, for Member creation with OVN Provider Driver if it is not the same as LB VIP subnet"},
	}
	ids := strings.NewReplacer("$lb", lb, "$pool", pool)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c.call("POST", ids.Replace(test.path), ids.Replace(test.body)).
				refused(http.StatusNotImplemented, "Provider 'ovn' does not support a requested option: "+test.reason)
		})
	}
	t.Run("the same in a full create", func(t *testing.T) {
		c.post(web).refused(http.StatusNotImplemented, "Provider 'ovn' does not support a requested option: OVN provider does not support ROUND_ROBIN algorithm")
	})
	t.Run("failover", func(t *testing.T) {
		c.as(admin, "PUT", "/loadbalancers/"+lb+"/failover", "").refused(http.StatusNotImplemented, "Provider 'ovn' does not support a requested option: OVN provider does not support loadbalancer failover")
	})
	if got := c.status(lb); got != "ACTIVE" {
		t.Errorf("refusals leave the load balancer %s", got)
	}
}

func TestOVNAcceptsSupportedFeatures(t *testing.T) {
	c := newCloud(t, Options{})
	lb := c.create(`"provider": "ovn", "listeners": [{"protocol": "UDP", "protocol_port": 53, "default_pool": {"name": "dns", "protocol": "UDP", "lb_algorithm": "SOURCE_IP_PORT",
		"members": [{"address": "10.0.0.11", "protocol_port": 53}], "healthmonitor": {"type": "UDP-CONNECT", "delay": 5, "timeout": 3, "max_retries": 2}}}]`)
	port, _ := c.VIPPortID(lb)
	r := httptest.NewRequest("GET", "/v2.0/ports/"+port, nil)
	w := httptest.NewRecorder()
	c.neutron.Mux().ServeHTTP(w, r.WithContext(wire.WithCaller(r.Context(), admin)))
	if !strings.Contains(w.Body.String(), "ovn-lb-vip-"+lb) {
		t.Errorf("the VIP port is %s", w.Body)
	}
	plane, ok := c.DataPlane(lb)
	if !ok || !plane.PreserveSource {
		t.Error("the data plane is not told to keep the client's address")
	}
}

func TestAmphoraRefusesSourceIPPortAndMixedFamilies(t *testing.T) {
	c := newCloud(t, Options{})
	lb := c.create(`"listeners": [{"protocol": "UDP", "protocol_port": 53, "default_pool": {"name": "dns", "protocol": "UDP", "lb_algorithm": "ROUND_ROBIN"}}]`)
	pool := c.call("GET", "/loadbalancers/"+lb, "").str("loadbalancer.pools.0.id")
	c.call("POST", "/pools", fmt.Sprintf(`{"pool": {"loadbalancer_id": %q, %s}}`, lb, ovnPoolJSON)).
		refused(http.StatusNotImplemented, "Provider 'amphora' does not support a requested option: Amphora provider does not support SOURCE_IP_PORT algorithm.")
	c.call("POST", "/pools/"+pool+"/members", `{"member": {"address": "fd00::1", "protocol_port": 53}}`).
		refused(http.StatusNotImplemented, "Provider 'amphora' does not support a requested option: This provider doesn't support mixing IPv4 and IPv6 addresses for its VIP and members in UDP load balancers.")
}
