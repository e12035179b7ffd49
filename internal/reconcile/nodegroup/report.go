// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

// nodeGrace is how long a new node may lack the id of its server, which its cloud controller
// sets a little later.
const nodeGrace = 2 * time.Minute

// report requests passes over the Services for which the result of this pass is new, and
// writes events on nodes that cannot have the group.
func (r *Reconciler) report(f facts, wanted securitygroup.Wanted, tried *attempt, failure error) {
	r.reportReleased(f, failure)
	for key, was := range f.needs {
		s, served := f.services[key]
		if !served || s.Need == nil || was.released {
			continue
		}
		rules, ok := was.Rules(f.subnets)
		met := ok && r.cloud.HasRules(f.groupOf(s.owner), rules)
		why, sure := f.missingSubnet(s), true
		if why == "" && failure != nil {
			// If the group was never read, it is not known whether it lacks anything.
			why, sure = "the security group of the nodes does not admit all of its traffic: "+openstack.Reason(failure), !r.cloud.read.IsZero()
		}
		if r.requirements.judge(key, was, met, why, sure) {
			r.Enqueue(key)
		}
	}
	r.reportNodes(f, wanted, tried)
}

// reportReleased requests passes over Services that have nothing but a group of their own, if
// that was deleted or cannot be deleted.
func (r *Reconciler) reportReleased(f facts, failure error) {
	groups := r.cloud.services()
	r.requirements.noteGroups(groups)
	for key, was := range f.needs {
		gone := groups != nil && !groups[was.uid]
		if was.released && (gone || failure != nil && r.requirements.judge(key, was, false, openstack.Reason(failure), true)) {
			r.Enqueue(key)
		}
	}
}

// missingSubnet says which subnet that the Service needs could not be read, and why, or "".
func (f facts) missingSubnet(s service) string {
	if s.Sure(f.subnets) {
		return ""
	}
	for _, id := range s.Need.SubnetIDs() {
		if err := f.unread[id]; err != nil {
			return err.Error() + "; from there load balancers reach the nodes: set [LoadBalancer] member-subnet-id in cloud.conf, or annotation loadbalancer.openstack.org/member-subnet-id, to a subnet that the project sees"
		}
	}
	return ""
}

// reportNodes writes an event on each node that cannot have the group, once per reason, and
// counts these nodes.
func (r *Reconciler) reportNodes(f facts, wanted securitygroup.Wanted, tried *attempt) {
	reported := map[string]string{}
	for i := range f.nodes {
		n := &f.nodes[i]
		at := slices.IndexFunc(wanted.Nodes, func(w securitygroup.Node) bool { return w.Name == n.Name })
		if at < 0 {
			continue
		}
		why := cmp.Or(unknownServer(n, f.now), tried.servers[wanted.Nodes[at].ServerID], r.unattached(wanted.Nodes[at]))
		if why == "" {
			continue
		}
		reported[n.Name] = why
		if r.reported[n.Name] != why {
			r.Recorder.Eventf(n, nil, corev1.EventTypeWarning, status.ReasonSecurityGroupNotAttached, "Reconcile", "%s",
				fmt.Sprintf("the security group by which load balancers reach nodes cannot be attached to the port of this node: %s", why))
		}
	}
	r.reported = reported
	r.Metrics.Unattached.Set(float64(len(reported)))
}

// unknownServer says why the server of the node is unknown, or "".
func unknownServer(n *corev1.Node, now time.Time) string {
	_, err := member.ServerID(n.Spec.ProviderID)
	if err == nil || n.Spec.ProviderID == "" && now.Sub(n.CreationTimestamp.Time) < nodeGrace {
		return ""
	}
	return err.Error()
}

// unattached says why the group is not on the node's port, or "".
func (r *Reconciler) unattached(n securitygroup.Node) string {
	ports := r.cloud.PortOf(n)
	switch {
	case len(r.cloud.Groups) == 0 || !r.cloud.known:
		return ""
	case n.ServerID == "" || !r.cloud.asked[n.ServerID] && len(ports) == 0:
		return ""
	case len(ports) == 0:
		return fmt.Sprintf("the project sees no port of server %s with the address %v; if the server was created again under the name of the node, "+
			"delete the Node with kubectl delete node %s, and restart kubelet on the server", n.ServerID, n.Addresses, n.Name)
	case slices.ContainsFunc(ports, func(p securitygroup.Port) bool { return p.Unprotected }):
		return "port security is off on its port, so that no security group filters anything there"
	}
	return ""
}
