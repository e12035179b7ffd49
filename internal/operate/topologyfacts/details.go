// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package topologyfacts

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// readDetails reads the members and the status trees of a batch of load balancers that are new or have changed, and
// returns the number of those that are left.
func (w *Watcher) readDetails(ctx context.Context) (left int, err error) {
	var due []octavia.Listed
	for _, b := range w.lists.balancers {
		if w.used[b.Bare.ID] && !b.Bare.ProvisioningStatus.Pending() && b.Complete && !w.lists.current(b) {
			due = append(due, b)
		}
	}
	now := due[:min(len(due), batch)]
	return len(due) - len(now), w.each(ctx, now, func(ctx context.Context, b octavia.Listed, d *detail) error {
		full, err := w.planner.Options.Octavia.ReadMembers(ctx, b)
		if err != nil {
			return err
		}
		d.version, d.members = version(b), membersOf(full)
		for pool, n := range b.Members {
			if len(d.members[pool]) != n {
				d.version = "" // it has changed since it was listed
			}
		}
		return w.readTree(ctx, b, d)
	})
}

// membersOf returns the members of all pools, by pool id.
func membersOf(l lb.LoadBalancer) map[string][]lb.Member {
	members := map[string][]lb.Member{}
	for _, listener := range l.Listeners {
		if listener.Pool != nil {
			members[listener.Pool.ID] = listener.Pool.Members
		}
	}
	for _, p := range l.DetachedPools {
		members[p.ID] = p.Members
	}
	return members
}

// readStatuses reads status trees: of the load balancers whose operating status has changed, and the oldest ones.
func (w *Watcher) readStatuses(ctx context.Context) error {
	var changed, others []octavia.Listed
	for _, b := range w.lists.balancers {
		switch d, known := w.lists.details[b.Bare.ID]; {
		case !known || !w.used[b.Bare.ID] || d.statusAt.After(w.lists.readAt):
		case d.health != b.Bare.OperatingStatus:
			changed = append(changed, b)
		default:
			others = append(others, b)
		}
	}
	slices.SortFunc(others, func(a, b octavia.Listed) int {
		return w.lists.details[a.Bare.ID].statusAt.Compare(w.lists.details[b.Bare.ID].statusAt)
	})
	return w.each(ctx, append(changed, others[:min(len(others), mostStatuses)]...), w.readTree)
}

func (w *Watcher) readTree(ctx context.Context, b octavia.Listed, d *detail) error {
	tree, err := w.planner.Options.Octavia.Tree(ctx, b.Bare.ID)
	if err != nil {
		return err
	}
	d.health, d.statuses, d.statusAt = tree.OperatingStatus, tree.Statuses(), time.Now()
	return nil
}

// each reads a few load balancers at once, and keeps the results even if another one could not be read. A load balancer
// that does not exist any more is not an error: the next lists lack it.
func (w *Watcher) each(ctx context.Context, all []octavia.Listed, read func(context.Context, octavia.Listed, *detail) error) error {
	details, complete := make([]detail, len(all)), make([]bool, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, b := range all {
		details[i] = w.lists.details[b.Bare.ID]
		group.Go(func() error {
			gone, err := openstack.UnlessGone(read(ctx, b, &details[i]))
			complete[i] = err == nil && !gone
			return err
		})
	}
	err := group.Wait()
	for i, b := range all {
		if complete[i] {
			w.lists.details[b.Bare.ID] = details[i]
		}
	}
	return err
}
