// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

func TestSourceRangesMayBeOfTheFamilyOfAnyVIPSince2025(t *testing.T) {
	const range6 = `{"listener": {"allowed_cidrs": ["fd00::/8"]}}`
	for r, dual := range map[release.Release]int{release.Zed: http.StatusBadRequest, release.Epoxy: http.StatusOK} {
		t.Run(r.String(), func(t *testing.T) {
			c := newCloud(t, Options{Release: r, APIVersion: "2.26"})
			for name, test := range map[string]struct {
				more string
				want int
			}{
				"a VIP of IPv4":         {"", http.StatusBadRequest},
				"VIPs of both families": {`"additional_vips": [{"subnet_id": "` + c.ids.PrivateIPv6SubnetID + `"}], `, dual},
			} {
				t.Run(name, func(t *testing.T) {
					c.reportTo(t)
					lb := c.create(test.more + `"name": "web", "listeners": [{"name": "l", "protocol": "TCP", "protocol_port": 80}]`)
					listener := c.call("GET", "/listeners?loadbalancer_id="+lb, "").str("listeners.0.id")
					a := c.call("PUT", "/listeners/"+listener, range6)
					if a.status != test.want {
						t.Errorf("%d %s, want %d", a.status, a.text, test.want)
					}
					if test.want != http.StatusOK {
						return
					}
					c.settled(lb, a)
					if got := c.call("GET", "/loadbalancers/"+lb, "").str("loadbalancer.provisioning_status"); got != "ACTIVE" {
						t.Errorf("the load balancer is %s", got)
					}
				})
			}
		})
	}
}
