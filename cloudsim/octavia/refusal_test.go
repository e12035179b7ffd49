// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim/barbican"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func TestInvalidVIPsAreRefused(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed})
	taken := c.create(`"vip_address": "10.0.0.50"`)
	_ = taken
	none := "11111111-2222-3333-4444-555555555555"
	tests := map[string]struct {
		attributes string
		status     int
		fault      string
	}{
		"unknown subnet":     {`"vip_subnet_id": "` + none + `"`, 400, "Subnet " + none + " not found."},
		"unknown network":    {`"vip_network_id": "` + none + `"`, 400, "Network " + none + " not found."},
		"unknown port":       {`"vip_port_id": "` + none + `"`, 400, "Port " + none + " not found."},
		"no place at all":    {`"name": "x"`, 400, "Validation failure: VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id."},
		"foreign address":    {`"vip_subnet_id": "$subnet", "vip_address": "192.168.7.7"`, 500, "Provider 'amphora' reports error: IP address 192.168.7.7 is not a valid IP for the specified subnet."},
		"address in use":     {`"vip_subnet_id": "$subnet", "vip_address": "10.0.0.50"`, 500, "Provider 'amphora' reports error: IP address 10.0.0.50 already allocated in subnet $subnet"},
		"address of network": {`"vip_network_id": "$network", "vip_address": "192.168.7.7"`, 400, "Validation failure: Supplied network does not contain a subnet for VIP address specified."},
		"subnet elsewhere":   {`"vip_network_id": "$public", "vip_subnet_id": "$subnet"`, 400, "Subnet $subnet not found."},
		"two in one subnet":  {`"vip_subnet_id": "$subnet", "additional_vips": [{"subnet_id": "$subnet"}]`, 400, "Validation failure: Duplicate VIP subnet(s) specified. Only one IP can be bound per subnet."},
		"two networks":       {`"vip_subnet_id": "$subnet", "additional_vips": [{"subnet_id": "$psub"}]`, 400, "Validation failure: All VIP subnets must belong to the same network."},
	}
	ids := strings.NewReplacer("$subnet", c.ids.PrivateSubnetID, "$network", c.ids.PrivateNetworkID, "$public", c.ids.PublicNetworkID, "$psub", c.ids.PublicSubnetID)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c.call("POST", "/loadbalancers", ids.Replace(`{"loadbalancer": {`+test.attributes+`}}`)).refused(test.status, ids.Replace(test.fault))
		})
	}
	if got := c.Counts().LoadBalancers; got != 1 {
		t.Errorf("there are %d load balancers", got)
	}
}

func TestARefusedCreateLeavesThePortOfItsVIPBehind(t *testing.T) {
	c := newCloud(t, Options{})
	before := c.neutron.Counts()["ports"]
	c.post(`"listeners": [{"protocol": "TCP", "protocol_port": 80}, {"protocol": "HTTP", "protocol_port": 80}]`).
		refused(http.StatusConflict, "Another Listener on this Load Balancer is already using protocol TCP and protocol_port 80")
	if after := c.neutron.Counts()["ports"]; after != before+1 {
		t.Errorf("there were %d ports, now %d", before, after)
	}
}

func TestAdditionalVIPsGetAddressesOfTheirOwn(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed})
	a := c.post(fmt.Sprintf(`"additional_vips": [{"subnet_id": %q}]`, c.ids.PrivateIPv6SubnetID)).must(http.StatusCreated)
	if got := a.str("loadbalancer.additional_vips.0.ip_address"); !strings.HasPrefix(got, "fd00:1:") {
		t.Errorf("the additional VIP is %s", got)
	}
	id := a.str("loadbalancer.id")
	c.await(id, "ACTIVE")
	// The family of source ranges is that of the first VIP.
	c.call("POST", "/listeners", fmt.Sprintf(`{"listener": {"protocol": "TCP", "protocol_port": 80, "loadbalancer_id": %q, "allowed_cidrs": ["fd00::/8"]}}`, id)).
		refused(http.StatusBadRequest, "Validation failure: CIDR fd00::/8 IP version incompatible with VIP "+a.str("loadbalancer.vip_address")+" IP version.")
}

func TestAMemberInAnUnknownSubnetIsRefusedExceptInAFullCreate(t *testing.T) {
	c := newCloud(t, Options{})
	tr := c.web()
	none := "11111111-2222-3333-4444-555555555555"
	member := fmt.Sprintf(`{"address": "10.0.0.9", "protocol_port": 1, "subnet_id": %q}`, none)
	c.call("POST", "/pools/"+tr.pool+"/members", `{"member": `+member+`}`).refused(http.StatusBadRequest, "Subnet "+none+" not found.")
	c.call("PUT", "/pools/"+tr.pool+"/members", `{"members": [`+member+`]}`).refused(http.StatusBadRequest, "Subnet "+none+" not found.")
	id := c.post(`"listeners": [{"protocol": "TCP", "protocol_port": 80, "default_pool": {"name": "p", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "members": [` + member + `]}}]`).must(http.StatusCreated).str("loadbalancer.id")
	c.await(id, "ERROR") // Octavia detects it when it builds
}

func TestOtherProjectsMayNeitherReadNorChangeALoadBalancer(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed})
	tr := c.web()
	forbidden := "Policy does not allow this request to be performed."
	for _, w := range tr.writes() {
		t.Run(w.name, func(t *testing.T) {
			c.as(bob, w.method, w.path, w.body).refused(http.StatusForbidden, forbidden)
			c.as(carol, w.method, w.path, w.body).refused(http.StatusForbidden, forbidden)
		})
	}
	for _, path := range []string{"/loadbalancers/" + tr.lb, "/listeners/" + tr.listener, "/pools/" + tr.pool, "/pools/" + tr.pool + "/members", "/healthmonitors/" + tr.monitor, "/loadbalancers/" + tr.lb + "/status"} {
		c.as(bob, "GET", path, "").refused(http.StatusForbidden, forbidden)
		c.as(carol, "GET", path, "").refused(http.StatusForbidden, forbidden)
		c.as(admin, "GET", path, "").must(http.StatusOK)
	}
	for key, path := range map[string]string{"loadbalancers": "/loadbalancers", "listeners": "/listeners", "pools": "/pools", "healthmonitors": "/healthmonitors"} {
		t.Run(key, func(t *testing.T) {
			c.reportTo(t)
			for who, want := range map[string]int{"alice": 1, "bob": 0, "admin": 1} {
				a := c.as(map[string]wireIdentity{"alice": alice, "bob": bob, "admin": admin}[who], "GET", path, "")
				if got := len(a.column(key, "id")); got != want {
					t.Errorf("%s sees %d %s, want %d", who, got, key, want)
				}
			}
		})
	}
	c.as(carol, "GET", "/loadbalancers", "").refused(http.StatusForbidden, forbidden)
	c.as(bob, "GET", "/loadbalancers?project_id="+alice.ProjectID, "").refused(http.StatusForbidden, forbidden)
}

func TestProvidersFlavorsAndZonesAreChecked(t *testing.T) {
	c := newCloud(t, Options{})
	small := c.AddFlavor("small", "amphora", `{"loadbalancer_topology": "SINGLE"}`)
	c.AddAvailabilityZone("az1", "amphora", `{"compute_zone": "nova"}`)
	c.as(admin, "PUT", "/availabilityzones/az1", `{"availability_zone": {"description": "first"}}`).must(http.StatusOK)
	tests := map[string]struct {
		attributes string
		status     int
		fault      string
	}{
		"unknown provider":     {`"provider": "f5"`, 400, "Provider 'f5' is not enabled."},
		"unknown flavor":       {`"flavor_id": "11111111-2222-3333-4444-555555555555"`, 400, "Validation failure: Invalid flavor_id."},
		"flavor of another":    {`"provider": "ovn", "flavor_id": "` + small + `"`, 400, "Flavor '" + small + "' is not compatible with provider 'ovn'"},
		"unknown zone":         {`"availability_zone": "mars"`, 400, "Validation failure: Invalid availability zone."},
		"zone of ovn":          {`"provider": "ovn", "availability_zone": "az1"`, 501, "Provider 'ovn' does not support a requested action: This provider does not support availability zones."},
		"qos policy":           {`"vip_qos_policy_id": "11111111-2222-3333-4444-555555555555"`, 400, "Validation failure: VIP QoS policy is not allowed in this deployment."},
		"provider of no words": {`"provider": 7`, 400, "Invalid input for field/attribute provider. Value: '7'. Value should be string"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { c.post(test.attributes).refused(test.status, test.fault) })
	}
	a := c.post(fmt.Sprintf(`"flavor_id": %q, "availability_zone": "az1"`, small)).must(http.StatusCreated)
	if got := a.str("loadbalancer.provider") + a.str("loadbalancer.availability_zone") + a.str("loadbalancer.flavor_id"); got != "amphoraaz1"+small {
		t.Errorf("provider, zone and flavor are %s", got)
	}
	c.await(a.str("loadbalancer.id"), "ACTIVE")
	c.as(admin, "DELETE", "/flavors/"+small, "").refused(http.StatusConflict, "Flavor "+small+" is in use and cannot be modified.")
	c.as(admin, "DELETE", "/availabilityzones/az1", "").refused(http.StatusConflict, "Availability Zone az1 is in use and cannot be modified.")
}

func TestAdminsMakeFlavorsAndProfiles(t *testing.T) {
	c := newCloud(t, Options{})
	profile := `{"flavorprofile": {"name": "p", "provider_name": "amphora", "flavor_data": "{\"loadbalancer_topology\": \"SINGLE\"}"}}`
	c.call("POST", "/flavorprofiles", profile).refused(http.StatusForbidden, "Policy does not allow this request to be performed.")
	id := c.as(admin, "POST", "/flavorprofiles", profile).must(http.StatusCreated).str("flavorprofile.id")
	c.as(admin, "POST", "/flavorprofiles", strings.Replace(profile, "SINGLE\\\"}", "", 1)).must(http.StatusBadRequest)
	flavor := fmt.Sprintf(`{"flavor": {"name": "f", "flavor_profile_id": %q}}`, id)
	made := c.as(admin, "POST", "/flavors", flavor).must(http.StatusCreated).str("flavor.id")
	c.as(admin, "POST", "/flavors", flavor).refused(http.StatusConflict, "A flavor of f already exists.")
	c.as(admin, "DELETE", "/flavorprofiles/"+id, "").refused(http.StatusConflict, "Flavor profile "+id+" is in use and cannot be modified.")
	c.as(admin, "PUT", "/flavors/"+made, `{"flavor": {"enabled": false}}`).must(http.StatusOK)
	c.post(`"flavor_id": "`+made+`"`).refused(http.StatusBadRequest, "The selected flavor is not allowed in this deployment: "+made)
	if got := c.call("GET", "/flavors", "").column("flavors", "name"); len(got) != 1 || got[0] != "f" {
		t.Errorf("alice sees the flavors %v", got)
	}
	c.as(admin, "DELETE", "/flavors/"+made, "").must(http.StatusNoContent)
	c.as(admin, "DELETE", "/flavorprofiles/"+id, "").must(http.StatusNoContent)
}

// oneSecret has a certificate at "good" that alice may use, and something else
// at "text".
type oneSecret struct{}

func (oneSecret) Certificate(caller wire.Identity, ref string) error {
	switch {
	case ref == "text":
		return barbican.UnreadablePKCS12Error("Could not read it")
	case ref != "good" || caller.UserID != alice.UserID:
		return errors.New("no such secret")
	}
	return nil
}

func (oneSecret) Payload(wire.Identity, string) ([]byte, error) { return []byte("hello"), nil }

func TestCertificatesThatCannotBeReadAreRefused(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed, Secrets: oneSecret{}})
	listener := func(ref string) reply {
		return c.post(`"listeners": [{"protocol": "TERMINATED_HTTPS", "protocol_port": 443, "default_tls_container_ref": "` + ref + `"}]`)
	}
	listener("bad").refused(http.StatusBadRequest, "Could not retrieve certificate: ['bad']")
	listener("text").refused(http.StatusBadRequest, "The PKCS12 bundle is unreadable. Please check the PKCS12 bundle validity. "+
		"In addition, make sure it does not require a pass phrase. Error: [('Could not read it')]")
	a := listener("good").must(http.StatusCreated)
	if got := fmt.Sprint(a.get("loadbalancer.listeners.0.tls_versions")); got != "[TLSv1.2 TLSv1.3]" {
		t.Errorf("tls_versions are %s", got)
	}
	c.await(a.str("loadbalancer.id"), "ACTIVE")
}

// The controller requests a listener on a port in use to find out whether Octavia accepts its certificate.
// octavia.api.v2.controllers.listener checks certificates before ports, and the quota before both.
func TestACertificateIsCheckedBeforeThePort(t *testing.T) {
	c := newCloud(t, Options{Secrets: oneSecret{}})
	id := c.post(`"listeners": [{"protocol": "TCP", "protocol_port": 443}]`).must(http.StatusCreated).str("loadbalancer.id")
	c.await(id, "ACTIVE")
	listener := func(ref string) reply {
		return c.call("POST", "/listeners", `{"listener": {"loadbalancer_id": "`+id+`", "protocol": "TERMINATED_HTTPS", "protocol_port": 443, "default_tls_container_ref": "`+ref+`"}}`)
	}
	listener("bad").refused(http.StatusBadRequest, "Could not retrieve certificate: ['bad']")
	listener("good").refused(http.StatusConflict, "Another Listener on this Load Balancer is already using protocol TCP and protocol_port 443")
	c.as(admin, "PUT", "/quotas/"+alice.ProjectID, `{"quota": {"listener": 1}}`)
	listener("bad").refused(http.StatusForbidden, "Quota has been met for resources: Listener")
}
