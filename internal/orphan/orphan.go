// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package orphan finds the objects in the cloud that were made for Services of this
// cluster and that no Service has any more, and deletes them after a grace period.
//
// It may import annotation, claim, config, diff, lb, metrics, status, target and the
// shells towards the cloud.
package orphan

import (
	"cmp"
	"slices"
	"time"
)

// Object is something in the cloud.
type Object struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Name is how people know it: the address of a floating IP, say.
	Name string `json:"name,omitempty"`
	// ServiceUID is the uid of the one Service of this cluster that it was made for.
	ServiceUID string `json:"serviceUID,omitempty"`
	// InUse says why it cannot be deleted as it is.
	InUse string `json:"inUse,omitempty"`
}

// key identifies an object.
type key struct{ kind, id string }

func (o Object) key() key { return key{o.Kind, o.ID} }

// orphan is an object that no Service will ever release: its Service does not exist, or
// cannot have anything in the cloud.
type orphan struct {
	Object
	// since is when it was first seen to be one.
	since time.Time
}

// Never is the grace period after which nothing is deleted.
const Never time.Duration = 0

// verdict is what is known of orphans after one look.
type verdict struct {
	orphans []orphan
	// due are those to be deleted now, at most one of a kind.
	due []orphan
}

// history is what earlier looks leave for the next one.
type history struct {
	// known is since when an orphan has been one, and tried is when its deletion was tried
	// last.
	known, tried map[key]time.Time
}

// judge decides which of the marked objects are orphans, and which of these are to be
// deleted now.
//
// What was an orphan for the whole grace period is due, one object of a kind at a time:
// the one whose last try is the longest ago. The kinds are in the order in which the
// objects of a Service go, so a floating IP waits for its load balancer.
func (h history) judge(marked []Object, owners owners, kinds []string, now time.Time, grace time.Duration) verdict {
	var v verdict
	left := map[[2]string]bool{} // kind and Service of what is left
	for _, o := range marked {
		if o.ServiceUID == "" || owners.have(o) {
			continue
		}
		since, there := h.known[o.key()]
		if !there {
			since = now
		}
		v.orphans = append(v.orphans, orphan{o, since})
		left[[2]string{o.Kind, o.ServiceUID}] = true
	}
	slices.SortFunc(v.orphans, func(a, b orphan) int {
		return cmp.Or(h.tried[a.key()].Compare(h.tried[b.key()]), a.since.Compare(b.since), cmp.Compare(a.ID, b.ID))
	})
	if grace == Never {
		return v
	}
	for i, kind := range kinds {
		next := slices.IndexFunc(v.orphans, func(o orphan) bool {
			waits := slices.ContainsFunc(kinds[:i], func(before string) bool { return left[[2]string{before, o.ServiceUID}] })
			return o.Kind == kind && o.InUse == "" && !waits && now.Sub(o.since) >= grace
		})
		if next >= 0 {
			v.due = append(v.due, v.orphans[next])
		}
	}
	return v
}
