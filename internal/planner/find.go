// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// read reads what the Service has in the cloud. A load balancer that is not
// ACTIVE comes without its tree: it cannot be changed, and will be read again.
// Before is what was known of the Service.
func (p *Planner) read(ctx context.Context, service *corev1.Service, owner lb.Owner, before remembered) (lb.Observed, error) {
	observed, err := p.find(ctx, service, owner, before)
	if err != nil {
		return lb.Observed{}, err
	}
	head := observed.LoadBalancer
	if head == nil || head.ProvisioningStatus == lb.PendingDelete {
		published, err := p.publishedFloatingIP(ctx, service)
		observed.FloatingIPs = join(observed.FloatingIPs, published)
		return observed, err
	}
	if head.ProvisioningStatus == lb.Active {
		tree, err := p.Octavia.Observe(ctx, *head)
		if err != nil {
			return observed, err
		}
		observed.LoadBalancer = &tree
	}
	if old := observed.Predecessor; old != nil && old.ProvisioningStatus == lb.Active {
		tree, err := p.Octavia.Observe(ctx, *old)
		if err != nil {
			return observed, err
		}
		observed.Predecessor = &tree
	}
	if head.VIP.PortID != "" {
		on, err := p.Neutron.FloatingIPsOn(ctx, head.VIP.PortID)
		if err != nil {
			return observed, err
		}
		observed.FloatingIPs = join(observed.FloatingIPs, on)
	}
	if len(observed.FloatingIPs) == 0 && status.Published(service) != head.VIP.Address {
		// The load balancer took another one's place, and its address not yet.
		observed.FloatingIPs, err = p.publishedFloatingIP(ctx, service)
	}
	return observed, err
}

// join returns a with those of b that are not among them.
func join(a, b []lb.FloatingIP) []lb.FloatingIP {
	for _, f := range b {
		if !slices.ContainsFunc(a, func(o lb.FloatingIP) bool { return o.ID == f.ID }) {
			a = append(a, f)
		}
	}
	return a
}

// publishedFloatingIP finds the floating IP of a load balancer that vanished,
// by the address that was published of it.
func (p *Planner) publishedFloatingIP(ctx context.Context, service *corev1.Service) ([]lb.FloatingIP, error) {
	address := status.Published(service)
	if address == "" {
		return nil, nil
	}
	return p.Neutron.FloatingIPsWithAddress(ctx, address)
}

// find returns the Service's load balancer without its tree, if there is one, and
// what there is of further ones of the same Service, with the floating IPs that
// lead to any of several. The lookup by name finds what this project and
// openstack-cloud-controller-manager make, also what a create made whose answer
// was lost; the id in the annotation, and others, find what was renamed since.
func (p *Planner) find(ctx context.Context, service *corev1.Service, owner lb.Owner, before remembered) (lb.Observed, error) {
	ours, err := p.named(ctx, owner.LoadBalancerName(), service, owner, before)
	if err == nil {
		ours, err = p.withOthers(ctx, ours, service, owner, before)
	}
	if err != nil {
		return lb.Observed{}, err
	}
	id := strings.TrimSpace(service.Annotations[annotation.LoadBalancerID])
	if p.askedTwice(service) {
		id = "" // it is refused for that
	}
	if id != "" && !contains(ours, id) {
		found, host, err := p.annotated(ctx, id, service, owner, before, len(ours) > 0)
		if host != nil || err != nil {
			return lb.Observed{LoadBalancer: host, Sharer: host != nil}, err
		}
		ours = append(ours, found...)
	}
	if len(ours) == 0 {
		if host, err := p.shared(ctx, id, service, owner, before); host != nil || err != nil {
			return lb.Observed{LoadBalancer: host, Sharer: host != nil}, err
		}
		// A Service that publishes no address never had one with the name of long ago.
		if status.Published(service) != "" {
			if ours, err = p.named(ctx, owner.LegacyName(), service, owner, before); err != nil {
				return lb.Observed{}, err
			}
		}
	}
	var floating []lb.FloatingIP
	if len(ours) > 1 {
		for _, l := range ours {
			on, err := p.Neutron.FloatingIPsOn(ctx, l.VIP.PortID)
			if err != nil {
				return lb.Observed{}, err
			}
			floating = append(floating, on...)
		}
	}
	return choose(ours, floating, id, owner), nil
}

func contains(all []lb.LoadBalancer, id string) bool {
	return slices.ContainsFunc(all, func(l lb.LoadBalancer) bool { return l.ID == id })
}

// named returns the load balancers of the name that are the Service's.
func (p *Planner) named(ctx context.Context, name string, service *corev1.Service, owner lb.Owner, before remembered) (ours []lb.LoadBalancer, err error) {
	all, err := p.Octavia.FindByName(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if is, err := p.isOurs(ctx, service, owner, l, before); err != nil {
			return nil, err
		} else if is {
			ours = append(ours, l)
		}
	}
	return ours, nil
}

// withOthers adds load balancers that were seen to bear the Service's mark.
func (p *Planner) withOthers(ctx context.Context, ours []lb.LoadBalancer, service *corev1.Service, owner lb.Owner, before remembered) ([]lb.LoadBalancer, error) {
	for _, id := range before.others {
		if contains(ours, id) {
			continue
		}
		found, err := p.noted(ctx, id, service, owner, before)
		if err != nil && openstack.Classify(err) != openstack.Foreign {
			return nil, err
		}
		ours = append(ours, found...)
	}
	return ours, nil
}

// annotated returns the load balancer with the id that is noted on the Service, if it is the
// Service's, or as host if it is one that the Service shares. Known is whether the Service's
// own is known without it: then an id of another owner's is passed over.
func (p *Planner) annotated(ctx context.Context, id string, service *corev1.Service, owner lb.Owner, before remembered, known bool) (ours []lb.LoadBalancer, host *lb.LoadBalancer, err error) {
	ours, err = p.noted(ctx, id, service, owner, before)
	var perhaps *unproven
	switch {
	case err == nil:
		return ours, nil, nil
	case openstack.Classify(err) != openstack.Foreign:
		return nil, nil, err
	case known:
		return nil, nil, nil
	case errors.As(err, &perhaps):
		return nil, nil, err // it may well be what the Service is to be released from
	}
	host, sharing := p.host(ctx, service, owner, id)
	if host == nil && (sharing != nil || p.Serves(service)) {
		return nil, nil, cmp.Or(sharing, err)
	}
	return nil, host, nil
}

// shared returns the load balancer that the Service shares although none with the noted id
// is there for it: the one that it used before, or that of its group.
func (p *Planner) shared(ctx context.Context, id string, service *corev1.Service, owner lb.Owner, before remembered) (*lb.LoadBalancer, error) {
	if before.guest && before.id != id {
		// The id was taken off the Service, or changed: what it uses it goes on using.
		if host, err := p.host(ctx, service, owner, before.id); host != nil || err != nil && openstack.Classify(err) != openstack.Gone {
			return host, err
		}
	}
	if p.askedTwice(service) {
		return nil, nil
	}
	return p.groupHost(ctx, service, owner, id)
}

// remembered is what a controller knew of a Service before it looks: the id of the load
// balancer that was found to be the Service's, and those of others that may be, too.
type remembered struct {
	id     string
	guest  bool // whether that was somebody else's, which the Service uses
	others []string
}

// unproven is the error of a load balancer that has the name and the description that a
// Service would give it, and bears no mark of anybody.
type unproven struct{ error }

// Unwrap gives the error that it is.
func (u *unproven) Unwrap() error { return u.error }

// isOurs reports whether the load balancer is the Service's. Where its own marks do not say
// it, its floating IPs may; and those of its listeners, if somebody took the load
// balancer's away.
func (p *Planner) isOurs(ctx context.Context, service *corev1.Service, owner lb.Owner, l lb.LoadBalancer, before remembered) (bool, error) {
	unmarked := owner.Claims(l).Adopted && p.Capabilities.Has(lb.FeatureTags)
	if unmarked && l.ID == before.id {
		return true, nil // it was found to be so before the status was cleared, say
	}
	var floating []lb.FloatingIP
	if unmarked && l.VIP.PortID != "" {
		var err error
		if floating, err = p.Neutron.FloatingIPsOn(ctx, l.VIP.PortID); err != nil {
			return false, err
		}
	}
	ours := p.claims(service, owner, l, floating)
	if ours || !unmarked || !p.Claimed(service) {
		return ours, nil
	}
	tree, err := p.Octavia.Observe(ctx, l)
	if err != nil {
		return false, err
	}
	return !diff.Shared(tree, owner) && slices.ContainsFunc(tree.Listeners, func(l lb.Listener) bool {
		return slices.Contains(l.Tags, owner.ServiceTag())
	}), nil
}

// claims reports whether the load balancer is the Service's; floating are floating IPs of
// which some may lead to it. One that bears no uid, which
// openstack-cloud-controller-manager makes, has to be known from the Service as well:
// another cluster's may have the same name and description. An id on the Service has to be
// its id, and the Service's status has to publish an address of it: annotations are copied
// from cluster to cluster, a status is not. Where there are no tags there are no other
// marks than name and description. A role that sees other projects gives no right to them.
func (p *Planner) claims(service *corev1.Service, owner lb.Owner, l lb.LoadBalancer, floating []lb.FloatingIP) bool {
	if l.ProjectID != "" && l.ProjectID != p.Neutron.ProjectID() {
		return false
	}
	claim := owner.Claims(l)
	if !claim.Ours || !claim.Adopted || !p.Capabilities.Has(lb.FeatureTags) {
		return claim.Ours
	}
	id := service.Annotations[annotation.LoadBalancerID]
	if id != "" && id != l.ID {
		return false
	}
	if id == "" && service.Annotations[annotation.Managed] != "" && service.Annotations[annotation.LoadBalancerAddress] != "" {
		return false // it had one of ours, which is gone
	}
	return publishes(service, l, floating)
}

// noted returns the load balancer with the id in the Service's annotation, if
// it still exists. One that is not the Service's is an error; whether the Service
// may share it is for host to say.
func (p *Planner) noted(ctx context.Context, id string, service *corev1.Service, owner lb.Owner, before remembered) ([]lb.LoadBalancer, error) {
	if !openstack.IsID(id) {
		return nil, openstack.NewForeign("use the load balancer of annotation "+annotation.LoadBalancerID,
			"what stands there is no id; remove the annotation to get a load balancer of the Service's own")
	}
	l, err := p.Octavia.Get(ctx, id)
	var cloud *openstack.Error
	reason := "it belongs to another project"
	switch {
	case openstack.Classify(err) == openstack.Gone:
		return nil, nil
	case err == nil:
		is, err := p.isOurs(ctx, service, owner, l, before)
		if is || err != nil {
			return []lb.LoadBalancer{l}, err
		}
		reason = cmp.Or(owner.Claims(l).Reason, fmt.Sprintf("the Service publishes no address of it, and it bears no tag %s: set that if it is this Service's", owner.ServiceTag()))
	case !errors.As(err, &cloud) || cloud.Status != http.StatusForbidden:
		return nil, err
	}
	foreign := openstack.NewForeign(fmt.Sprintf("use load balancer %s of annotation %s", id, annotation.LoadBalancerID),
		reason+"; remove the annotation to get a load balancer of the Service's own")
	if err == nil && owner.Claims(l).Adopted {
		return nil, &unproven{foreign}
	}
	return nil, foreign
}
