// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

func TestNetworkQuotas(t *testing.T) {
	t.Parallel()
	state(t, []statement{
		{"a tenant sees the quota of its own project", func(c *try) {
			a := c.as(other).net("GET", "/quotas/"+c.projectOf(other), nil).is(200)
			c.must(a.at("quota.floatingip") != nil, "it is %s", a.Text)
		}},
		{"a tenant sees how much of its quota is used", func(c *try) {
			a := c.quietly(other).net("GET", "/quotas/"+c.projectOf(other)+"/details", nil).is(200)
			c.must(a.at("quota.floatingip.used") != nil && a.at("quota.floatingip.limit") != nil && a.at("quota.floatingip.reserved") != nil, "it is %s", a.Text)
		}},
		{"what is used is counted by project", func(c *try) {
			project := c.project()
			c.has(admin, "networks", object{"name": c.newName(), "project_id": project})
			a := c.as(admin).net("GET", "/quotas/"+project+"/details", nil).is(200)
			c.must(a.at("quota.network.used") == 1.0 && a.at("quota.port.used") == 0.0, "it is %s", a.Text)
		}},
		{"a tenant does not see another project's quota", func(c *try) {
			c.as(k8s).net("GET", "/quotas/"+c.projectOf(other), nil).is(403)
			c.as(k8s).net("GET", "/quotas/"+c.projectOf(other)+"/details", nil).is(403)
		}},
		{"a tenant does not see the list of quotas", func(c *try) {
			c.as(k8s).net("GET", "/quotas", nil).is(403)
		}},
		{"a tenant sees the defaults of its own project, and not those of another", func(c *try) {
			c.as(other).net("GET", "/quotas/"+c.projectOf(other)+"/default", nil).is(200)
			c.as(k8s).net("GET", "/quotas/"+c.projectOf(other)+"/default", nil).is(403)
		}},
		{"a tenant sets no quota, not even its own: 403", func(c *try) {
			c.as(k8s).net("PUT", "/quotas/"+c.projectOf(k8s), object{"quota": object{"port": 1}}).refused(403, "PolicyNotAuthorized")
			c.as(k8s).net("DELETE", "/quotas/"+c.projectOf(other), nil).refused(403, "PolicyNotAuthorized")
		}},
		{"an admin sets some quotas and the others stay; a delete takes all back", func(c *try) {
			path := "/quotas/" + c.project()
			before := c.as(admin).net("GET", path, nil).is(200)
			a := c.as(admin).net("PUT", path, object{"quota": object{"floatingip": 7}}).is(200)
			c.must(a.at("quota.floatingip") == 7.0 && a.at("quota.port") == before.at("quota.port"), "it is %s", a.Text)
			c.as(admin).net("DELETE", path, nil).is(204)
			c.must(c.as(admin).net("GET", path, nil).is(200).at("quota.floatingip") == before.at("quota.floatingip"), "it is not taken back")
			c.as(admin).net("DELETE", path, nil).refused(404, "TenantQuotaNotFound")
		}},
		{"a quota of -1 is no limit, one of -2 is refused with 400", func(c *try) {
			path := "/quotas/" + c.project()
			c.Cleanup(func() { c.quietly(admin).net("DELETE", path, nil) })
			c.must(c.as(admin).net("PUT", path, object{"quota": object{"port": -1}}).is(200).at("quota.port") == -1.0, "it is not -1")
			c.as(admin).net("PUT", path, object{"quota": object{"port": -2}}).refused(400, "HTTPBadRequest")
		}},
		{"a quota that is no number is refused with 400, and so is one of nothing known", func(c *try) {
			path := "/quotas/" + c.project()
			c.as(admin).net("PUT", path, object{"quota": object{"port": "many"}}).refused(400, "InvalidInput")
			c.as(admin).net("PUT", path, object{"quota": object{"loadbalancer": 1}}).refused(400, "HTTPBadRequest")
		}},
		{"a quota below what is used is taken, and nothing more can be made", until(release2022, func(c *try) {
			project := c.project()
			c.has(admin, "networks", object{"name": c.newName(), "project_id": project})
			c.hasQuota(project, object{"network": 0})
			c.as(admin).net("POST", "/networks", object{"network": object{"name": "x", "project_id": project}}).refused(409, "OverQuota")
		})},
		{"a quota below what is used is refused with 400", since(release2025, func(c *try) {
			project := c.project()
			c.has(admin, "networks", object{"name": c.newName(), "project_id": project})
			c.as(admin).net("PUT", "/quotas/"+project, object{"quota": object{"network": 0}}).refused(400, "HTTPBadRequest")
		})},
		{"a quota counts all of a request for several: two networks are too many for one", func(c *try) {
			project := c.project()
			c.hasQuota(project, object{"network": 1})
			w := object{"name": "x", "project_id": project}
			c.as(admin).net("POST", "/networks", object{"networks": list{w, w}}).refused(409, "OverQuota")
			c.must(len(c.as(admin).net("GET", "/networks?fields=id&project_id="+project, nil).is(200).list("networks")) == 0, "one is there")
		}},
		{"more routers than the quota are refused with 409", func(c *try) {
			project := c.project()
			c.hasQuota(project, object{"router": 0})
			c.as(admin).net("POST", "/routers", object{"router": object{"name": "x", "project_id": project}}).refused(409, "OverQuota")
		}},
	})
}
