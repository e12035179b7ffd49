// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// online is Octavia's operating status of a member that passes its health checks.
const online = "ONLINE"

// PodMember identifies the members of a Pod in the pools of its Service.
type PodMember struct{ Pod, Address string }

// TakingTraffic returns the members of the owner's listeners. The value reports whether the member takes traffic
// in each pool that has it: it is ACTIVE, and ONLINE where the pool has a health monitor.
func TakingTraffic(l lb.LoadBalancer, owner lb.Owner) map[PodMember]bool {
	all := map[PodMember]bool{}
	for _, listener := range l.Listeners {
		if listener.Pool == nil || !owner.OwnsListener(listener) {
			continue
		}
		monitored := listener.Pool.Monitor != nil && !listener.Pool.Monitor.AdminDown
		for _, m := range listener.Pool.Members {
			key := PodMember{Pod: m.Name, Address: m.Address}
			takes := m.ProvisioningStatus == lb.Active && (!monitored || m.OperatingStatus == online)
			before, seen := all[key]
			all[key] = takes && (before || !seen)
		}
	}
	return all
}

// TakingTraffic returns the members by the status tree that was read in this pass, or nil. A member that a pool
// still lacks does not take traffic, whatever other pools have. While the Service has two load balancers, it is not
// known which of them the clients use.
func (f Facts) TakingTraffic(wanted lb.Wanted) map[PodMember]bool {
	if !f.provided(NeedStatusTree) || f.Preview || !oneActive(f.observed()) {
		return nil
	}
	taking := TakingTraffic(*f.loadBalancer(), f.Owner())
	for _, m := range diff.MissingMembers(wanted, *f.loadBalancer()) {
		taking[PodMember{Pod: m.Name, Address: m.Address}] = false
	}
	return taking
}

// lacksMemberStatus reports whether the status tree has to be read because a Pod waits until its member takes
// traffic: that changes without an event, and remembered statuses may be those of an earlier Pod.
func (f Facts) lacksMemberStatus(in build.Input) bool {
	return !f.provided(NeedStatusTree) && !f.Preview && f.waitingMember(in, f.observed(), func(bool) bool { return true })
}

// awaitsMembers reports whether a Pod waits and its member did not take traffic when the statuses were read.
func (f Facts) awaitsMembers(d Decision) bool {
	return !f.Preview && f.waitingMember(d.Goal.Input, d.Record.Cloud.Observed, func(takes bool) bool { return !takes })
}

// waitingMember reports whether there is a member of a Pod that waits for its readiness gate, for which is holds.
func (f Facts) waitingMember(in build.Input, o lb.Observed, is func(takes bool) bool) bool {
	if len(in.Waiting) == 0 || !oneActive(o) {
		return false
	}
	for member, takes := range TakingTraffic(*o.LoadBalancer, f.Owner()) {
		if in.Waiting[member.Pod] && is(takes) {
			return true
		}
	}
	return false
}

// oneActive reports whether there is exactly one load balancer to which traffic may go, and it is ACTIVE.
func oneActive(o lb.Observed) bool {
	return o.LoadBalancer != nil && o.LoadBalancer.ProvisioningStatus == lb.Active && o.Predecessor == nil
}
