// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-octavia/kube-octavia/cloudsim/internal/apitest"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// failing makes a request for a change at which the worker fails.
func (c *cloud) failing(method, path, body string) reply {
	c.t.Helper()
	r := apitest.Request(method, "/v2.0/lbaas"+path, body)
	return c.send(r.WithContext(wire.WithFaultErrorOfChildren(r.Context())), alice)
}

// TestAWorkerThatFailsLeavesTheChangedChildrenInError checks which objects these are with Octavia's worker for
// amphorae, and that they can be changed again.
func TestAWorkerThatFailsLeavesTheChangedChildrenInError(t *testing.T) {
	for name, test := range map[string]struct {
		method string
		path   func(listener, pool, monitor string) string
		body   string
		want   string // listener, pool, monitor
		other  string // the other listener
	}{
		"a listener": {"PUT", func(l, _, _ string) string { return "/listeners/" + l }, `{"listener": {"allowed_cidrs": ["10.0.0.0/8"]}}`,
			"ERROR ACTIVE ACTIVE", "ERROR"},
		"the deletion of a listener": {"DELETE", func(l, _, _ string) string { return "/listeners/" + l }, "", "ERROR ACTIVE ACTIVE", "ACTIVE"},
		"a pool": {"PUT", func(_, p, _ string) string { return "/pools/" + p }, `{"pool": {"lb_algorithm": "SOURCE_IP"}}`,
			"ACTIVE ERROR ACTIVE", "ACTIVE"},
		"members": {"PUT", func(_, p, _ string) string { return "/pools/" + p + "/members" },
			`{"members": [{"address": "10.0.0.12", "protocol_port": 30080}]}`, "ACTIVE ACTIVE ACTIVE", "ACTIVE"},
		"a monitor": {"PUT", func(_, _, m string) string { return "/healthmonitors/" + m }, `{"healthmonitor": {"delay": 9}}`,
			"ACTIVE ACTIVE ERROR", "ACTIVE"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, Options{})
			lb := c.create(two("ROUND_ROBIN"))
			listener, pool := c.named("listeners", "l80"), c.named("pools", "p80")
			monitor, _ := c.call("GET", "/pools/"+pool, "").must(http.StatusOK).get("pool.healthmonitor_id").(string)
			before, _ := c.DataPlane(lb)
			path := test.path(listener, pool, monitor)
			c.failing(test.method, path, test.body)
			c.await(lb, "ACTIVE")
			if got := c.parts(listener, pool); got != test.want {
				t.Errorf("listener, pool and monitor are %s, want %s", got, test.want)
			}
			other := c.call("GET", "/listeners/"+c.named("listeners", "l443"), "").must(http.StatusOK).str("listener.provisioning_status")
			if other != test.other {
				t.Errorf("the other listener is %s, want %s", other, test.other)
			}
			inForce := func() string {
				now, _ := c.DataPlane(lb)
				return cmp.Diff(before, now, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}))
			}
			if d := inForce(); d != "" {
				t.Errorf("the data plane does what failed: %s", d)
			}
			if name == "members" {
				status := c.call("GET", "/pools/"+pool+"/members", "").column("members", "provisioning_status")
				if d := cmp.Diff([]string{"ERROR"}, status); d != "" {
					t.Errorf("members (-want +got): %s", d)
				}
			}
			if name == "a pool" {
				c.call("PUT", "/pools/"+pool+"/members", `{"members": []}`).refused(http.StatusConflict, "Pool "+pool+" is immutable and cannot be updated.")
			}
			c.settled(lb, c.call(test.method, path, test.body))
			if inForce() == "" {
				t.Error("the data plane does not do what succeeded")
			}
			if test.method == "PUT" {
				if got := c.parts(listener, pool); got != "ACTIVE ACTIVE ACTIVE" {
					t.Errorf("after the same request again: %s", got)
				}
			}
		})
	}
}

// TestRulesOverTheQuotaOfOctaviasProjectAreNotEnforced has a quota for two of three source ranges.
func TestRulesOverTheQuotaOfOctaviasProjectAreNotEnforced(t *testing.T) {
	c := newCloud(t, Options{})
	lb := c.create(two("ROUND_ROBIN"))
	listener, pool := c.named("listeners", "l80"), c.named("pools", "p80")
	used := c.neutron.ServiceUse("security_group_rule")
	c.neutron.SetServiceQuota("security_group_rule", used+1) // deleting the rule for all clients makes room for one more
	const ranges = `{"listener": {"allowed_cidrs": ["10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16"]}}`
	c.settled(lb, c.call("PUT", "/listeners/"+listener, ranges))
	if got := c.parts(listener, pool); got != "ERROR ACTIVE ACTIVE" {
		t.Errorf("listener, pool and monitor are %s", got)
	}
	admitted := func() (all []string) {
		plane, _ := c.DataPlane(lb)
		for _, l := range plane.Listeners {
			if l.ID == listener {
				for _, p := range l.AllowedCIDRs {
					all = append(all, p.String())
				}
			}
		}
		return all
	}
	if d := cmp.Diff([]string{"10.1.0.0/16", "10.2.0.0/16"}, admitted()); d != "" {
		t.Errorf("admitted (-want +got): %s", d)
	}
	c.settled(lb, c.call("PUT", "/pools/"+pool, `{"pool": {"lb_algorithm": "SOURCE_IP"}}`))
	if got := admitted(); len(got) != 2 {
		t.Errorf("a change of a pool completes the rules: %v", got)
	}
	c.neutron.SetServiceQuota("security_group_rule", -1)
	c.settled(lb, c.call("PUT", "/listeners/"+listener, ranges))
	if got := admitted(); len(got) != 3 {
		t.Errorf("with quota, admitted are %v", got)
	}
	c.call("DELETE", "/loadbalancers/"+lb+"?cascade=true", "").must(http.StatusNoContent)
	c.await(lb, "")
	if got := c.neutron.ServiceUse("security_group_rule"); got != 0 {
		t.Errorf("%d rules are left", got)
	}
}
