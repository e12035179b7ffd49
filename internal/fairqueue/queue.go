// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fairqueue is a work queue in which namespaces take turns. It imports nothing of this project.
package fairqueue

import (
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue hands out items so that no namespace blocks another: the namespaces take turns. An item waits for the
// passes in progress, for one pass of each other namespace with work, and for earlier items of its own namespace.
//
// Within a namespace, items that changed come before those of a start or a resync.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	turns *turns
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = queue{}

// New returns such a queue, as NewQueue of controller-runtime's Options.
func New(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	t := newTurns()
	waiting := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: t})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{Name: name, Queue: waiting})
	return queue{turns: t, TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name, DelayingQueue: delaying})}
}

// AddWithOpts implements priorityqueue.PriorityQueue. controller-runtime gives items that did not change a priority
// below zero.
func (q queue) AddWithOpts(o priorityqueue.AddOpts, items ...reconcile.Request) {
	for _, item := range items {
		q.turns.note(item, o.Priority != nil && *o.Priority < 0)
		switch {
		case o.RateLimited:
			q.TypedRateLimitingInterface.AddRateLimited(item)
		case o.After > 0:
			q.TypedRateLimitingInterface.AddAfter(item, o.After)
		default:
			q.TypedRateLimitingInterface.Add(item)
		}
	}
}

// Add requests a pass because something changed.
func (q queue) Add(item reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// GetWithPriority implements priorityqueue.PriorityQueue. Items that a pass returns count as changed.
func (q queue) GetWithPriority() (reconcile.Request, int, bool) {
	item, shutdown := q.Get()
	return item, 0, shutdown
}

// turns is the order of a queue: one line per namespace, and the namespaces in turn. It holds each item at most
// once.
type turns struct {
	mu sync.Mutex
	// order holds the namespaces with work, the next one first.
	order []string
	lines map[string]*line
	// lowPriority records, for items that were not handed out yet, whether they did not change.
	lowPriority map[reconcile.Request]bool
	length      int
}

// line holds the waiting items of one namespace.
type line struct{ changed, unchanged []reconcile.Request }

func newTurns() *turns {
	return &turns{lines: map[string]*line{}, lowPriority: map[reconcile.Request]bool{}}
}

// note records the priority of an item that is about to be added. The higher priority wins.
func (t *turns) note(item reconcile.Request, low bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, noted := t.lowPriority[item]
	t.lowPriority[item] = low && (before || !noted)
}

// Push appends an item to its line.
func (t *turns) Push(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[item.Namespace]
	if l == nil {
		l = &line{}
		t.lines[item.Namespace] = l
		t.order = append(t.order, item.Namespace)
	}
	if t.lowPriority[item] {
		l.unchanged = append(l.unchanged, item)
	} else {
		l.changed = append(l.changed, item)
	}
	t.length++
}

// Touch is called for an item that is added again while it waits.
func (t *turns) Touch(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[item.Namespace]
	if l == nil || t.lowPriority[item] {
		return
	}
	if i := slices.Index(l.unchanged, item); i >= 0 {
		l.unchanged = slices.Delete(l.unchanged, i, i+1)
		l.changed = append(l.changed, item)
	}
}

// Len returns how many items wait.
func (t *turns) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.length
}

// Pop returns the first item of the namespace whose turn it is.
func (t *turns) Pop() reconcile.Request {
	t.mu.Lock()
	defer t.mu.Unlock()
	namespace := t.order[0]
	l := t.lines[namespace]
	from := &l.changed
	if len(l.changed) == 0 {
		from = &l.unchanged
	}
	item := (*from)[0]
	*from = (*from)[1:]
	t.order = t.order[1:]
	if len(l.changed)+len(l.unchanged) > 0 {
		t.order = append(t.order, namespace)
	} else {
		delete(t.lines, namespace)
	}
	delete(t.lowPriority, item)
	t.length--
	return item
}
