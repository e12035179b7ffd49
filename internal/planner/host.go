// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// host returns the load balancer of somebody else, without its tree, on which the Service
// has ports or may have some; nil and no error for a Service that is not to be served and
// has none there. The error of one that it may not use is of class Foreign, and says who
// can allow it.
func (p *Planner) host(ctx context.Context, service *corev1.Service, owner lb.Owner, id string) (*lb.LoadBalancer, error) {
	refused := func(why string) error {
		if group := service.Annotations[annotation.LoadBalancerGroup]; group != "" {
			return openstack.NewForeign(fmt.Sprintf("use load balancer %s of group %q", id, group),
				why+"; remove annotation "+annotation.LoadBalancerGroup+" to get a load balancer of the Service's own")
		}
		return openstack.NewForeign(fmt.Sprintf("use load balancer %s of annotation %s", id, annotation.LoadBalancerID),
			why+"; remove the annotation to get a load balancer of the Service's own")
	}
	if !openstack.IsID(id) {
		if !p.Serves(service) {
			return nil, nil
		}
		return nil, refused("what stands there is no id")
	}
	l, err := p.Octavia.Get(ctx, id)
	var cloud *openstack.Error
	switch {
	case errors.As(err, &cloud) && cloud.Status == http.StatusForbidden && !p.Serves(service):
		return nil, nil // so it can have nothing there
	case errors.As(err, &cloud) && cloud.Status == http.StatusForbidden:
		return nil, refused("it belongs to another project")
	case err != nil:
		return nil, err
	}
	if l.ProjectID != "" && l.ProjectID != p.Neutron.ProjectID() {
		return nil, refused("it belongs to another project")
	}
	if slices.Contains(l.Tags, owner.LoadBalancerName()) {
		if is, err := p.isGuest(ctx, service, owner, l); is || err != nil {
			return &l, err
		}
	}
	if !p.Serves(service) {
		return nil, nil
	}
	allowed, why, err := p.mayShare(ctx, service, l)
	switch {
	case err != nil:
		return nil, err
	case !allowed && (l.Name == owner.LoadBalancerName() || l.Name == owner.LegacyName()):
		return nil, refused(owner.Claims(l).Reason + "; " + why)
	case !allowed:
		return nil, refused(why)
	}
	return &l, nil
}

// isGuest reports whether a load balancer that bears the Service's name in its tags bears
// ports of the Service: those that we made bear its uid, and of those that
// openstack-cloud-controller-manager made its status tells. Another cluster may have a
// Service of the same name there. When the last one leaves, its ports and the floating IP
// go before the load balancer does.
func (p *Planner) isGuest(ctx context.Context, service *corev1.Service, owner lb.Owner, l lb.LoadBalancer) (bool, error) {
	tree, err := p.Octavia.Observe(ctx, l)
	if err != nil {
		return false, err
	}
	for _, listener := range tree.Listeners {
		if slices.Contains(listener.Tags, owner.ServiceTag()) {
			return true, nil
		}
	}
	if !owner.MayUse(l) {
		return false, nil
	}
	if owner.Abandoned(l) && len(tree.Listeners) == 0 {
		return true, nil
	}
	floating, err := p.Neutron.FloatingIPsOn(ctx, l.VIP.PortID)
	return err == nil && publishes(service, l, floating), err
}

// publishes reports whether the Service's status has an address of the load balancer;
// floating are floating IPs of which some may lead to it.
func publishes(service *corev1.Service, l lb.LoadBalancer, floating []lb.FloatingIP) bool {
	return slices.ContainsFunc(service.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool {
		if i.Hostname != "" {
			return service.Annotations[annotation.LoadBalancerID] != ""
		}
		return l.Has(i.IP) || slices.ContainsFunc(floating, func(f lb.FloatingIP) bool {
			return f.PortID == l.VIP.PortID && f.Address == i.IP
		})
	})
}

// mayShare reports whether the Service may get ports on a load balancer of somebody else,
// and why not.
func (p *Planner) mayShare(ctx context.Context, service *corev1.Service, l lb.LoadBalancer) (allowed bool, why string, err error) {
	scope := p.Config.SharedScope
	if scope == config.ShareAny || lb.AllowsSharing(l.Tags, service.Namespace) {
		return true, "", nil
	}
	var all corev1.ServiceList
	if err := p.Reader.List(ctx, &all); err != nil {
		return false, "", fmt.Errorf("list Services: %w", err)
	}
	user := func(s corev1.Service) bool { return s.UID != service.UID && p.uses(&s, l) }
	i := slices.IndexFunc(all.Items, func(s corev1.Service) bool { return user(s) && s.Namespace == service.Namespace })
	if i < 0 {
		i = slices.IndexFunc(all.Items, user)
	}
	const askOperator = "; it can be shared if the cloud's user tags it kube-octavia.share=%s, or if [LoadBalancer] shared-lb-scope in cloud.conf is %s"
	switch {
	case i < 0:
		return false, "no Service of this cluster has it" + fmt.Sprintf(askOperator, service.Namespace, config.ShareAny), nil
	case scope == config.ShareInCluster || all.Items[i].Namespace == service.Namespace:
		return true, "", nil
	}
	return false, "it is that of a Service in another namespace" + fmt.Sprintf(askOperator, service.Namespace, config.ShareInCluster), nil
}

// uses reports whether the load balancer bears the mark of the cluster and, as its own or
// because it has ports there, that of the Service.
func (p *Planner) uses(s *corev1.Service, l lb.LoadBalancer) bool {
	owner := p.Owner(s)
	return slices.Contains(l.Tags, lb.ClusterTag(p.ClusterUID)) &&
		(slices.Contains(l.Tags, owner.ServiceTag()) || slices.Contains(l.Tags, owner.LoadBalancerName()))
}

// lookAtSharers finds out what Services that share a load balancer without a floating IP
// want of it: a floating IP would open the ports of all of them to everybody.
func (p *Planner) lookAtSharers(ctx context.Context, in *build.Input) error {
	options, _ := annotation.Parse(in.Service.Annotations, p.Config)
	if l := in.Found; l == nil || options.Internal != in.Sharer || in.FoundAddress != l.VIP.Address {
		return nil
	}
	var all corev1.ServiceList
	if err := p.Reader.List(ctx, &all); err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	if in.Sharer {
		in.OwnerExternal = slices.ContainsFunc(all.Items, func(s corev1.Service) bool {
			return s.UID == types.UID(lb.ServiceUIDOf(in.Found.Tags)) && !p.internal(&s)
		})
		return nil
	}
	in.WouldExpose = p.wouldOpen(*in, all.Items)
	return nil
}

// wouldOpen returns the internal ones of those that share the Service's own load balancer.
// Those that are about to come count, and those of which nothing is known if the Service
// was internal, too.
func (p *Planner) wouldOpen(in build.Input, all []corev1.Service) []string {
	var opened []string
	unknown := slices.DeleteFunc(lb.NameTags(*in.Found), func(tag string) bool { return tag == in.Owner.LoadBalancerName() || tag == in.Found.Name })
	for i := range all {
		s, name := &all[i], p.Owner(&all[i]).LoadBalancerName()
		comes := p.Claimed(s) && s.Annotations[annotation.LoadBalancerID] == in.Found.ID && !Refused(*s)
		if s.UID != in.Service.UID && (comes || slices.Contains(unknown, name)) && p.internal(s) {
			opened = append(opened, s.Namespace+"/"+s.Name)
		}
		unknown = slices.DeleteFunc(unknown, func(tag string) bool { return tag == name })
	}
	if status.Published(in.Service) == in.Found.VIP.Address {
		opened = append(opened, unknown...)
	}
	return opened
}

// internal reports whether the Service is not to be reached from outside; one whose
// annotations cannot be read may be so.
func (p *Planner) internal(s *corev1.Service) bool {
	options, problems := annotation.Parse(s.Annotations, p.Config)
	return options.Internal || len(problems) > 0
}
