// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// lookAtSharers finds out what Services that share a load balancer without a floating IP
// want of it: a floating IP would open the ports of all of them to everybody.
func (p *Planner) lookAtSharers(ctx context.Context, in *build.Input) error {
	options, _ := annotation.Parse(in.Service.Annotations, p.Config)
	if l := in.Found; l == nil || options.Internal != in.Guest || in.HostAddress != l.VIP.Address {
		return nil
	}
	var all corev1.ServiceList
	if err := p.Reader.List(ctx, &all); err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	if in.Guest {
		in.HostExternal = slices.ContainsFunc(all.Items, func(s corev1.Service) bool {
			return s.UID == types.UID(lb.ServiceUIDOf(in.Found.Tags)) && !p.internal(&s)
		})
		return nil
	}
	in.WouldOpen = p.wouldOpen(*in, all.Items)
	return nil
}

// wouldOpen returns the internal ones of those that share the Service's own load balancer.
// Those that are about to come count, and those of which nothing is known if the Service
// was internal, too.
func (p *Planner) wouldOpen(in build.Input, all []corev1.Service) []string {
	var opened []string
	unknown := slices.DeleteFunc(lb.Users(*in.Found), func(tag string) bool { return tag == in.Owner.LoadBalancerName() || tag == in.Found.Name })
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
