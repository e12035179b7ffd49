// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/node/instances"
	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
)

// settling is the minimum age of a Node that should be initialized and have a route.
const settling = time.Minute

// CheckNodes checks that each Node has a server and is initialized.
func CheckNodes(f Facts, r *Result) {
	if !f.Controllers.Nodes() {
		r.Skip("--controllers has neither node nor node-lifecycle")
		return
	}
	if !readable(r, f.Cloud.Servers.Missing, "openstack server list", calls.FeatureNodes) {
		return
	}
	r.Saw(fmt.Sprintf("Nova answers: the project has %s", Plural(len(f.Cloud.Servers.Value), "server")))
	if !r.Has(f.Cluster.Nodes.Missing, "kubectl get nodes") {
		return
	}
	nodes := match(f, r)
	nodes.reportGone(f, r)
	nodes.reportAgain(r)
	nodes.reportUnnamed(r)
	if f.Controllers.Node {
		nodes.reportUninitialized(f, r)
		checkOthers(f, r)
	}
}

// readable is Result.Has for facts that the controller also reads. If the login may not read them, the controller may not
// either.
func readable(r *Result, m Missing, command string, feature calls.Feature) bool {
	if m.Kind != Denied {
		return r.Has(m, command)
	}
	r.Found(Error, m.Reason, "The controller must read this.", m.AdviceOr(fmt.Sprintf("allow the calls: `kube-octavia credential rotate --with=%s`", feature.Name())))
	return false
}

// matched has the Nodes, grouped by what is known about their servers.
type matched struct {
	// found has the Nodes with exactly one server.
	found []corev1.Node
	// gone has the Nodes whose provider id is that of a server that Nova does not list, and whose name is not that of
	// another server. again maps those with the name of another server to its id.
	gone  []string
	again map[string]string
	// unnamed has the Nodes without a provider id whose name no server has.
	unnamed []string
}

// match finds the server of each Node.
func match(f Facts, r *Result) (all matched) {
	inventory := instances.Inventory{Servers: map[string]instances.Server{}}
	for _, s := range f.Cloud.Servers.Value {
		inventory.Servers[s.ID] = s
	}
	var foreign []string
	for _, node := range f.Cluster.Nodes.Value {
		id, err := instances.OwnID(&node, f.Config.Value.Global.Region)
		switch {
		case err != nil:
			r.Found(Error, fmt.Sprintf("Node %s: %v", node.Name, err), "It is unknown which server the Node is.",
				fmt.Sprintf("A provider id cannot be changed. Correct --provider-id of kubelet, delete the Node with `kubectl delete node %s`, and restart kubelet.", node.Name))
		case id == nil:
			foreign = append(foreign, node.Name)
		case id.Server == "":
			all.byName(inventory, node, r)
		default:
			if _, there := inventory.Servers[id.Server]; !there {
				all.isGone(inventory, node)
				continue
			}
			all.found = append(all.found, node)
		}
	}
	if len(all.found) > 0 {
		r.Saw(Plural(len(all.found), "Node") + " with exactly one server")
	}
	if len(foreign) > 0 {
		r.Saw(Some("Node", foreign) + " of another cloud or region, which are not changed")
	}
	return all
}

// isGone records a Node without the server of its provider id.
func (all *matched) isGone(inventory instances.Inventory, node corev1.Node) {
	others := inventory.Named(node.Name)
	if len(others) == 0 {
		all.gone = append(all.gone, node.Name)
		return
	}
	if all.again == nil {
		all.again = map[string]string{}
	}
	all.again[node.Name] = others[0].ID
}

// reportAgain reports Nodes whose server was created again.
func (all *matched) reportAgain(r *Result) {
	names := slices.Sorted(maps.Keys(all.again))
	if len(names) == 0 {
		return
	}
	r.Found(Warning, fmt.Sprintf("Nova does not list the server in the provider id of %s, but another one with its name: %s", Some("Node", names), all.again[names[0]]),
		"The server was probably created again. The Node keeps the provider id, the addresses and the labels of the old one while it is ready, and security groups and routes do not follow.",
		fmt.Sprintf("Kubernetes never changes a provider id. Delete the Node with `kubectl delete node %s`, and restart kubelet on the server, which registers it again.", names[0]))
}

func (all *matched) byName(inventory instances.Inventory, node corev1.Node, r *Result) {
	switch servers := inventory.Named(node.Name); len(servers) {
	case 0:
		all.unnamed = append(all.unnamed, node.Name)
	case 1:
		all.found = append(all.found, node)
	default:
		var ids []string
		for _, s := range servers {
			ids = append(ids, s.ID)
		}
		r.Found(Error, fmt.Sprintf("Node %s has no provider id, and its name is that of %s", node.Name, Some("server", ids)),
			"It is unknown which one the Node is, so it is not initialized.", "Rename all but one: `openstack server set --name NAME SERVER`.")
	}
}

// reportGone reports Nodes whose server Nova does not list.
func (all *matched) reportGone(f Facts, r *Result) {
	if len(all.gone) == 0 {
		return
	}
	if len(all.found) == 0 {
		r.Found(Error, fmt.Sprintf("project %s has no server of any Node: none with the provider id of %s", f.Cloud.Login.Value.ProjectID, Some("Node", all.gone)),
			"The credentials may be those of another project: then Nodes are neither initialized nor deleted.",
			"Compare `openstack server list` with `kubectl get nodes -o custom-columns=NAME:.metadata.name,ID:.spec.providerID`, and correct [Global] of cloud.conf.")
		return
	}
	r.Found(Warning, "Nova lists no server with the provider id of "+Some("Node", all.gone),
		"Controller node-lifecycle deletes such a Node once it is not ready. If it is ready, its server may be in another project, or a cell of Nova is down.",
		"Query Nova with the last part of the id: `kubectl get node NAME -o jsonpath={.spec.providerID}` and `openstack server show ID`. If the server is deleted (no server, or status SOFT_DELETED), `kubectl delete node NAME`.")
}

// reportUnnamed reports Nodes without a provider id whose name no server has.
func (all *matched) reportUnnamed(r *Result) {
	if len(all.unnamed) == 0 {
		return
	}
	r.Found(Error, "no server of the project has the name of "+Some("Node", all.unnamed), "A Node gets its provider id from the server with its name.",
		"Compare `kubectl get nodes` with `openstack server list`. Rename the server (`openstack server set --name NAME SERVER`), or set --hostname-override or --provider-id of kubelet.")
}

// reportUninitialized reports Nodes with a server that are not initialized although the controller works, and those that
// never will be.
func (all *matched) reportUninitialized(f Facts, r *Result) {
	var waiting, stuck, never []string
	for _, n := range all.found {
		switch {
		case !instances.IsUninitialized(&n):
			if n.Spec.ProviderID == "" {
				never = append(never, n.Name)
			}
		case works(f) && isSettled(f, n):
			stuck = append(stuck, n.Name)
		default:
			waiting = append(waiting, n.Name)
		}
	}
	if len(waiting) > 0 {
		r.Saw(Some("Node", waiting) + " to be initialized")
	}
	if len(stuck) > 0 {
		r.Found(Warning, fmt.Sprintf("taint %s is still on %s, although kube-octavia works", cloudproviderapi.TaintExternalCloudProvider, Some("Node", stuck)),
			"Pods without a toleration for it do not start there.",
			fmt.Sprintf("Look for event NodeNotInitialized: `kubectl describe node %s`. Does the controller run with --controllers=node? `kubectl -n %s get deploy kube-octavia -o yaml` shows its arguments.", stuck[0], f.Cluster.OwnLease.Namespace))
	}
	if len(never) > 0 {
		r.Found(Warning, Some("Node", never)+" without a provider id and without taint "+cloudproviderapi.TaintExternalCloudProvider,
			"Its kubelet registered it without --cloud-provider=external: it is not initialized, and not deleted with its server.",
			fmt.Sprintf("Set --cloud-provider=external of kubelet, delete the Node with `kubectl delete node %s`, and restart kubelet.", never[0]))
	}
}

// checkOthers finds another controller that initializes Nodes.
func checkOthers(f Facts, r *Result) {
	for _, w := range f.Cluster.Workloads.Value {
		if w.Ready > 0 && w.InitializesNodes() {
			r.Found(Warning, fmt.Sprintf("%s (%s) initializes Nodes, too", othercontroller.OCCM, w), "Both do the same work. If their settings differ, they change addresses of Nodes in turn.",
				"Remove it, or disable its controllers with --controllers, see docs/nodes.md#take-over-from-occm.")
		}
	}
}

// works reports whether an instance of kube-octavia is active.
func works(f Facts) bool {
	own := f.Cluster.Own
	return own.OK() && own.Value != nil && own.Value.Alive(f.Now)
}

// isSettled reports whether the controller has had time for the Node.
func isSettled(f Facts, n corev1.Node) bool {
	return f.Now.Sub(n.CreationTimestamp.Time) > settling
}
