// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/quota"
)

// apply carries out the Neutron ops of the plan and the first Octavia op:
// Octavia refuses any other until it has ended that one. What Octavia refuses
// locks nothing, so that ops which do not depend on it have their turn. An op in
// hand is carried to its end although the controller is told to stop.
func (r *ServiceReconciler) apply(ctx context.Context, p *pass) error {
	var failures []error
	octaviaDone, refused := false, false
	for _, op := range p.plan.Ops {
		op, ready := onPort(op, p.record.observed)
		_, deletes := op.(diff.DeleteLoadBalancer)
		switch {
		case !ready, deletes && len(failures) > 0, op.Octavia() && octaviaDone:
			continue
		case op.Octavia() && refused && !standsAlone(op, p.record.observed):
			continue
		case ctx.Err() != nil:
			return ctx.Err()
		}
		err := r.mayEnd(context.WithoutCancel(ctx), p, op)
		if err == nil {
			err = r.sameTags(context.WithoutCancel(ctx), p, op)
		}
		if err == nil {
			err = r.write(context.WithoutCancel(ctx), p, op)
		}
		if err != nil {
			failures = append(failures, err)
			p.record.alone = aloneAfter(p.record.alone, op, err)
		}
		if op.Octavia() {
			refused = refused || refusal(err) && holdsUp(op)
			octaviaDone = !refusal(err)
		}
	}
	return errors.Join(failures...)
}

// aloneAfter reports whether a load balancer is to be created without its parts, after the op
// has failed. One that was to be created with them may have been refused for one of these,
// and Octavia leaves the port of the VIP behind then: so that this does not happen each
// time, it is created alone from then on, unless it is refused as well when it is alone.
func aloneAfter(alone bool, op diff.Op, failure error) bool {
	create, ok := op.(diff.CreateLoadBalancer)
	if !ok {
		return alone
	}
	parts := len(create.LoadBalancer.Listeners) > 0
	switch openstack.Classify(failure) {
	case openstack.Invalid, openstack.Conflict:
		return parts
	case openstack.Quota:
		return alone || parts && quota.OfPart(failure)
	}
	return alone
}

// lockedBy returns the load balancer on which Octavia works when it carries out the op.
func lockedBy(op diff.Op, observed lb.Observed) *lb.LoadBalancer {
	if old := observed.Predecessor; old != nil && diff.Within(op, *old) {
		return old
	}
	return observed.LoadBalancer
}

// mayEnd looks, before a load balancer is deleted that was not just read in full, whether
// others have ports on it. It is an error if they have.
func (r *ServiceReconciler) mayEnd(ctx context.Context, p *pass, op diff.Op) error {
	end, deletes := op.(diff.DeleteLoadBalancer)
	if !deletes {
		return nil
	}
	if head := p.record.observed.LoadBalancer; head != nil && head.ID == end.ID && head.ProvisioningStatus == lb.Active {
		return nil
	}
	l, err := r.Octavia.Get(ctx, end.ID)
	if err == nil {
		l, err = r.Octavia.Observe(ctx, l)
	}
	switch {
	case openstack.Classify(err) == openstack.Gone:
		return nil
	case err != nil:
		return err
	case diff.Shared(l, p.owner):
		p.record.known = false
		return openstack.NewForeign(fmt.Sprintf("delete load balancer %s, which is in %s", l.ID, l.ProvisioningStatus),
			"another Service has ports on it; it can be deleted when it has none, or repaired by the cloud's operator")
	}
	return nil
}

// sameTags looks, before the tags of a load balancer are written that others use, too, or
// any tags that were not read in this pass, whether they are what they were when the plan
// was made: Octavia takes all of them at once, and one that somebody has set since would be
// lost. So it does before a load balancer that has served gets a floating IP: an internal
// Service may have come to share it.
func (r *ServiceReconciler) sameTags(ctx context.Context, p *pass, op diff.Op) error {
	l := p.record.observed.LoadBalancer
	switch {
	case l == nil:
		return nil
	case opens(op) && p.remembered && l.ProvisioningStatus == lb.Active && r.Capabilities.Has(lb.FeatureTags):
	case !setsTags(op) || !p.remembered && !p.owner.Guest && !diff.Shared(*l, p.owner):
		return nil
	}
	var now, before []string
	if of, ok := op.(diff.SetTags); ok {
		tags, err := r.Octavia.Tags(ctx, l.ID, of)
		if err != nil {
			return err
		}
		now, before = tags, tagsOf(*l, of.ID)
	} else {
		head, err := r.Octavia.Get(ctx, l.ID)
		if err != nil {
			return err
		}
		now, before = head.Tags, l.Tags
	}
	if slices.Equal(slices.Sorted(slices.Values(now)), slices.Sorted(slices.Values(before))) {
		return nil
	}
	p.record.known = false
	return &openstack.Error{Op: op.String(), Class: openstack.Conflict, Message: "somebody else has changed the tags meanwhile"}
}

// opens reports whether the op lets clients from outside reach a load balancer.
func opens(op diff.Op) bool {
	_, creates := op.(diff.CreateFloatingIP)
	_, attaches := op.(diff.AssociateFloatingIP)
	return creates || attaches
}

// setsTags reports whether the op sets tags of what is there already.
func setsTags(op diff.Op) bool {
	update, ok := op.(diff.UpdateLoadBalancer)
	_, child := op.(diff.SetTags)
	return child || ok && update.Tags != nil
}

// tagsOf returns the tags of a listener or a pool of the load balancer.
func tagsOf(l lb.LoadBalancer, id string) []string {
	for _, listener := range l.Listeners {
		switch {
		case listener.ID == id:
			return listener.Tags
		case listener.Pool != nil && listener.Pool.ID == id:
			return listener.Pool.Tags
		}
	}
	for _, p := range l.DetachedPools {
		if p.ID == id {
			return p.Tags
		}
	}
	return nil
}

// refusal reports whether Octavia refused an op, and so did not lock the load
// balancer.
func refusal(err error) bool {
	switch openstack.Classify(err) {
	case openstack.Invalid, openstack.Quota, openstack.Conflict, openstack.Gone:
		return true
	}
	return false
}

// holdsUp reports whether an op that was refused holds up those after it. The end of
// a pool frees room at most; nothing else depends on it, and nothing at all on tags.
func holdsUp(op diff.Op) bool {
	switch op.(type) {
	case diff.DeletePool, diff.SetTags:
		return false
	}
	return true
}

// standsAlone reports whether an op is right whatever became of those before it:
// membership of pools that are there, restrictions, tags, and the end of what nobody
// wants.
func standsAlone(op diff.Op, observed lb.Observed) bool {
	switch op := op.(type) {
	case diff.SetMembers:
		return op.PoolID != ""
	case diff.UpdateListener:
		return op.PoolID == nil
	case diff.DeleteListener:
		return true
	case diff.SetTags:
		return op.ID != ""
	case diff.DeletePool:
		return observed.LoadBalancer != nil && slices.ContainsFunc(observed.LoadBalancer.DetachedPools,
			func(p lb.Pool) bool { return p.ID == op.ID })
	}
	return false
}

// onPort completes a floating IP op that was planned before the VIP port was
// known. It is not ready while there is none.
func onPort(op diff.Op, observed lb.Observed) (_ diff.Op, ready bool) {
	var port string
	if observed.LoadBalancer != nil {
		port = observed.LoadBalancer.VIP.PortID
	}
	switch op := op.(type) {
	case diff.CreateFloatingIP:
		op.FloatingIP.PortID = port
		return op, port != ""
	case diff.AssociateFloatingIP:
		op.PortID = port
		return op, port != ""
	}
	return op, true
}

// write carries out one op and notes what it leads to.
func (r *ServiceReconciler) write(ctx context.Context, p *pass, op diff.Op) error {
	if _, creates := op.(diff.CreateLoadBalancer); creates && p.course != buildBeside {
		if err := r.dropNote(ctx, p.service); err != nil {
			return err
		}
	}
	apply := r.Neutron.Apply
	if op.Octavia() {
		apply = r.Octavia.Apply
	}
	began := r.now()
	made, err := apply(ctx, op)
	r.Metrics.Write(diff.Kind(op), err, r.now().Sub(began))
	log := p.log.WithValues("op", diff.Kind(op))
	if l := p.record.observed.LoadBalancer; l != nil {
		log = log.WithValues("loadBalancerID", l.ID)
	}
	p.record.written, p.record.reached = r.now(), nil
	p.disagree()
	if err != nil {
		log.Info("op failed", "what", op.String(), "class", openstack.Classify(err), "error", err.Error())
		// What the cloud refused or may have done unheard shows that it is not
		// as it was thought to be.
		p.record.known = false
		if openstack.Classify(err) == openstack.Busy && p.record.observed.LoadBalancer != nil {
			lockedBy(op, p.record.observed).ProvisioningStatus = lb.PendingUpdate
		}
		var cloud *openstack.Error
		if _, creates := op.(diff.CreateLoadBalancer); creates && errors.As(err, &cloud) && cloud.Unanswered {
			p.record.unanswered = r.now()
		}
		p.noteTaken(op, err)
		return err
	}
	log.Info(op.String(), "created", made.ID)
	p.wrote = true
	r.noteRepair(p, op)
	r.note(p, op, made)
	if made.Missing {
		p.record.known = false
	}
	r.noteRemedy(p, op, made)
	p.record.frees = p.record.frees || r.frees(p, op)
	if _, ok := op.(diff.DeleteFloatingIP); ok {
		r.freed()
	}
	return nil
}

// note records what the op leads to once Octavia has carried it out, and that
// Octavia is at it.
func (r *ServiceReconciler) note(p *pass, op diff.Op, made diff.Created) {
	switch op := op.(type) {
	case diff.CreateLoadBalancer:
		p.record.madeComplete = ""
		switch {
		case p.course == buildBeside:
			p.record.beside.count(p.wanted, r.now(), r.timing)
		case p.record.attempts.begun == 0 && p.remedy != replaceBeside:
			p.record.fail("", "")
		}
		if len(op.LoadBalancer.Listeners) > 0 {
			p.record.madeComplete = made.ID
		}
	case diff.DeleteLoadBalancer:
		if l := p.record.observed.LoadBalancer; l != nil && l.ID == op.ID {
			if p.remedy != replaceInPlace {
				p.record.noteDeletion(r.now(), r.timing)
			}
			l.ProvisioningStatus = lb.PendingDelete
			return
		}
		// A duplicate; whether it goes is to be seen.
		p.record.noteDiscard(r.now(), r.timing)
		p.record.known = false
		return
	}
	p.record.observed = diff.After(p.record.observed, op, made)
	if l := lockedBy(op, p.record.observed); l != nil && op.Octavia() {
		if l == p.record.observed.LoadBalancer {
			p.record.confirmed, p.record.unread = false, true
		}
		if l.ProvisioningStatus == lb.Active {
			l.ProvisioningStatus = lb.PendingUpdate
		}
	}
}
