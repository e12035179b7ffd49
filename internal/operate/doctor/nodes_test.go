// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/node/instances"
	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
)

func TestNodesAndTheirServers(t *testing.T) {
	noServers := func(f *Facts) { f.Cloud.Servers.Value = nil }
	id := func(text string) func(*Facts) {
		return nodeA(func(n *corev1.Node) { n.Spec.ProviderID = text })
	}
	tainted := nodeA(func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{taint} })
	isNew := nodeA(func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(noon) })
	onlyLifecycle := func(f *Facts) { f.Controllers.Node = false }
	occm := func(ready int32, controllers string) func(*Facts) {
		return func(f *Facts) {
			f.Cluster.Workloads.Value = []othercontroller.Workload{{Kind: "DaemonSet", Namespace: "kube-system", Name: "openstack-cloud-controller-manager", Ready: ready, Args: []string{controllers}}}
		}
	}
	requireNodeResults(t, CheckNodes, map[string]wrongNodes{
		"right":                             {nil, OK, "2 Nodes with exactly one server", ""},
		"switched off":                      {func(f *Facts) { f.Controllers = Controllers{Route: true}; noServers(f) }, Skipped, "--controllers", ""},
		"a login that may not list servers": {func(f *Facts) { f.Cloud.Servers.Missing = denied }, Error, "the login may not", "credential rotate --with=nodes"},
		"a Nova that does not answer":       {func(f *Facts) { f.Cloud.Servers.Missing = failed }, Unknown, "503", "openstack server list"},
		"Nodes that may not be listed":      {func(f *Facts) { f.Cluster.Nodes.Missing = failed }, Unknown, "503", "kubectl get nodes"},
		"no cluster":                        {func(f *Facts) { f.Cluster.Nodes.Missing = none }, OK, "Nova answers: the project has 2 servers", ""},

		"found by name, in other letters": {all(id(""), tainted, isNew, func(f *Facts) { f.Cloud.Servers.Value[0].Name = "A" }), OK, "2 Nodes with exactly one server", ""},
		"the id of an old kubelet":        {id("/" + serverA), OK, "2 Nodes with exactly one server", ""},
		"the id with the region":          {id("openstack://RegionOne/" + serverA), OK, "2 Nodes with exactly one server", ""},
		"another cloud":                   {id("aws:///zone/i-1"), OK, "Node a of another cloud or region", ""},
		"another region":                  {id("openstack://RegionTwo/" + serverA), OK, "Node a of another cloud or region", ""},
		"an id that cannot be read":       {id("openstack:///a/b"), Error, `Node a: provider id "openstack:///a/b"`, "kubectl delete node a"},
		"no server with the name":         {all(id(""), tainted, nodeA(func(n *corev1.Node) { n.Name = "c" })), Error, "has the name of Node c", "--hostname-override"},
		"two servers with the name": {all(id(""), func(f *Facts) {
			f.Cloud.Servers.Value = append(f.Cloud.Servers.Value, instances.Server{ID: "twin", Name: "a"})
		}), Error, "its name is that of 2 servers (" + serverA + ", twin)", "openstack server set --name"},
		"a server that is gone": {func(f *Facts) { f.Cloud.Servers.Value = f.Cloud.Servers.Value[1:] }, Warning, "no server with the provider id of Node a", "openstack server show ID"},
		"a server that was created again": {func(f *Facts) { f.Cloud.Servers.Value[0].ID = "again" }, Warning,
			"not list the server in the provider id of Node a, but another one with its name: again", "kubectl delete node a"},
		"two servers with the name, one in the same letters": {all(id(""), tainted, isNew, func(f *Facts) {
			f.Cloud.Servers.Value = append(f.Cloud.Servers.Value, instances.Server{ID: "twin", Name: "A"})
		}), OK, "2 Nodes with exactly one server", ""},
		"another project": {noServers, Error, "project project has no server of any Node: none with the provider id of 2 Nodes (a, b)", "[Global]"},

		"not initialized":                            {tainted, Warning, "uninitialized is still on Node a, although kube-octavia works", "kubectl describe node a"},
		"not initialized, and new":                   {all(tainted, isNew), OK, "Node a to be initialized", ""},
		"not initialized, and no kube-octavia works": {all(tainted, idle), OK, "Node a to be initialized", ""},
		"left to another controller to initialize":   {all(tainted, onlyLifecycle), OK, "2 Nodes with exactly one server", ""},
		"registered as if there were no cloud":       {id(""), Warning, "Node a without a provider id and without taint", "--cloud-provider=external"},

		"OCCM beside us":                   {occm(1, "--controllers=*,-service"), Warning, "(DaemonSet kube-system/openstack-cloud-controller-manager) initializes Nodes, too", "docs/nodes.md"},
		"OCCM without its node controller": {occm(1, "--controllers=service"), OK, "", ""},
		"OCCM without a Pod":               {occm(0, "--controllers=*"), OK, "", ""},
	})
}
