// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fairqueue is a work queue in which namespaces take turns.
package fairqueue

import (
	"slices"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
)

// queue is a work queue in which namespaces take turns. An item waits for the passes in progress,
// for one pass of each other namespace that has items, and for earlier items of its namespace.
//
// Within a namespace, items of low priority, which are only due to a start or resync of the
// controller, come after those that changed.
type queue struct {
	workqueue.TypedRateLimitingInterface[owner.Key]
	turns *turns
}

var _ priorityqueue.PriorityQueue[owner.Key] = queue{}

// New returns a queue in which namespaces take turns. It is a value for NewQueue in
// controller-runtime's TypedOptions.
func New(name string, limiter workqueue.TypedRateLimiter[owner.Key]) workqueue.TypedRateLimitingInterface[owner.Key] {
	t := newTurns()
	waiting := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[owner.Key]{Name: name, Queue: t})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[owner.Key]{Name: name, Queue: waiting})
	return queue{turns: t, TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
		workqueue.TypedRateLimitingQueueConfig[owner.Key]{Name: name, DelayingQueue: delaying})}
}

// AddWithOpts implements priorityqueue.PriorityQueue. controller-runtime sets a priority below zero
// for items that did not change.
func (q queue) AddWithOpts(o priorityqueue.AddOpts, items ...owner.Key) {
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

// Add adds an item that changed.
func (q queue) Add(item owner.Key) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// GetWithPriority implements priorityqueue.PriorityQueue. It always returns priority 0, so an item
// that is added again after its pass counts as changed.
func (q queue) GetWithPriority() (owner.Key, int, bool) {
	item, shutdown := q.Get()
	return item, 0, shutdown
}

// turns orders the items of a queue: the namespaces take turns, and each has a line of items. Each
// item is in it at most once.
type turns struct {
	mu sync.Mutex
	// order are the namespaces that have items, the next one first.
	order []string
	lines map[string]*line
	// low is whether an item was added with low priority only, since it was last popped.
	low    map[owner.Key]bool
	length int
}

// line has the items of a namespace by priority.
type line struct{ normal, low []owner.Key }

func newTurns() *turns { return &turns{lines: map[string]*line{}, low: map[owner.Key]bool{}} }

// note notes the priority of an item that is about to be added. The highest one counts.
func (t *turns) note(item owner.Key, low bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, noted := t.low[item]
	t.low[item] = low && (before || !noted)
}

// Push adds an item at the end of its line.
func (t *turns) Push(item owner.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[item.Namespace]
	if l == nil {
		l = &line{}
		t.lines[item.Namespace] = l
		t.order = append(t.order, item.Namespace)
	}
	if t.low[item] {
		l.low = append(l.low, item)
	} else {
		l.normal = append(l.normal, item)
	}
	t.length++
}

// Touch raises the priority of an item that was added again while it waits.
func (t *turns) Touch(item owner.Key) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[item.Namespace]
	if l == nil || t.low[item] {
		return
	}
	if i := slices.Index(l.low, item); i >= 0 {
		l.low = slices.Delete(l.low, i, i+1)
		l.normal = append(l.normal, item)
	}
}

// Len returns how many items wait.
func (t *turns) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.length
}

// Pop returns the first item of the namespace whose turn it is.
func (t *turns) Pop() owner.Key {
	t.mu.Lock()
	defer t.mu.Unlock()
	namespace := t.order[0]
	l := t.lines[namespace]
	from := &l.normal
	if len(l.normal) == 0 {
		from = &l.low
	}
	item := (*from)[0]
	*from = (*from)[1:]
	t.order = t.order[1:]
	if len(l.normal)+len(l.low) > 0 {
		t.order = append(t.order, namespace)
	} else {
		delete(t.lines, namespace)
	}
	delete(t.low, item)
	t.length--
	return item
}
