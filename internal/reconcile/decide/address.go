// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// addressed adds to the goal what a change of the floating IP depends on. A rejection counts until the next attempt is
// due. It is forgotten when the Service requests another address. The rejection of the published address is kept: this
// address is attached again if the requested one cannot be attached.
func addressed(f Facts, d Decision) Decision {
	want, facts := d.Goal.Wanted.FloatingIP, lb.AddressFacts{Published: f.Owner.Published(), Requested: f.RequestedAddresses, Abandoned: f.AbandonedFloatingIPs}
	if d.Goal.Known && !d.Goal.MembersOnly {
		d.Record.Rejected = maps.Clone(d.Record.Rejected)
		maps.DeleteFunc(d.Record.Rejected, func(_ string, r memory.Rejected) bool {
			return want == nil || want.Address != "" && want.Address != r.Address && facts.Published != r.Address
		})
	}
	for _, id := range slices.Sorted(maps.Keys(d.Record.Rejected)) {
		if r := d.Record.Rejected[id]; r.Tries.Wait(f.Now) > 0 {
			facts.Rejected = append(facts.Rejected, r.Rejection)
		}
	}
	d.Goal.Wanted.Addresses = facts
	return d
}

// rejects reports whether the error is the answer of the cloud that a floating IP cannot be attached.
func rejects(err error) bool {
	switch openstack.Classify(err) {
	case openstack.Invalid, openstack.Conflict:
		return true
	}
	return false
}

// rejectedAgain remembers that the cloud did not attach the floating IP. If another floating IP was detached for the
// attempt, each further attempt interrupts its traffic again, so attempts become rare. The published floating IP is
// tried again soon: without it, the Service has no address.
func rejectedAgain(f Facts, all map[string]memory.Rejected, op diff.AssociateFloatingIP, err error) map[string]memory.Rejected {
	before := all[op.ID]
	if before.PortID != op.PortID {
		before = memory.Rejected{}
	}
	backoff := timing.Backoff{First: f.Timing.SlowRetry, Last: f.Timing.SlowRetry}
	switch {
	case op.Address == f.Owner.Published():
		backoff.First = f.Timing.FirstBackoff
	case op.Former != nil:
		backoff.Last = 30 * f.Timing.SlowRetry
	}
	next := memory.Rejected{Rejection: before.Rejection, Address: op.Address, Reason: openstack.Reason(err), Tries: before.Tries.Again(f.Now, backoff)}
	if next.Reason != before.Reason {
		next.Rejection = lb.Rejection{FloatingIPID: op.ID, PortID: op.PortID, Message: fmt.Sprintf(
			"floating IP %s cannot be attached to the VIP: %s; solve that, or request another address", op.Address, err)}
	}
	again := map[string]memory.Rejected{op.ID: next}
	for id, other := range all {
		if id != op.ID {
			again[id] = other
		}
	}
	return again
}

// attached returns the rejections without the one of the floating IP with the id, which the cloud has attached now.
func attached(all map[string]memory.Rejected, id string) map[string]memory.Rejected {
	if _, was := all[id]; !was {
		return all
	}
	left := maps.Clone(all)
	delete(left, id)
	return left
}

// untilRetry returns how long to wait before the cloud is asked again for what it refuses.
func untilRetry(f Facts, d Decision) time.Duration {
	wait := timing.Jitter(f.Timing.SlowRetry)
	for _, r := range d.Record.Rejected {
		if next := r.Tries.Wait(f.Now); next > 0 {
			wait = min(wait, next)
		}
	}
	return wait
}

// Rejected reports whether the failure of the operation is remembered as a rejection: the next pass, which follows at
// once, reports it and keeps the present address.
func Rejected(op diff.Op, observed lb.Observed, err error) bool {
	_, attaches := attachment(op, observed)
	return attaches && err != nil && rejects(err)
}

// attachment returns the operation if it attaches a floating IP. An operation that only changes the description of an
// attached floating IP, for the Services that share it, does not attach it. Such an operation stays in the plan after a
// rejection, so retries at once would never end.
func attachment(op diff.Op, observed lb.Observed) (diff.AssociateFloatingIP, bool) {
	attach, ok := op.(diff.AssociateFloatingIP)
	there := slices.ContainsFunc(observed.FloatingIPs, func(f lb.FloatingIP) bool { return f.ID == attach.ID && f.PortID == attach.PortID })
	return attach, ok && !there
}

// Instead returns the operation to carry out at once after op failed with err, and false if there is none. If the quota
// is exhausted, it is the same operation for fewer objects. If op was to attach a floating IP, it attaches the former
// one again.
func Instead(op diff.Op, observed lb.Observed, err error) (diff.Op, bool) {
	if err == nil {
		return nil, false
	}
	if attach, ok := op.(diff.AssociateFloatingIP); ok && attach.Former != nil {
		return *attach.Former, true
	}
	if openstack.Classify(err) != openstack.Quota {
		return nil, false
	}
	if less, ok := diff.WithoutMore(op, observed); ok {
		return less, true
	}
	return nil, false
}

// OwnAddresses returns the addresses of the floating IPs that are attached to the Service's load balancers, or that
// will be attached again.
func (d Decision) OwnAddresses(f Facts) []string {
	o, want := d.Record.Cloud.Observed, d.Goal.Wanted.FloatingIP
	owner, published := f.Identity(), f.Owner.Published()
	var own []string
	for _, one := range o.FloatingIPs {
		switch {
		case one.PortID != "":
			if !attachedTo(one, o.LoadBalancer) && !attachedTo(one, o.Predecessor) {
				continue
			}
		case d.Goal.Internal(), one.Address != published:
			continue
		case owner.MadeFloatingIP(one), owner.KeptFloatingIP(one), want != nil && want.Address == one.Address, !d.Goal.Known, madeForOwnerOf(one, o):
		default:
			continue
		}
		own = append(own, one.Address)
	}
	return own
}

// madeForOwnerOf reports whether the floating IP was created for the owner of the load balancer that the Service
// shares.
func madeForOwnerOf(f lb.FloatingIP, o lb.Observed) bool {
	mark, _, marked := lb.MarkOfFloatingIP(f)
	return o.Sharer && o.LoadBalancer != nil && marked && mark.ServiceUID == lb.ServiceUIDOf(o.LoadBalancer.Tags)
}

func attachedTo(f lb.FloatingIP, l *lb.LoadBalancer) bool {
	return l != nil && f.PortID == l.VIP.PortID
}
