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
	// firstLook is how soon after the beginning of a change the watcher looks,
	// when it has nothing else to do: some providers are done by then.
	firstLook = 250 * time.Millisecond
	// longestInterval lies between two looks at most, also after failures.
	longestInterval = 2 * time.Second
	// fewSingles is up to how many load balancers are asked for one by one;
	// more are taken from one list.
	fewSingles = 2
	// singlesAtOnce is how many are asked for one by one at the same time, so
	// that many deletions that end together do not hold up all others.
	singlesAtOnce = 8
)

// WatcherOptions is what a Watcher asks and whom it tells.
type WatcherOptions struct {
	// Heads lists the cluster's load balancers, Get reads one; of one that does
	// not exist it returns an error of class Gone.
	Heads func(context.Context) ([]Head, error)
	Get   func(ctx context.Context, id string) (Head, error)
	// PortsThere returns those of the Neutron ports that exist.
	PortsThere func(ctx context.Context, ids []string) ([]string, error)
	// Changed is told of each load balancer that is no longer PENDING_*, once.
	// It must not block for long.
	Changed func(id string, head Head)
	// Interval lies between two looks; 0 means a second, and 2 s is the most.
	Interval time.Duration
	Logger   logr.Logger
	// Clock is the time; nil is the real one.
	Clock clock.Clock
}

// Watcher follows all load balancers that Octavia is working on, in one loop.
// It never gives one up: one that stays PENDING_* stays watched.
type Watcher struct {
	o WatcherOptions
	// added wakes the loop when there was nothing to watch.
	added chan struct{}

	mu      sync.Mutex
	watched map[string]watch
	// calls counts the calls of Watch.
	calls uint64
}

// watch is one load balancer on which Octavia works.
type watch struct {
	since time.Time
	// call is the last call of Watch for it. What was asked before may be from
	// the time before the change that is watched, and is no answer.
	call uint64
	// portID is the VIP port that has to go with the load balancer, "" when it
	// is not being deleted.
	portID string
	// gone is whether the load balancer itself is no more.
	gone bool
}

// NewWatcher returns a Watcher that does nothing before Run.
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

// Watch follows the load balancer until it is no longer PENDING_*. It is called
// after Octavia has accepted a change: it made the load balancer PENDING_* in the
// same transaction, so that one which is ACTIVE afterwards has been changed. What
// was seen before the call is not taken for an answer. Watching twice is as
// watching once.
func (w *Watcher) Watch(id string) { w.watch(id, "") }

// WatchDeletion follows the load balancer until it is gone and its VIP port as
// well; portID may be empty. Before that only a failed deletion ends the watch.
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

// Forget ends the watch without a word.
func (w *Watcher) Forget(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watched, id)
}

// Pending returns since when each load balancer is watched, by id.
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
	wait, failing := firstLook, false
	for {
		if !w.sleep(ctx, wait) {
			return nil
		}
		err := w.look(ctx)
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

// interval is the time to the next look, up to a tenth of it less by chance.
func (w *Watcher) interval(failing bool) time.Duration {
	if w.idle() {
		return firstLook
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

// sleep waits until there is something to watch and the time has passed. It
// returns false when the context has ended.
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

// look asks once for everything that is watched and tells of what has ended. A
// question that fails leaves what it was about as it is.
func (w *Watcher) look(ctx context.Context) error {
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
	return errors.Join(err, w.lookAtPorts(ctx))
}

// heads finds out about every load balancer that is not known to be gone.
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
		// Deleted load balancers may be shown for a while, and one without a
		// status says nothing.
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
	// Absence from the list proves nothing: an adopted load balancer does not
	// bear our tag yet.
	rest, err := w.getAll(ctx, absent)
	maps.Copy(heads, rest)
	return heads, err
}

// getAll asks for load balancers one by one, a few at a time. It returns those
// of which there was an answer.
func (w *Watcher) getAll(ctx context.Context, ids []string) (map[string]Head, error) {
	answers, failures := make([]Head, len(ids)), make([]error, len(ids))
	var questions errgroup.Group
	questions.SetLimit(singlesAtOnce)
	for i, id := range ids {
		questions.Go(func() error {
			answers[i], failures[i] = w.get(ctx, id)
			return nil
		})
	}
	_ = questions.Wait() // failures has them all
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

// lookAtPorts tells of load balancers that are gone and whose VIP port is, too.
func (w *Watcher) lookAtPorts(ctx context.Context) error {
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
	there, err := w.o.PortsThere(ctx, ports)
	if err != nil {
		return err
	}
	for id, one := range gone {
		if !slices.Contains(there, one.portID) {
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

// end stops watching and tells, unless the watch was ended or renewed meanwhile.
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
