// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package topologyfacts

import (
	"sync"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
)

// Cloud passes the connection to OpenStack to a Watcher, which may run before it exists.
type Cloud struct {
	// changed has an element if the connection was made, or fails for a new reason, and no Watcher has noticed
	// yet.
	changed chan struct{}

	mu      sync.Mutex
	planner *planner.Options // what the Watcher makes its planner with
	failure error
	since   time.Time
}

// NewCloud returns a Cloud that is not connected.
func NewCloud() *Cloud { return &Cloud{changed: make(chan struct{}, 1)} }

// Connected gives the Watcher what plans are made with. The Watcher replaces its Reader by one with a cache, and reads no
// Secrets.
func (c *Cloud) Connected(o planner.Options) {
	o.Secrets = withoutSecrets{o.Secrets}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.planner, c.failure = &o, nil
	c.signal()
}

// Failed reports why there is no connection. It may be called repeatedly.
func (c *Cloud) Failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != nil && openstack.Reason(c.failure) == openstack.Reason(err) {
		return
	}
	if c.failure == nil {
		c.since = time.Now()
	}
	c.failure = err
	c.signal()
}

func (c *Cloud) signal() {
	select {
	case c.changed <- struct{}{}:
	default: // a Watcher will notice it
	}
}

// current returns what a planner needs, or nil, since when there is none, and why. Both are nil while the first attempt lasts.
func (c *Cloud) current() (_ *planner.Options, since time.Time, failure error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.planner, c.since, c.failure
}
