// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func TestTheRolesOfKeystoneCountSince2025AndThoseOfOctaviaBefore(t *testing.T) {
	const own, others, writes, adminsOnly = "GET /loadbalancers", "GET /loadbalancers?project_id=project-b", "POST /loadbalancers", "GET /flavorprofiles"
	requests := []string{own, others, writes, adminsOnly}
	for role, may := range map[string]map[release.Release][]string{
		"reader":                        {release.Epoxy: {own}},
		"member":                        {release.Epoxy: {own, writes}},
		"admin":                         {release.Zed: requests, release.Epoxy: requests},
		"load-balancer_observer":        {release.Zed: {own}},
		"load-balancer_member":          {release.Zed: {own, writes}},
		"load-balancer_global_observer": {release.Zed: {own, others}},
		"load-balancer_admin":           {release.Zed: requests},
	} {
		t.Run(role, func(t *testing.T) {
			for _, r := range release.All {
				t.Run(r.String(), func(t *testing.T) {
					c := newCloud(t, Options{Release: r})
					var done []string
					for _, request := range requests {
						method, path, _ := strings.Cut(request, " ")
						// A role without a right is refused before what is wrong with the request.
						a := c.as(wire.Identity{ProjectID: "project-a", Roles: []string{role}}, method, path, `{"loadbalancer": {}}`)
						if a.status != http.StatusForbidden {
							done = append(done, request)
						}
					}
					if diff := cmp.Diff(may[min(r, release.Epoxy)], done); diff != "" {
						t.Errorf("in %s (-want +got):\n%s", r, diff)
					}
				})
			}
		})
	}
}

func TestProviderOVNBalancesBySourceAddressSinceItsRelease11(t *testing.T) {
	for r, want := range map[release.Release]int{release.Zed: http.StatusNotImplemented, release.Epoxy: http.StatusNotImplemented, release.Newest: http.StatusCreated} {
		t.Run(r.String(), func(t *testing.T) {
			c := newCloud(t, Options{Release: r, Provider: "ovn"})
			c.post(two("SOURCE_IP")).must(want)
			lb := c.create(`"name": "plain"`)
			c.call("POST", "/pools", fmt.Sprintf(`{"pool": {"loadbalancer_id": %q, "protocol": "TCP", "lb_algorithm": "SOURCE_IP"}}`, lb)).must(want)
		})
	}
}

func TestACompleteCreateBringsEverythingToActiveSince2025(t *testing.T) {
	for provider, algorithm := range map[string]string{"amphora": "ROUND_ROBIN", "ovn": "SOURCE_IP_PORT"} {
		t.Run(provider, func(t *testing.T) {
			c := newCloud(t, Options{Release: release.Epoxy, Provider: provider})
			lb := c.create(two(algorithm) + `, "pools": [{"name": "free", "protocol": "TCP", "lb_algorithm": "` + algorithm + `",
			"healthmonitor": {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}}]`)
			for _, pool := range []string{"free", "p80"} {
				const active = "ACTIVE ACTIVE ACTIVE"
				c.wait(provider+" has made "+pool, func() bool { return c.parts(c.named("listeners", "l80"), c.named("pools", pool)) == active })
			}
			monitor := c.call("GET", "/pools/"+c.named("pools", "free"), "").str("pool.healthmonitor_id")
			c.settled(lb, c.call("PUT", "/healthmonitors/"+monitor, `{"healthmonitor": {"delay": 6}}`))
		})
	}
}

func TestACompleteCreateShowsItsMonitorsWithoutTheirPoolsSince2025(t *testing.T) {
	for _, r := range []release.Release{release.Zed, release.Epoxy} {
		t.Run(r.String(), func(t *testing.T) {
			c := newCloud(t, Options{Release: r})
			a := c.post(two("ROUND_ROBIN")).must(http.StatusCreated)
			monitor, _ := a.get("loadbalancer.pools.0.healthmonitor").(map[string]any)
			if shown := monitor["type"] == "TCP"; shown != (r == release.Epoxy) {
				t.Errorf("the monitor is %v", monitor)
			}
			if _, has := monitor["pools"]; has {
				t.Errorf("the monitor is %v", monitor)
			}
			c.await(a.str("loadbalancer.id"), "ACTIVE")
		})
	}
}

func TestALimitOfZeroIsNoneSince2025AndHasALinkToAnEmptyPage(t *testing.T) {
	c := newCloud(t, Options{Release: release.Epoxy})
	all := c.fleet(3, func(int) string { return "" })
	for _, limit := range []string{"0", "-1", "infinite"} {
		t.Run("limit "+limit, func(t *testing.T) {
			c.reportTo(t)
			a := c.call("GET", "/loadbalancers?limit="+limit, "").must(http.StatusOK)
			if diff := cmp.Diff(all, a.column("loadbalancers", "id")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			_, query, _ := strings.Cut(linkOf(a, "next"), "?")
			next := c.call("GET", "/loadbalancers?"+query, "").must(http.StatusOK)
			if len(next.column("loadbalancers", "id")) != 0 || linkOf(next, "next") != "" {
				t.Errorf("after it comes %s", next.text)
			}
		})
	}
}

func TestANewListenerWithAPoolSharesAPortInAllReleasesBut2025(t *testing.T) {
	for r, want := range map[release.Release]int{
		release.Zed: http.StatusCreated, release.Epoxy: http.StatusInternalServerError, release.Newest: http.StatusCreated,
	} {
		t.Run(r.String(), func(t *testing.T) {
			c := newCloud(t, Options{Release: r})
			lb := c.create(`"listeners": [{"protocol": "TCP", "protocol_port": 53}], "pools": [{"name": "dns", "protocol": "UDP", "lb_algorithm": "ROUND_ROBIN"}]`)
			pool := `, "default_pool_id": "` + c.named("pools", "dns") + `"`
			listener := func(port, more string) reply {
				return c.call("POST", "/listeners", `{"listener": {"loadbalancer_id": "`+lb+`", "protocol": "UDP", "protocol_port": `+port+more+`}}`)
			}
			a := listener("53", pool).must(want)
			if want != http.StatusCreated {
				c.settled(lb, listener("53", ""))
				return
			}
			c.settled(lb, a)
			c.settled(lb, listener("54", pool))
		})
	}
}
