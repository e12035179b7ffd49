// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"maps"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/securitygroup"
)

// Requirements is what the Services need of the nodes' security group, as the last pass over
// each found out, and what came of it. It stands between the passes over Services, which set
// it, and the reconciler of the group, which reads it. It is safe for concurrent use.
type Requirements struct {
	mu sync.Mutex
	of map[types.NamespacedName]need
	// changed asks for the group to be looked at.
	changed func()
	// leaving is whether the group waits for pools to drop a node.
	leaving bool
	// groups are the uids of the Services that have a security group of their own, or nil while
	// that is not known.
	groups map[types.UID]bool
}

// need is that of one Service.
type need struct {
	uid types.UID
	securitygroup.Need
	// opened is whether the group was seen to have all of it, failed why not, once that was
	// tried, and sure whether it was seen that it has not.
	opened bool
	failed string
	sure   bool
	// told is whether the Service's users were told that it was not.
	told bool
	// released is whether the Service has nothing in the cloud any more but, perhaps, a
	// security group.
	released bool
}

// NewRequirements returns empty ones. Changed is called when they change.
func NewRequirements(changed func()) *Requirements {
	return &Requirements{of: map[types.NamespacedName]need{}, changed: changed}
}

// Set notes what a Service needs. The same as before changes nothing.
func (n *Requirements) Set(key types.NamespacedName, uid types.UID, what securitygroup.Need) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before, there := n.of[key]
	if there && before.uid == uid && !before.released && reflect.DeepEqual(before.Need, what) {
		return
	}
	n.of[key] = need{uid: uid, Need: what}
	n.changed()
}

// Forget forgets a Service that has nothing in the cloud any more.
func (n *Requirements) Forget(key types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, there := n.of[key]; there {
		delete(n.of, key)
		n.changed()
	}
}

// Release says that a Service has nothing in the cloud any more but, perhaps, a security
// group of its own. It reports whether that has gone, too, and why it has not. The Service is
// brought back when there is something new about it.
func (n *Requirements) Release(key types.NamespacedName, uid types.UID) (gone bool, why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	it := n.of[key]
	if it.uid != uid || !it.released {
		it = need{uid: uid, released: true}
		n.of[key] = it
		n.changed()
	}
	return n.groups != nil && !n.groups[uid], it.failed
}

// mayMake reports whether the Service is still to have a security group of its own, which is
// about to be made.
func (n *Requirements) mayMake(key types.NamespacedName, uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	it, there := n.of[key]
	if !there || it.uid != uid || it.released {
		return false
	}
	if n.groups != nil {
		n.groups[uid] = true
	}
	return true
}

// noteGroups notes which Services have a security group of their own; nil is for when that
// is not known.
func (n *Requirements) noteGroups(groups map[types.UID]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.groups = groups
}

// Passed says that a pass over a Service has ended: a pool may have dropped a node.
func (n *Requirements) Passed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.leaving {
		n.changed()
	}
}

// waitForPools asks for a look at the group after each pass, or no more.
func (n *Requirements) waitForPools(leaving bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leaving = leaving
}

// Unmet says what of the Service's need is not there yet, or "", and whether that is
// since it could not be done. The Service is brought back when that changes.
func (n *Requirements) Unmet(key types.NamespacedName, uid types.UID) (why string, failed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	it, there := n.of[key]
	if !there || it.uid != uid || it.opened || it.released {
		return "", false
	}
	it.told = true
	n.of[key] = it
	if it.failed != "" {
		return it.failed, it.sure
	}
	return "the security group of the nodes does not let all of its traffic in yet", false
}

// all returns the needs of all Services.
func (n *Requirements) all() map[types.NamespacedName]need {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.of)
}

// judge notes of a need, if it is still that of the Service, whether the group has all of
// it, or why it cannot. It reports whether the Service's users are to be told something else
// than before.
func (n *Requirements) judge(key types.NamespacedName, was need, opened bool, failed string, sure bool) (news bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	is, there := n.of[key]
	if !there || is.uid != was.uid || is.released != was.released || !reflect.DeepEqual(is.Need, was.Need) {
		return false
	}
	if opened {
		failed = ""
	}
	news = opened && is.told && !is.opened || !opened && failed != is.failed
	is.opened, is.failed, is.sure = opened, failed, sure
	is.told = is.told && !opened
	n.of[key] = is
	return news
}
