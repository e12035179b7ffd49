// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"maps"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
)

// Requirements holds what each Service needs of the nodes' security groups, and whether that
// is met. Passes over Services set it, and the Reconciler reads it. It is safe for concurrent
// use.
type Requirements struct {
	mu sync.Mutex
	of map[owner.Key]need
	// changed requests a pass over the groups.
	changed func()
	// leaving is whether a group stays on a node only until pools drop the node, or until it is
	// known which nodes they have.
	leaving bool
	// groups are the uids of the Services that have their own security group, or nil while
	// that is not known.
	groups map[types.UID]bool
}

// need is what one Service needs.
type need struct {
	uid types.UID
	securitygroup.Need
	// met is whether the group has all rules. failed is why an attempt to add them failed, and
	// sure is whether rules are known to be missing.
	met    bool
	failed string
	sure   bool
	// reported is whether the Service's condition says that the need is not met.
	reported bool
	// released is whether the Service has nothing in the cloud but, perhaps, a security group.
	released bool
}

// NewRequirements returns empty Requirements, which call changed when they change. With nil
// no security groups are managed: all needs are met, and nothing is stored.
func NewRequirements(changed func()) *Requirements {
	return &Requirements{of: map[owner.Key]need{}, changed: changed}
}

// Set notes what a Service needs. It does nothing if that has not changed. While Octavia carries out an update, traffic also
// flows to the members that it replaces: what they needed stays allowed.
func (n *Requirements) Set(key owner.Key, uid types.UID, what securitygroup.Need, updating bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before, there := n.of[key]
	if updating && there && before.uid == uid {
		what = what.And(before.Need)
	}
	same := there && before.uid == uid && !before.released && reflect.DeepEqual(before.Need, what)
	if same || n.changed == nil {
		return
	}
	n.of[key] = need{uid: uid, Need: what}
	n.changed()
}

// Forget removes a Service that has nothing in the cloud.
func (n *Requirements) Forget(key owner.Key) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, there := n.of[key]; there {
		delete(n.of, key)
		n.changed()
	}
}

// Release notes that a Service has nothing in the cloud but, perhaps, its own security group.
// It reports whether that is deleted as well, or why it cannot be deleted. A change of the
// result enqueues the Service.
func (n *Requirements) Release(key owner.Key, uid types.UID) (gone bool, why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed == nil {
		return true, ""
	}
	it := n.of[key]
	if it.uid != uid || !it.released {
		it = need{uid: uid, released: true}
		n.of[key] = it
		n.changed()
	}
	return n.groups != nil && !n.groups[uid], it.failed
}

// mayCreate reports whether the Service, which may have been deleted meanwhile, still needs a
// security group of its own. The group is about to be created.
func (n *Requirements) mayCreate(uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, it := range n.of {
		if it.uid == uid && !it.released {
			if n.groups != nil {
				n.groups[uid] = true
			}
			return true
		}
	}
	return false
}

// noteGroups notes which Services have their own security group; nil means that it is not
// known.
func (n *Requirements) noteGroups(groups map[types.UID]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.groups = groups
}

// Passed notes the end of a pass over a Service: a pool may have dropped a node.
func (n *Requirements) Passed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.leaving {
		n.changed()
	}
}

// waitForPools sets whether each pass over a Service requests a pass over the groups.
func (n *Requirements) waitForPools(leaving bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leaving = leaving
}

// Unmet says why the Service's need is not met yet, or "", and whether an attempt failed. A
// change of the result enqueues the Service.
func (n *Requirements) Unmet(key owner.Key, uid types.UID) (why string, failed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	it, there := n.of[key]
	if !there || it.uid != uid || it.met || it.released {
		return "", false
	}
	it.reported = true
	n.of[key] = it
	if it.failed != "" {
		return it.failed, it.sure
	}
	return "the security group of the nodes does not admit all of its traffic yet", false
}

// all returns the needs of all Services.
func (n *Requirements) all() map[owner.Key]need {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.of)
}

// judge notes whether the need is met, or why not, unless the Service needs something else by
// now. It reports whether that is news for the Service.
func (n *Requirements) judge(key owner.Key, was need, met bool, failed string, sure bool) (news bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	is, there := n.of[key]
	if !there || is.uid != was.uid || is.released != was.released || !reflect.DeepEqual(is.Need, was.Need) {
		return false
	}
	if met {
		failed = ""
	}
	news = met && is.reported && !is.met || !met && failed != is.failed
	is.met, is.failed, is.sure, is.reported = met, failed, sure, is.reported && !met
	n.of[key] = is
	return news
}
