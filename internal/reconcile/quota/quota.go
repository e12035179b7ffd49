// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quota lets Services wait in line for quota, and wakes them after a deletion.
package quota

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// Freed is how many waiting Services are woken after a deletion. If all of them need the same
// resource, all but one are rejected again; with only one, a Service that needs another resource
// would block the others.
const Freed = 8

// Waiters are the Services that wait for quota, in the order in which they began to wait. They
// are safe for concurrent use.
type Waiters struct {
	mu    sync.Mutex
	order []owner.Key
	woken map[owner.Key]bool
}

// NewWaiters returns empty Waiters.
func NewWaiters() *Waiters { return &Waiters{woken: map[owner.Key]bool{}} }

// Wait notes that the Service was rejected, and reports whether it had been woken. If so, it goes
// to the end of the line.
func (w *Waiters) Wait(key owner.Key) (woken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	woken = w.woken[key]
	delete(w.woken, key)
	if woken || !slices.Contains(w.order, key) {
		w.remove(key)
		w.order = append(w.order, key)
	}
	return woken
}

// Leave notes that the Service no longer waits, and reports whether it did.
func (w *Waiters) Leave(key owner.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.woken, key)
	return w.remove(key)
}

func (w *Waiters) remove(key owner.Key) bool {
	before := len(w.order)
	w.order = slices.DeleteFunc(w.order, func(k owner.Key) bool { return k == key })
	return len(w.order) < before
}

// Wake returns up to n Services to try again, those that have waited longest first. It leaves out
// those that were woken and have not tried yet.
func (w *Waiters) Wake(n int) []owner.Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	var keys []owner.Key
	for _, key := range w.order {
		if len(keys) < n && !w.woken[key] {
			w.woken[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// Delay returns how long a Service waits after so many consecutive rejections. One that was woken
// tries again soon.
func Delay(refusals int, woken bool, t timing.Delays) time.Duration {
	if woken && t.QuotaRetry > 0 {
		return timing.Jitter(t.QuotaRetry)
	}
	return timing.Jitter(max(t.SlowRetry, min(t.SlowRetry<<max(refusals-1, 0), t.LastQuotaRetry)))
}

// octaviaRefusal matches Octavia's message, which names the resource.
var octaviaRefusal = regexp.MustCompile(`Quota has been met for resources: ([A-Za-z ]+)`)

// OfChild reports whether Octavia rejected a child of a load balancer, such as a listener, and not
// the load balancer itself.
func OfChild(failure error) bool {
	var cloud *openstack.Error
	if !errors.As(failure, &cloud) {
		return false
	}
	found := octaviaRefusal.FindStringSubmatch(cloud.Message)
	return found != nil && strings.TrimSpace(found[1]) != "Load Balancer"
}
