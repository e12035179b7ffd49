// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Reread is what has to be read again right before an operation, and then what was read.
type Reread struct {
	// LoadBalancerID is the load balancer to read; with Tree, its children too. If TagsOf is not nil, only the tags of
	// that child are read. MayBeGone means that it is no error if the load balancer is gone.
	LoadBalancerID  string
	Tree, MayBeGone bool
	TagsOf          *diff.SetTags

	// Gone means that the load balancer is gone. Otherwise LoadBalancer or Tags are what was read.
	Gone         bool
	LoadBalancer lb.LoadBalancer
	Tags         []string
}

// NeedsOf returns what has to be read again right before the operation, so that another client has as little time as
// possible in between.
func (f Facts) NeedsOf(op diff.Op) (needs []Reread) {
	l := f.loadBalancer()
	if end, deletes := op.(diff.DeleteLoadBalancer); deletes && !(l != nil && l.ID == end.ID && l.ProvisioningStatus == lb.Active) {
		// Other owners may have ports on a load balancer that was not read in this pass.
		needs = append(needs, Reread{LoadBalancerID: end.ID, Tree: true, MayBeGone: true})
	}
	if l == nil {
		return needs
	}
	if f.tagsMatter(op) {
		tags := Reread{LoadBalancerID: l.ID}
		if of, child := op.(diff.SetTags); child {
			tags.TagsOf = &of
		}
		needs = append(needs, tags)
	}
	if sets, clears := f.changesAccess(op); sets || clears {
		needs = append(needs, Reread{LoadBalancerID: l.ID, Tree: sets})
	}
	return needs
}

// tagsMatter reports whether the tags of an object must not have changed since the plan was made:
//   - Tags are written that were not read in this pass, or that other owners write too. Octavia replaces all tags at
//     once, so a tag that was set meanwhile would be lost.
//   - A load balancer in use gets a floating IP: an internal owner may share it by now. The tags are read before the
//     present floating IP is detached for the new one, so that the owner is not left without an address.
func (f Facts) tagsMatter(op diff.Op) bool {
	l := *f.loadBalancer()
	exposed := exposes(op) && f.FromMemory && l.ProvisioningStatus == lb.Active && !f.Creates() && f.Capabilities.Has(lb.FeatureTags)
	return exposed || setsTags(op) && (f.FromMemory || f.Identity().Sharer || diff.Shared(l, f.Identity()))
}

// changesAccess reports whether the operation changes which mechanism says who may connect, of a load balancer that was
// not read in this pass:
//   - It sets security groups where there are none. Source ranges that another client has set meanwhile would have no
//     effect.
//   - It clears source ranges because there are security groups. If another client has removed the groups, every client
//     could connect.
func (f Facts) changesAccess(op diff.Op) (sets, clears bool) {
	if !f.FromMemory {
		return false, false
	}
	groups := f.loadBalancer().VIPSecurityGroups
	switch op := op.(type) {
	case diff.SetVIPSecurityGroups:
		return len(op.Groups) > 0 && len(groups) == 0, false
	case diff.UpdateListener:
		return false, op.AllowedCIDRs != nil && len(*op.AllowedCIDRs) == 0 && len(groups) > 0
	}
	return false, false
}

// Obstacle returns why the operation must not be carried out, because of what was read again for it, or nil: an error of
// class Conflict or Foreign.
func (f Facts) Obstacle(op diff.Op, now []Reread) error {
	for _, one := range now {
		if err := f.obstacle(op, one); err != nil {
			return err
		}
	}
	return nil
}

func (f Facts) obstacle(op diff.Op, now Reread) error {
	if _, deletes := op.(diff.DeleteLoadBalancer); deletes {
		if now.Gone || !diff.Shared(now.LoadBalancer, f.Identity()) {
			return nil
		}
		return openstack.NewForeign(fmt.Sprintf("delete load balancer %s, which is in %s", now.LoadBalancerID, now.LoadBalancer.ProvisioningStatus),
			"another Service has ports on it; delete these first, or ask the cloud's operator to repair it")
	}
	conflict := func(message string) error {
		return &openstack.Error{Op: op.String(), Class: openstack.Conflict, Message: "another client has changed " + message}
	}
	known := *f.loadBalancer()
	if now.TagsOf != nil {
		if sameTags(now.Tags, tagsOf(known, now.TagsOf.ID)) {
			return nil
		}
		return conflict("the tags meanwhile")
	}
	if f.tagsMatter(op) && !sameTags(now.LoadBalancer.Tags, known.Tags) {
		return conflict("the tags meanwhile")
	}
	sets, clears := f.changesAccess(op)
	if (sets || clears) && !lb.SameVIPGroups(now.LoadBalancer.VIPSecurityGroups, known.VIPSecurityGroups) || sets && now.Tree && now.LoadBalancer.RestrictsSourcesOfOthers(f.Identity()) {
		return conflict("meanwhile who may connect")
	}
	return nil
}

// sameTags reports whether both have the same tags.
func sameTags(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// exposes reports whether the operation makes a load balancer reachable from outside, or is the first of two operations
// that do so together.
func exposes(op diff.Op) bool {
	switch op := op.(type) {
	case diff.CreateFloatingIP:
		return true
	case diff.AssociateFloatingIP:
		return op.Former == nil
	case diff.DisassociateFloatingIP:
		return op.For != ""
	}
	return false
}

// setsTags reports whether the operation sets the tags of an existing object.
func setsTags(op diff.Op) bool {
	update, ok := op.(diff.UpdateLoadBalancer)
	return is[diff.SetTags](op) || is[diff.SetVIPSecurityGroups](op) || ok && update.Tags != nil
}

// tagsOf returns the tags of a listener or a pool of the load balancer.
func tagsOf(l lb.LoadBalancer, id string) []string {
	for _, listener := range l.Listeners {
		switch {
		case listener.ID == id:
			return listener.Tags
		case listener.Pool != nil && listener.Pool.ID == id:
			return listener.Pool.Tags
		}
	}
	for _, p := range l.DetachedPools {
		if p.ID == id {
			return p.Tags
		}
	}
	return nil
}
