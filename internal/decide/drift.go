// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
)

// Drift is what other clients changed in the cloud. What the Service asks for and what the
// cloud has differ for two reasons, which a digest tells apart: if the Service asks for what
// it asked for when the two last agreed, it was the cloud that changed.

// digest stands for everything that the Service asks for, its nodes and the operator's
// settings included, and for nothing that the cloud has. It is empty for a Service that is
// refused.
func digest(in build.Input) string {
	in.Found, in.Serial, in.WouldExpose = nil, false, nil
	in.Certificate.Ref = ""
	options, _ := annotation.Parse(in.Service.Annotations, in.Config)
	in.Networks = build.NetworksOf(options)
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

// readDigest takes the digest from the Service in a controller that was just started.
func readDigest(d memory.Drift, service *corev1.Service) memory.Drift {
	if !d.Read && d.Digest == "" {
		d.Digest = service.Annotations[annotation.Programmed]
	}
	d.Read = true
	return d
}

// leavesDrift reports whether nothing is to be written now: only the cloud has changed, and
// the Service wants that left alone. A load balancer that the Service does not name yet is
// one that we made, and it is to be completed.
func (f Facts) leavesDrift(w Wish) bool {
	o := f.observed()
	ours := o.Predecessor != nil || o.LoadBalancer != nil && o.LoadBalancer.ID != f.Service.Annotations[annotation.LoadBalancerID]
	return w.Policy != annotation.DriftRepair && w.Digest != "" && w.Digest == f.Record.Drift.Digest && !ours
}

// hold takes what is not to be repaired out of the plan.
func hold(f Facts, d Decision) Decision {
	if f.leavesDrift(d.Wish) && len(d.Plan.Ops) > 0 {
		d.Held, d.Plan.Ops, d.Record.Drift.Detected = d.Plan.Ops, nil, true
	}
	return d
}

// Repairs reports whether an op of the decision makes up for what another client did.
func Repairs(d Decision) bool {
	drift := d.Record.Drift
	return drift.Detected && d.Wish.Policy == annotation.DriftRepair && d.Wish.Digest != "" && d.Wish.Digest == drift.Digest
}

// Reported are the held ops that the Service's users are told of.
func (d Decision) Reported() []diff.Op {
	if d.Wish.Policy == annotation.DriftReport {
		return d.Held
	}
	return nil
}

// IgnoresDrift reports whether the cloud is to pass for what the Service asks for.
func (d Decision) IgnoresDrift() bool {
	return d.Wish.Policy == annotation.DriftIgnore && len(d.Held) > 0
}

// noteForeign notes what another client changed in a load balancer that was believed to lack
// nothing, as the ops that make up for it. If it lacked anything, what it lacks now may be
// due to that.
func noteForeign(f Facts, d Decision) Decision {
	believed := d.Record.Cloud.Believed
	if d.Need != "" || believed == nil || !d.Record.Cloud.Known {
		return d
	}
	d.Record.Cloud.Believed = nil
	lacked := slices.ContainsFunc(diff.New(d.Wish.Wanted, *believed, f.Owner()).Ops, diff.Op.Octavia)
	if f.leavesDrift(d.Wish) || diff.Repairs(d.Plan.Ops) || lacked {
		return d
	}
	for _, op := range d.Plan.Ops {
		// One change of another controller takes several ops of a kind.
		known := slices.ContainsFunc(d.Foreign, func(o diff.Op) bool { return diff.Kind(o) == diff.Kind(op) })
		if op.Octavia() && !known {
			d.Foreign = append(d.Foreign, op)
		}
	}
	return d
}
