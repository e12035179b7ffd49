// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// Drift is what somebody else changed in the cloud. What the Service asks for and
// what the cloud has differ for two reasons, and they are told apart by a digest of
// what was asked for when the two last agreed: if the Service asks for the same
// now, it was the cloud that changed.

// digest stands for everything that the Service asks for, its nodes and the
// operator's settings included, and for nothing that the cloud has. It is empty
// for a Service that is refused.
func digest(in build.Input) string {
	in.Found, in.Serial, in.WouldOpen = nil, false, nil
	in.Certificate.Ref = ""
	options, _ := annotation.Parse(in.Service.Annotations, in.Config)
	in.Networks = asked(options)
	in.Capabilities.Provider = options.Provider
	wanted, err := build.Wanted(in)
	if err != nil {
		return ""
	}
	for i := range wanted.LoadBalancer.Listeners {
		// As it was before timeouts could be asked for.
		if t := wanted.LoadBalancer.Listeners[i].Timeouts; t != nil && *t == lb.DefaultTimeouts {
			wanted.LoadBalancer.Listeners[i].Timeouts = nil
		}
	}
	text, err := json.Marshal(wanted)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// driftPolicy reads the one annotation. A Service whose annotations cannot be
// read is refused, and no policy matters.
func driftPolicy(service *corev1.Service, defaults config.LoadBalancer) annotation.Drift {
	options, _ := annotation.Parse(service.Annotations, defaults)
	return options.Drift
}

// weigh finds out whether what is planned is due to the Service or to somebody
// else. A controller that was just started knows from the Service itself what was
// asked for last, if the policy needs that.
func (p *pass) weigh(defaults config.LoadBalancer) {
	p.policy, p.asks = driftPolicy(p.service, defaults), digest(p.input)
	if !p.record.weighed && p.record.asked == "" {
		p.record.asked = p.service.Annotations[annotation.Programmed]
	}
	p.record.weighed = true
}

// onlyCloudChanged reports whether the Service asks for what it asked for when the
// cloud last had all of it.
func (p *pass) onlyCloudChanged() bool {
	return p.asks != "" && p.asks == p.record.asked
}

func (p *pass) leavesDrift() bool {
	return leavesDrift(p.policy, p.asks, p.record.asked, p.service, p.record.observed)
}

// leavesDrift reports whether nothing is to be written now: only the cloud has changed, since
// what the Service asks for is what it asked for when the cloud last had all of it, and the
// Service wants that left alone. A load balancer that the Service does not name yet is one
// that we made, and it is to be completed.
func leavesDrift(policy annotation.Drift, asks, asked string, service *corev1.Service, o lb.Observed) bool {
	ours := o.Predecessor != nil || o.LoadBalancer != nil && o.LoadBalancer.ID != service.Annotations[annotation.LoadBalancerID]
	return policy != annotation.DriftRepair && asks != "" && asks == asked && !ours
}

// disagree notes that we are changing the cloud: until it has all that is asked
// for, what is missing is our own business, whatever the policy.
func (p *pass) disagree() {
	if p.policy != annotation.DriftRepair {
		p.record.asked = ""
	}
}

// agree notes from a plan whether the cloud has everything.
func (p *pass) agree() {
	l := p.record.observed.LoadBalancer
	p.agrees = len(p.plan.Ops) == 0 && p.record.confirmed && l != nil && l.ProvisioningStatus == lb.Active
}

// hold takes what is not to be repaired out of the plan.
func (p *pass) hold() {
	if p.leavesDrift() && len(p.plan.Ops) > 0 {
		p.drift, p.plan.Ops, p.record.drifted = p.plan.Ops, nil, true
	}
}

// noteAgreement notes whether the cloud has all that the Service asks for and can
// have, and returns what had to be repaired for that.
func (p *pass) noteAgreement() (repaired []string) {
	if !p.agrees && !p.done || p.membersOnly {
		return nil
	}
	repaired = p.record.repaired
	p.record.asked, p.record.drifted, p.record.told, p.record.repaired = p.asks, false, false, nil
	return repaired
}

// noteRepair counts an op that was carried out because of what somebody else did.
func (r *ServiceReconciler) noteRepair(p *pass, op diff.Op) {
	if !p.record.drifted || !p.onlyCloudChanged() {
		return
	}
	r.Metrics.Repaired.WithLabelValues(diff.Object(op)).Inc()
	p.record.repaired = append(p.record.repaired, op.String())
	if !op.Octavia() {
		r.rivals.wrote(p.service, foreignWrite{what: diff.Kind(op), texts: []string{op.String()}})
		if _, is, wait := r.rivals.of(p.service); is == standAside {
			p.delay = wait
		}
	}
}

// tellDrift counts drift that is left, once, and tells of what was repaired.
func (r *ServiceReconciler) tellDrift(p *pass, repaired []string) {
	if len(repaired) > 0 {
		e := status.Repaired(repaired)
		// Events of the same kind about the same objects are counted as one, and
		// show the text of the first: the pass tells them apart.
		related := &corev1.ObjectReference{Kind: "LoadBalancer", Name: p.service.Annotations[annotation.LoadBalancerID], ResourceVersion: p.requestID}
		r.Recorder.Eventf(p.service, related, e.Type, e.Reason, "Repair", "%s", e.Message)
	}
	if len(p.drift) == 0 || p.record.told || p.policy != annotation.DriftReport {
		return
	}
	p.record.told = true
	for _, op := range p.drift {
		r.Metrics.Reported.WithLabelValues(diff.Object(op)).Inc()
	}
}

// reported are the ops that are told instead of carried out.
func (p *pass) reported() []diff.Op {
	if p.policy == annotation.DriftReport {
		return p.drift
	}
	return nil
}

// ignores reports whether the cloud is to pass for what the Service asks for.
func (p *pass) ignores() bool {
	return p.policy == annotation.DriftIgnore && len(p.drift) > 0
}

// noteAsked writes to the Service what it asked for last, if its policy needs that.
func (r *ServiceReconciler) noteAsked(ctx context.Context, p *pass) error {
	before := p.service.DeepCopy()
	switch {
	case p.policy == "":
		// The pass did not come so far.
	case p.policy == annotation.DriftRepair || p.record.asked == "":
		delete(p.service.Annotations, annotation.Programmed)
	default:
		setAnnotation(p.service, annotation.Programmed, p.record.asked)
	}
	if before.Annotations[annotation.Programmed] == p.service.Annotations[annotation.Programmed] {
		return nil
	}
	if err := r.Client.Patch(ctx, p.service, optimistic(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write annotation %s: %w", annotation.Programmed, err)
	}
	return nil
}
