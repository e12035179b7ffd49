// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/barbican"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/neutron"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// Planner has what it takes to find out what a Service is to have and what it
// has: everything of a pass that only reads. The controller and
// `kube-octavia plan` share it.
type Planner struct {
	// Reader reads Services, Nodes and EndpointSlices.
	Reader client.Reader
	// Secrets reads single Secrets, by name, and has no cache: that would list them all.
	Secrets client.Reader
	Octavia *octavia.Client
	Neutron *neutron.Client
	// Barbican may be nil, or not available.
	Barbican *barbican.Client
	// Config holds the operator's settings for load balancers.
	Config       config.LoadBalancer
	Capabilities lb.Capabilities
	claim.Policy
	// Adopt is what is done about what openstack-cloud-controller-manager made; empty
	// stands for AdoptTag.
	Adopt Adoption

	// leavesParts is whether the cloud was seen to leave parts of load balancers
	// behind that were created complete.
	leavesParts atomic.Bool
	// makers are the Services that make the load balancers of groups.
	makers makers
}

// invalid returns the *build.Invalid in err, or nil.
func invalid(err error) *build.Invalid {
	var i *build.Invalid
	if errors.As(err, &i) {
		return i
	}
	return nil
}

// heads lists the load balancers of the cluster.
func (p *Planner) heads(ctx context.Context) ([]octavia.Head, error) {
	return p.Octavia.Heads(ctx, lb.ClusterTag(p.ClusterUID))
}

// Plan tells what there is to do for the Service, from a fresh look at the
// cloud, and what the cloud has.
func (p *Planner) Plan(ctx context.Context, service *corev1.Service) (diff.Plan, lb.Observed, error) {
	owner := p.Owner(service)
	observed, err := p.Observe(ctx, service, owner, remembered{})
	if err != nil {
		return diff.Plan{}, observed, err
	}
	d := desire{wanted: lb.Wanted{KeepFloatingIP: p.keepsFloatingIP(service)}}
	var refused *build.Invalid
	var waits *waiting
	if p.Serves(service) {
		d, err = p.desire(ctx, service, &observed, false, true, build.SecretCertificate{})
		if refused = invalid(err); refused == nil && !errors.As(err, &waits) && err != nil {
			return diff.Plan{}, observed, err
		}
		if err != nil {
			d.wanted = build.MembersOnly(d.input, observed)
		}
	}
	membersOnly := err != nil
	if want := d.wanted.FloatingIP; want != nil {
		if observed.FloatingIPs, err = p.requested(ctx, want.Address, observed); err != nil {
			return diff.Plan{}, observed, err
		}
	}
	plan := p.preview(service, d, observed, membersOnly)
	if refused != nil {
		plan.Refused = append(plan.Refused, diff.Refusal{Reason: refused.Reason, Message: refused.Message})
	}
	if waits != nil {
		plan.Refused = append(plan.Refused, diff.Refusal{Reason: status.ReasonWaitingForGroup, Message: waits.Error()})
	}
	return plan, observed, nil
}

func (p *Planner) keepsFloatingIP(service *corev1.Service) bool {
	return annotation.KeepsFloatingIP(service.Annotations, p.Config)
}
