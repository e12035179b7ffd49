// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quota queues Services that wait for quota, and wakes them when quota was freed. It may import openstack
// and timing.
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

// Freed is how many waiting Services are woken when quota was freed. All but one of many would be refused again;
// with a few, a Service that needs more than was freed does not block those behind it.
const Freed = 8

// Waiters are the Services that wait for quota, in the order of their arrival. It is safe for concurrent use.
type Waiters struct {
	mu    sync.Mutex
	order []types.NamespacedName
	woken map[types.NamespacedName]bool
}

// NewWaiters returns empty Waiters.
func NewWaiters() *Waiters { return &Waiters{woken: map[types.NamespacedName]bool{}} }

// Wait records that the Service was refused, and reports whether it had been woken. If so, it goes to the end of
// the queue.
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

// Leave records that the Service no longer waits, and reports whether it did.
func (w *Waiters) Leave(key types.NamespacedName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.woken, key)
	before := len(w.order)
	w.order = slices.DeleteFunc(w.order, func(k types.NamespacedName) bool { return k == key })
	return len(w.order) < before
}

// Wake returns up to n Services, in order, without those that were woken before and have not returned.
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

// Delay returns how long a Service waits after so many refusals in a row: longer and longer, but briefly if it had
// been woken.
func Delay(refusals int, woken bool, t timing.Delays) time.Duration {
	if woken && t.QuotaRetry > 0 {
		return timing.Jitter(t.QuotaRetry)
	}
	return timing.Jitter(max(t.SlowRetry, min(t.SlowRetry<<max(refusals-1, 0), t.LastQuotaRetry)))
}

// octaviaRefusal matches Octavia's message for an exhausted quota.
var octaviaRefusal = regexp.MustCompile(`Quota has been met for resources: ([A-Za-z ]+)`)

// OfPart reports whether Octavia refused a part of a load balancer, such as a listener, rather than the load
// balancer.
func OfPart(failure error) bool {
	var cloud *openstack.Error
	if !errors.As(failure, &cloud) {
		return false
	}
	found := octaviaRefusal.FindStringSubmatch(cloud.Message)
	return found != nil && strings.TrimSpace(found[1]) != "Load Balancer"
}
