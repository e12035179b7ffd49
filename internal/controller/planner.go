// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/barbican"
	"github.com/kube-octavia/kube-octavia/internal/build"
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
	// Barbican may be nil, or not available. ByPassword reports whether Octavia can act for
	// who is logged in there, without asking anybody.
	Barbican   *barbican.Client
	ByPassword func() bool
	// Config holds the operator's settings for load balancers.
	Config       config.LoadBalancer
	Capabilities lb.Capabilities
	// ClusterName is --cluster-name, ClusterUID the uid of the kube-system
	// namespace.
	ClusterName, ClusterUID string
	// LoadBalancerClass is the spec.loadBalancerClass that is handled;
	// DefaultClass reports whether Services without a class are, too.
	LoadBalancerClass string
	DefaultClass      bool
	// Adopt is what is done about what openstack-cloud-controller-manager made; empty
	// stands for AdoptTag.
	Adopt Adoption

	// leavesParts is whether the cloud was seen to leave parts of load balancers
	// behind that were created complete.
	leavesParts atomic.Bool
	// makers are the Services that make the load balancers of groups.
	makers makers
	// wantsCertificates is whether any Service has asked for one that can be stored, and
	// noCertificates whether there was none when that was last looked at, and no Service
	// has asked since.
	wantsCertificates, noCertificates atomic.Bool
}

// Owner returns the Service as the owner of objects in the cloud.
func (p *Planner) Owner(service *corev1.Service) lb.Owner {
	return lb.Owner{
		ClusterName: p.ClusterName,
		ClusterUID:  p.ClusterUID,
		Namespace:   service.Namespace,
		Name:        service.Name,
		ServiceUID:  string(service.UID),
	}
}

// Serves reports whether the Service is to have a load balancer from here: it is
// of type LoadBalancer, of our class, and not about to go.
func (p *Planner) Serves(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.DeletionTimestamp == nil && p.ours(service)
}

// ours reports whether the Service's class is one that is handled here.
func (p *Planner) ours(service *corev1.Service) bool {
	if class := service.Spec.LoadBalancerClass; class != nil {
		return *class == p.LoadBalancerClass
	}
	return p.DefaultClass
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
	if want := d.wanted.FloatingIP; want != nil {
		if observed.FloatingIPs, err = p.requested(ctx, want.Address, observed); err != nil {
			return diff.Plan{}, observed, err
		}
	}
	plan, _ := d.plans(observed, owner)
	if refused != nil {
		plan.Refused = append(plan.Refused, diff.Refusal{Reason: refused.Reason, Message: refused.Message})
	}
	if waits != nil {
		plan.Refused = append(plan.Refused, diff.Refusal{Reason: status.ReasonWaitingForGroup, Message: waits.Error()})
	}
	return plan, observed, nil
}

// Leaves reports whether the Service is not to be served any more and may still
// have something in the cloud. The finalizer alone does not tell: it is
// Kubernetes' own and controllers of other classes set it too. Our mark bears
// the Service's uid, so that one copied from another Service proves nothing, and
// our class, since those of other classes may be of this project, too.
//
// A LoadBalancer without a class that bears our mark and is not handled here any more,
// since an operator said so, is left as it is: it is for another controller to take over,
// with its load balancer, and goes when it is deleted.
func (p *Planner) Leaves(service *corev1.Service) bool {
	balancer := service.Spec.Type == corev1.ServiceTypeLoadBalancer
	switch {
	case p.Serves(service) || !controllerutil.ContainsFinalizer(service, finalizer):
		return false
	case service.Annotations[managed] == p.mark(service):
		return !balancer || service.DeletionTimestamp != nil || service.Spec.LoadBalancerClass != nil
	case balancer:
		return p.ours(service)
	}
	// A Service of another type has lost its class. One that
	// openstack-cloud-controller-manager left bears the load balancer's id.
	return p.DefaultClass && service.Annotations[annotation.LoadBalancerID] != "" && !anothersMark(service)
}

// lostItsMark reports whether the Service is no LoadBalancer any more and bears the
// finalizer and no controller's mark: somebody who sets all annotations took that away.
func lostItsMark(service *corev1.Service) bool {
	return service.Spec.Type != corev1.ServiceTypeLoadBalancer && controllerutil.ContainsFinalizer(service, finalizer) &&
		service.Annotations[managed] == ""
}

// anothersMark reports whether a Service that does not bear our mark bears that of a
// controller of another class, which is to release it.
func anothersMark(service *corev1.Service) bool {
	return strings.HasPrefix(service.Annotations[managed], string(service.UID)+" ")
}

// mark is what a Service bears while it has or may have something in the cloud.
func (p *Planner) mark(service *corev1.Service) string {
	return string(service.UID) + " " + p.LoadBalancerClass
}

// claimed reports whether the Service bears the marks that claim sets.
func (p *Planner) claimed(service *corev1.Service) bool {
	return controllerutil.ContainsFinalizer(service, finalizer) && service.Annotations[managed] == p.mark(service)
}

// keepsFloatingIP reads the one annotation that matters at the end. A value that
// cannot be read keeps the address: it can still be deleted by hand, and could
// not be got back.
func (p *Planner) keepsFloatingIP(service *corev1.Service) bool {
	options, problems := annotation.Parse(service.Annotations, p.Config)
	unreadable := slices.ContainsFunc(problems, func(p annotation.Problem) bool {
		return p.Key == annotation.KeepFloatingIP
	})
	return options.KeepFloatingIP || unreadable
}

// listed reports whether heads holds the load balancer if it exists.
func (p *Planner) listed(l lb.LoadBalancer) bool {
	return !p.Capabilities.Has(lb.FeatureTags) || slices.Contains(l.Tags, lb.ClusterTag(p.ClusterUID))
}
