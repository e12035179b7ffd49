// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

// ForNodes marks the rights that only the controllers of Nodes and routes need.
const ForNodes = "the controllers of Nodes and routes"

// NodeRights returns exactly the rights in deploy/nodes; a test compares them.
func NodeRights() (all []Right) {
	add := func(group, resource, subresource string, verbs ...string) {
		for _, verb := range verbs {
			all = append(all, Right{Verb: verb, Group: group, Resource: resource, Subresource: subresource, For: ForNodes})
		}
	}
	add("", "nodes", "", "get", "list", "watch", "update", "patch", "delete")
	add("", "nodes", "status", "patch")
	add("", "events", "", "create", "patch", "update")
	add("events.k8s.io", "events", "", "create", "patch", "update")
	return all
}
