// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// two returns two pools, each with a listener, a member and a monitor.
func two(algorithm string) string {
	port := func(number int) string {
		return fmt.Sprintf(`{"name": "l%[1]d", "protocol": "TCP", "protocol_port": %[1]d, "default_pool": {"name": "p%[1]d", "protocol": "TCP", "lb_algorithm": %[2]q,
			"healthmonitor": {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}, "members": [{"address": "10.0.0.11", "protocol_port": 30080}]}}`, number, algorithm)
	}
	return fmt.Sprintf(`"listeners": [%s, %s]`, port(80), port(443))
}

// parts shows the status of the listener, of its pool and of the pool's monitor.
func (c *cloud) parts(listener, pool string) string {
	c.t.Helper()
	l := c.call("GET", "/listeners/"+listener, "").must(http.StatusOK).str("listener.provisioning_status")
	p := c.call("GET", "/pools/"+pool, "").must(http.StatusOK)
	monitor, _ := p.get("pool.healthmonitor_id").(string)
	if monitor == "" {
		return strings.Join([]string{l, p.str("pool.provisioning_status"), "none"}, " ")
	}
	m := c.call("GET", "/healthmonitors/"+monitor, "").must(http.StatusOK).str("healthmonitor.provisioning_status")
	return strings.Join([]string{l, p.str("pool.provisioning_status"), m}, " ")
}

// named returns the ids of the objects of a kind that have the name.
func (c *cloud) named(kind, name string) string {
	c.t.Helper()
	return c.call("GET", "/"+kind+"?name="+name, "").column(kind, "id")[0]
}

func TestChangeOfAPoolEndsWithAllListenersActive(t *testing.T) {
	for name, change := range map[string]func(*cloud, string) reply{
		"another pool": func(c *cloud, lb string) reply {
			return c.call("POST", "/pools", fmt.Sprintf(`{"pool": {"loadbalancer_id": %q, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}}`, lb))
		},
		"an update": func(c *cloud, _ string) reply {
			return c.call("PUT", "/pools/"+c.named("pools", "p80"), `{"pool": {}}`)
		},
		"a deletion": func(c *cloud, _ string) reply { return c.call("DELETE", "/pools/"+c.named("pools", "p80"), "") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, Options{Release: release.Zed, StuckChildren: true})
			lb := c.create(two("ROUND_ROBIN"))
			listener, pool := c.named("listeners", "l443"), c.named("pools", "p443")
			if got := c.parts(listener, pool); got != "PENDING_CREATE PENDING_CREATE PENDING_CREATE" {
				t.Errorf("at first: %s", got)
			}
			c.settled(lb, change(c, lb))
			if got := c.parts(listener, pool); got != "ACTIVE PENDING_CREATE PENDING_CREATE" {
				t.Errorf("afterwards: %s", got)
			}
		})
	}
}

func TestChangeOfOneListenerLeavesTheOthersPending(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed, StuckChildren: true})
	lb := c.create(two("ROUND_ROBIN"))
	c.settled(lb, c.call("PUT", "/loadbalancers/"+lb, `{"loadbalancer": {"name": "x"}}`))
	c.settled(lb, c.call("PUT", "/listeners/"+c.named("listeners", "l80"), `{"listener": {}}`))
	if got := c.parts(c.named("listeners", "l80"), c.named("pools", "p80")); got != "ACTIVE PENDING_CREATE PENDING_CREATE" {
		t.Errorf("the port that was changed: %s", got)
	}
	if got := c.parts(c.named("listeners", "l443"), c.named("pools", "p443")); got != "PENDING_CREATE PENDING_CREATE PENDING_CREATE" {
		t.Errorf("the other port: %s", got)
	}
}

func TestOVNNeverCreatesTheMonitorsOfACompleteCreateAndStaysPendingWhenTheyAreChanged(t *testing.T) {
	for _, method := range []string{"PUT", "DELETE"} {
		t.Run(method, func(t *testing.T) {
			c := newCloud(t, Options{Release: release.Zed, Provider: "ovn"})
			lb := c.create(two("SOURCE_IP_PORT"))
			pool := c.named("pools", "p80")
			if got := c.parts(c.named("listeners", "l80"), pool); got != "ACTIVE ACTIVE PENDING_CREATE" {
				t.Errorf("after the create: %s", got)
			}
			monitor := c.call("GET", "/pools/"+pool, "").str("pool.healthmonitor_id")
			if a := c.call(method, "/healthmonitors/"+monitor, `{"healthmonitor": {"delay": 6}}`); a.status >= 300 {
				t.Fatalf("refused: %s", a.text)
			}
			if got := c.status(lb); got != "PENDING_UPDATE" {
				t.Errorf("the load balancer is %s", got)
			}
			c.call("DELETE", "/loadbalancers/"+lb+"?cascade=true", "").refused(http.StatusConflict, "Invalid state PENDING_UPDATE of loadbalancer resource "+lb)
		})
	}
}

func TestOVNDeletesAPoolWhoseMonitorItNeverCreated(t *testing.T) {
	c := newCloud(t, Options{Provider: "ovn"})
	lb := c.create(two("SOURCE_IP_PORT"))
	c.settled(lb, c.call("DELETE", "/pools/"+c.named("pools", "p80"), ""))
	c.call("DELETE", "/loadbalancers/"+lb+"?cascade=true", "").must(http.StatusNoContent)
	c.await(lb, "")
}

func TestOVNOfNewerReleasesReturnsTheListenersOfAMonitorToActive(t *testing.T) {
	c := newCloud(t, Options{Provider: "ovn", Release: release.Epoxy})
	lb := c.create(two("SOURCE_IP_PORT"))
	listener, pool := c.named("listeners", "l80"), c.named("pools", "p80")
	reach := func(want string) {
		t.Helper()
		c.wait("listener, pool and monitor are "+want, func() bool { return c.parts(listener, pool) == want })
	}
	reach("ACTIVE ACTIVE ACTIVE")
	monitor := c.call("GET", "/pools/"+pool, "").str("pool.healthmonitor_id")
	c.settled(lb, c.call("PUT", "/healthmonitors/"+monitor, `{"healthmonitor": {"delay": 6}}`))
	reach("ACTIVE ACTIVE ACTIVE")
	c.settled(lb, c.call("DELETE", "/healthmonitors/"+monitor, ""))
	reach("ACTIVE ACTIVE none")
}

func TestOVNLeavesTheListenersOfANewMonitorPending(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed, Provider: "ovn"})
	lb := c.create(strings.ReplaceAll(two("SOURCE_IP_PORT"), `"healthmonitor": {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2},`, ""))
	listener, pool := c.named("listeners", "l80"), c.named("pools", "p80")
	monitor := c.settled(lb, c.call("POST", "/healthmonitors",
		fmt.Sprintf(`{"healthmonitor": {"pool_id": %q, "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}}`, pool))).str("healthmonitor.id")
	if got := c.parts(listener, pool); got != "PENDING_UPDATE ACTIVE ACTIVE" {
		t.Errorf("after the monitor was made: %s", got)
	}
	c.settled(lb, c.call("PUT", "/listeners/"+listener, `{"listener": {"connection_limit": -1}}`))
	if got := c.parts(listener, pool); got != "ACTIVE ACTIVE ACTIVE" {
		t.Errorf("after the listener was written to: %s", got)
	}
	c.settled(lb, c.call("DELETE", "/healthmonitors/"+monitor, ""))
	want := "PENDING_UPDATE PENDING_UPDATE none"
	if pool < c.named("pools", "p443") {
		want = "PENDING_UPDATE ACTIVE none" // it is the first pool that provider ovn finds
	}
	if got := c.parts(listener, pool); got != want {
		t.Errorf("after the monitor was deleted: %s, want %s", got, want)
	}
	c.settled(lb, c.call("DELETE", "/pools/"+pool, ""))
}
