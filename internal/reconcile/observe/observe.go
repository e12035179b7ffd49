// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
)

// remember returns what to remember of the cloud after a read. CreatePending reports whether a
// create by an earlier controller may still produce a load balancer.
func remember(f decide.Facts, found lb.Observed, createPending bool) memory.Cloud {
	c := f.Record.Cloud
	if found.LoadBalancer != nil && c.Observed.LoadBalancer == nil {
		c.Unanswered = time.Time{} // the create without an answer has produced it
	}
	if createPending || len(found.Unsettled) > 0 && c.Unanswered.IsZero() {
		c.Unanswered = f.Now
	}
	c.Expected = expected(c, found)
	if removed := c.Removed.Shown(f.Now, f.Timing.Late); len(removed) > 0 && found.LoadBalancer != nil {
		rest := found.LoadBalancer.WithoutParts(removed)
		found.LoadBalancer = &rest
	} else if len(c.Removed.Parts) > 0 {
		// If a removed part is still there, the provider has failed, and no other client has added it.
		c.Expected, c.Removed = nil, memory.Removed{}
	}
	c.Stale = mayMissChange(c.Observed.LoadBalancer, found.LoadBalancer, f.Now) || c.Stale && f.Now.Sub(c.Written) <= memory.SecondOver
	return c.Read(found, f.Now)
}

// expected returns the state that was expected before the read. Differences from it are changes by another client. It
// is nil if the differences may be changes by Octavia.
func expected(c memory.Cloud, found lb.Observed) *lb.Observed {
	l := c.Observed.LoadBalancer
	switch now := found.LoadBalancer; {
	case now != nil && now.ProvisioningStatus == lb.Error:
		return nil
	case c.Expected != nil || c.Written.IsZero() || l == nil:
	case l.ProvisioningStatus == lb.Active || l.ProvisioningStatus == lb.PendingUpdate:
		before := diff.Clone(c.Observed)
		before.LoadBalancer.ProvisioningStatus = lb.Active
		return &before
	}
	return c.Expected
}

// mayMissChange reports whether a change by another client after the read could be missed: updated_at has whole
// seconds, and the second of the last change may not be over. That is the case if updated_at has changed and is recent,
// with a margin because clocks may differ.
func mayMissChange(before, now *lb.LoadBalancer, at time.Time) bool {
	if now == nil || before != nil && before.ID == now.ID && before.UpdatedAt == now.UpdatedAt {
		return false
	}
	changed, err := time.Parse("2006-01-02T15:04:05", now.UpdatedAt)
	return err != nil || at.Sub(changed) < 10*time.Minute
}

// createMayBePending reports, at the first read of a Service, whether an earlier controller may
// have been killed during a create: the Service is claimed, and the id of its load balancer is
// not on it. Octavia shows a new load balancer with a delay.
func (ob *Observer) createMayBePending(f decide.Facts, found lb.Observed) bool {
	if !f.Record.Cloud.Written.IsZero() || !f.Owner.Claimed {
		return false
	}
	known := found.LoadBalancer
	if found.Predecessor != nil && known != nil && decide.Replaces(*known, *found.Predecessor) {
		known = found.Predecessor // its replacement was found too
	}
	id := f.Owner.Recorded.LoadBalancerID
	return id == "" || known != nil && known.ID != id
}

// ReadAgain returns the floating IPs after those with the addresses were read again.
func (ob *Observer) ReadAgain(ctx context.Context, all []lb.FloatingIP, addresses ...string) ([]lb.FloatingIP, error) {
	now := slices.DeleteFunc(slices.Clone(all), func(f lb.FloatingIP) bool { return slices.Contains(addresses, f.Address) })
	for _, address := range addresses {
		found, err := ob.Neutron.FloatingIPsWithAddress(ctx, address)
		if err != nil {
			return all, err
		}
		now = append(now, lb.KeepKuryrVIPs(found, all)...)
	}
	return now, nil
}

// ReadPredecessor returns the predecessor with its children and its status tree, and as it was if it cannot be read.
func (ob *Observer) ReadPredecessor(ctx context.Context, old lb.LoadBalancer) (*lb.LoadBalancer, error) {
	read, err := ob.Octavia.Observe(ctx, old)
	if err != nil {
		return &old, err
	}
	return &read, nil
}

// Reread reads what an operation needs to be read again right before it.
func (ob *Observer) Reread(ctx context.Context, needs []decide.Reread) ([]decide.Reread, error) {
	have := make([]decide.Reread, len(needs))
	for i, need := range needs {
		var err error
		have[i], err = ob.reread(ctx, need)
		if err != nil {
			return nil, err
		}
	}
	return have, nil
}

func (ob *Observer) reread(ctx context.Context, need decide.Reread) (_ decide.Reread, err error) {
	if need.TagsOf != nil {
		need.Tags, err = ob.Octavia.Tags(ctx, need.LoadBalancerID, *need.TagsOf)
		return need, err
	}
	need.LoadBalancer, err = ob.Octavia.Get(ctx, need.LoadBalancerID)
	if err == nil && need.Tree {
		need.LoadBalancer, err = ob.Octavia.Observe(ctx, need.LoadBalancer)
	}
	if need.MayBeGone && openstack.Classify(err) == openstack.Gone {
		need.Gone, err = true, nil
	}
	return need, err
}
