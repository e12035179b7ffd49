// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"cmp"
	"strconv"
)

// quotaDocument writes the quota of a project. limit is what it may have of a resource.
func quotaDocument(d *document, limit func(resource string) int) []byte {
	return d.one("quota", func(d *document) {
		for _, n := range quotaNames {
			d.number(cmp.Or(n.older, n.attribute), limit(n.resource))
		}
	})
}

// quotaList writes the quotas that projects have of their own, by resource.
func quotaList(d *document, projects []string, own func(project string) map[string]int) []byte {
	return d.many("quotas", "quotas_links", len(projects), func(d *document, i int) {
		d.text("project_id", projects[i])
		d.text("tenant_id", projects[i])
		for _, n := range quotaNames {
			value := "null"
			if limit, ok := own(projects[i])[n.resource]; ok {
				value = strconv.Itoa(limit)
			}
			d.raw(n.attribute, value)
			if n.older != "" {
				d.raw(n.older, value)
			}
		}
	})
}

// providerList writes the providers there are.
func providerList(d *document, names []string, describe func(name string) string) []byte {
	return d.many("providers", "", len(names), func(d *document, i int) {
		d.text("name", names[i])
		d.text("description", describe(names[i]))
	})
}
