// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"cmp"
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/cloud/polling"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// report stores the record, writes the result to the Service, and returns the time of the next
// pass.
func (r *Reconciler) report(ctx context.Context, s subject, f decide.Facts, d decide.Decision, o outcome) (reconcile.Result, error) {
	if o.stopped != nil {
		return retry(o.stopped)
	} else if o.released {
		return r.reportReleased(ctx, f)
	}
	f.Now, f.Owner = r.Now(), s.owner()
	d, repaired := decide.Finish(f, d)
	d = r.reportDrift(s, f, d, repaired)
	d, o.Outcome = r.noteQuota(f, d, o.Outcome)
	r.Memory.Put(f.Owner.Key, d.Record)
	r.Requirements.Passed()
	r.await(d.Record.Cloud.Observed, o.began)
	switch {
	case apierrors.IsConflict(o.Failure):
		return retry(o.Failure) // the Service has changed since it was read
	case o.Failure != nil && ctx.Err() != nil && o.began == nil:
		// The controller is being stopped, and the next controller will find the same. If Octavia has begun an
		// operation, it is published even if another write has failed: see carryOut.
		return reconcile.Result{}, nil
	}
	if err := r.publishPass(context.WithoutCancel(ctx), s, f, d, o); err != nil {
		return retry(err)
	}
	wait, err := decide.Next(f, d, o.Outcome)
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: wait}, nil
}

// retry requests another pass soon if the cache was stale. Any other error is that of the pass.
func retry(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: timing.StaleRetry}, nil
	}
	return reconcile.Result{}, err
}

// await hands load balancers on which Octavia works to the watcher. Began is the operation that
// Octavia has begun in this pass, or nil.
func (r *Reconciler) await(o lb.Observed, began diff.Op) {
	if old := o.Predecessor; old != nil && old.ProvisioningStatus.Pending() {
		r.Watcher.Watch(old.ID, r.operationOn(old, o, began))
	}
	switch l := o.LoadBalancer; {
	case l == nil || !l.ProvisioningStatus.Pending():
	case l.ProvisioningStatus == lb.PendingDelete:
		r.Watcher.WatchDeletion(l.ID, l.VIP.PortID, r.operationOn(l, o, began))
	default:
		r.Watcher.Watch(l.ID, r.operationOn(l, o, began))
	}
}

// operationOn returns the operation if it is on the load balancer.
func (r *Reconciler) operationOn(l *lb.LoadBalancer, o lb.Observed, began diff.Op) polling.Operation {
	deletion, deletes := began.(diff.DeleteLoadBalancer)
	if began == nil || deletes && deletion.ID != l.ID || !deletes && decide.LockedBy(began, o) != l {
		return polling.Operation{}
	}
	return polling.Operation{Provider: cmp.Or(l.Provider, r.Planner.Options.Capabilities.Provider), Name: diff.Kind(began)}
}

// reportDrift counts drift that is not repaired, once, and writes an event about repairs.
func (r *Reconciler) reportDrift(s subject, f decide.Facts, d decide.Decision, repaired []string) decide.Decision {
	if len(repaired) > 0 {
		e := status.Repaired(repaired)
		// Kubernetes counts events with equal objects as one, with the text of the first.
		// The request id makes them differ.
		related := &corev1.ObjectReference{Kind: "LoadBalancer", Name: f.Owner.Recorded.LoadBalancerID, ResourceVersion: f.RequestID}
		r.Recorder.Eventf(s.object, related, e.Type, e.Reason, "Repair", "%s", e.Message)
	}
	if len(d.ReportedDrift()) > 0 && !d.Record.Drift.Reported {
		d.Record.Drift.Reported = true
		for _, op := range d.Held {
			r.Metrics.Reported.WithLabelValues(diff.Object(op)).Inc()
		}
	}
	return d
}

// publishPass writes the result of the pass to the Service, and sets readiness gates of its Pods.
func (r *Reconciler) publishPass(ctx context.Context, s subject, f decide.Facts, d decide.Decision, o outcome) error {
	if !f.Preview && d.Action != decide.Stopped {
		if err := r.note(ctx, s, d); err != nil {
			return err
		}
	}
	if state := r.conflicts.State(f.Owner); state.Stopped && f.Owner.Serves {
		return r.reportStopped(ctx, s, state)
	}
	err := r.publish(ctx, s, r.passOf(ctx, f, d, o))
	if f.Preview {
		r.observers.Note(f.Owner.Key, status.ProgrammedReason(s.owner().Recorded.Conditions))
	}
	return errors.Join(err, r.Readiness.Report(ctx, f.Owner, d.Taking))
}

// passOf returns the result of the pass for the Service's conditions and addresses.
func (r *Reconciler) passOf(ctx context.Context, f decide.Facts, d decide.Decision, o outcome) status.Pass {
	failure := o.Failure
	if openstack.Classify(failure) == openstack.Busy {
		failure = nil // Octavia executes another client's change; the watcher waits for it
	}
	options := f.Owner.Spec.Options
	progress := d.Record.Progress
	p := status.Pass{
		Acceptance: status.Acceptance{
			Invalid:            d.Goal.Refused,
			CertificateProblem: d.Goal.Input.Certificate.Problem,
			Unknown:            annotation.FindUnknown(f.Owner.Spec.Annotations),
			LeftOut:            desired.LeftOut(d.Goal.Input),
			Plain:              desired.StaysPlain(f.Owner.Spec),
			Undecided:          failure != nil && (!d.Goal.Known || d.Goal.MembersOnly),
		},
		Publication: status.Publication{
			External:            d.Goal.Wanted.FloatingIP != nil,
			Internal:            d.Goal.Internal(),
			Own:                 d.OwnAddresses(f),
			Addresses:           options.StatusAddresses,
			Hostname:            options.Hostname,
			ThroughLoadBalancer: desired.ThroughLoadBalancer(d.Goal.Wanted, options),
		},
		Health: status.Health{
			Unready:      cmp.Or(d.Unready, d.Record.Failed.Text),
			Failed:       progress.Trouble,
			FailedReason: progress.Reason,
			Replacing:    replacing(f, d),
		},
		Traffic:     r.traffic(ctx, f, d),
		Owner:       f.Identity(),
		Observed:    d.Record.Cloud.Observed,
		Left:        d.Plan.Ops,
		Refused:     d.Plan.Refused,
		Drift:       d.ReportedDrift(),
		Err:         failure,
		Leaving:     !f.Owner.Serves,
		Observation: status.Observation{OnlyObserved: f.Preview, Others: r.Others()},
		Steady:      progress.SteadyFor.EqualExceptMembers(d.Goal.Wanted.Fingerprint()),
		Late:        decide.TimeUntilLate(f, d) <= 0,
		Done:        d.Done || d.IgnoresDrift(),
	}
	if want := d.Goal.Wanted.FloatingIP; want != nil {
		p.Requested = want.Address
	}
	if r.Planner.Options.Config.IngressHostname {
		p.HostnameSuffix = r.Planner.Options.Config.IngressHostnameSuffix
	}
	if l := d.Goal.Wanted.LoadBalancer; l != nil && len(l.AdditionalVIPs) > 0 {
		p.Families = d.Goal.Input.Families()
	}
	if d.Goal.Waits != nil {
		p.Waits = d.Goal.Waits.Error()
	}
	if o.groupLeft != "" {
		p.Failed, p.FailedReason = o.groupLeft, status.ReasonDeleting
	}
	p.Missing, p.MissingFailed = r.Requirements.Unmet(f.Owner.Key, types.UID(f.Identity().ServiceUID))
	return duringReplacement(f, d, p)
}

// traffic returns what condition Serving depends on. It makes no call: information that is not in memory counts as
// unknown.
//
// Members that depend on endpoints are compared with the endpoints that the pass read. Endpoints that came during the
// pass have no members yet. If they were compared, a Service that was created together with its Pods would warn that
// its nodes are excluded.
func (r *Reconciler) traffic(ctx context.Context, f decide.Facts, d decide.Decision) status.Traffic {
	if !f.Owner.Serves || !d.Goal.Known {
		return status.Traffic{}
	}
	t := status.Traffic{
		Known:      true,
		Ports:      f.Owner.Spec.Ports,
		Owner:      f.Identity(),
		Wanted:     d.Goal.Wanted.LoadBalancer,
		Slices:     d.Goal.Input.Slices,
		PoolHealth: r.Memory.PoolHealth(),
		Pods:       f.Owner.Spec.PodTargets(),
		Local:      f.Owner.Spec.LocalTraffic,
	}
	membersFollow := d.Goal.Input.Spec != nil && (t.Pods || t.Local)
	if !membersFollow {
		endpoints, err := r.Planner.Builder.Endpoints(ctx, f.Owner)
		t.Slices, t.Known = endpoints, err == nil
	}
	return t
}

// replacing reports whether a load balancer is being replaced, so that the published address
// stays the Service's address.
func replacing(f decide.Facts, d decide.Decision) bool {
	return d.Record.Cloud.Observed.Predecessor != nil || d.Record.Recovery.Replacements.Count > 0 || f.Owner.Recorded.VIPAddress != ""
}

// duringReplacement adds which load balancer has the Service's address while its replacement is
// built, unless the floating IP shows that.
func duringReplacement(f decide.Facts, d decide.Decision, p status.Pass) status.Pass {
	l, old := p.Observed.LoadBalancer, p.Observed.Predecessor
	if l == nil || old == nil || !decide.Replaces(*l, *old) || p.External || decide.HandedOver(f.Owner, p.Observed) {
		return p
	}
	p.Beside = !d.Complete
	now, publishes := f.Owner.Recorded.Ingress, f.Owner.Publishes || f.Owner.OfAnotherClass
	if !d.Complete || publishes && !equality.Semantic.DeepEqual(now, status.Ingress(now, p)) {
		p.Noted = old.ID
	}
	return p
}
