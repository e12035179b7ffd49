// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package batch combines calls that are requested at the same time into one: reads, or changes that can be made
// together.
package batch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// patience is how long a read waits for the one in progress.
const patience = time.Second

// Reader reads values by key. Requests that arrive while a read is in progress wait for its end, and are then read
// together. So each value is read after it was requested, and a read never waits for further requests. It is safe for
// concurrent use.
type Reader[V any] struct {
	// read reads the values of all keys, which are unique.
	read func(ctx context.Context, keys []string) (map[string]V, error)

	mu sync.Mutex
	// current is closed when the last read that began has ended; nil if it has.
	current chan struct{}
	// next is the read that begins then, or nil.
	next *request[V]
}

// request is one read.
type request[V any] struct {
	keys   map[string]bool
	done   chan struct{}
	values map[string]V
	err    error
}

// New returns a Reader that calls read.
func New[V any](read func(ctx context.Context, keys []string) (map[string]V, error)) *Reader[V] {
	return &Reader[V]{read: read}
}

// Get returns the value of the key. Callers with the same key share it. It does not wait for a read in progress
// that takes long. The read uses the values of the first caller's context, but not its cancellation.
func (r *Reader[V]) Get(ctx context.Context, key string) (V, error) {
	r.mu.Lock()
	if joined := r.next; joined != nil {
		joined.keys[key] = true
		r.mu.Unlock()
		select {
		case <-joined.done:
			return joined.values[key], joined.err
		case <-ctx.Done():
			var none V
			return none, ctx.Err()
		}
	}
	own := &request[V]{keys: map[string]bool{key: true}, done: make(chan struct{})}
	before := r.current
	r.next = own
	r.mu.Unlock()
	if before != nil {
		wait(ctx, before)
	}
	r.run(ctx, own)
	return own.values[key], own.err
}

// run carries out the next read.
func (r *Reader[V]) run(ctx context.Context, own *request[V]) {
	r.mu.Lock()
	r.next, r.current = nil, own.done
	keys := slices.Sorted(maps.Keys(own.keys))
	r.mu.Unlock()
	own.err = errors.New("the read did not end") // unless it does
	defer func() {
		r.mu.Lock()
		if r.current == own.done {
			r.current = nil
		}
		r.mu.Unlock()
		close(own.done)
	}()
	own.values, own.err = r.read(context.WithoutCancel(ctx), keys)
}

func wait(ctx context.Context, before <-chan struct{}) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-before:
	case <-timer.C:
	case <-ctx.Done():
	}
}
