// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// search looks for what a Service has in the cloud.
type search struct {
	observer *Observer
	// facts hold the Service, its group, and what was remembered of the cloud before the search.
	facts decide.Facts
	owner lb.Owner
	// listed are the load balancers with the Service's name. They exist, even if a read of one answers 404.
	listed []lb.LoadBalancer
	// balancers and floating read the cloud, or show what the survey has read.
	balancers balancerReader
	floating  floatingReader
	// byTag finds load balancers by a tag. It is nil unless the Service may have a load balancer that neither its name
	// nor its id shows.
	byTag func(ctx context.Context, tag string) ([]lb.LoadBalancer, error)
}

type balancerReader interface {
	FindByName(ctx context.Context, name string) ([]lb.LoadBalancer, error)
	Get(ctx context.Context, id string) (lb.LoadBalancer, error)
	Observe(ctx context.Context, l lb.LoadBalancer) (lb.LoadBalancer, error)
}

type floatingReader interface {
	FloatingIPsOn(ctx context.Context, portID string) ([]lb.FloatingIP, error)
	FloatingIPsWithAddress(ctx context.Context, address string) ([]lb.FloatingIP, error)
}

// searchFor returns the search for what the Service has in the cloud.
func (ob *Observer) searchFor(f decide.Facts) search {
	return search{observer: ob, facts: f, owner: f.Identity(), balancers: ob.Octavia, floating: ob.Neutron}
}

// read returns what the Service has in the cloud. Only load balancers that are ACTIVE are
// read with their children: others cannot be changed, and are read again later.
func (s search) read(ctx context.Context) (lb.Observed, error) {
	o, err := s.find(ctx)
	if err != nil {
		return lb.Observed{}, err
	}
	l := o.LoadBalancer
	if l == nil || l.ProvisioningStatus == lb.PendingDelete {
		published, err := s.publishedFloatingIP(ctx)
		o.FloatingIPs = join(o.FloatingIPs, published)
		return o, err
	}
	o.LoadBalancer, err = s.withChildren(ctx, l)
	if err != nil {
		return o, err
	}
	o.Predecessor, err = s.withChildren(ctx, o.Predecessor)
	if err != nil {
		return o, err
	}
	if l.VIP.PortID != "" {
		attached, err := s.floating.FloatingIPsOn(ctx, l.VIP.PortID)
		if err != nil {
			return o, err
		}
		o.FloatingIPs = join(o.FloatingIPs, attached)
	}
	if address := s.facts.Owner.Published(); !l.Has(address) && !slices.ContainsFunc(o.FloatingIPs, func(f lb.FloatingIP) bool { return f.Address == address }) {
		// Either a replacement does not have the address of the old load balancer yet, or the floating IP was detached
		// for another one.
		published, err := s.publishedFloatingIP(ctx)
		o.FloatingIPs = join(o.FloatingIPs, published)
		return o, err
	}
	return o, nil
}

func (s search) withChildren(ctx context.Context, l *lb.LoadBalancer) (*lb.LoadBalancer, error) {
	if l == nil || l.ProvisioningStatus != lb.Active {
		return l, nil
	}
	tree, err := s.balancers.Observe(ctx, *l)
	return &tree, err
}

// join returns all floating IPs of a and b, each once.
func join(a, b []lb.FloatingIP) []lb.FloatingIP {
	for _, f := range b {
		if !slices.ContainsFunc(a, func(o lb.FloatingIP) bool { return o.ID == f.ID }) {
			a = append(a, f)
		}
	}
	return a
}

// publishedFloatingIP returns the floating IP with the address in the Service's status.
func (s search) publishedFloatingIP(ctx context.Context) ([]lb.FloatingIP, error) {
	address := s.facts.Owner.Published()
	if address == "" {
		return nil, nil
	}
	found, err := s.floating.FloatingIPsWithAddress(ctx, address)
	found = slices.Clone(found) // simultaneous readers get the same slice
	for i, f := range found {
		if f.Description == lb.KuryrFloatingIP && f.PortID == "" {
			found[i].KuryrVIP = s.owner.ClusterIP // its load balancer is gone
		}
	}
	return found, err
}

// find returns the Service's load balancers without children. The name finds those that this
// project and openstack-cloud-controller-manager create, even if the answer to the create was
// lost. The id on the Service, and remembered ids, find renamed ones. If there are several,
// their floating IPs are returned too.
func (s search) find(ctx context.Context) (lb.Observed, error) {
	own, listed, err := s.named(ctx, s.owner.LoadBalancerName())
	s.listed = listed
	if err == nil {
		own, err = s.withRemembered(ctx, own)
	}
	if err != nil {
		return lb.Observed{}, err
	}
	id := s.facts.Owner.Recorded.LoadBalancerID
	if decide.NamesIDAndGroup(s.facts) {
		id = "" // the Service is refused for that
	}
	var copied string
	if id != "" && !contains(own, id) {
		found, shared, requested, err := s.annotated(ctx, id, len(own) > 0)
		if shared != nil && !s.owner.Joined(*shared) {
			// The id was changed: the Service is not moved while it has ports elsewhere.
			if before, err := s.joinedBefore(ctx, id); before != nil || err != nil {
				return lb.Observed{LoadBalancer: before, Sharer: before != nil}, err
			}
		}
		if shared != nil || err != nil {
			return lb.Observed{LoadBalancer: shared, Sharer: shared != nil}, err
		}
		own = append(own, found...)
		if !requested {
			id, copied = "", id
		}
	}
	if len(own) == 0 && (!s.facts.Owner.Serves || hasAddressWithoutID(s.facts.Owner)) {
		own, err = s.tagged(ctx)
		if err != nil {
			return lb.Observed{}, err
		}
	}
	if len(own) == 0 {
		if shared, err := s.findShared(ctx, id); shared != nil || err != nil {
			return lb.Observed{LoadBalancer: shared, Sharer: shared != nil, CopiedID: copied}, err
		}
		// Only a Service with an address can have a load balancer with the legacy name.
		if s.facts.Owner.Published() != "" {
			own, _, err = s.named(ctx, s.owner.LegacyName())
			if err != nil {
				return lb.Observed{}, err
			}
		}
		if len(own) == 0 && s.facts.Owner.FromKuryr {
			own, _, err = s.named(ctx, s.owner.KuryrName())
			if err != nil {
				return lb.Observed{}, err
			}
		}
	}
	var floating []lb.FloatingIP
	if len(own) > 1 {
		for _, l := range own {
			attached, err := s.floating.FloatingIPsOn(ctx, l.VIP.PortID)
			if err != nil {
				return lb.Observed{}, err
			}
			floating = append(floating, attached...)
		}
	}
	o := decide.Choose(own, floating, id, s.owner)
	o.CopiedID = copied
	return o, nil
}

func contains(all []lb.LoadBalancer, id string) bool {
	return slices.ContainsFunc(all, func(l lb.LoadBalancer) bool { return l.ID == id })
}

// named returns the load balancers with the name, and those of them that are the Service's own.
func (s search) named(ctx context.Context, name string) (own, all []lb.LoadBalancer, err error) {
	all, err = s.balancers.FindByName(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range all {
		if owns, err := s.owns(ctx, l); err != nil {
			return nil, nil, err
		} else if owns {
			own = append(own, l)
		}
	}
	for _, l := range all {
		// The tag of a replacement shows which Service owns the replaced load balancer, even if another client has
		// removed the tags of the replaced one.
		replaced := slices.ContainsFunc(own, func(o lb.LoadBalancer) bool { return lb.Replaces(o.Tags) == l.ID })
		if replaced && !contains(own, l.ID) && s.owner.Claims(l).Adopted {
			own = append(own, l)
		}
	}
	return own, all, nil
}

// hasAddressWithoutID reports whether a Service publishes an address, but has no id of a load balancer: usually another
// client has removed the id.
func hasAddressWithoutID(of claim.Owner) bool {
	published := of.Published() != "" || len(of.Recorded.Ingress) > 0
	return published && of.Recorded.LoadBalancerID == ""
}

// tagged returns the Service's own load balancers that have its uid in the tags: another client may have renamed one,
// and removed the id from the Service.
func (s search) tagged(ctx context.Context) ([]lb.LoadBalancer, error) {
	if s.byTag == nil {
		return nil, nil
	}
	all, err := s.byTag(ctx, s.owner.ServiceTag())
	if err != nil {
		return nil, err
	}
	var own []lb.LoadBalancer
	for _, l := range all {
		owns, err := s.owns(ctx, l)
		if err != nil {
			return nil, err
		}
		if owns {
			own = append(own, l)
		}
	}
	return own, nil
}

// HasTagged reports whether a load balancer has the name of the Service and its uid in the tags.
func (ob *Observer) HasTagged(ctx context.Context, f decide.Facts) (bool, error) {
	owner := f.Identity()
	all, err := ob.Octavia.FindByName(ctx, owner.LoadBalancerName())
	return slices.ContainsFunc(all, func(l lb.LoadBalancer) bool {
		return !ob.ofAnotherProject(l) && slices.Contains(l.Tags, owner.ServiceTag()) && slices.Contains(l.Tags, lb.ClusterTag(ob.Policy.ClusterUID))
	}), err
}

// withRemembered adds the Service's own load balancers that a sweep has found by their tags.
func (s search) withRemembered(ctx context.Context, own []lb.LoadBalancer) ([]lb.LoadBalancer, error) {
	for _, id := range s.facts.Record.Cloud.Others {
		if contains(own, id) {
			continue
		}
		l, owns, err := s.getOwned(ctx, id)
		switch class := openstack.Classify(err); {
		case owns:
			own = append(own, l)
		case err != nil && class != openstack.Gone && class != openstack.Foreign:
			return nil, err
		}
	}
	return own, nil
}

// annotated returns the load balancer with the id on the Service: as own, or as shared if it has another owner. If the
// Service has another load balancer of its own (hasOwn), annotated returns no shared one. Requested is false if the id
// was copied from another Service.
func (s search) annotated(ctx context.Context, id string, hasOwn bool) (own []lb.LoadBalancer, shared *lb.LoadBalancer, requested bool, err error) {
	l, owns, err := s.getOwned(ctx, id)
	switch class := openstack.Classify(err); {
	case owns:
		return []lb.LoadBalancer{l}, nil, true, err
	case (err == nil || class == openstack.Foreign || class == openstack.Gone && !contains(s.listed, id)) && s.copied(l):
		return nil, nil, false, nil
	case class == openstack.Gone && !contains(s.listed, id), class == openstack.Foreign && (hasOwn || !s.facts.Owner.Serves && !s.observer.ofAnotherProject(l)):
		return nil, nil, true, nil
	case err != nil:
		return nil, nil, true, err
	case hasOwn:
		return nil, nil, true, nil
	case s.owner.Claims(l).Adopted:
		// Possibly the Service's own: do not release the Service without it.
		return nil, nil, true, s.refusal(id, fmt.Sprintf("the Service publishes no address of it, and it has no tag %s: add the tag if it belongs to this Service", s.owner.ServiceTag()))
	}
	shared, err = s.share(ctx, l)
	return nil, shared, true, err
}

// copied reports whether the Service has the id of the load balancer because it was copied from another Service, with
// the annotations that a controller wrote. If that Service only shared the load balancer, a user requested that, and
// requests it for the copy, too. If the load balancer belongs to another project or is gone, l is empty.
func (s search) copied(l lb.LoadBalancer) bool {
	original, uid := s.facts.Owner.Original, lb.ServiceUIDOf(l.Tags)
	switch {
	case !s.facts.Owner.Copied:
		return false
	case original == "" && !s.facts.Owner.Serves:
		return false // its status may be empty because its type was changed: do not release it without the load balancer
	case annotation.Value(s.facts.Owner.Spec.Annotations, annotation.LoadBalancerGroup) != "":
		return true // the user requests the group, and not the id
	case original != "" && uid != "":
		return original == uid
	case slices.Contains(l.Tags, s.owner.LoadBalancerName()) && l.Name != s.owner.LoadBalancerName():
		return false // openstack-cloud-controller-manager let the Service itself share it
	}
	return l.ID == "" || lb.MadeForAService(l)
}

// getOwned reads a load balancer, and reports whether it is the Service's own.
func (s search) getOwned(ctx context.Context, id string) (l lb.LoadBalancer, owns bool, err error) {
	l, err = s.get(ctx, id)
	if err == nil {
		owns, err = s.owns(ctx, l)
	}
	return l, owns, err
}

// get reads a load balancer without its children. The error is of class Foreign if the id is
// invalid or belongs to another project.
func (s search) get(ctx context.Context, id string) (lb.LoadBalancer, error) {
	if !openstack.IsID(id) {
		return lb.LoadBalancer{}, s.refusal(id, "this is not an id")
	}
	l, err := s.balancers.Get(ctx, id)
	var cloud *openstack.Error
	forbidden := errors.As(err, &cloud) && cloud.Status == http.StatusForbidden
	if forbidden || err == nil && s.observer.ofAnotherProject(l) {
		return l, s.refusal(id, "it belongs to another project")
	}
	return l, err
}

// ofAnotherProject reports whether the load balancer belongs to another project: some roles
// can read those too.
func (ob *Observer) ofAnotherProject(l lb.LoadBalancer) bool {
	return l.ProjectID != "" && l.ProjectID != ob.Neutron.ProjectID()
}

// refusal is the error for a load balancer that the Service must not use.
func (s search) refusal(id, why string) error {
	source, key := "annotation "+annotation.LoadBalancerID, annotation.LoadBalancerID
	if group := annotation.Value(s.facts.Owner.Spec.Annotations, annotation.LoadBalancerGroup); group != "" {
		source, key = fmt.Sprintf("group %q", group), s.facts.Owner.Spec.Key(annotation.LoadBalancerGroup)
	}
	return openstack.NewForeign(fmt.Sprintf("use load balancer %s of %s", id, source),
		fmt.Sprintf("%s; remove annotation %s to get a separate load balancer", why, key))
}

// owns reports whether the load balancer is the Service's own. If the tags of the load balancer do not show that, its
// floating IPs may. If another client has removed the tags of the load balancer, the tags of its listeners may.
func (s search) owns(ctx context.Context, l lb.LoadBalancer) (bool, error) {
	untagged := s.owner.Claims(l).Adopted && s.observer.Capabilities.Has(lb.FeatureTags)
	if before := s.facts.Record.Cloud.Observed.LoadBalancer; untagged && before != nil && l.ID == before.ID {
		return true, nil // it was the Service's own before, even if the status was cleared since
	}
	var floating []lb.FloatingIP
	if untagged && l.VIP.PortID != "" {
		var err error
		floating, err = s.floating.FloatingIPsOn(ctx, l.VIP.PortID)
		if err != nil {
			return false, err
		}
	}
	owns := s.observer.Owns(s.facts.Owner, l, floating)
	if owns || !untagged || !s.facts.Owner.Claimed {
		return owns, nil
	}
	tree, err := s.balancers.Observe(ctx, l)
	if err != nil {
		return false, err
	}
	return !diff.Shared(tree, s.owner) && slices.ContainsFunc(tree.Listeners, func(l lb.Listener) bool {
		return slices.Contains(l.Tags, s.owner.ServiceTag())
	}), nil
}

// Owns reports whether the load balancer is the Service's own, according to its tags or else its name and description.
// Floating are floating IPs that may be attached to it. Octavia may support tags although the load balancer has no uid,
// because openstack-cloud-controller-manager created it. Then another cluster may use the same name and description. So
// in that case the id on the Service must not be another id, and the status must contain an address of the load
// balancer: users copy annotations to another cluster, but not a status. Instead of the address in the status, it is
// sufficient that the load balancer is at the ClusterIP.
func (ob *Observer) Owns(of claim.Owner, l lb.LoadBalancer, floating []lb.FloatingIP) bool {
	if ob.ofAnotherProject(l) {
		return false
	}
	verdict := of.Identity.Claims(l)
	if !verdict.Ours || !verdict.Adopted || !ob.Capabilities.Has(lb.FeatureTags) {
		return verdict.Ours
	}
	id := of.Recorded.LoadBalancerID
	if id != "" && id != l.ID {
		return false
	}
	if id == "" && of.Recorded.Mark != "" && of.Recorded.Address != "" {
		return false // the Service had a load balancer of this controller, which is deleted
	}
	return of.Identity.MadeByKuryr(l) || publishes(of, l, floating)
}

// Shares reports whether the Service has ports on the load balancer of another owner. Some of the floating IPs may be
// attached to it.
func (ob *Observer) Shares(of claim.Owner, l lb.LoadBalancer, floating []lb.FloatingIP) bool {
	return ob.uses(of, l) || of.Identity.MayUse(l) && publishes(of, l, floating)
}
