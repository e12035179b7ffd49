// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

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
	balancerReader
	floatingReader
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
// Secrets reads no Secrets, the certificate that the load balancer uses counts as that of the Secret.
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
