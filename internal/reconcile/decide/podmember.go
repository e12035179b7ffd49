// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// online is Octavia's operating status of a member that passes its health checks.
const online = "ONLINE"

// PodMember identifies the members of a Pod in the pools of its Service.
type PodMember struct{ Pod, Address string }

// takesTraffic reports whether a member of the pool takes traffic: it is ACTIVE, is not draining, and is ONLINE if the
// pool has a health monitor.
func takesTraffic(pool *lb.Pool, m *lb.Member) bool {
	monitored := pool.Monitor != nil && !pool.Monitor.AdminDown
	return m.ProvisioningStatus == lb.Active && m.Weight > 0 && (!monitored || m.OperatingStatus == online)
}

// TakingTraffic returns which of the wanted members take traffic, according to the status tree that was read in this
// pass; nil if none was read. A member takes traffic if it does so in each pool that is to have it. In the cloud, the
// member may have the name of an earlier Pod. The result is also nil while the Service has two load balancers, because
// it is not known which of them the clients use.
func (f Facts) TakingTraffic(wanted lb.Wanted) map[PodMember]bool {
	if !f.provided(NeedStatusTree) || f.Preview || !oneActive(f.observed()) {
		return nil
	}
	taking := map[PodMember]bool{}
	diff.EachMember(wanted, *f.loadBalancer(), f.Identity(), func(want lb.Member, pool *lb.Pool, have *lb.Member) {
		key := PodMember{Pod: want.Name, Address: want.Address}
		before, seen := taking[key]
		taking[key] = have != nil && takesTraffic(pool, have) && (before || !seen)
	})
	return taking
}

// lacksMemberStatus reports whether the status tree has to be read because a Pod waits until its member takes
// traffic: that changes without an event, and remembered statuses may be those of an earlier Pod.
func (f Facts) lacksMemberStatus(g Goal) bool {
	return !f.provided(NeedStatusTree) && !f.Preview && f.waitingMember(g, f.observed(), func(bool) bool { return true })
}

// awaitsMembers reports whether a Pod waits and its member did not take traffic when the statuses were read.
func (f Facts) awaitsMembers(d Decision) bool {
	return !f.Preview && f.waitingMember(d.Goal, d.Record.Cloud.Observed, func(takes bool) bool { return !takes })
}

// waitingMember reports whether there is a member of a Pod that waits for its readiness gate and for which is(takes) is
// true. Takes is whether the member takes traffic.
func (f Facts) waitingMember(g Goal, o lb.Observed, is func(takes bool) bool) (found bool) {
	if len(g.Input.Waiting) == 0 || !oneActive(o) {
		return false
	}
	diff.EachMember(g.Wanted, *o.LoadBalancer, f.Identity(), func(want lb.Member, pool *lb.Pool, have *lb.Member) {
		found = found || have != nil && g.Input.Waiting[want.Name] && is(takesTraffic(pool, have))
	})
	return found
}

// oneActive reports whether there is exactly one load balancer to which traffic may go, and it is ACTIVE.
func oneActive(o lb.Observed) bool {
	return o.LoadBalancer != nil && o.LoadBalancer.ProvisioningStatus == lb.Active && o.Predecessor == nil
}
