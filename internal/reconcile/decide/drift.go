// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/survey"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// Drift is a change in the cloud by another client. A digest of the desired state
// distinguishes it from a change of the Service: if the digest is the same as when the cloud
// last had the desired state, the cloud has changed.

// Digest identifies everything that the Service requests, including nodes and settings of the
// operator, and nothing of the cloud. It is empty for a refused Service.
func Digest(in desired.Input) string {
	in.Found, in.Serial, in.WouldExpose, in.WouldCutOff = nil, false, nil, nil
	in.Certificate.Ref = ""
	options := in.Spec.Options
	subnets := in.Networks.PodSubnets
	in.Networks = desired.NetworksOf(options)
	in.Networks.PodSubnets = subnets
	// The digest does not depend on whether the cloud has a subnet for the second family. Without such a subnet, a
	// Service that requires both families would count as refused, and members of the second family would be missing in
	// the digest.
	in.Networks.AdditionalSubnetID = cmp.Or(in.Networks.AdditionalSubnetID, "any")
	in.Capabilities.Provider = options.Provider
	wanted, err := desired.Wanted(in)
	if err != nil {
		return ""
	}
	for i := range wanted.LoadBalancer.Listeners {
		// Digests that were written before timeouts existed stay valid.
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

// readDigest reads the digest in the note on the Service. A controller does this once for each Service, after its
// start.
func readDigest(d memory.Drift, o claim.Owner) memory.Drift {
	if !d.Read && d.Digest == "" {
		d.Digest = survey.ParseNote(o.Recorded.Note).Digest
	}
	d.Read = true
	return d
}

// Note returns the text that annotation programmed is to have after the decision. Its present text is before. The note
// says what was confirmed last. After a write, and until the result is confirmed, the load balancer's updated_at shows
// that it has changed since.
func (d Decision) Note(before string) string {
	digest, c := d.Record.Drift.Digest, d.Record.Cloud
	switch {
	case d.Settled():
		l := c.Observed.LoadBalancer
		return survey.Note{
			Digest: digest, UpdatedAt: l.UpdatedAt, Members: survey.MembersDigest(l), Settings: survey.SettingsDigest(l), Unread: c.Stale,
		}.String()
	case digest != "" && survey.ParseNote(before).Digest == digest:
		return before
	}
	return digest
}

// leavesDrift reports whether nothing is written now, because only the cloud has changed and
// the Service's policy is not to repair that. A load balancer whose id is not on the Service
// yet is our own change, and is completed.
func (f Facts) leavesDrift(g Goal) bool {
	o := f.observed()
	ours := o.Predecessor != nil || o.LoadBalancer != nil && o.LoadBalancer.ID != f.Owner.Recorded.LoadBalancerID
	return g.Policy != annotation.DriftRepair && g.Digest != "" && g.Digest == f.Record.Drift.Digest && !ours
}

// hold removes the operations from the plan if the drift policy forbids them.
func hold(f Facts, d Decision) Decision {
	if f.leavesDrift(d.Goal) && len(d.Plan.Ops) > 0 {
		d.Held, d.Plan.Ops, d.Record.Drift.Detected = d.Plan.Ops, nil, true
		if l := f.loadBalancer(); l != nil && l.ProvisioningStatus == lb.Active {
			d.Record.Progress.Reason, d.Record.Progress.Trouble = "", "" // an earlier failure is over
		}
	}
	return d
}

// RepairsDrift reports whether the operations of the decision undo drift.
func (d Decision) RepairsDrift() bool {
	drift := d.Record.Drift
	return drift.Detected && d.Goal.Policy == annotation.DriftRepair && d.Goal.Digest != "" && d.Goal.Digest == drift.Digest
}

// ReportedDrift returns the held operations that are reported to users.
func (d Decision) ReportedDrift() []diff.Op {
	if d.Goal.Policy == annotation.DriftReport {
		return d.Held
	}
	return nil
}

// IgnoresDrift reports whether the Service counts as Programmed in spite of drift.
func (d Decision) IgnoresDrift() bool {
	return d.Goal.Policy == annotation.DriftIgnore && len(d.Held) > 0
}

// noteForeign returns the operations that undo a change by another client, one of each kind.
// If the remembered load balancer already needed an operation, the difference may be our own.
func noteForeign(f Facts, d Decision) Decision {
	expected := d.Record.Cloud.Expected
	if d.Need != "" || expected == nil || !d.Record.Cloud.Known {
		return d
	}
	d.Record.Cloud.Expected = nil
	needed := slices.ContainsFunc(diff.New(d.Goal.Wanted, *expected, f.Identity()).Ops, diff.Op.Octavia)
	if d.Goal.leaves || f.leavesDrift(d.Goal) || diff.Repairs(d.Plan.Ops) || needed {
		return d
	}
	for _, op := range d.Plan.Ops {
		same := func(o diff.Op) bool { return diff.Kind(o) == diff.Kind(op) }
		if op.Octavia() && !slices.ContainsFunc(d.Foreign, same) {
			d.Foreign = append(d.Foreign, op)
		}
	}
	return d
}
