// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"maps"
	"slices"
)

// Quota is how many objects a project may have; -1 is unlimited.
type Quota struct{ LoadBalancers, Listeners, Pools, Members, HealthMonitors int }

// The resources that quotas are for, by the names faults call them.
const (
	loadBalancerQuota = "Load Balancer"
	listenerQuota     = "Listener"
	poolQuota         = "Pool"
	memberQuota       = "Member"
	monitorQuota      = "Health Monitor"
	policyQuota       = "L7 Policy"
	ruleQuota         = "L7 Rule"
)

const unlimited = -1

// usage is how many objects a project has.
type usage struct{ loadBalancers, listeners, pools, members, monitors, policies, rules int }

func (u *usage) of(resource string) int {
	return map[string]int{
		loadBalancerQuota: u.loadBalancers, listenerQuota: u.listeners, poolQuota: u.pools,
		memberQuota: u.members, monitorQuota: u.monitors, policyQuota: u.policies, ruleQuota: u.rules,
	}[resource]
}

// Quotas are how many objects projects may have, and have.
type Quotas struct {
	standard *Quota
	usage    map[string]*usage
	// own is what was set for a project, by resource; what is not in it has the
	// default.
	own map[string]map[string]int
}

func (q Quotas) used(project string) *usage {
	u := q.usage[project]
	if u == nil {
		u = &usage{}
		q.usage[project] = u
	}
	return u
}

// Used is how many objects of a resource a project has. It only reads.
func (q Quotas) Used(project, resource string) int {
	if u := q.usage[project]; u != nil {
		return u.of(resource)
	}
	return 0
}

// Check refuses that a project has so many more. It only reads.
func (q Quotas) Check(project, resource string, more int) error {
	limit := q.Limit(project, resource)
	if more > 0 && limit != unlimited && q.Used(project, resource)+more > limit {
		return overQuota(resource)
	}
	return nil
}

// Limit is what a project may have of a resource. No project has the name "", which
// shows the default.
func (q Quotas) Limit(project, resource string) int {
	if limit, ok := q.own[project][resource]; ok {
		return limit
	}
	if q.standard == nil {
		return unlimited
	}
	if limit, ok := q.standard.limits()[resource]; ok {
		return limit
	}
	return unlimited
}

func (q Quota) limits() map[string]int {
	return map[string]int{
		loadBalancerQuota: q.LoadBalancers, listenerQuota: q.Listeners, poolQuota: q.Pools,
		memberQuota: q.Members, monitorQuota: q.HealthMonitors,
	}
}

// Set sets a project's whole quota.
func (q Quotas) Set(project string, to Quota) { q.own[project] = to.limits() }

// Own is the quota of its own that a project has; nil is none.
func (q Quotas) Own(project string) map[string]int { return q.own[project] }

// Change gives the project a quota of its own, if it has none, to be changed.
func (q Quotas) Change(project string) map[string]int {
	if q.own[project] == nil {
		q.own[project] = map[string]int{}
	}
	return q.own[project]
}

// Reset takes a project's own quota away.
func (q Quotas) Reset(project string) { delete(q.own, project) }

// Projects are those with a quota of their own, in order.
func (q Quotas) Projects() []string { return slices.Sorted(maps.Keys(q.own)) }
