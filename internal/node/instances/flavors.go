// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"context"
	"sync"
	"time"
)

// flavors keeps the ids of flavors by their names, so that the new Nodes of a while share one list. A failure is kept like a
// list. It is safe for concurrent use.
type flavors struct {
	read func(context.Context) (map[string]string, error)
	now  func() time.Time

	mu    sync.Mutex
	ids   map[string]string
	err   error
	ended time.Time // of the last read
}

// instanceType returns the value of the label for a flavor. The flavors are read only if its name cannot be one, and again if
// the last read ended before a time, or did not find it: Kubernetes never changes the label again.
func (f *flavors) instanceType(ctx context.Context, name string, since time.Time) (string, error) {
	if isLabelValue(name) {
		return name, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, found := f.ids[name]; f.ended.Before(since) || !found && f.err == nil {
		f.ids, f.err = f.read(ctx)
		f.ended = f.now()
	}
	return instanceType(name, f.ids), f.err
}
