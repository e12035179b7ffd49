// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// failedAtBirth plans the end of a load balancer of ours that went into ERROR
// before the Service ever had an address: it never served anybody, so another
// one may take its place.
func (r *ServiceReconciler) failedAtBirth(p *pass) bool {
	l := p.record.observed.LoadBalancer
	served := len(p.service.Status.LoadBalancer.Ingress) > 0 || p.service.Annotations[annotation.LoadBalancerAddress] != ""
	made := lb.ServiceUIDOf(lbTags(l)) != "" || !r.Capabilities.Has(lb.FeatureTags)
	if l == nil || l.ProvisioningStatus != lb.Error || served || !made {
		return false
	}
	p.record.failed = fmt.Sprintf("load balancer %s went into ERROR while Octavia built it; it is deleted and another one is built", l.ID)
	// A floating IP that was asked for by its address may be a person's, and
	// could not be got back.
	keep := r.keepsFloatingIP(p.service) || p.service.Spec.LoadBalancerIP != ""
	p.plan = diff.New(lb.Wanted{KeepFloatingIP: keep}, p.record.observed, p.owner)
	return true
}

func lbTags(l *lb.LoadBalancer) []string {
	if l == nil {
		return nil
	}
	return l.Tags
}

// mustWait tells whether it is too early to build another load balancer in the
// place of one that failed, or to delete once more what Octavia could not.
func (r *ServiceReconciler) mustWait(p *pass) bool {
	if l := p.record.observed.LoadBalancer; l == nil || l.ProvisioningStatus == lb.Error {
		p.delay = max(p.record.notBefore.Sub(r.now()), 0)
	}
	return p.delay > 0
}

// noteDeletion counts a deletion and puts off what may come after it.
func (r *record) noteDeletion(now time.Time, t Timing) {
	r.notBefore = now.Add(jitter(min(t.FirstRebirth<<r.deletions, t.LastRebirth)))
	r.deletions = min(r.deletions+1, 10)
}
