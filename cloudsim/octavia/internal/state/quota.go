// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

// Quotas are how many objects projects may have, and have: each of the maps is by
// resource, by the names of package model.
type Quotas struct {
	standard map[string]int            // what is not in it is unlimited
	own      map[string]map[string]int // by project; what is not in it has the default
	usage    map[string]map[string]int // by project
}

// used is what a project has, to be changed.
func (q Quotas) used(project string) map[string]int {
	if q.usage[project] == nil {
		q.usage[project] = map[string]int{}
	}
	return q.usage[project]
}

// Used is how many objects of a resource a project has. It only reads.
func (q Quotas) Used(project, resource string) int { return q.usage[project][resource] }

// Check refuses that a project has so many more. It only reads.
func (q Quotas) Check(project, resource string, more int) error {
	limit := q.Limit(project, resource)
	if more > 0 && limit != model.Unlimited && q.Used(project, resource)+more > limit {
		return fault.OverQuota(resource)
	}
	return nil
}

// Limit is what a project may have of a resource. No project has the name "", which
// shows the default.
func (q Quotas) Limit(project, resource string) int {
	if limit, ok := q.own[project][resource]; ok {
		return limit
	}
	if limit, ok := q.standard[resource]; ok {
		return limit
	}
	return model.Unlimited
}

// Set sets a project's whole quota, by resource.
func (q Quotas) Set(project string, limits map[string]int) { q.own[project] = limits }

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
