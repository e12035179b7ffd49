// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"strings"
)

// forClusterIP marks the rights that only cluster-ip mode needs.
const forClusterIP = "the Service range of the cluster, with [ClusterIP] of cloud.conf"

// forOthers marks the rights without which the controller works, but does not search for others.
const forOthers = "the search for other controllers of the same Services"

// forCommands marks the rights without which the controller works, but does not publish its settings.
const forCommands = "the settings that commands use"

// without describes how the controller works without an optional right.
var without = map[string]string{
	forOthers:   "The controller works without it, but cannot detect whether another controller serves the same Services.",
	forCommands: "The controller works without it, but does not publish its settings, so that commands such as `kubectl octavia status` need flags.",
}

const (
	discoveryGroup    = "discovery.k8s.io"
	coordinationGroup = "coordination.k8s.io"
)

// manifestLease is the name of the Lease in the manifests. The ConfigMap with the settings has the same name with a
// suffix.
const manifestLease = "kube-octavia"

// rights are exactly the rights in deploy/clusterrole.yaml and deploy/role.yaml; a test compares
// them.
var rights = []Right{
	{Verb: "list", Resource: "services", For: "the Services to serve"},
	{Verb: "watch", Resource: "services", For: "the Services to serve"},
	{Verb: "patch", Resource: "services", For: "finalizer and annotations"},
	{Verb: "patch", Resource: "services", Subresource: "status", For: "addresses and conditions"},
	{Verb: "list", Resource: "nodes", For: "members of pools"},
	{Verb: "watch", Resource: "nodes", For: "members of pools"},
	{Verb: "list", Group: discoveryGroup, Resource: "endpointslices", For: "nodes with endpoints, and Pods as members"},
	{Verb: "watch", Group: discoveryGroup, Resource: "endpointslices", For: "nodes with endpoints, and Pods as members"},
	{Verb: "list", Group: "networking.k8s.io", Resource: "servicecidrs", For: forClusterIP},
	{Verb: "get", Resource: "namespaces", Name: "kube-system", For: "the uid of the cluster"},
	{Verb: "create", Group: "events.k8s.io", Resource: "events", For: "events of Services and nodes"},
	{Verb: "list", Group: coordinationGroup, Resource: "leases", For: forOthers},
	{Verb: "list", Group: "apps", Resource: "daemonsets", Name: "openstack-cloud-controller-manager", For: forOthers},
	{Verb: "list", Group: "apps", Resource: "daemonsets", Name: "openstack-cloud-provider", For: forOthers},
	{Verb: "list", Group: "apps", Resource: "deployments", Name: "openstack-cloud-controller-manager", For: forOthers},
	{Verb: "create", Group: coordinationGroup, Resource: "leases", InLeaseNamespace: true, For: "the election of a leader"},
	{Verb: "get", Group: coordinationGroup, Resource: "leases", Name: manifestLease, InLeaseNamespace: true, For: "the election of a leader"},
	{Verb: "update", Group: coordinationGroup, Resource: "leases", Name: manifestLease, InLeaseNamespace: true, For: "the election of a leader"},
	{Verb: "create", Resource: "configmaps", InLeaseNamespace: true, For: forCommands},
	{Verb: "get", Resource: "configmaps", Name: manifestLease + "-settings", InLeaseNamespace: true, For: forCommands},
	{Verb: "update", Resource: "configmaps", Name: manifestLease + "-settings", InLeaseNamespace: true, For: forCommands},
	{Verb: "create", Resource: "events", InLeaseNamespace: true, For: "events about a new leader"},
}

// Rights returns the rights that a controller with this Lease name needs.
func Rights(c Controllers, lease string) []Right {
	all := slices.Clone(rights)
	for i := range all {
		if all[i].InLeaseNamespace {
			all[i].Name = strings.Replace(all[i].Name, manifestLease, lease, 1)
		}
	}
	if !c.Nodes() && !c.Route {
		return all
	}
	for _, right := range NodeRights() {
		if !slices.ContainsFunc(rights, func(r Right) bool { return r.String() == right.String() && !r.InLeaseNamespace }) {
			all = append(all, right)
		}
	}
	return all
}
