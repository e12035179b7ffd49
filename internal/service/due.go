// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// due is which Services are to be looked at: those that something asked for, and those whose
// time has come. A Service is not tried again before its time because another one that shares
// its load balancer has changed. It is safe for concurrent use, and its zero value is empty.
type due struct {
	mu    sync.Mutex
	times map[types.NamespacedName]time.Time
}

// at asks for a look at the Service at the time; the zero time is at once.
func (d *due) at(key types.NamespacedName, when time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.times == nil {
		d.times = map[types.NamespacedName]time.Time{}
	}
	if before, there := d.times[key]; !there || when.Before(before) {
		d.times[key] = when
	}
}

// take reports, once, whether the time of the Service has come. If not, it returns how long
// it takes, or 0 if nothing asks for it.
func (d *due) take(key types.NamespacedName, now time.Time) (is bool, left time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	when, there := d.times[key]
	if !there || when.After(now) {
		return false, max(when.Sub(now), 0)
	}
	delete(d.times, key)
	return true, 0
}

// forget drops a Service that is gone.
func (d *due) forget(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.times, key)
}
