// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// readExposure finds out, for a shared load balancer without a floating IP, which internal
// Services a floating IP would expose, or whether the owner requests one.
func (p *Planner) readExposure(ctx context.Context, in *build.Input, options annotation.Options, _ lb.Observed) error {
	if l := in.Found; l == nil || options.Internal != in.Sharer || in.FoundAddress != l.VIP.Address {
		return nil
	}
	var all corev1.ServiceList
	if err := p.Reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	if in.Sharer {
		in.OwnerExternal = slices.ContainsFunc(all.Items, func(s corev1.Service) bool {
			return p.Owner(&s).ServiceUID == lb.ServiceUIDOf(in.Found.Tags) && !p.internal(&s)
		})
		return nil
	}
	in.WouldExpose = p.internalUsers(*in, all.Items)
	return nil
}

// internalUsers names the internal Services that share the Service's own load balancer or are
// about to. If the Service itself was internal, unknown users count as internal.
func (p *Planner) internalUsers(in build.Input, all []corev1.Service) []string {
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
