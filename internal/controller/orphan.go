// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"slices"
	"time"
)

// object is something in the cloud that bears the mark of this cluster and of one
// Service, and of nobody else.
type object struct {
	objectKey
	serviceUID string
	// name is how people know it: a floating IP's address, say.
	name string
	// inUse says why it cannot be deleted as it is, or "".
	inUse string
}

// objectKey tells an object from all others.
type objectKey struct {
	kind, id string
}

// orphan is an object that no Service will ever let go: its Service does not exist, or
// is none that can have anything in the cloud.
type orphan struct {
	object
	// since is when it was first seen to be one.
	since time.Time
}

// Never is the grace period after which nothing is deleted.
const Never time.Duration = 0

// verdict is what is known of orphans after one look.
type verdict struct {
	orphans []orphan
	// due are those to be deleted now, one of a kind at most.
	due []orphan
}

// judge decides which of the marked objects are orphans and which of these are to
// be deleted now. Owners are the uids of all Services that may have something in the
// cloud; known are the orphans of the look before, and tried is when the deletion of one
// was tried last.
//
// What was an orphan for the whole grace period is due, one object of a kind at a
// time: that which was tried the longest ago. What still has something of its
// Service before it in the order of kinds is not: a floating IP goes after its load
// balancer.
func judge(marked []object, owners map[string]bool, known map[objectKey]time.Time, tried map[objectKey]time.Time,
	kinds []string, now time.Time, grace time.Duration) verdict {
	var v verdict
	left := map[[2]string]bool{} // kind and Service of what is left
	for _, o := range marked {
		if o.serviceUID == "" || owned(o, owners) {
			continue
		}
		since, there := known[o.objectKey]
		if !there {
			since = now
		}
		v.orphans = append(v.orphans, orphan{o, since})
		left[[2]string{o.kind, o.serviceUID}] = true
	}
	slices.SortFunc(v.orphans, func(a, b orphan) int {
		return cmp.Or(tried[a.objectKey].Compare(tried[b.objectKey]), a.since.Compare(b.since), cmp.Compare(a.id, b.id))
	})
	if grace == Never {
		return v
	}
	for i, kind := range kinds {
		next := slices.IndexFunc(v.orphans, func(o orphan) bool {
			waits := slices.ContainsFunc(kinds[:i], func(before string) bool { return left[[2]string{before, o.serviceUID}] })
			return o.kind == kind && o.inUse == "" && !waits && now.Sub(o.since) >= grace
		})
		if next >= 0 {
			v.due = append(v.due, v.orphans[next])
		}
	}
	return v
}
