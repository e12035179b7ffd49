// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/kube-octavia/kube-octavia/internal/cloud/polling"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// WatcherOptions configure a Watcher.
type WatcherOptions struct {
	// List lists all load balancers of the project.
	List func(context.Context) ([]Head, error)
	// Get reads one; its error is of class Gone if the load balancer does not exist.
	Get func(ctx context.Context, id string) (Head, error)
	// ExistingPorts returns those of the Neutron ports that exist. The value reports whether Octavia created the port.
	ExistingPorts func(ctx context.Context, ids []string) (map[string]bool, error)
	// Changed is called once for each load balancer that is no longer PENDING_*. It must not block for a
	// long time.
	Changed func(id string, head Head)
	Logger  logr.Logger
	// Clock is for tests; nil means the real clock.
	Clock clock.Clock
}

// Watcher polls all PENDING load balancers, in one loop. It never gives up: a load balancer that stays PENDING_*
// stays watched. Package polling determines when it polls.
type Watcher struct {
	o WatcherOptions
	// added wakes the loop.
	added chan struct{}

	mu      sync.Mutex
	watched map[string]watch
	// calls counts the calls of Watch.
	calls uint64
	// estimates has the durations of operations in this cloud.
	estimates map[polling.Operation]polling.Estimate
	// pages is the number of calls of the last list. Only Run uses it.
	pages int
	// rest is the minimum interval between two polls, which depends on the duration of the last
	// answer.
	rest time.Duration
}

// watch is one load balancer that is PENDING.
type watch struct {
	// operation is what Octavia has been doing since then.
	operation polling.Operation
	since     time.Time
	// looked is the beginning of the last poll that saw it PENDING, or zero.
	looked time.Time
	// failures counts the consecutive failed polls; the last of them began at tried.
	failures int
	tried    time.Time
	// call is the number of the last call of Watch for it. A poll that began before that call may show the state
	// before the change, and is ignored.
	call uint64
	// portID is the VIP port that a deletion must delete, too; "" if the load balancer is not being deleted.
	portID string
	// gone is set once the load balancer itself was read and does not exist.
	gone bool
}

// NewWatcher returns a Watcher that starts with Run.
func NewWatcher(o WatcherOptions) *Watcher {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Watcher{o: o, added: make(chan struct{}, 1), watched: map[string]watch{}, estimates: map[polling.Operation]polling.Estimate{}}
}

// Watch follows the load balancer until it is no longer PENDING_*. Call it after Octavia has accepted a change, with
// the operation: that set the load balancer to PENDING_* in the same transaction, so once it is ACTIVE the change is
// complete. The zero operation means one that did not begin now; for a load balancer that is already watched it
// changes nothing. Polls that began before the call are ignored.
func (w *Watcher) Watch(id string, began polling.Operation) { w.watch(id, "", began) }

// WatchDeletion follows the load balancer until it and its VIP port no longer exist; portID may be empty. Only a
// failed deletion ends the watch earlier.
func (w *Watcher) WatchDeletion(id, portID string, began polling.Operation) {
	w.watch(id, portID, began)
}

func (w *Watcher) watch(id, portID string, began polling.Operation) {
	w.mu.Lock()
	one, watched := w.watched[id]
	if !watched || began.Name != "" {
		one = watch{operation: began, since: w.o.Clock.Now(), portID: one.portID, gone: one.gone}
	}
	if portID != "" {
		one.portID = portID
	}
	w.calls++
	one.call = w.calls
	w.watched[id] = one
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
	var rested time.Time
	failing := false
	for w.await(ctx, rested) {
		began := w.o.Clock.Now()
		err := w.poll(ctx, began)
		ended := w.o.Clock.Now()
		rested = began.Add(w.setRest(ended.Sub(began)))
		if failed := err != nil && ctx.Err() == nil; failed != failing {
			failing = failed
			if failing {
				w.o.Logger.Info("cannot read the PENDING load balancers; still watching them", "error", err.Error())
			} else {
				w.o.Logger.Info("can read the PENDING load balancers again")
			}
		}
	}
	return nil
}

func (w *Watcher) setRest(answer time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = polling.Rest(answer)
	return w.rest
}

// await waits until a load balancer is due and the minimum interval has passed. It returns false if the context has
// ended.
func (w *Watcher) await(ctx context.Context, rested time.Time) bool {
	for {
		var timeout <-chan time.Time
		var timer clock.Timer
		if next, found := w.next(); found {
			wait := max(next.Sub(w.o.Clock.Now()), rested.Sub(w.o.Clock.Now()))
			if wait <= 0 {
				return ctx.Err() == nil
			}
			timer = w.o.Clock.NewTimer(wait)
			timeout = timer.C()
		}
		select {
		case <-ctx.Done():
		case <-w.added:
		case <-timeout:
		}
		if timer != nil {
			timer.Stop()
		}
		if ctx.Err() != nil {
			return false
		}
	}
}

// next returns when the next load balancer is due, or false if none is watched.
func (w *Watcher) next() (next time.Time, found bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.o.Clock.Now()
	for _, one := range w.watched {
		if at := w.due(one, now); !found || at.Before(next) {
			next, found = at, true
		}
	}
	return next, found
}

// due returns when to poll the load balancer. The lock must be held.
func (w *Watcher) due(one watch, now time.Time) time.Time {
	var looked time.Duration
	if !one.looked.IsZero() {
		looked = one.looked.Sub(one.since)
	}
	at := one.since.Add(w.estimates[one.operation].Aged(now).Next(looked, w.rest))
	if again := one.tried.Add(polling.Backoff(one.failures)); again.After(at) {
		return again
	}
	return at
}

// end stops the watch and calls Changed, unless the watch was ended or renewed meanwhile. began is the beginning of
// the poll that returned the head.
func (w *Watcher) end(id string, head Head, call uint64, began time.Time) {
	w.mu.Lock()
	one, watched := w.watched[id]
	watched = watched && one.call == call
	if watched {
		delete(w.watched, id)
		if succeeded := head.Gone || head.ProvisioningStatus == lb.Active; succeeded && one.operation.Name != "" {
			var after time.Duration
			if !one.looked.IsZero() {
				after = one.looked.Sub(one.since)
			}
			w.estimates[one.operation] = w.estimates[one.operation].Learn(after, began.Sub(one.since), began)
		}
	}
	w.mu.Unlock()
	if watched {
		w.o.Changed(id, head)
	}
}
