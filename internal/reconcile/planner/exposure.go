// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// readExposure finds out what the other Services of a shared load balancer request:
//   - For a sharer that is internal: whether the owner requests a floating IP.
//   - For an external owner, if the load balancer has no floating IP: which internal Services a floating IP would
//     expose.
//   - For an internal owner, if the load balancer has a floating IP: which other users need it.
func (p *Planner) readExposure(ctx context.Context, in *desired.Input, options annotation.Options, _ lb.Observed) error {
	if in.Found == nil || in.Sharer && !options.Internal {
		return nil
	}
	floating := in.FoundAddress != in.Found.VIP.Address
	if !in.Sharer && (options.Internal != floating || floating && !diff.Shared(*in.Found, in.Owner)) {
		return nil
	}
	var all corev1.ServiceList
	if err := p.Reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	switch {
	case in.Sharer:
		i := slices.IndexFunc(all.Items, func(s corev1.Service) bool { return p.Owner(&s).ServiceUID == lb.ServiceUIDOf(in.Found.Tags) })
		in.OwnerExternal = i >= 0 && !floating && !p.internal(&all.Items[i])
		in.OwnerInternal = i >= 0 && floating && p.releasesFloatingIP(&all.Items[i])
	case floating:
		in.WouldCutOff = p.externalUsers(*in, all.Items)
	default:
		in.WouldExpose = p.internalUsers(*in, all.Items)
	}
	return nil
}

// externalUsers names the other users of the Service's own load balancer that need its floating IP. Users that are
// unknown count as external: they may be Services of another cluster.
func (p *Planner) externalUsers(in desired.Input, all []corev1.Service) []string {
	var external []string
	unknown := slices.DeleteFunc(lb.NameTags(*in.Found), func(tag string) bool { return tag == in.Owner.LoadBalancerName() || tag == in.Found.Name })
	for i := range all {
		s := &all[i]
		owner := p.Owner(s)
		if s.UID == in.Service.UID || !owner.Joined(*in.Found) {
			continue
		}
		unknown = slices.DeleteFunc(unknown, func(tag string) bool { return tag == owner.LoadBalancerName() })
		if options, _ := annotation.Parse(s.Annotations, p.Settings(s)); p.Serves(s) && !options.Internal {
			external = append(external, s.Namespace+"/"+s.Name)
		}
	}
	return append(external, unknown...)
}

// releasesFloatingIP reports whether the owner of a load balancer is internal and not refused, so
// that it releases a floating IP that another client attached.
func (p *Planner) releasesFloatingIP(s *corev1.Service) bool {
	options, problems := annotation.Parse(s.Annotations, p.Settings(s))
	return options.Internal && len(problems) == 0 && p.Serves(s) && !Refused(*s)
}

// internalUsers names the internal Services that share the Service's own load balancer or are
// about to. If the Service itself was internal, unknown users count as internal.
func (p *Planner) internalUsers(in desired.Input, all []corev1.Service) []string {
	var internal []string
	unknown := slices.DeleteFunc(lb.NameTags(*in.Found), func(tag string) bool { return tag == in.Owner.LoadBalancerName() || tag == in.Found.Name })
	for i := range all {
		s, name := &all[i], p.Owner(&all[i]).LoadBalancerName()
		joins := p.Claimed(s) && s.Annotations[annotation.LoadBalancerID] == in.Found.ID && !Refused(*s)
		if s.UID != in.Service.UID && (joins || slices.Contains(unknown, name)) && p.internal(s) {
			internal = append(internal, s.Namespace+"/"+s.Name)
		}
		unknown = slices.DeleteFunc(unknown, func(tag string) bool { return tag == name })
	}
	if status.Published(in.Service) == in.Found.VIP.Address {
		internal = append(internal, unknown...)
	}
	return internal
}

// internal reports whether the Service must not be reachable from outside. With invalid
// annotations it counts as internal.
func (p *Planner) internal(s *corev1.Service) bool {
	options, problems := annotation.Parse(s.Annotations, p.Settings(s))
	return options.Internal || len(problems) > 0
}
