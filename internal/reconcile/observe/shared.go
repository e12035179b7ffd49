// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// findShared returns the load balancer that the Service shares, if not the one with the id on
// the Service: the one that it shared before, or that of its group.
func (s search) findShared(ctx context.Context, id string) (*lb.LoadBalancer, error) {
	if before, err := s.joinedBefore(ctx, id); before != nil || err != nil {
		return before, err
	}
	if decide.NamesIDAndGroup(s.facts) {
		return nil, nil
	}
	for _, other := range decide.LoadBalancersOf(s.facts.Group) {
		if other == id {
			continue // it is deleted
		}
		shared, err := s.shareByID(ctx, other)
		if openstack.Classify(err) == openstack.Gone {
			continue
		}
		return shared, err
	}
	return nil, nil
}

// sharesWithoutJoining reports whether the load balancer that is remembered is another owner's, and the Service has nothing
// on it yet.
func sharesWithoutJoining(f decide.Facts) bool {
	o := f.Record.Cloud.Observed
	return o.Sharer && o.LoadBalancer != nil && !f.Identity().Joined(*o.LoadBalancer)
}

// requestsOther reports whether the Service neither joined the load balancer that is remembered, nor still requests it:
// the Service was refused there, and since then its annotations were changed, or the owner left the group.
func requestsOther(f decide.Facts) bool {
	if !sharesWithoutJoining(f) {
		return false
	}
	o := f.Record.Cloud.Observed
	if f.Owner.Group == "" {
		return f.Owner.Recorded.LoadBalancerID != o.LoadBalancer.ID
	}
	return !slices.Contains(decide.LoadBalancersOf(f.Group), o.LoadBalancer.ID)
}

// joinedBefore returns a load balancer of another owner on which the Service left its name, a pool or a port, although
// the id on the Service is another one or was removed. Usually memory has this load balancer. If memory is empty,
// because a controller has just started, the Service's name in the tags of the load balancer shows it.
func (s search) joinedBefore(ctx context.Context, id string) (*lb.LoadBalancer, error) {
	if l := s.facts.Record.Cloud.Observed.LoadBalancer; l != nil && s.facts.Record.Cloud.Observed.Sharer && l.ID != id && s.owner.Joined(*l) {
		if shared, err := s.shareByID(ctx, l.ID); shared != nil || err != nil && openstack.Classify(err) != openstack.Gone {
			return shared, err
		}
	}
	if s.byTag == nil {
		return nil, nil
	}
	tagged, err := s.byTag(ctx, s.owner.LoadBalancerName())
	if err != nil {
		return nil, err
	}
	for _, l := range tagged {
		if l.ID == id || s.observer.ofAnotherProject(l) || s.owner.Claims(l).Ours {
			continue
		}
		if has, err := s.hasTraces(ctx, l); has || err != nil {
			return &l, err
		}
	}
	return nil, nil
}

// shareByID returns the load balancer if the Service shares it or may share it. It returns nil if the Service is not to
// be served and has left nothing on it. Otherwise the error is of class Foreign.
func (s search) shareByID(ctx context.Context, id string) (*lb.LoadBalancer, error) {
	l, err := s.get(ctx, id)
	switch {
	case openstack.Classify(err) == openstack.Foreign && !s.facts.Owner.Serves:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return s.share(ctx, l)
}

// share is like shareByID, for a load balancer of another owner in this project.
func (s search) share(ctx context.Context, l lb.LoadBalancer) (*lb.LoadBalancer, error) {
	if !s.facts.Owner.Serves {
		has, err := s.hasTraces(ctx, l)
		if !has {
			return nil, err
		}
		return &l, err
	}
	if slices.Contains(l.Tags, s.owner.LoadBalancerName()) {
		if has, err := s.hasPorts(ctx, l); has || err != nil {
			return &l, err
		}
	}
	why, err := s.sharingForbidden(ctx, l)
	if err != nil {
		return nil, err
	}
	if why == "" {
		return &l, nil
	}
	// Another client may have removed the tags of the load balancer while its owner is refused and does not repair
	// them. The Service's own ports there prove that it joined.
	tree, err := s.balancers.Observe(ctx, l)
	switch {
	case err != nil && openstack.Classify(err) != openstack.Gone: // a child may go while it is read; the load balancer is there
		return nil, err
	case err == nil && s.owner.TraceOn(tree) == lb.TraceOfUID:
		return &l, nil
	case l.Name == s.owner.LoadBalancerName() || l.Name == s.owner.LegacyName():
		why = s.owner.Claims(l).Reason + "; " + why
	}
	return nil, s.refusal(l.ID, why)
}

// hasPorts reports whether a load balancer with the Service's name in its tags has ports of this Service, and not only
// of a Service with the same name in another cluster. Listeners of this controller have the Service's uid. Listeners of
// openstack-cloud-controller-manager have no uid; then the address in the Service's status is decisive. A load balancer
// without owner and listeners is deleted by the Service that left last.
func (s search) hasPorts(ctx context.Context, l lb.LoadBalancer) (bool, error) {
	tree, err := s.balancers.Observe(ctx, l)
	if err != nil {
		return false, err
	}
	for _, listener := range tree.Listeners {
		if slices.Contains(listener.Tags, s.owner.ServiceTag()) {
			return true, nil
		}
	}
	if !s.owner.MayUse(l) {
		return false, nil
	}
	if s.owner.Abandoned(l) && len(tree.Listeners) == 0 {
		return true, nil
	}
	return s.publishes(ctx, l)
}

// hasTraces reports whether the Service left anything on a load balancer of another owner: a listener, a pool, or its
// name. The name is added before the first pool, and removed after the last one.
func (s search) hasTraces(ctx context.Context, l lb.LoadBalancer) (bool, error) {
	tree, err := s.balancers.Observe(ctx, l)
	if err != nil {
		return false, err
	}
	switch s.owner.TraceOn(tree) {
	case lb.TraceOfUID:
		return true, nil
	case lb.TraceOfName:
		if s.facts.Owner.Claimed || s.owner.Abandoned(l) && len(tree.Listeners) == 0 {
			return true, nil
		}
	case lb.NoTrace:
		return false, nil
	}
	return s.publishes(ctx, l)
}

// publishes reports whether the Service's status contains an address of the load balancer.
func (s search) publishes(ctx context.Context, l lb.LoadBalancer) (bool, error) {
	floating, err := s.floating.FloatingIPsOn(ctx, l.VIP.PortID)
	return err == nil && publishes(s.facts.Owner, l, floating), err
}

// publishes reports whether the Service's status contains an address of the load balancer.
// Floating are floating IPs that may be attached to it.
func publishes(of claim.Owner, l lb.LoadBalancer, floating []lb.FloatingIP) bool {
	return slices.ContainsFunc(of.Recorded.Ingress, func(i corev1.LoadBalancerIngress) bool {
		if i.Hostname != "" {
			return of.Recorded.LoadBalancerID != ""
		}
		return l.Has(i.IP) || slices.ContainsFunc(floating, func(f lb.FloatingIP) bool {
			return f.PortID == l.VIP.PortID && f.Address == i.IP
		})
	})
}

// sharingForbidden says why the Service must not share the load balancer of another owner, or
// returns "".
func (s search) sharingForbidden(ctx context.Context, l lb.LoadBalancer) (why string, err error) {
	if s.observer.Policy.InServiceSubnet(l.VIP.SubnetID) && s.facts.Owner.AtClusterIP == nil { // otherwise its own ClusterIP is the reason
		return "its VIP is the ClusterIP of another Service", nil
	}
	scope := s.observer.Config.SharedScope
	if scope == config.ShareAny || lb.AllowsSharing(l.Tags, s.facts.Owner.Key.Namespace) {
		return "", nil
	}
	all, err := s.observer.Owners.List(ctx)
	if err != nil {
		return "", err
	}
	users := slices.DeleteFunc(all, func(other claim.Owner) bool { return other.UID == s.facts.Owner.UID || !s.observer.uses(other, l) })
	inNamespace := slices.ContainsFunc(users, func(other claim.Owner) bool { return other.Key.Namespace == s.facts.Owner.Key.Namespace })
	const solution = "%s; to share it, tag it kube-octavia.share=%s in the cloud, or set shared-lb-scope = %s in [LoadBalancer] of cloud.conf"
	switch {
	case len(users) == 0:
		return fmt.Sprintf(solution, "no Service of this cluster uses it", s.facts.Owner.Key.Namespace, config.ShareAny), nil
	case scope == config.ShareInCluster || inNamespace:
		return "", nil
	}
	return fmt.Sprintf(solution, "it belongs to a Service in another namespace", s.facts.Owner.Key.Namespace, config.ShareInCluster), nil
}

// uses reports whether the Service owns the load balancer or shares it, according to its tags.
func (ob *Observer) uses(of claim.Owner, l lb.LoadBalancer) bool {
	return slices.Contains(l.Tags, lb.ClusterTag(ob.Policy.ClusterUID)) &&
		(slices.Contains(l.Tags, of.Identity.ServiceTag()) || slices.Contains(l.Tags, of.Identity.LoadBalancerName()))
}
