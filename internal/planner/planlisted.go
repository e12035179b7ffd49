// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/decide"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// Lists show what the project has in the cloud, in place of calls for one Service. What is missing
// in them does not exist.
type Lists interface {
	// FindByName returns the load balancers with the name, without children.
	FindByName(ctx context.Context, name string) ([]lb.LoadBalancer, error)
	// Get returns a load balancer without children, or an error of class Gone.
	Get(ctx context.Context, id string) (lb.LoadBalancer, error)
	// Observe returns the load balancer with its children.
	Observe(ctx context.Context, l lb.LoadBalancer) (lb.LoadBalancer, error)
	// FloatingIPsOn returns those on the port, and FloatingIPsWithAddress the one with the address.
	FloatingIPsOn(ctx context.Context, portID string) ([]lb.FloatingIP, error)
	FloatingIPsWithAddress(ctx context.Context, address string) ([]lb.FloatingIP, error)
}

// ListedPlan is the plan for a Service from Lists, and what the Service has in the cloud.
type ListedPlan struct {
	diff.Plan
	Observed lb.Observed
	// Drift is whether the operations undo changes by other clients of the cloud: the Service and its nodes or
	// Pods request what the load balancer had when it was last confirmed.
	Drift bool
}

// PlanListed is Plan from lists: for a Service whose load balancer exists it makes no call for what it has. If
// Secrets is WithoutSecrets, the certificate that the load balancer uses counts as that of the Secret.
func (p *Planner) PlanListed(ctx context.Context, service *corev1.Service, lists Lists) (ListedPlan, error) {
	f := p.Facts(service, memory.Record{ServiceUID: service.UID}, time.Now(), timing.Default())
	f.Preview = true
	s := p.searchFor(f)
	s.balancers, s.floating = lists, lists
	found, err := s.read(ctx)
	if err != nil {
		return ListedPlan{Observed: found}, err
	}
	f.Record.Cloud = remember(f, found, p.createMayBePending(f, found))
	f.Record.Certificate = p.usedCertificate(service, found)
	f, d, err := p.Decide(ctx, p.BuildDesired(ctx, f), func(ctx context.Context, f decide.Facts, d decide.Decision) (decide.Facts, error) {
		if d.Need == decide.NeedFloatingIPs || d.Need == decide.NeedRequestedFloatingIP {
			return f, nil // the list of them is complete
		}
		return p.Provide(ctx, f, d)
	})
	if err != nil {
		return ListedPlan{Observed: f.Record.Cloud.Observed}, err
	}
	l := ListedPlan{Plan: withRefusals(d), Observed: d.Record.Cloud.Observed}
	balancer := l.Observed.LoadBalancer
	l.Drift = balancer != nil && balancer.ProvisioningStatus == lb.Active && len(d.Plan.Ops)+len(d.Held) > 0 &&
		d.Goal.Digest != "" && d.Goal.Digest == noteOn(service).Digest
	return l, nil
}

// usedCertificate returns the certificate that the load balancer uses for the Secret that the Service names.
func (p *Planner) usedCertificate(service *corev1.Service, found lb.Observed) build.SecretCertificate {
	options, _ := annotation.Parse(service.Annotations, p.Settings(service))
	if options.TLSSecret == "" || found.LoadBalancer == nil || len(found.LoadBalancer.CertificateRefs()) == 0 {
		return build.SecretCertificate{}
	}
	return build.SecretCertificate{Secret: options.TLSSecret, Certificate: lb.Certificate{Ref: found.LoadBalancer.CertificateRefs()[0]}}
}

// WithoutSecrets returns a reader of everything but Secrets, which it refuses without a call.
func WithoutSecrets(reader client.Reader) client.Reader { return withoutSecrets{reader} }

type withoutSecrets struct{ client.Reader }

var errSecretNotRead = errors.New("Secrets are not read here, so that it is not known what the controller does for a new certificate")

// Get implements client.Reader.
func (r withoutSecrets) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if _, secret := into.(*corev1.Secret); secret {
		return errSecretNotRead
	}
	return r.Reader.Get(ctx, key, into, options...)
}

// List implements client.Reader.
func (r withoutSecrets) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if _, secrets := into.(*corev1.SecretList); secrets {
		return errSecretNotRead
	}
	return r.Reader.List(ctx, into, options...)
}
