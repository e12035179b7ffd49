// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fairqueue is a work queue in which namespaces take turns. It imports nothing of
// the project.
package fairqueue

import (
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue hands out items so that no namespace keeps another one waiting: the namespaces
// take turns. An item waits for the passes under way, for one pass of each other namespace
// that has work, and for earlier items of its own namespace.
//
// Within a namespace, items of a start or a resync come after items that changed.
type queue struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	turns *turns
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = queue{}

// New returns such a queue. It is a NewQueue of controller-runtime's Options.
func New(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	t := newTurns()
	waiting := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: t})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{Name: name, Queue: waiting})
	return queue{turns: t, TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name, DelayingQueue: delaying})}
}

// AddWithOpts implements priorityqueue.PriorityQueue. A priority below zero is
// what controller-runtime gives to what nobody changed.
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

// Add asks for a pass because something changed.
func (q queue) Add(item reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// GetWithPriority implements priorityqueue.PriorityQueue. What comes back from a
// pass counts as changed.
func (q queue) GetWithPriority() (reconcile.Request, int, bool) {
	item, shutdown := q.Get()
	return item, 0, shutdown
}

// turns is the order of a queue: one line for each namespace, and the namespaces
// in turn. Each item is in it once at most.
type turns struct {
	mu sync.Mutex
	// order has the namespaces that have something to do, the next one first.
	order []string
	lines map[string]*line
	// unhurried has what was noted of items that are not handed out yet.
	unhurried map[reconcile.Request]bool
	length    int
}

// line is what waits in one namespace.
type line struct{ soon, later []reconcile.Request }

func newTurns() *turns {
	return &turns{lines: map[string]*line{}, unhurried: map[reconcile.Request]bool{}}
}

// note says of an item that is about to be added whether it has time. Who asks
// for it without having time decides.
func (t *turns) note(item reconcile.Request, hasTime bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before, noted := t.unhurried[item]; noted {
		hasTime = hasTime && before
	}
	t.unhurried[item] = hasTime
}

// Push adds an item at the end of its line.
func (t *turns) Push(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[item.Namespace]
	if l == nil {
		l = &line{}
		t.lines[item.Namespace] = l
		t.order = append(t.order, item.Namespace)
	}
	if t.unhurried[item] {
		l.later = append(l.later, item)
	} else {
		l.soon = append(l.soon, item)
	}
	t.length++
}

// Touch is told of an item that was added once more while it waits.
func (t *turns) Touch(item reconcile.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[item.Namespace]
	if l == nil || t.unhurried[item] {
		return
	}
	if i := slices.Index(l.later, item); i >= 0 {
		l.later = slices.Delete(l.later, i, i+1)
		l.soon = append(l.soon, item)
	}
}

// Len is how many items wait.
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
	from := &l.soon
	if len(l.soon) == 0 {
		from = &l.later
	}
	item := (*from)[0]
	*from = (*from)[1:]
	t.order = t.order[1:]
	if len(l.soon)+len(l.later) > 0 {
		t.order = append(t.order, namespace)
	} else {
		delete(t.lines, namespace)
	}
	delete(t.unhurried, item)
	t.length--
	return item
}
