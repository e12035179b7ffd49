// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Need is something to read, build or store before a decision can be made.
type Need string

// The needs. In one pass each is requested at most once, except NeedDesired.
const (
	// NeedDesired: build the desired state again, because Record has changed.
	NeedDesired Need = "desired state"
	// NeedReplacement: build the desired state as if the Service had no load balancer.
	NeedReplacement Need = "replacement"
	// NeedCertificate: store the certificate of the Service's Secret.
	NeedCertificate Need = "certificate"
	// NeedRequestedFloatingIP: read the floating IP that the Service requests.
	NeedRequestedFloatingIP Need = "requested floating IP"
	// NeedRequestedAddresses: find out which addresses other Services request, before one is given up.
	NeedRequestedAddresses Need = "requested addresses"
	// NeedFloatingIPs: read the floating IPs again before one is moved.
	NeedFloatingIPs Need = "floating IPs"
	// NeedStatusTree: compare the load balancer with its status tree.
	NeedStatusTree Need = "status tree"
	// NeedNodeRules: find out whether the nodes' security group allows the traffic of the desired members.
	NeedNodeRules Need = "rules of the nodes"
	// NeedPredecessor: read the predecessor again, and whether the nodes' security group
	// allows the traffic of its replacement.
	NeedPredecessor Need = "predecessor"
)

// needs returns a decision that requests the need first.
func (d Decision) needs(n Need) Decision {
	return Decision{Need: n, Goal: d.Goal, Record: d.Record}
}

// lacksCertificate reports whether the certificate of the Service's Secret still has to be
// stored.
func (f Facts) lacksCertificate(g Goal) bool {
	c := g.Input.Certificate
	return !f.provided(NeedCertificate) && !g.MembersOnly && c.Ref == "" && c.Name != "" &&
		slices.Contains(g.Wanted.LoadBalancer.CertificateRefs(), c.Name) && !f.leavesDrift(g)
}

// lacksRequestedFloatingIP reports whether the Service requests a floating IP that is not
// attached to its load balancer yet, and that was not read in this pass.
func (f Facts) lacksRequestedFloatingIP(g Goal) bool {
	want, l := g.Wanted.FloatingIP, f.loadBalancer()
	if f.provided(NeedRequestedFloatingIP) || want == nil || want.Address == "" {
		return false
	}
	return !slices.ContainsFunc(f.observed().FloatingIPs, func(have lb.FloatingIP) bool {
		return have.Address == want.Address && l != nil && l.VIP.PortID != "" && have.PortID == l.VIP.PortID
	})
}

// lacksFloatingIPs reports whether the plan changes a remembered floating IP: another client may have moved it. The
// floating IP that the Service requests by address was already read.
func (f Facts) lacksFloatingIPs(d Decision) bool {
	want := d.Goal.Wanted.FloatingIP
	return f.FromMemory && !f.provided(NeedFloatingIPs) && slices.ContainsFunc(d.Plan.Ops, func(op diff.Op) bool {
		switch op := op.(type) {
		case diff.DeleteFloatingIP, diff.DisassociateFloatingIP, diff.SetFloatingIPTags:
			return true
		case diff.AssociateFloatingIP:
			return want == nil || op.Address != want.Address
		}
		return false
	})
}

// lacksRequestedAddresses reports whether the plan gives up a floating IP, or takes up one that was kept: another
// Service may request it.
func (f Facts) lacksRequestedAddresses(d Decision) bool {
	return !f.provided(NeedRequestedAddresses) && slices.ContainsFunc(d.Plan.Ops, func(op diff.Op) bool {
		attach, attaches := op.(diff.AssociateFloatingIP)
		return is[diff.DeleteFloatingIP](op) || attaches && attach.Description != ""
	})
}

// lacksStatusTree reports whether the status tree of the ACTIVE load balancer has to be read
// before a plan: because ids are missing, or because the plan may delete a predecessor, which
// must not depend on a predicted state.
func (f Facts) lacksStatusTree() bool {
	l := f.loadBalancer()
	return !f.provided(NeedStatusTree) && l != nil && l.ProvisioningStatus == lb.Active &&
		(MissesIDs(*l) || f.observed().Predecessor != nil && !f.Record.Cloud.Confirmed)
}

// MissesIDs reports whether the ids of listeners or pools are unknown, because the load
// balancer was just created. They cannot be changed until then.
func MissesIDs(l lb.LoadBalancer) bool {
	return slices.ContainsFunc(l.Listeners, func(l lb.Listener) bool {
		return l.ID == "" || l.Pool != nil && l.Pool.ID == ""
	})
}
