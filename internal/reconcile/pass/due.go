// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"slices"
	"sync"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
)

// due holds the time of the next pass over each Service. So a change of one Service does not
// retry others that share its load balancer before their time. It is safe for concurrent use,
// and its zero value is empty.
type due struct {
	mu    sync.Mutex
	times map[owner.Key]time.Time
	// waiting are the Services that wait for a pass under a queue key.
	waiting map[owner.Key][]owner.Key
}

// at requests a pass at the time, unless an earlier one is due; the zero time means at once.
func (d *due) at(key owner.Key, when time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.times == nil {
		d.times = map[owner.Key]time.Time{}
	}
	if before, there := d.times[key]; !there || when.Before(before) {
		d.times[key] = when
	}
}

// take reports, once, whether the Service is due. If it is not, take returns the time that is
// left, or 0 if no pass was requested.
func (d *due) take(key owner.Key, now time.Time) (is bool, left time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	when, there := d.times[key]
	if !there || when.After(now) {
		return false, max(when.Sub(now), 0)
	}
	delete(d.times, key)
	return true, 0
}

// noteWaiting notes that the Service waits for a pass under the queue key.
func (d *due) noteWaiting(queueKey, key owner.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting == nil {
		d.waiting = map[owner.Key][]owner.Key{}
	}
	if !slices.Contains(d.waiting[queueKey], key) {
		d.waiting[queueKey] = append(d.waiting[queueKey], key)
	}
}

// movedAway returns, once, the Services that waited under the queue key and are not among its members any more.
func (d *due) movedAway(queueKey owner.Key, members []owner.Key) []owner.Key {
	d.mu.Lock()
	defer d.mu.Unlock()
	moved := slices.DeleteFunc(d.waiting[queueKey], func(key owner.Key) bool { return slices.Contains(members, key) })
	delete(d.waiting, queueKey)
	return moved
}

// forget removes the time of a later pass over a Service that was deleted. A request for a pass at once stays: it may
// be for a new Service of this name, which was created while the pass over the deleted Service ended. No other event
// would request that pass.
func (d *due) forget(key owner.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.times[key].IsZero() {
		delete(d.times, key)
	}
}
