// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim/internal/apitest"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// askNeutron calls Neutron.
func (c *cloud) askNeutron(who wire.Identity, method, path, body string) reply {
	c.t.Helper()
	got := apitest.Do(c.t, c.neutron.Mux(), apitest.As(who, apitest.Request(method, "/v2.0"+path, body)))
	return reply{t: c.t, status: got.Status, text: got.Text, body: got.Body}
}

// group makes a security group.
func (c *cloud) group(who wire.Identity) string {
	c.t.Helper()
	return c.askNeutron(who, "POST", "/security-groups", `{"security_group": {"name": "web"}}`).must(http.StatusCreated).str("security_group.id")
}

// groupsOfVIP returns the security groups of the port of the VIP.
func (c *cloud) groupsOfVIP(lb string) string {
	c.t.Helper()
	port := c.call("GET", "/loadbalancers/"+lb, "").str("loadbalancer.vip_port_id")
	return fmt.Sprint(c.askNeutron(admin, "GET", "/ports/"+port, "").must(http.StatusOK).get("port.security_groups"))
}

func TestSecurityGroupsOfAVIPAreOnItsPortInPlaceOfSourceRanges(t *testing.T) {
	c := newCloud(t, Options{APIVersion: "2.29"})
	group := c.group(alice)
	listener := func(cidrs string) string {
		return `"listeners": [{"name": "l", "protocol": "TCP", "protocol_port": 80` + cidrs + `}]`
	}
	groups := fmt.Sprintf(`"vip_sg_ids": [%q]`, group)
	lb := c.create(groups + ", " + listener(""))
	if got := c.groupsOfVIP(lb); !strings.Contains(got, group) {
		t.Errorf("the port has groups %s, want also %s", got, group)
	}
	const both = "Allowed CIDRs are not allowed when using custom VIP Security Groups."
	c.post(groups + ", " + listener(`, "allowed_cidrs": ["0.0.0.0/0"]`)).must(http.StatusBadRequest)
	c.call("PUT", "/listeners/"+c.named("listeners", "l"), `{"listener": {"allowed_cidrs": ["10.0.0.0/8"]}}`).refused(http.StatusBadRequest, "Validation failure: "+both)
	c.settled(lb, c.call("PUT", "/loadbalancers/"+lb, `{"loadbalancer": {"vip_sg_ids": null}}`))
	if got := c.groupsOfVIP(lb); strings.Contains(got, group) {
		t.Errorf("the port still has groups %s", got)
	}
	c.settled(lb, c.call("PUT", "/listeners/"+c.named("listeners", "l"), `{"listener": {"allowed_cidrs": ["10.0.0.0/8"]}}`))
	c.settled(lb, c.call("PUT", "/loadbalancers/"+lb, `{"loadbalancer": {`+groups+`}}`))
	c.call("PUT", "/listeners/"+c.named("listeners", "l"), `{"listener": {"allowed_cidrs": ["192.0.2.0/24"]}}`).refused(http.StatusBadRequest, "Validation failure: "+both)
	for _, unseen := range []string{c.group(bob), "00000000-0000-4000-8000-000000000000"} {
		c.post(fmt.Sprintf(`"vip_sg_ids": [%q]`, unseen)).must(http.StatusBadRequest)
	}
}

func TestProviderOVNShowsSecurityGroupsOfAVIPWithoutEffect(t *testing.T) {
	c := newCloud(t, Options{APIVersion: "2.29", Provider: "ovn"})
	group := c.group(alice)
	lb := c.create(fmt.Sprintf(`"vip_sg_ids": [%q]`, group))
	if got := c.call("GET", "/loadbalancers/"+lb, "").str("loadbalancer.vip_sg_ids.0"); got != group {
		t.Errorf("it shows %s", got)
	}
	if got := c.groupsOfVIP(lb); strings.Contains(got, group) {
		t.Errorf("the port has groups %s", got)
	}
}
