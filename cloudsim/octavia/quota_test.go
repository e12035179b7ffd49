// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

func TestQuotasAreEnforced(t *testing.T) {
	tests := map[string]struct {
		quota    Quota
		resource string
		try      func(c *cloud, tr tree) reply
	}{
		"load balancers": {Quota{1, -1, -1, -1, -1}, "Load Balancer", func(c *cloud, _ tree) reply { return c.post("") }},
		"listeners": {Quota{-1, 1, -1, -1, -1}, "Listener", func(c *cloud, tr tree) reply {
			return c.call("POST", "/listeners", fmt.Sprintf(`{"listener": {"protocol": "TCP", "protocol_port": 81, "loadbalancer_id": %q}}`, tr.lb))
		}},
		"pools": {Quota{-1, -1, 1, -1, -1}, "Pool", func(c *cloud, tr tree) reply {
			return c.call("POST", "/pools", fmt.Sprintf(`{"pool": {"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "loadbalancer_id": %q}}`, tr.lb))
		}},
		"members": {Quota{-1, -1, -1, 2, -1}, "Member", func(c *cloud, tr tree) reply {
			return c.call("POST", "/pools/"+tr.pool+"/members", `{"member": {"address": "10.0.0.9", "protocol_port": 1}}`)
		}},
		"members in a batch": {Quota{-1, -1, -1, 2, -1}, "Member", func(c *cloud, tr tree) reply {
			return c.call("PUT", "/pools/"+tr.pool+"/members", `{"members": [{"address": "10.0.0.1", "protocol_port": 1}, {"address": "10.0.0.2", "protocol_port": 1}, {"address": "10.0.0.3", "protocol_port": 1}]}`)
		}},
		"pools of a full create":     {Quota{-1, -1, 1, -1, -1}, "Pool", func(c *cloud, _ tree) reply { return c.post(web) }},
		"members of a full create":   {Quota{-1, -1, -1, 3, -1}, "Member", func(c *cloud, _ tree) reply { return c.post(web) }},
		"monitors of a full create":  {Quota{-1, -1, -1, -1, 1}, "Health Monitor", func(c *cloud, _ tree) reply { return c.post(web) }},
		"listeners of a full create": {Quota{-1, 1, -1, -1, -1}, "Listener", func(c *cloud, _ tree) reply { return c.post(web) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, Options{DefaultQuota: &test.quota})
			tr := c.web()
			test.try(c, tr).refused(http.StatusForbidden, "Quota has been met for resources: "+test.resource)
			if got := c.Counts(); got != (Counts{1, 1, 1, 2, 1}) {
				t.Errorf("there are %+v", got)
			}
			// Deleted objects no longer count.
			c.call("DELETE", "/loadbalancers/"+tr.lb+"?cascade=true", "").must(http.StatusNoContent)
			c.await(tr.lb, "")
			c.web()
		})
	}
}

func TestABatchMayReplaceMembersWithinTheQuota(t *testing.T) {
	c := newCloud(t, Options{})
	tr := c.web()
	c.SetQuota(alice.ProjectID, Quota{-1, -1, -1, 2, -1})
	batch := `{"members": [{"address": "10.0.0.1", "protocol_port": 1}, {"address": "10.0.0.2", "protocol_port": 1}]}`
	c.call("PUT", "/pools/"+tr.pool+"/members?additive_only=true", batch).refused(http.StatusForbidden, "Quota has been met for resources: Member")
	c.settled(tr.lb, c.call("PUT", "/pools/"+tr.pool+"/members", batch))
	if got := c.Counts().Members; got != 2 {
		t.Errorf("there are %d members", got)
	}
}

func TestQuotasAreSetByAdminsAndReadByOwners(t *testing.T) {
	c := newCloud(t, Options{DefaultQuota: &Quota{10, 20, 30, 40, 50}})
	forbidden := "Policy does not allow this request to be performed."
	path := "/quotas/" + alice.ProjectID
	c.call("PUT", path, `{"quota": {"loadbalancer": 5}}`).refused(http.StatusForbidden, forbidden)
	c.call("GET", "/quotas/defaults", "").refused(http.StatusForbidden, forbidden)
	c.as(bob, "GET", path, "").refused(http.StatusForbidden, forbidden)
	if got := c.call("GET", path, "").get("quota.load_balancer"); got != 10.0 {
		t.Errorf("the quota is %v at first", got)
	}
	c.as(admin, "PUT", path, `{"quota": {"loadbalancer": 5, "health_monitor": 6}}`).must(http.StatusAccepted)
	a := c.call("GET", path, "")
	if a.get("quota.load_balancer") != 5.0 || a.get("quota.health_monitor") != 6.0 || a.get("quota.listener") != 20.0 {
		t.Errorf("the quota is %s", a.text)
	}
	if got := c.call("GET", path+"/default", "").get("quota.load_balancer"); got != 10.0 {
		t.Errorf("the default quota is %v", got)
	}
	c.as(admin, "DELETE", path, "").must(http.StatusAccepted)
	if got := c.call("GET", path, "").get("quota.load_balancer"); got != 10.0 {
		t.Errorf("the quota is %v after it was reset", got)
	}
}

func TestAQuotaOfOctavia19HasTheProjectAndBothSpellings(t *testing.T) {
	older := map[string]any{"load_balancer": 2.0, "listener": -1.0, "member": -1.0, "pool": -1.0, "health_monitor": 5.0, "l7policy": -1.0, "l7rule": -1.0}
	newer := maps.Clone(older)
	maps.Copy(newer, map[string]any{"project_id": alice.ProjectID, "tenant_id": alice.ProjectID, "loadbalancer": 2.0, "healthmonitor": 5.0})
	for r, want := range map[release.Release]map[string]any{release.Zed: older, release.Epoxy: older, release.Newest: newer} {
		t.Run(r.String(), func(t *testing.T) {
			c := newCloud(t, Options{Release: r, DefaultQuota: &Quota{2, -1, -1, -1, 5}})
			for _, path := range []string{"/quotas/" + alice.ProjectID, "/quotas/" + alice.ProjectID + "/default"} {
				if diff := cmp.Diff(map[string]any{"quota": want}, c.call("GET", path, "").body); diff != "" {
					t.Errorf("%s (-want +got):\n%s", path, diff)
				}
			}
		})
	}
}
