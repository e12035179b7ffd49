// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"strconv"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

// Quota writes the quota of a project. limit returns the limit of a resource.
func Quota(d *Document, limit func(resource string) int) []byte {
	return d.one("quota", func(d *Document) {
		for _, n := range model.QuotaNames {
			d.number(cmp.Or(n.Older, n.Attribute), limit(n.Resource))
		}
	})
}

// FullQuota writes the quota of a project as Octavia 19 does: with the project, and with both names of each
// resource.
func FullQuota(d *Document, project string, limit func(resource string) int) []byte {
	return d.one("quota", func(d *Document) {
		d.text("project_id", project)
		d.text("tenant_id", project)
		for _, n := range model.QuotaNames {
			d.number(n.Attribute, limit(n.Resource))
			if n.Older != "" {
				d.number(n.Older, limit(n.Resource))
			}
		}
	})
}

// Quotas writes the projects' own quotas, by resource.
func Quotas(d *Document, projects []string, own func(project string) map[string]int) []byte {
	return d.many("quotas", "quotas_links", len(projects), func(d *Document, i int) {
		d.text("project_id", projects[i])
		d.text("tenant_id", projects[i])
		for _, n := range model.QuotaNames {
			value := "null"
			if limit, ok := own(projects[i])[n.Resource]; ok {
				value = strconv.Itoa(limit)
			}
			d.raw(n.Attribute, value)
			if n.Older != "" {
				d.raw(n.Older, value)
			}
		}
	})
}

// Providers writes the list of providers.
func Providers(d *Document, names []string, describe func(name string) string) []byte {
	return d.many("providers", "", len(names), func(d *Document, i int) {
		d.text("name", names[i])
		d.text("description", describe(names[i]))
	})
}
