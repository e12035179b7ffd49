// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package fairqueue

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
)

func of(text string) owner.Key {
	namespace, name, _ := strings.Cut(text, "/")
	return owner.ServiceKey(namespace, name)
}

func TestNamespacesAlternate(t *testing.T) {
	// An item that ends with ? is added with low priority, one with ! is added again without.
	for name, c := range map[string]struct{ added, want string }{
		"one namespace is served in order":               {"a/1 a/2 a/3", "a/1 a/2 a/3"},
		"many items of one do not delay another":         {"a/1 a/2 a/3 a/4 b/1", "a/1 b/1 a/2 a/3 a/4"},
		"three take turns":                               {"a/1 a/2 b/1 b/2 c/1 c/2", "a/1 b/1 c/1 a/2 b/2 c/2"},
		"low priority comes later":                       {"a/1? a/2? a/3", "a/3 a/1 a/2"},
		"low priority has no effect on other namespaces": {"a/1 a/2 a/3 b/1?", "a/1 b/1 a/2 a/3"},
		"the priority is raised":                         {"a/1? a/2? a/3? a/2!", "a/2 a/1 a/3"},
		"the priority is not lowered":                    {"a/1 a/2 a/1?", "a/1 a/2"},
		"an item that is added twice comes once":         {"a/1 a/2 a/1 b/1 b/1", "a/1 b/1 a/2"},
		"the empty namespace":                            {"/1 /2 b/1", "/1 b/1 /2"},
	} {
		t.Run(name, func(t *testing.T) {
			q := New("", noLimit()).(queue)
			defer q.ShutDown()
			for _, item := range strings.Fields(c.added) {
				o := priorityqueue.AddOpts{}
				if strings.HasSuffix(item, "?") {
					o.Priority = ptr.To(-100)
				}
				q.AddWithOpts(o, of(strings.TrimRight(item, "?!")))
			}
			var got []string
			for q.Len() > 0 {
				item, _, _ := q.GetWithPriority()
				got = append(got, item.Namespace+"/"+item.Name)
				q.Done(item)
			}
			if diff := cmp.Diff(strings.Fields(c.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func noLimit() workqueue.TypedRateLimiter[owner.Key] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[owner.Key](time.Nanosecond, time.Nanosecond)
}

// Whatever is added at any time: between two turns of a namespace each other one has at most one
// turn, so that the first item of a namespace waits for at most as many items as there are other
// namespaces. No item is lost.
func TestNamespaceWaitsForAtMostOneTurnOfEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		queue := newTurns()
		waiting := map[owner.Key]bool{}
		since := map[string]map[string]int{} // namespace -> turns of each other one since it began to wait
		for step := range rapid.IntRange(1, 200).Draw(t, "steps") {
			if queue.Len() == 0 || rapid.IntRange(0, 2).Draw(t, "add") > 0 {
				item := of(fmt.Sprintf("%s/%d", rapid.SampledFrom([]string{"a", "a", "a", "a", "b", "c"}).Draw(t, "namespace"), rapid.IntRange(0, 20).Draw(t, "name")))
				queue.note(item, rapid.Bool().Draw(t, "low"))
				if waiting[item] {
					queue.Touch(item)
					continue
				}
				queue.Push(item)
				waiting[item] = true
				if since[item.Namespace] == nil {
					since[item.Namespace] = map[string]int{}
				}
				continue
			}
			item := queue.Pop()
			if !waiting[item] {
				t.Fatalf("step %d: %v was not waiting", step, item)
			}
			delete(waiting, item)
			for namespace, had := range since {
				if had[item.Namespace]++; namespace != item.Namespace && had[item.Namespace] > 1 {
					t.Fatalf("namespace %q waits while %q has its turn %d", namespace, item.Namespace, had[item.Namespace])
				}
			}
			delete(since, item.Namespace)
			if slices.ContainsFunc(slices.Collect(maps.Keys(waiting)), func(k owner.Key) bool { return k.Namespace == item.Namespace }) {
				since[item.Namespace] = map[string]int{}
			}
		}
		if queue.Len() != len(waiting) {
			t.Fatalf("%d items wait, and %d are in the queue", len(waiting), queue.Len())
		}
	})
}
