// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// everServed reports whether the Service ever had an address that somebody may use.
func everServed(service *corev1.Service) bool { return published(service) != "" }

// failedAtBirth reports whether a load balancer of ours went into ERROR before the Service
// ever had an address. It never served anybody, so it is deleted and another one is built.
func (p *Planner) failedAtBirth(service *corev1.Service, observed lb.Observed, owner lb.Owner) bool {
	l := observed.LoadBalancer
	return l != nil && l.ProvisioningStatus == lb.Error && !everServed(service) && p.Capabilities.Marked(*l) && !diff.Shared(*l, owner)
}

// endOfFailedAtBirth plans the deletion of such a load balancer. A floating IP that was
// asked for by its address may be a person's, and could not be got back: it is kept.
func (p *Planner) endOfFailedAtBirth(service *corev1.Service, observed lb.Observed, owner lb.Owner) diff.Plan {
	asked := service.Spec.LoadBalancerIP != "" || service.Annotations[annotation.FloatingIP] != ""
	return diff.New(lb.Wanted{KeepFloatingIP: asked || p.keepsFloatingIP(service)}, observed, owner)
}

// failedLater reports whether the load balancer served and is in ERROR.
func failedLater(service *corev1.Service, observed lb.Observed) bool {
	l := observed.LoadBalancer
	return l != nil && l.ProvisioningStatus == lb.Error && everServed(service)
}

// mustWait reports whether it is too early to build another load balancer in the
// place of one that failed at birth.
func (r *ServiceReconciler) mustWait(p *pass) bool {
	l := p.record.observed.LoadBalancer
	replaced := l == nil && p.record.attempts.begun > 0
	if (l == nil || l.ProvisioningStatus == lb.Error && !failedLater(p.service, p.record.observed)) && !replaced {
		p.delay = max(p.record.notBefore.Sub(r.now()), 0)
	}
	return p.delay > 0
}

// fail notes what went wrong with a load balancer, for the Service's condition.
func (r *record) fail(reason, message string) { r.failedReason, r.failed = reason, message }

// noteDeletion counts a deletion and puts off what may come after it.
func (r *record) noteDeletion(now time.Time, t timing.Delays) {
	r.notBefore = now.Add(timing.Jitter(min(t.FirstRebirth<<r.deletions, t.LastRebirth)))
	r.deletions = min(r.deletions+1, 10)
}

// noteDiscard does the same for a load balancer that another one has replaced.
func (r *record) noteDiscard(now time.Time, t timing.Delays) {
	r.discardAfter = now.Add(timing.Jitter(min(t.FirstRebirth<<r.discards, t.LastRebirth)))
	r.discards = min(r.discards+1, 10)
}

// withoutDiscards takes out of the plan what Octavia was asked to delete a short
// while ago and could not: it would have time for nothing else.
func (r *ServiceReconciler) withoutDiscards(p *pass) {
	delay := p.record.discardAfter.Sub(r.now())
	if p.record.discards == 0 || delay <= 0 {
		return
	}
	head := ""
	if l := p.record.observed.LoadBalancer; l != nil {
		head = l.ID
	}
	ops := p.plan.Ops[:0:0]
	for _, op := range p.plan.Ops {
		if d, ok := op.(diff.DeleteLoadBalancer); ok && d.ID != head {
			p.delay, p.postponed = delay, true
			continue
		}
		ops = append(ops, op)
	}
	p.plan.Ops = ops
}

// refusedFailovers says of each provider why Octavia refuses its failovers to
// this controller, for as long as it runs: by its policy, or because the provider
// has none. It is safe for concurrent use.
type refusedFailovers struct{ reasons sync.Map }

func (f *refusedFailovers) of(provider string) (reason string, refused bool) {
	found, refused := f.reasons.Load(provider)
	reason, _ = found.(string)
	return reason, refused
}

// treat does what can be done about a load balancer that served and failed.
func (r *ServiceReconciler) treat(ctx context.Context, p *pass) error {
	l, a := *p.record.observed.LoadBalancer, &p.record.attempts
	if a.gaveUp != nil && !p.membersOnly && !sameButMembers(*a.gaveUp, p.wanted) {
		*a = attempts{}
	}
	p.remedy = r.failure(p, l).remedy()
	p.record.fail(a.tell(p.remedy, l))
	p.plan = p.remedy.plan(l, p.wanted, p.owner)
	switch p.remedy {
	case failOver:
		return r.failOver(ctx, p, l)
	case replaceBeside:
		return r.apply(ctx, p)
	case replaceInPlace:
		if p.wanted.FloatingIP == nil {
			if err := r.noteVIP(ctx, p.service, l.VIP); err != nil {
				return err
			}
		}
		return r.apply(ctx, p)
	case giveUp:
		wanted := p.wanted
		a.gaveUp = &wanted
	case wait:
		p.delay = a.next.Sub(r.now())
	}
	if err := r.compare(ctx, p); err != nil {
		return err
	}
	return r.apply(ctx, p)
}

// failure gathers what the remedy depends on.
func (r *ServiceReconciler) failure(p *pass, l lb.LoadBalancer) failure {
	a := &p.record.attempts
	reason, refused := r.refusedFailovers.of(l.Provider)
	if refused {
		a.trouble = reason
	}
	f := r.freshFailure(p.desire, p.record.observed, p.owner, p.membersOnly, !p.leavesDrift())
	f.canFailOver = f.canFailOver && !refused && a.failover != l.ID
	f.attempts, f.delay = a.begun, a.next.Sub(r.now())
	return f
}

// freshFailure gathers what the remedy depends on where nothing was tried yet. MayWrite is
// whether the Service's drift policy lets the cloud be written to.
func (p *Planner) freshFailure(d desire, observed lb.Observed, owner lb.Owner, membersOnly, mayWrite bool) failure {
	l, w := *observed.LoadBalancer, d.wanted
	if observed.Guest {
		return failure{} // the Service that owns it is to recover it
	}
	return failure{
		canFailOver: mayWrite,
		replaceable: mayWrite && p.Capabilities.Marked(l) && !diff.Shared(l, owner) && !membersOnly && w.LoadBalancer != nil,
		beside:      w.FloatingIP != nil && !onGivenPort(w) && p.Capabilities.Has(lb.FeatureTags),
	}
}

// preview plans what a controller that was just started does first. It is what
// `kube-octavia plan`, `migrate` and --adopt=observe show.
func (p *Planner) preview(service *corev1.Service, d desire, observed lb.Observed, membersOnly bool) diff.Plan {
	owner := p.Owner(service)
	owner.Guest = observed.Guest
	plan, _ := d.plans(observed, owner)
	switch {
	case !p.Serves(service):
	case failedLater(service, observed):
		asked := service.Annotations[annotation.Programmed]
		mayWrite := !leavesDrift(driftPolicy(service, p.Config), digest(d.input), asked, service, observed)
		remedy := p.freshFailure(d, observed, owner, membersOnly, mayWrite).remedy()
		if ops := remedy.plan(*observed.LoadBalancer, d.wanted, owner).Ops; len(ops) > 0 {
			plan.Ops = ops
		}
	case d.course != buildBeside && p.failedAtBirth(service, observed, owner):
		plan.Ops = p.endOfFailedAtBirth(service, observed, owner).Ops
	}
	return plan
}

// onGivenPort reports whether the VIP is a port that a person made, which only one load
// balancer can have.
func onGivenPort(w lb.Wanted) bool { return w.LoadBalancer != nil && w.LoadBalancer.VIP.PortID != "" }

// failOver asks Octavia to rebuild the load balancer. When it refuses, the next
// pass, which comes at once, has another remedy.
func (r *ServiceReconciler) failOver(ctx context.Context, p *pass, l lb.LoadBalancer) error {
	err := r.apply(ctx, p)
	var cloud *openstack.Error
	if err == nil || !errors.As(err, &cloud) || !refusesFailover(cloud) {
		return err
	}
	a := &p.record.attempts
	a.failover, a.trouble = l.ID, err.Error()
	if cloud.Status == http.StatusForbidden || cloud.Status == http.StatusNotImplemented {
		r.refusedFailovers.reasons.Store(l.Provider, a.trouble)
		p.log.Info("this cloud lets us fail over no load balancer; those that fail are replaced", "provider", l.Provider, "error", a.trouble)
	}
	p.plan, p.delay = diff.Plan{}, timing.StaleRetry
	p.record.fail(a.tell(wait, l))
	return nil
}

// refusesFailover reports whether another try would be in vain, rather than that
// Octavia has no time or did not answer.
func refusesFailover(err *openstack.Error) bool {
	switch err.Class {
	case openstack.Busy, openstack.Throttled:
		return false
	}
	return !err.Unanswered
}

// notedVIP reads the address that an internal Service has while its load balancer is
// deleted and another one made: from the moment at which nobody holds the address,
// somebody has to remember it.
func notedVIP(service *corev1.Service) (vip lb.VIP, ok bool) {
	address, subnet, _ := strings.Cut(service.Annotations[annotation.VIPAddress], " ")
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return lb.VIP{}, false
	}
	vip = lb.VIP{Address: parsed.String()}
	if openstack.IsID(subnet) {
		vip.SubnetID = subnet
	}
	return vip, true
}

// noteVIP writes the address to the Service, before it is given up.
func (r *ServiceReconciler) noteVIP(ctx context.Context, service *corev1.Service, vip lb.VIP) error {
	note := strings.TrimSpace(vip.Address + " " + vip.SubnetID)
	if service.Annotations[annotation.VIPAddress] == note {
		return nil
	}
	before := service.DeepCopy()
	setAnnotation(service, annotation.VIPAddress, note)
	if err := r.Client.Patch(ctx, service, optimistic(before)); err != nil {
		return fmt.Errorf("write annotation %s: %w", annotation.VIPAddress, err)
	}
	return nil
}

// askForVIP lets the load balancer that is to be made have the address that was
// noted, in its subnet, whatever subnet the configuration names by now.
func askForVIP(p *pass) {
	w := p.wanted
	if p.record.observed.LoadBalancer != nil || w.LoadBalancer == nil || w.FloatingIP != nil || w.LoadBalancer.VIP.Address != "" || onGivenPort(w) {
		return
	}
	if vip, ok := notedVIP(p.service); ok && vip.SubnetID != "" {
		p.wanted.LoadBalancer.VIP = vip
	} else if ok {
		p.wanted.LoadBalancer.VIP.Address = vip.Address
	}
}

// noteTaken notes that somebody has taken the address meanwhile.
func (p *pass) noteTaken(op diff.Op, err error) {
	create, ok := op.(diff.CreateLoadBalancer)
	vip, noted := notedVIP(p.service)
	if !ok || !noted || create.LoadBalancer.VIP.Address != vip.Address || openstack.Classify(err) != openstack.Conflict {
		return
	}
	p.record.fail(status.ReasonAddressInUse, fmt.Sprintf("somebody took the address %s while a load balancer that failed was replaced; "+
		"free it, or remove annotation %s to get another one", vip.Address, annotation.VIPAddress))
}

// replacing reports whether one load balancer takes another one's place, so that
// the published address is still the Service's.
func replacing(p *pass) bool {
	return p.record.observed.Predecessor != nil || p.record.attempts.begun > 0 || p.service.Annotations[annotation.VIPAddress] != ""
}

// noteRemedy notes an op that is part of a remedy.
func (r *ServiceReconciler) noteRemedy(p *pass, op diff.Op, made diff.Created) {
	a := &p.record.attempts
	switch op := op.(type) {
	case diff.FailoverLoadBalancer:
		a.failover, a.trouble = op.ID, ""
		p.record.observed.LoadBalancer.ProvisioningStatus = lb.PendingUpdate
	case diff.CreateLoadBalancer:
		if p.remedy == replaceBeside {
			a.begin(r.now(), p.requestID, r.timing)
		}
		if a.begun > 0 {
			a.made = append(a.made, made.ID)
			if p.record.failedReason == status.ReasonAddressInUse {
				p.record.fail(status.ReasonReplacing, fmt.Sprintf("load balancer %s is built with the address of one that failed", made.ID))
			}
		}
	case diff.DeleteLoadBalancer:
		if p.remedy == replaceInPlace {
			a.begin(r.now(), p.requestID, r.timing)
		}
	}
}

// forgetTrouble notes that the load balancer serves, whatever it went through.
func (r *record) forgetTrouble() {
	r.deletions, r.repairs = 0, 0
	r.attempts = attempts{}
	r.fail("", "")
}
