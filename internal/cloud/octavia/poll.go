// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/cloud/paging"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

const (
	// fewSingles is the number of watched load balancers up to which they are polled individually; more are
	// polled with one list.
	fewSingles = 2
	// singlesAtOnce is the number of individual polls that run concurrently, so that many do not delay
	// the others.
	singlesAtOnce = 8
)

// poll reads the load balancers that are due, and uses everything else that the same calls show. After a failed call
// its load balancers stay watched.
func (w *Watcher) poll(ctx context.Context, began time.Time) error {
	watched, due := w.overdue(began)
	existing, waiting := split(watched, slices.Sorted(maps.Keys(watched)))
	asked, portsDue := split(watched, due)
	found := map[string]Head{}
	var absent, deleted []string
	var err error
	switch {
	case len(asked) == 0:
	case len(existing) <= fewSingles || len(asked) < w.pages:
		found, err = w.getAll(ctx, asked)
	default:
		asked = existing
		found, absent, err = w.list(ctx, watched, asked)
	}
	for id, head := range found {
		if one := watched[id]; head.Gone && one.portID != "" {
			w.markGone(id, one.call)
			deleted = append(deleted, id)
			delete(found, id)
		}
	}
	if len(portsDue)+len(deleted)+len(absent) > 0 {
		rest, failure := w.withoutPorts(ctx, watched, append(deleted, waiting...), absent)
		asked, err = append(asked, waiting...), errors.Join(err, failure)
		maps.Copy(found, rest)
	}
	w.note(watched, asked, found, began)
	return err
}

// overdue returns the watched load balancers, and the ids of those that are due.
func (w *Watcher) overdue(now time.Time) (watched map[string]watch, due []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, one := range w.watched {
		if !w.due(one, now).After(now) {
			due = append(due, id)
		}
	}
	slices.Sort(due)
	return maps.Clone(w.watched), due
}

// split returns the load balancers that may still exist, and those that only wait for the deletion of their port.
func split(watched map[string]watch, ids []string) (existing, deleted []string) {
	for _, id := range ids {
		if watched[id].gone {
			deleted = append(deleted, id)
		} else {
			existing = append(existing, id)
		}
	}
	return existing, deleted
}

// list reads load balancers with one list of the whole project. It returns those that could be read. absent are those
// being deleted that are not in the list: they do not exist if their VIP ports do not exist either, which Neutron
// shows. Any other that is not in the list is read by its id.
func (w *Watcher) list(ctx context.Context, watched map[string]watch, ids []string) (found map[string]Head, absent []string, err error) {
	all, err := w.o.List(ctx)
	if err != nil {
		return map[string]Head{}, nil, err
	}
	w.pages = (len(all) + paging.Size - 1) / paging.Size
	listed := make(map[string]Head, len(all))
	for _, head := range all {
		listed[head.ID] = head
	}
	found = map[string]Head{}
	var missing []string
	for _, id := range ids {
		switch head, ok := listed[id]; {
		// Deleted load balancers may be listed for a while, and one without a status is ignored.
		case ok && head.ProvisioningStatus != "" && head.ProvisioningStatus != lb.Deleted:
			found[id] = head
		case !ok && watched[id].portID != "":
			absent = append(absent, id)
		default:
			missing = append(missing, id)
		}
	}
	rest, err := w.getAll(ctx, missing)
	maps.Copy(found, rest)
	return found, absent, err
}

// getAll reads load balancers individually. It returns those that could be read.
func (w *Watcher) getAll(ctx context.Context, ids []string) (map[string]Head, error) {
	return eachHead(ctx, ids, w.o.Get)
}

// eachHead reads load balancers individually, a few concurrently. It returns those that could be read; one that does
// not exist is Gone.
func eachHead(ctx context.Context, ids []string, read func(context.Context, string) (Head, error)) (map[string]Head, error) {
	answers, failures := make([]Head, len(ids)), make([]error, len(ids))
	var calls errgroup.Group
	calls.SetLimit(singlesAtOnce)
	for i, id := range ids {
		calls.Go(func() error {
			answers[i], failures[i] = headOrGone(ctx, id, read)
			return nil
		})
	}
	_ = calls.Wait() // failures has all errors
	found := map[string]Head{}
	for i, id := range ids {
		if failures[i] == nil {
			found[id] = answers[i]
		}
	}
	return found, errors.Join(failures...)
}

func headOrGone(ctx context.Context, id string, read func(context.Context, string) (Head, error)) (Head, error) {
	head, err := read(ctx, id)
	switch {
	case openstack.Classify(err) == openstack.Gone, err == nil && head.ProvisioningStatus == lb.Deleted:
		return Head{ID: id, Gone: true}, nil
	case err == nil && head.ProvisioningStatus == "":
		return head, fmt.Errorf("load balancer %s has no status", id)
	}
	return head, err
}

// withoutPorts checks, with one call, whether the VIP ports of deleted load balancers and of those that are absent
// from a list still exist. It returns those that could be read.
func (w *Watcher) withoutPorts(ctx context.Context, watched map[string]watch, deleted, absent []string) (map[string]Head, error) {
	all := slices.Concat(deleted, absent)
	var ports []string
	for _, id := range all {
		ports = append(ports, watched[id].portID)
	}
	slices.Sort(ports)
	existing, err := w.o.ExistingPorts(ctx, slices.Compact(ports))
	if err != nil {
		return nil, err
	}
	found := map[string]Head{}
	var unsure []string
	for _, id := range all {
		switch byOctavia, exists := existing[watched[id].portID]; {
		case exists && byOctavia:
			found[id] = Head{ID: id, ProvisioningStatus: lb.PendingDelete}
		case exists && slices.Contains(absent, id):
			// A user created the port, so it stays, and only the list shows that the load balancer is deleted.
			unsure = append(unsure, id)
		default:
			found[id] = Head{ID: id, Gone: true}
		}
	}
	rest, err := w.getAll(ctx, unsure)
	maps.Copy(found, rest)
	return found, err
}

// note records the result of a poll for the load balancers that it read, and ends the watch of those that are
// not PENDING.
func (w *Watcher) note(watched map[string]watch, asked []string, found map[string]Head, began time.Time) {
	for _, id := range asked {
		head, ok := found[id]
		if ok && (head.Gone || !head.ProvisioningStatus.Pending()) {
			w.end(id, head, watched[id].call, began)
			continue
		}
		w.mu.Lock()
		if one, there := w.watched[id]; there && one.call == watched[id].call {
			one.tried = began
			if ok {
				one.looked, one.failures = began, 0
			} else {
				one.failures++
			}
			w.watched[id] = one
		}
		w.mu.Unlock()
	}
}

func (w *Watcher) markGone(id string, call uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one, there := w.watched[id]; there && one.call == call {
		one.gone = true
		w.watched[id] = one
	}
}
