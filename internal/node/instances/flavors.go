// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"context"
	"sync"
	"time"
)

// flavors stores the ids of flavors by their names, so that Nodes that are created at about the same time share one
// list. It stores a failure like a list. It is safe for concurrent use.
type flavors struct {
	read func(context.Context) (map[string]string, error)
	now  func() time.Time

	mu    sync.Mutex
	ids   map[string]string
	err   error
	ended time.Time // of the last read
}

// instanceType returns the value of the label for a flavor. It reads the flavors only if the name cannot be a label,
// and reads them again if the last read ended before since, or did not find the flavor: Kubernetes never changes the
// label later.
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
