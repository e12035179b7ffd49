// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

const (
	// firstPoll is when the watcher first polls after a change, if it was idle: some providers are done by then.
	firstPoll = 250 * time.Millisecond
	// longestInterval is the maximum interval between polls, also after failures.
	longestInterval = 2 * time.Second
	// fewSingles is up to how many load balancers are polled one by one; more are polled with one list.
	fewSingles = 2
	// singlesAtOnce is how many are polled one by one concurrently, so that many deletions do not delay the others.
	singlesAtOnce = 8
)

// WatcherOptions configure a Watcher.
type WatcherOptions struct {
	// Heads lists the load balancers of the cluster.
	Heads func(context.Context) ([]Head, error)
	// Get reads one; its error is of class Gone if the load balancer does not exist.
	Get func(ctx context.Context, id string) (Head, error)
	// ExistingPorts returns those of the Neutron ports that exist.
	ExistingPorts func(ctx context.Context, ids []string) ([]string, error)
	// Changed is called once for each load balancer that is no longer PENDING_*. It must not block for long.
	Changed func(id string, head Head)
	// Interval is the time between polls: at most 2 s; 0 means 1 s.
	Interval time.Duration
	Logger   logr.Logger
	// Clock is for tests; nil is the real clock.
	Clock clock.Clock
}

// Watcher polls all load balancers that Octavia is working on, in one loop. It never gives up: a load balancer that
// stays PENDING_* stays watched.
type Watcher struct {
	o WatcherOptions
	// added wakes the idle loop.
	added chan struct{}

	mu      sync.Mutex
	watched map[string]watch
	// calls counts the calls of Watch.
	calls uint64
}

// watch is one load balancer that is PENDING.
type watch struct {
	since time.Time
	// call is the number of the last call of Watch for it. A poll that began before that call may show the state
	// before the change, and is ignored.
	call uint64
	// portID is the VIP port that a deletion must delete, too; "" if the load balancer is not being deleted.
	portID string
	// gone is set once the load balancer itself no longer exists.
	gone bool
}

// NewWatcher returns a Watcher that starts with Run.
func NewWatcher(o WatcherOptions) *Watcher {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	o.Interval = min(o.Interval, longestInterval)
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Watcher{o: o, added: make(chan struct{}, 1), watched: map[string]watch{}}
}

// Watch follows the load balancer until it is no longer PENDING_*. Call it after Octavia has accepted a change:
// that set the load balancer to PENDING_* in the same transaction, so once it is ACTIVE the change is complete.
// Polls that began before the call are ignored. Watching twice is the same as watching once.
func (w *Watcher) Watch(id string) { w.watch(id, "") }

// WatchDeletion follows the load balancer until it and its VIP port no longer exist; portID may be empty. Only a
// failed deletion ends the watch earlier.
func (w *Watcher) WatchDeletion(id, portID string) { w.watch(id, portID) }

func (w *Watcher) watch(id, portID string) {
	w.mu.Lock()
	old, there := w.watched[id]
	if !there {
		old.since = w.o.Clock.Now()
	}
	if portID != "" {
		old.portID = portID
	}
	w.calls++
	old.call = w.calls
	w.watched[id] = old
	w.mu.Unlock()
	select {
	case w.added <- struct{}{}:
	default:
	}
}

// Forget ends the watch without a call of Changed.
func (w *Watcher) Forget(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watched, id)
}

// Pending returns the watched load balancers, and since when they are watched.
func (w *Watcher) Pending() map[string]time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	since := make(map[string]time.Time, len(w.watched))
	for id, one := range w.watched {
		since[id] = one.since
	}
	return since
}

// Run watches until the context ends, and then returns nil.
func (w *Watcher) Run(ctx context.Context) error {
	wait, failing := firstPoll, false
	for {
		if !w.sleep(ctx, wait) {
			return nil
		}
		err := w.poll(ctx)
		if failed := err != nil && ctx.Err() == nil; failed != failing {
			failing = failed
			if failing {
				w.o.Logger.Info("cannot read the PENDING load balancers; still watching them", "error", err.Error())
			} else {
				w.o.Logger.Info("can read the PENDING load balancers again")
			}
		}
		wait = w.interval(failing)
	}
}

// interval returns the time to the next poll, shortened at random by up to a tenth.
func (w *Watcher) interval(failing bool) time.Duration {
	if w.idle() {
		return firstPoll
	}
	d := w.o.Interval
	if failing {
		d = min(2*d, longestInterval)
	}
	return d*9/10 + rand.N(d/10+1)
}

func (w *Watcher) idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.watched) == 0
}

// sleep waits until something is watched and the time has passed. It returns false if the context has ended.
func (w *Watcher) sleep(ctx context.Context, d time.Duration) bool {
	for w.idle() {
		select {
		case <-ctx.Done():
			return false
		case <-w.added:
		}
	}
	timer := w.o.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

// poll polls everything that is watched and reports what has ended. A failed call leaves its load balancers watched.
func (w *Watcher) poll(ctx context.Context) error {
	w.mu.Lock()
	watched := maps.Clone(w.watched)
	w.mu.Unlock()
	heads, err := w.heads(ctx, watched)
	for id, head := range heads {
		switch {
		case head.Gone && watched[id].portID != "":
			w.markGone(id, watched[id].call)
		case !head.ProvisioningStatus.Pending():
			w.end(id, head, watched[id].call)
		}
	}
	return errors.Join(err, w.pollPorts(ctx))
}

// heads reads every load balancer that may still exist.
func (w *Watcher) heads(ctx context.Context, watched map[string]watch) (map[string]Head, error) {
	var ids []string
	for id, one := range watched {
		if !one.gone {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	if len(ids) <= fewSingles {
		return w.getAll(ctx, ids)
	}
	listed, err := w.o.Heads(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]Head{}
	for _, h := range listed {
		// Deleted load balancers may be listed for a while, and one without a status tells nothing.
		if h.ProvisioningStatus != "" && h.ProvisioningStatus != lb.Deleted {
			all[h.ID] = h
		}
	}
	heads := map[string]Head{}
	var absent []string
	for _, id := range ids {
		if head, there := all[id]; there {
			heads[id] = head
		} else {
			absent = append(absent, id)
		}
	}
	// Absence from the list proves nothing: an adopted load balancer has no tag of ours yet.
	rest, err := w.getAll(ctx, absent)
	maps.Copy(heads, rest)
	return heads, err
}

// getAll reads load balancers one by one, a few concurrently. It returns those that could be read.
func (w *Watcher) getAll(ctx context.Context, ids []string) (map[string]Head, error) {
	answers, failures := make([]Head, len(ids)), make([]error, len(ids))
	var calls errgroup.Group
	calls.SetLimit(singlesAtOnce)
	for i, id := range ids {
		calls.Go(func() error {
			answers[i], failures[i] = w.get(ctx, id)
			return nil
		})
	}
	_ = calls.Wait() // all errors are in failures
	heads := map[string]Head{}
	for i, id := range ids {
		if failures[i] == nil {
			heads[id] = answers[i]
		}
	}
	return heads, errors.Join(failures...)
}

func (w *Watcher) get(ctx context.Context, id string) (Head, error) {
	head, err := w.o.Get(ctx, id)
	switch {
	case openstack.Classify(err) == openstack.Gone, err == nil && head.ProvisioningStatus == lb.Deleted:
		return Head{ID: id, Gone: true}, nil
	case err == nil && head.ProvisioningStatus == "":
		return head, fmt.Errorf("load balancer %s has no status", id)
	}
	return head, err
}

// pollPorts reports load balancers that no longer exist, and whose VIP port does not either.
func (w *Watcher) pollPorts(ctx context.Context) error {
	w.mu.Lock()
	gone := map[string]watch{}
	var ports []string
	for id, one := range w.watched {
		if one.gone {
			gone[id] = one
			ports = append(ports, one.portID)
		}
	}
	w.mu.Unlock()
	if len(gone) == 0 {
		return nil
	}
	slices.Sort(ports)
	existing, err := w.o.ExistingPorts(ctx, ports)
	if err != nil {
		return err
	}
	for id, one := range gone {
		if !slices.Contains(existing, one.portID) {
			w.end(id, Head{ID: id, Gone: true}, one.call)
		}
	}
	return nil
}

func (w *Watcher) markGone(id string, call uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one, there := w.watched[id]; there && one.call == call {
		one.gone = true
		w.watched[id] = one
	}
}

// end stops the watch and calls Changed, unless the watch was ended or renewed meanwhile.
func (w *Watcher) end(id string, head Head, call uint64) {
	w.mu.Lock()
	one, there := w.watched[id]
	there = there && one.call == call
	if there {
		delete(w.watched, id)
	}
	w.mu.Unlock()
	if there {
		w.o.Changed(id, head)
	}
}
