// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

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
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// Observe reads what the Service has in the cloud. A load balancer that is not
// ACTIVE comes without its tree: it cannot be changed, and will be read again.
func (p *Planner) Observe(ctx context.Context, service *corev1.Service, owner lb.Owner) (lb.Observed, error) {
	var observed lb.Observed
	head, duplicates, unsettled, err := p.find(ctx, service, owner)
	if err != nil {
		return observed, err
	}
	observed.Duplicates, observed.Unsettled = duplicates, unsettled
	if head == nil || head.ProvisioningStatus == lb.PendingDelete {
		observed.LoadBalancer = head
		observed.FloatingIPs, err = p.publishedFloatingIP(ctx, service)
		return observed, err
	}
	if head.ProvisioningStatus == lb.Active {
		tree, err := p.Octavia.Observe(ctx, *head)
		if err != nil {
			return observed, err
		}
		head = &tree
	}
	observed.LoadBalancer = head
	if head.VIP.PortID != "" {
		observed.FloatingIPs, err = p.Neutron.FloatingIPsOn(ctx, head.VIP.PortID)
	}
	return observed, err
}

// publishedFloatingIP finds the floating IP of a load balancer that vanished,
// by the address that was published of it.
func (p *Planner) publishedFloatingIP(ctx context.Context, service *corev1.Service) ([]lb.FloatingIP, error) {
	address := service.Annotations[annotation.LoadBalancerAddress]
	if address == "" && len(service.Status.LoadBalancer.Ingress) > 0 {
		address = service.Status.LoadBalancer.Ingress[0].IP
	}
	if address == "" {
		return nil, nil
	}
	return p.Neutron.FloatingIPsWithAddress(ctx, address)
}

// find returns the Service's load balancer without its tree, or nil, and the
// ids of further ones of the same Service: those that can be deleted and those
// on which Octavia works. The lookup by name finds what this
// project and openstack-cloud-controller-manager make, also what a create made
// whose answer was lost; the id in the annotation finds what was renamed since.
func (p *Planner) find(ctx context.Context, service *corev1.Service, owner lb.Owner) (_ *lb.LoadBalancer, duplicates, unsettled []string, _ error) {
	named, err := p.Octavia.FindByName(ctx, owner.LoadBalancerName())
	if err != nil {
		return nil, nil, nil, err
	}
	ours := slices.DeleteFunc(named, func(l lb.LoadBalancer) bool { return !p.claims(service, owner, l) })
	id := strings.TrimSpace(service.Annotations[annotation.LoadBalancerID])
	if id != "" && !slices.ContainsFunc(ours, func(l lb.LoadBalancer) bool { return l.ID == id }) {
		noted, err := p.noted(ctx, id, service, owner)
		switch {
		case err == nil:
			ours = append(ours, noted...)
		case openstack.Classify(err) == openstack.Foreign && (len(ours) > 0 || !p.Serves(service)):
			// The annotation is wrong, and what is the Service's own is known
			// without it.
		default:
			return nil, nil, nil, err
		}
	}
	if len(ours) == 0 {
		return nil, nil, nil, nil
	}
	slices.SortFunc(ours, func(a, b lb.LoadBalancer) int { return preference(a, b, id) })
	for _, l := range ours[1:] {
		switch {
		case lb.ServiceUIDOf(l.Tags) != owner.ServiceUID:
		case l.ProvisioningStatus.Pending():
			unsettled = append(unsettled, l.ID)
		default:
			duplicates = append(duplicates, l.ID)
		}
	}
	return &ours[0], duplicates, unsettled, nil
}

// preference orders load balancers of one Service: one that is not on its way
// out before others, then the noted one; otherwise any choice that is made again
// alike will do.
func preference(a, b lb.LoadBalancer, noted string) int {
	rank := func(l lb.LoadBalancer) int {
		switch {
		case l.ProvisioningStatus == lb.PendingDelete:
			return 2
		case l.ID == noted:
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.ID, b.ID))
}

// claims tells whether the load balancer is the Service's. One that bears no
// uid, which openstack-cloud-controller-manager makes, has to be known from the
// Service as well: another cluster's may have the same name and description.
// Where there are no tags there are no other marks than these.
func (p *Planner) claims(service *corev1.Service, owner lb.Owner, l lb.LoadBalancer) bool {
	claim := owner.Claims(l)
	if !claim.Ours || !claim.Adopted || !p.Capabilities.Has(lb.FeatureTags) {
		return claim.Ours
	}
	return service.Annotations[annotation.LoadBalancerID] == l.ID || len(service.Status.LoadBalancer.Ingress) > 0
}

// noted returns the load balancer with the id in the Service's annotation, if
// it still exists. One that is not the Service's is an error: sharing somebody
// else's load balancer is not what this version does.
func (p *Planner) noted(ctx context.Context, id string, service *corev1.Service, owner lb.Owner) ([]lb.LoadBalancer, error) {
	l, err := p.Octavia.Get(ctx, id)
	var cloud *openstack.Error
	reason := "it belongs to another project"
	switch {
	case openstack.Classify(err) == openstack.Gone:
		return nil, nil
	case err == nil && p.claims(service, owner, l):
		return []lb.LoadBalancer{l}, nil
	case err == nil:
		reason = cmp.Or(owner.Claims(l).Reason, "nothing says that it is this Service's")
	case !errors.As(err, &cloud) || cloud.Status != http.StatusForbidden:
		return nil, err
	}
	return nil, openstack.NewForeign(fmt.Sprintf("use load balancer %s of annotation %s", id, annotation.LoadBalancerID),
		reason+"; remove the annotation to get a load balancer of the Service's own")
}

// requested returns the floating IPs that were observed, with what the cloud
// says now of the one with the requested address unless that is on the load
// balancer already.
func (p *Planner) requested(ctx context.Context, address string, observed lb.Observed) ([]lb.FloatingIP, error) {
	if address == "" {
		return observed.FloatingIPs, nil
	}
	var port string
	if observed.LoadBalancer != nil {
		port = observed.LoadBalancer.VIP.PortID
	}
	there := func(f lb.FloatingIP) bool { return f.Address == address }
	if i := slices.IndexFunc(observed.FloatingIPs, there); i >= 0 && port != "" && observed.FloatingIPs[i].PortID == port {
		return observed.FloatingIPs, nil
	}
	found, err := p.Neutron.FloatingIPsWithAddress(ctx, address)
	if err != nil {
		return nil, err
	}
	return append(slices.DeleteFunc(slices.Clone(observed.FloatingIPs), there), found...), nil
}
