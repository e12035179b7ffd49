// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package orphan finds the cloud objects that were created for Services of this cluster and
// that no Service uses any more. It deletes them after a grace period.
package orphan

import (
	"cmp"
	"slices"
	"time"
)

// Object is an object in the cloud.
type Object struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Name is for people, such as the address of a floating IP.
	Name string `json:"name,omitempty"`
	// ServiceUID is the uid of the Service of this cluster for which it was created.
	ServiceUID string `json:"serviceUID,omitempty"`
	// Sharers are the Services of this cluster with their names on a shared load balancer, as namespace/name, with commas
	// between them. ServiceUID is "" if the Service for which it was created has left it.
	Sharers string `json:"sharers,omitempty"`
	// InUse says why it cannot be deleted now, or is "".
	InUse string `json:"inUse,omitempty"`
}

// key identifies an object.
type key struct{ kind, id string }

// sharerSeparator separates the names in Object.Sharers.
const sharerSeparator = ", "

func (o Object) key() key { return key{o.Kind, o.ID} }

// Services names the Services that do not use the object any more.
func (o Object) Services() string {
	uid := "Service uid " + o.ServiceUID
	switch {
	case o.Sharers == "":
		return uid
	case o.ServiceUID == "":
		return "Services " + o.Sharers
	}
	return "Services " + o.Sharers + " and " + uid
}

// orphan is an object that no Service will release: its Service does not exist, or cannot have
// cloud objects.
type orphan struct {
	Object
	// since is when it was first seen as an orphan. tried is the last attempt to delete it.
	since, tried time.Time
}

// Never is the grace period after which nothing is deleted.
const Never time.Duration = 0

// judge returns the orphans among the marked objects, and those to delete now. Before are the
// orphans of the last sweep.
//
// An object is due when it was an orphan for the whole grace period. At most one of a kind is
// due: the one with the oldest attempt. The kinds are in the order of deletion of a Service's
// objects, so a floating IP waits for its load balancer.
func judge(marked []Object, owners owners, before map[key]orphan, kinds []kind, now time.Time, grace time.Duration) (orphans, due []orphan) {
	for _, o := range marked {
		if o.ServiceUID == "" && o.Sharers == "" || owners.have(o) {
			continue
		}
		found := orphan{o, now, time.Time{}}
		if b, known := before[o.key()]; known {
			found.since, found.tried = b.since, b.tried
		}
		orphans = append(orphans, found)
	}
	slices.SortFunc(orphans, func(a, b orphan) int {
		return cmp.Or(a.tried.Compare(b.tried), a.since.Compare(b.since), cmp.Compare(a.ID, b.ID))
	})
	if grace == Never {
		return orphans, nil
	}
	for i, kind := range kinds {
		next := slices.IndexFunc(orphans, func(o orphan) bool {
			return o.Kind == kind.name && o.InUse == "" && now.Sub(o.since) >= grace && !hasAny(orphans, o.ServiceUID, kinds[:i])
		})
		if next >= 0 {
			due = append(due, orphans[next])
		}
	}
	return orphans, due
}

// hasAny reports whether the Service has an orphan of one of the kinds.
func hasAny(orphans []orphan, serviceUID string, kinds []kind) bool {
	return serviceUID != "" && slices.ContainsFunc(orphans, func(o orphan) bool {
		return o.ServiceUID == serviceUID && slices.ContainsFunc(kinds, func(k kind) bool { return k.name == o.Kind })
	})
}
