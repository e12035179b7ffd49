// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// desire is what a Service is to have, and how it comes to it.
type desire struct {
	// input and wanted come from gathering and building.
	input  build.Input
	wanted lb.Wanted
	course course
	// old is what the members of a load balancer depend on that another one replaces.
	old build.Input
	// gathered is whether the input is known, and unsettled whether what is to be deleted is
	// to be looked at again soon.
	gathered, unsettled bool
}

// desire finds out what the Service is to have. What is observed is put in order where one
// load balancer was built beside another: the one that is not to stay becomes a duplicate.
// Alone is whether a load balancer is to be created without its parts, and drained whether
// one whose address another one has can go; known is the certificate of the Service's
// Secret as it was last read.
func (p *Planner) desire(ctx context.Context, service *corev1.Service, observed *lb.Observed, alone, drained bool, known build.SecretCertificate) (d desire, err error) {
	retired := drained && handedOver(service, *observed)
	if retired {
		discard(observed, *observed.Predecessor)
	}
	if d, err = p.desireOf(ctx, service, *observed, alone, known); d.course == takeBack {
		l := *observed.LoadBalancer
		observed.LoadBalancer = observed.Predecessor
		discard(observed, l)
		retired = true
		d, err = p.desireOf(ctx, service, *observed, alone, known)
	}
	d.unsettled = len(observed.Unsettled) > 0 && (retired || d.course == buildBeside)
	return d, err
}

// handedOver reports whether there are two load balancers, and the one that was built beside
// the other has its address.
func handedOver(service *corev1.Service, o lb.Observed) bool {
	l, old := o.LoadBalancer, o.Predecessor
	return l != nil && old != nil && besides(*l, *old) && tookOver(*l, *old, o.FloatingIPs, service.Annotations[annotation.LoadBalancerID])
}

// drained reports whether a load balancer that was replaced has stayed long enough, since the
// other one was complete and had its address. Another controller begins to count anew.
func (r *ServiceReconciler) drained(p *pass) bool {
	if !handedOver(p.service, p.record.observed) {
		p.record.handedOver = time.Time{}
	}
	return !p.record.handedOver.IsZero() && r.now().Sub(p.record.handedOver) >= r.timing.Drain
}

// discard makes one of the two load balancers a duplicate.
func discard(o *lb.Observed, l lb.LoadBalancer) {
	o.Predecessor = nil
	if l.ProvisioningStatus.Pending() {
		o.Unsettled = append(o.Unsettled, l.ID)
	} else {
		o.Duplicates = append(o.Duplicates, l.ID)
	}
}

// desireOf finds out what the Service is to have.
func (p *Planner) desireOf(ctx context.Context, service *corev1.Service, observed lb.Observed, alone bool, known build.SecretCertificate) (d desire, err error) {
	if d.input, err = p.input(ctx, service, observed); err != nil {
		return d, err
	}
	d.gathered = true
	d.input.Serial, d.input.Certificate = d.input.Serial || alone, known
	if old := observed.Predecessor; old != nil {
		if d.old, err = p.input(ctx, service, lb.Observed{LoadBalancer: old}); err != nil {
			return d, err
		}
	}
	d.wanted, err = p.build(ctx, &d.input, observed)
	refused := build.RequiresReplacement(err)
	if observed.LoadBalancer == nil || observed.Guest || err != nil && !d.misplaced() {
		return d, err
	}
	options, _ := annotation.Parse(service.Annotations, p.Config)
	of := p.placement(service, d, observed, options)
	of.suits = refused == nil
	switch d.course = of.course(); d.course {
	case refuse:
		return d, cannotReplace(refused, of.obstacle)
	case finishFirst:
		asItIs := d.input
		asItIs.Found = nil
		d.wanted, err = build.Wanted(asItIs)
	case buildBeside:
		if err = p.wantBeside(ctx, service, *observed.LoadBalancer, &d, alone); err != nil && d.course == buildBeside {
			d.course = keepOn // what cannot be said is not built
		}
	}
	return d, err
}

// misplaced reports whether the load balancer that is there would have to go for what the
// Service asks for, rather than for what others have.
func (d desire) misplaced() bool {
	_, err := build.Wanted(d.input)
	return build.RequiresReplacement(err) != nil
}

// placement gathers what the course depends on, but for whether the load balancer suits.
func (p *Planner) placement(service *corev1.Service, d desire, observed lb.Observed, options annotation.Options) placement {
	l, old := *observed.LoadBalancer, observed.Predecessor
	of := placement{allowed: options.AllowReplacement, succeeds: old != nil}
	switch {
	case old == nil:
		of.obstacle = obstacle(l, []lb.VIP{{PortID: options.PortID}}, d.input.Owner, p.Capabilities)
	case besides(l, *old) && !handedOver(service, observed):
		of.beside, of.oldSuits = true, !desire{input: d.old}.misplaced()
		of.obstacle = obstacle(*old, nil, d.input.Owner, p.Capabilities)
	}
	if options.Group != "" {
		of.obstacle = fmt.Sprintf("others of group %q may use it; take the Service out of the group first (annotation %s)", options.Group, annotation.LoadBalancerGroup)
	}
	return of
}

// cannotReplace says why a load balancer that would have to be replaced is not.
func cannotReplace(refused *build.Invalid, obstacle string) error {
	way := fmt.Sprintf("take that back, or let another one take its place (annotation %s: \"true\")", annotation.AllowReplacement)
	if obstacle != "" {
		way = "no other one can be built beside it: " + obstacle
	}
	return &build.Invalid{Reason: refused.Reason, Message: refused.Message + "; " + way}
}

// wantBeside builds what is to take the place of the load balancer, as if there was none.
func (p *Planner) wantBeside(ctx context.Context, service *corev1.Service, old lb.LoadBalancer, d *desire, alone bool) error {
	in, err := p.input(ctx, service, lb.Observed{})
	if err != nil {
		return err
	}
	in.Serial, in.Certificate = in.Serial || alone, d.input.Certificate
	if d.wanted, err = p.build(ctx, &in, lb.Observed{}); err != nil {
		return err
	}
	l := d.wanted.LoadBalancer
	if why := obstacle(old, append([]lb.VIP{l.VIP}, l.AdditionalVIPs...), in.Owner, p.Capabilities); why != "" {
		_, refused := build.Wanted(d.input)
		d.course = refuse
		return cannotReplace(build.RequiresReplacement(refused), why)
	}
	d.old = d.input
	return nil
}

// plans makes the plan, and reports whether the load balancer that was built beside another
// one is complete and lacks no more than to be told of. The one that carries the traffic
// comes first.
func (d desire) plans(observed lb.Observed, owner lb.Owner) (plan diff.Plan, complete bool) {
	l, old := observed.LoadBalancer, observed.Predecessor
	if d.course == buildBeside && l != nil {
		plan.Ops = slices.Concat(d.mark(*l, owner), d.keepUp(*l, owner))
		for _, id := range observed.Duplicates {
			plan.Ops = append(plan.Ops, diff.DeleteLoadBalancer{ID: id})
		}
		for _, w := range d.wanted.Withheld {
			plan.Refused = append(plan.Refused, diff.Refusal(w))
		}
		if l.ProvisioningStatus == lb.Active && len(observed.Duplicates)+len(observed.Unsettled) == 0 {
			plan.Ops = append(plan.Ops, diff.Beside(d.wanted, l.ID).Ops...)
		}
		return plan, false
	}
	plan = diff.New(d.wanted, observed, owner)
	if l == nil || old == nil || d.wanted.LoadBalancer == nil {
		return plan, false
	}
	plan.Ops = append(d.keepUp(*old, owner), plan.Ops...)
	if besides(*l, *old) {
		// It goes some time after everybody was told where the Service is.
		plan.Ops = slices.DeleteFunc(plan.Ops, func(op diff.Op) bool {
			end, is := op.(diff.DeleteLoadBalancer)
			is = is && end.ID == old.ID
			complete = complete || is
			return is
		})
	}
	return plan, complete
}

// mark plans our tags on a load balancer that bears none yet: without them nobody would
// know later whose it is.
func (d desire) mark(l lb.LoadBalancer, owner lb.Owner) []diff.Op {
	return slices.DeleteFunc(diff.New(d.wanted, lb.Observed{LoadBalancer: &l}, owner).Ops, func(op diff.Op) bool {
		_, marks := op.(diff.UpdateLoadBalancer)
		return !marks
	})
}

// keepUp plans what cannot wait of a load balancer that carries traffic until another one
// takes its place: who may connect, and that its pools follow the nodes.
func (d desire) keepUp(l lb.LoadBalancer, owner lb.Owner) []diff.Op {
	if d.old.Service == nil {
		return nil // it was seen after what its members depend on was gathered
	}
	alone, sources := lb.Observed{LoadBalancer: &l}, d.wanted
	sources.AddressAsFound = true
	return slices.Concat(diff.OnlySources(diff.New(sources, alone, owner).Ops, &l),
		diff.OnlyMembers(diff.New(build.MembersOnly(d.old, alone), alone, owner).Ops, &l))
}

// besideTries is what was done to build a load balancer beside another one. It is kept in
// memory: another controller begins anew.
type besideTries struct {
	// wanted is what was built, built how often, and next when it may be built again.
	wanted lb.Wanted
	built  int
	next   time.Time
}

// count notes that it was built once more.
func (b *besideTries) count(wanted lb.Wanted, now time.Time, t timing.Delays) {
	if !sameButMembers(b.wanted, wanted) {
		b.built = 0
	}
	b.wanted, b.next = wanted, now.Add(timing.Jitter(min(t.FirstReplacement<<b.built, t.LastReplacement)))
	b.built = min(b.built+1, 10)
}

// delay is how long to wait before it is built.
func (b *besideTries) delay(wanted lb.Wanted, now time.Time) time.Duration {
	if !sameButMembers(b.wanted, wanted) {
		return 0
	}
	return max(b.next.Sub(now), 0)
}

// failed says that so many that were built failed.
func (b *besideTries) failed(times int) string {
	if times <= 0 {
		return ""
	}
	return fmt.Sprintf("; %d that were built for that went into ERROR, which the cloud's operator can tell more of", times)
}

// buildBeside builds another load balancer beside one that cannot be changed, which goes
// on serving.
func (r *ServiceReconciler) buildBeside(ctx context.Context, p *pass) error {
	l, tries := p.record.observed.LoadBalancer, &p.record.beside
	p.record.fail(status.ReasonReplacingOnChange, fmt.Sprintf(
		"load balancer %s, which serves, cannot be made what the Service asks for; another one is built beside it%s", l.ID, tries.failed(tries.built)))
	p.plan, _ = p.plans(p.record.observed, p.owner)
	p.record.believed = nil // what it lacks nobody else took from it
	if wait := tries.delay(p.wanted, r.now()); wait > 0 {
		p.delay = wait
		p.plan.Ops = slices.DeleteFunc(p.plan.Ops, func(op diff.Op) bool {
			_, creates := op.(diff.CreateLoadBalancer)
			return creates
		})
	}
	r.withoutDiscards(p)
	return r.apply(ctx, p)
}

// handOver makes sure, before clients are led to a load balancer that was built beside
// another one, that nobody else came to use that one, and that the nodes let the new one's
// traffic in. Otherwise what would lead them there is left out of the plan. It tells
// whether there is nothing more to find out in this pass.
func (r *ServiceReconciler) handOver(ctx context.Context, p *pass) (over bool, err error) {
	moves := func(op diff.Op) bool { _, is := op.(diff.AssociateFloatingIP); return is }
	switch {
	case p.course != takeOver && p.complete:
		if p.record.handedOver.IsZero() {
			p.record.handedOver = r.now()
		}
		p.postponed, p.delay = true, max(p.record.handedOver.Add(r.timing.Drain).Sub(r.now()), timing.StaleRetry)
		return false, nil
	case p.course != takeOver:
		return false, nil
	case p.complete && p.wanted.FloatingIP != nil:
		p.delay = timing.StaleRetry
		return true, nil
	case !p.complete && !slices.ContainsFunc(p.plan.Ops, moves):
		return false, nil
	}
	p.delay = timing.StaleRetry
	old, err := r.Octavia.Observe(ctx, *p.record.observed.Predecessor)
	if gone, err := openstack.UnlessGone(err); gone || err != nil {
		p.record.known = p.record.known && !gone
		return true, err
	}
	p.record.observed.Predecessor = &old
	closed, _ := r.needs.unopened(client.ObjectKeyFromObject(p.service), p.service.UID)
	if closed != "" {
		p.delay = r.timing.PartsRetry // it comes back when that has changed
		p.record.fail(status.ReasonReplacingOnChange, p.record.failed+"; "+closed)
	}
	if closed != "" || otherUsers(old, p.owner) != "" {
		p.complete = false
		p.plan.Ops = slices.DeleteFunc(p.plan.Ops, moves)
	}
	return true, nil
}

// tellCourse says of a load balancer that was built beside another one what it waits for,
// and no more of one that is not replaced after all.
func (p *pass) tellCourse() {
	o := p.record.observed
	switch gone := len(o.Duplicates)+len(o.Unsettled) == 0; {
	case p.course == takeOver:
		p.record.fail(status.ReasonReplacingOnChange, fmt.Sprintf(
			"load balancer %s is built beside %s, which serves until the other one is complete and takes its place%s",
			o.LoadBalancer.ID, o.Predecessor.ID, p.record.beside.failed(p.record.beside.built-1)))
	case p.record.failedReason == status.ReasonReplacingOnChange && (p.course == refuse || p.course == keepOn && gone):
		p.record.fail("", "")
	}
}

// tellBeside says, for the Service's status, which load balancer has its address while
// another one is built beside it, as far as no floating IP says so.
func (p *pass) tellBeside(told *status.Pass) {
	l, old := p.record.observed.LoadBalancer, p.record.observed.Predecessor
	if l == nil || old == nil || !besides(*l, *old) || p.wanted.FloatingIP != nil || handedOver(p.service, p.record.observed) {
		return
	}
	told.Beside = !p.complete
	now := p.service.Status.LoadBalancer.Ingress
	if !p.complete || !equality.Semantic.DeepEqual(now, status.Ingress(now, *told)) {
		told.Noted = old.ID
	}
}
