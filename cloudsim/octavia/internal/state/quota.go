// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

// Quotas has the limits and the usage of projects. Each map is by resource, with the names of
// package model.
type Quotas struct {
	standard map[string]int            // resources that are missing are unlimited
	own      map[string]map[string]int // by project; resources that are missing have the default
	usage    map[string]map[string]int // by project
}

// used returns the usage of a project, which the caller may change.
func (q Quotas) used(project string) map[string]int {
	if q.usage[project] == nil {
		q.usage[project] = map[string]int{}
	}
	return q.usage[project]
}

// Used returns the number of objects of a resource that a project has. It only reads.
func (q Quotas) Used(project, resource string) int { return q.usage[project][resource] }

// Check returns a fault if so many more objects would exceed the project's quota. It only reads.
func (q Quotas) Check(project, resource string, more int) error {
	limit := q.Limit(project, resource)
	if more > 0 && limit != model.Unlimited && q.Used(project, resource)+more > limit {
		return fault.OverQuota(resource)
	}
	return nil
}

// Limit returns the limit of a project for a resource. For the name "", which no project has, it
// returns the default.
func (q Quotas) Limit(project, resource string) int {
	if limit, ok := q.own[project][resource]; ok {
		return limit
	}
	if limit, ok := q.standard[resource]; ok {
		return limit
	}
	return model.Unlimited
}

// Set sets the complete quota of a project, by resource.
func (q Quotas) Set(project string, limits map[string]int) { q.own[project] = limits }

// Own returns the project's own quota, or nil.
func (q Quotas) Own(project string) map[string]int { return q.own[project] }

// Change returns the project's own quota, which the caller may change. If there is none, it is
// created.
func (q Quotas) Change(project string) map[string]int {
	if q.own[project] == nil {
		q.own[project] = map[string]int{}
	}
	return q.own[project]
}

// Reset removes a project's own quota.
func (q Quotas) Reset(project string) { delete(q.own, project) }

// Projects returns the sorted projects that have their own quota.
func (q Quotas) Projects() []string { return slices.Sorted(maps.Keys(q.own)) }
