// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/observe"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/survey"
)

// ListedPlan is the plan for a Service from lists, and what the Service has in the cloud.
type ListedPlan struct {
	diff.Plan
	Observed lb.Observed
	// Drift is whether the operations undo changes by other clients of the cloud: the Service and its nodes or
	// Pods request what the load balancer had when it was last confirmed.
	Drift bool
}

// PlanFromLists is Plan from complete lists: it makes no call for what the Service has. If Secrets reads no Secrets,
// the certificate that the load balancer uses counts as that of the Secret.
func (p *Planner) PlanFromLists(ctx context.Context, of claim.Owner, lists observe.Lists) (ListedPlan, error) {
	provide := func(ctx context.Context, f decide.Facts, d decide.Decision) (decide.Facts, error) {
		if d.Need == decide.NeedFloatingIPs || d.Need == decide.NeedRequestedFloatingIP {
			return f, nil // the list of them is complete
		}
		return p.Provide(ctx, f, d)
	}
	f, d, err := p.preview(ctx, of, func(ctx context.Context, f decide.Facts) (decide.Facts, error) {
		f, err := p.Observer.ObserveInLists(ctx, f, lists)
		f.Record.Certificate = usedCertificate(of, f.Record.Cloud.Observed)
		return f, err
	}, provide)
	if err != nil {
		return ListedPlan{Observed: f.Record.Cloud.Observed}, err
	}
	l := ListedPlan{Plan: withRefusals(d), Observed: d.Record.Cloud.Observed}
	balancer := l.Observed.LoadBalancer
	l.Drift = balancer != nil && balancer.ProvisioningStatus == lb.Active && len(d.Plan.Ops)+len(d.Held) > 0 &&
		d.Goal.Digest != "" && d.Goal.Digest == survey.ParseNote(of.Recorded.Note).Digest
	return l, nil
}

// usedCertificate returns the certificate that the load balancer uses for the Secret that the Service names.
func usedCertificate(of claim.Owner, found lb.Observed) desired.SecretCertificate {
	options := of.Spec.Options
	if options.TLSSecret == "" || found.LoadBalancer == nil || len(found.LoadBalancer.CertificateRefs()) == 0 {
		return desired.SecretCertificate{}
	}
	return desired.SecretCertificate{Secret: options.TLSSecret, Certificate: lb.Certificate{Ref: found.LoadBalancer.CertificateRefs()[0]}}
}
