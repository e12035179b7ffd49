// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quota lets Services wait for quota in turn, and wakes them when something was
// freed. It may import openstack and timing.
package quota

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// Freed is how many Services that wait for quota come back when something was freed. Of
// many that wait for one thing all but one would be refused again; with a few, no Service
// that cannot be helped holds up those behind it.
const Freed = 8

// Waiters are the Services that wait for quota, in the order in which they began to. It is
// safe for concurrent use.
type Waiters struct {
	mu    sync.Mutex
	order []types.NamespacedName
	woken map[types.NamespacedName]bool
}

// NewWaiters returns Waiters of which none waits.
func NewWaiters() *Waiters { return &Waiters{woken: map[types.NamespacedName]bool{}} }

// Wait notes that the Service was refused, and reports whether it had come back because
// something was freed. It waits behind all others then.
func (w *Waiters) Wait(key types.NamespacedName) (woken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	woken = w.woken[key]
	delete(w.woken, key)
	if i := slices.Index(w.order, key); i >= 0 {
		if !woken {
			return false
		}
		w.order = slices.Delete(w.order, i, i+1)
	}
	w.order = append(w.order, key)
	return woken
}

// Leave notes that the Service waits no more, and reports whether it did.
func (w *Waiters) Leave(key types.NamespacedName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.woken, key)
	i := slices.Index(w.order, key)
	if i >= 0 {
		w.order = slices.Delete(w.order, i, i+1)
	}
	return i >= 0
}

// Wake returns up to n Services, those that have waited the longest first, except those
// that were woken and have not come back yet.
func (w *Waiters) Wake(n int) []types.NamespacedName {
	w.mu.Lock()
	defer w.mu.Unlock()
	var keys []types.NamespacedName
	for _, key := range w.order {
		if len(keys) < n && !w.woken[key] {
			w.woken[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// Delay is how long a Service waits that was refused so often in a row: longer and longer,
// but one that came back because something was freed asks once more soon.
func Delay(refusals int, woken bool, t timing.Delays) time.Duration {
	if woken && t.QuotaRetry > 0 {
		return timing.Jitter(t.QuotaRetry)
	}
	return timing.Jitter(max(t.SlowRetry, min(t.SlowRetry<<max(refusals-1, 0), t.LastQuotaRetry)))
}

// octaviaRefusal is how Octavia says of what there can be no more.
var octaviaRefusal = regexp.MustCompile(`Quota has been met for resources: ([A-Za-z ]+)`)

// OfPart reports whether Octavia refused a part of a load balancer, such as a listener,
// rather than the load balancer itself.
func OfPart(failure error) bool {
	var cloud *openstack.Error
	if !errors.As(failure, &cloud) {
		return false
	}
	found := octaviaRefusal.FindStringSubmatch(cloud.Message)
	return found != nil && strings.TrimSpace(found[1]) != "Load Balancer"
}
