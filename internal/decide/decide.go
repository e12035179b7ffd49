// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// Decide decides what is done for the Service now. It asks for no need that was provided,
// but for NeedDesired, for which it changes Record so that it is not asked for again.
func Decide(f Facts) Decision {
	if !f.Serves {
		return release(f)
	}
	w, action, record, need := resolve(f)
	d := Decision{Action: action, Wish: w, Record: record, Need: need}
	f.Record = record
	switch {
	case need != "" || !w.Known:
		return d
	case f.lacksCertificate(w):
		return d.needs(NeedCertificate)
	case f.reached(d):
		d.Done = true
		return d
	case f.lacksRequestedAddress(w):
		return d.needs(NeedRequestedAddress)
	case f.mustSee():
		return d.needs(NeedStatusTree)
	}
	if d = awaitParts(f, d); d.Need != "" || d.Action == AwaitParts {
		return d
	}
	f.Record = d.Record
	switch l := f.loadBalancer(); {
	case f.awaitsRebuild(&d):
		return d
	case l != nil && l.ProvisioningStatus == lb.Error && f.served():
		return recovery(f, d)
	case d.Action == Replace:
		return replace(f, d)
	case f.failedAtBirth():
		return rebuild(f, d)
	}
	return noteForeign(f, follow(f, d))
}

// needs returns a decision that cannot be made yet.
func (d Decision) needs(n Need) Decision {
	return Decision{Need: n, Wish: d.Wish, Record: d.Record}
}

// served reports whether the Service ever had an address that somebody may use.
func (f Facts) served() bool { return status.Published(f.Service) != "" }

// reached reports whether everything wanted was reached before and nobody changed the load
// balancer since.
func (f Facts) reached(d Decision) bool {
	was := f.Record.Progress.Reached
	return !f.Preview && !d.Wish.MembersOnly && d.Action == Follow && f.Record.Cloud.Known && was != nil && equal(*was, d.Wish.Wanted)
}

// lacksCertificate reports whether the certificate of the Service's Secret is wanted, and
// not stored yet.
func (f Facts) lacksCertificate(w Wish) bool {
	c := w.Input.Certificate
	return !f.has(NeedCertificate) && !w.MembersOnly && c.Ref == "" && c.Name != "" &&
		slices.Contains(w.Wanted.LoadBalancer.CertificateRefs(), c.Name) && !f.leavesDrift(w)
}

// lacksRequestedAddress reports whether the floating IP that the user asks for is to be
// looked at: until it is on the load balancer.
func (f Facts) lacksRequestedAddress(w Wish) bool {
	want, l := w.Wanted.FloatingIP, f.loadBalancer()
	if f.has(NeedRequestedAddress) || want == nil || want.Address == "" {
		return false
	}
	return !slices.ContainsFunc(f.observed().FloatingIPs, func(have lb.FloatingIP) bool {
		return have.Address == want.Address && l != nil && l.VIP.PortID != "" && have.PortID == l.VIP.PortID
	})
}

// mustSee reports whether the ACTIVE load balancer has to be looked at before anything is
// planned: ids below it are not known, or it takes the place of another one, which must not
// lose its address and be deleted because of what was only predicted.
func (f Facts) mustSee() bool {
	l := f.loadBalancer()
	return !f.has(NeedStatusTree) && l != nil && l.ProvisioningStatus == lb.Active &&
		(Nameless(*l) || f.observed().Predecessor != nil && !f.Record.Cloud.Confirmed)
}

// Nameless reports whether the ids of what is below the load balancer are not known yet: it
// was just created, and nothing below it can be changed.
func Nameless(l lb.LoadBalancer) bool {
	return slices.ContainsFunc(l.Listeners, func(l lb.Listener) bool {
		return l.ID == "" || l.Pool != nil && l.Pool.ID == ""
	})
}

// release deletes what the Service has.
func release(f Facts) Decision {
	d := Decision{Action: Release, Record: f.Record, Wish: Wish{Known: true}}
	d.Wish.Wanted.KeepFloatingIP = annotation.KeepsFloatingIP(f.Service.Annotations, f.Config)
	if l := f.loadBalancer(); l != nil && l.ProvisioningStatus == lb.Error && !f.Preview {
		if f.Record.Recovery.Deletions.Count > 0 {
			d.Record.Progress.Reason, d.Record.Progress.Trouble = status.ReasonFailed, fmt.Sprintf("Octavia could not delete load balancer %s, which is in ERROR; it is tried again", l.ID)
		}
		if d.Delay = f.Record.Recovery.Deletions.Wait(f.Now); d.Delay > 0 {
			return d
		}
	}
	if d.Plan, _ = plans(f, d); f.lacksFloatingIPs(d) {
		return d.needs(NeedFloatingIPs)
	}
	return withoutDiscards(f, d)
}

// Released reports whether the cloud has nothing of the Service any more, and nothing can
// appear that Octavia was asked for and did not answer.
func Released(f Facts, d Decision) bool {
	c := d.Record.Cloud
	o := c.Observed
	f.Record = d.Record
	// One that others use, too, is left to them when nothing of ours is on it.
	gone := o.LoadBalancer == nil || o.LoadBalancer.ProvisioningStatus == lb.Active && diff.Shared(*o.LoadBalancer, f.Owner())
	return c.Known && c.Unanswered.IsZero() && gone && o.Predecessor == nil && len(o.Unsettled) == 0 &&
		len(diff.New(d.Wish.Wanted, o, f.Owner()).Ops) == 0
}

// follow plans what leads to what is wanted. When nothing is left to do it makes sure that
// this is true.
func follow(f Facts, d Decision) Decision {
	d.Plan, d.Complete = plans(f, d)
	if f.lacksFloatingIPs(d) {
		return d.needs(NeedFloatingIPs)
	}
	d = withoutDiscards(f, d)
	var settled bool
	if d, settled = handOver(f, d); settled || d.Need != "" {
		return d
	}
	d.Record.Progress.SteadyFor = steady(f, d)
	if l := f.loadBalancer(); len(d.Plan.Ops) == 0 && l != nil && l.ProvisioningStatus == lb.Active && !f.Preview {
		if d = confirm(f, d, *l); d.Need != "" {
			return d
		}
		d.Agrees = d.Record.Cloud.Confirmed
	}
	return hold(f, d)
}

// lacksFloatingIPs reports whether floating IPs are to be read again before one is moved
// from where it was last seen: another client may have moved it since. The one that the
// Service asks for by its address was looked at already.
func (f Facts) lacksFloatingIPs(d Decision) bool {
	want := d.Wish.Wanted.FloatingIP
	return f.Remembered && !f.has(NeedFloatingIPs) && slices.ContainsFunc(d.Plan.Ops, func(op diff.Op) bool {
		switch op := op.(type) {
		case diff.DeleteFloatingIP, diff.DisassociateFloatingIP, diff.SetFloatingIPTags:
			return true
		case diff.AssociateFloatingIP:
			return want == nil || op.Address != want.Address
		}
		return false
	})
}

// steady returns what is wanted if only the membership of pools is left to do, or nil.
func steady(f Facts, d Decision) *lb.Wanted {
	l := f.loadBalancer()
	if l == nil || l.ProvisioningStatus != lb.Active || len(d.Plan.Ops) == 0 {
		return d.Record.Progress.SteadyFor
	}
	for _, op := range d.Plan.Ops {
		if _, ok := op.(diff.SetMembers); !ok {
			return nil
		}
	}
	wanted := d.Wish.Wanted
	return &wanted
}

// confirm checks, when nothing is left to do, that the cloud really has what was only
// predicted so far, and that all of it is ready.
func confirm(f Facts, d Decision, l lb.LoadBalancer) Decision {
	switch {
	case !d.Record.Cloud.Confirmed && !f.has(NeedStatusTree):
		return d.needs(NeedStatusTree)
	case diff.LeftBehind(&l, f.Owner()):
		// Nothing can be planned for parts that are unfinished; they get their time again.
		d.Record.Unfinished.LeftBehind, d.Record.Cloud.Confirmed = false, false
		d, _ = startWaiting(f, d)
		return d
	}
	d.Unready = unready(l, f.Owner())
	if d.Record.Cloud.Confirmed = d.Unready == ""; d.Record.Cloud.Confirmed {
		// It serves, whatever else is refused.
		d.Record = d.Record.Serves()
	}
	d.Record.Unfinished.LeftBehind = false
	d.Done = d.Record.Cloud.Confirmed && len(d.Plan.Refused) == 0
	return d
}

// withoutDiscards takes out of the plan what Octavia was asked to delete a short while ago
// and could not: it would have time for nothing else.
func withoutDiscards(f Facts, d Decision) Decision {
	delay := f.Record.Recovery.Discards.Wait(f.Now)
	if delay == 0 || f.Preview {
		return d
	}
	head := f.loadBalancer()
	d.Plan.Ops = slices.DeleteFunc(slices.Clone(d.Plan.Ops), func(op diff.Op) bool {
		end, deletes := op.(diff.DeleteLoadBalancer)
		discards := deletes && (head == nil || end.ID != head.ID)
		if discards {
			d.Delay, d.Postponed = delay, true
		}
		return discards
	})
	return d
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
