// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"reflect"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
)

// StatusChange has the differences between two Surveys.
type StatusChange struct {
	// StatusList has what is new or different.
	StatusList
	// Gone has the names of what was only in the first one.
	Gone []string
}

// Empty reports whether nothing differs.
func (c StatusChange) Empty() bool {
	return len(c.Services)+len(c.Orphans)+len(c.Conflicts)+len(c.LeftPorts)+len(c.Gone) == 0
}

// ChangeOf returns the differences between two Surveys. A Service whose conflicts differ is
// included.
func ChangeOf(before, now StatusList) StatusChange {
	c := StatusChange{StatusList: StatusList{
		Orphans:   added(before.Orphans, now.Orphans),
		Conflicts: added(before.Conflicts, now.Conflicts),
		LeftPorts: added(before.LeftPorts, now.LeftPorts),
	}}
	for _, v := range now.Services {
		disputed := func(o Conflict) bool { return o.Namespace == v.Namespace && o.Name == v.Name }
		same := slices.ContainsFunc(before.Services, func(w ServiceStatus) bool { return reflect.DeepEqual(steady(v), steady(w)) })
		if !same || slices.ContainsFunc(c.Conflicts, disputed) || slices.ContainsFunc(added(now.Conflicts, before.Conflicts), disputed) {
			c.Services = append(c.Services, v)
		}
	}
	c.Gone = gone(before, now)
	return c
}

// steady returns the status without the errors of reads, which contain request ids.
func steady(v ServiceStatus) ServiceStatus {
	v.Drift.Unknown = v.Drift.String()
	if v.Members != nil {
		m := *v.Members
		m.Unknown = m.String()
		v.Members = &m
	}
	return v
}

// gone returns the names of what is only in the first Survey. A conflict or an orphan that has another
// state is not gone.
func gone(before, now StatusList) (all []string) {
	for _, v := range before.Services {
		if !slices.ContainsFunc(now.Services, func(w ServiceStatus) bool { return v.Namespace == w.Namespace && v.Name == w.Name }) {
			all = append(all, "Service "+v.Namespace+"/"+v.Name)
		}
	}
	for _, kind := range []struct {
		name        string
		before, now []orphan.Object
	}{{"orphan ", before.Orphans, now.Orphans}, {"left behind ", before.LeftPorts, now.LeftPorts}} {
		for _, o := range kind.before {
			if !slices.ContainsFunc(kind.now, func(p orphan.Object) bool { return p.Kind == o.Kind && p.ID == o.ID }) {
				all = append(all, kind.name+o.Kind+" "+o.ID)
			}
		}
	}
	for _, o := range before.Conflicts {
		if !slices.ContainsFunc(now.Conflicts, func(p Conflict) bool {
			return p.Namespace == o.Namespace && p.Name == o.Name && p.Kind == o.Kind && p.ID == o.ID
		}) {
			all = append(all, "conflict of Service "+o.Namespace+"/"+o.Name+" over "+o.Kind+" "+o.ID)
		}
	}
	return all
}

// added returns what is only in the second list.
func added[T comparable](before, now []T) (all []T) {
	for _, v := range now {
		if !slices.Contains(before, v) {
			all = append(all, v)
		}
	}
	return all
}
