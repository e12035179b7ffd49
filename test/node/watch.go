// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// byService is the index by which a Service's slices are found.
const byService = "service"

// queue holds the namespace/name keys of objects to look at.
type queue struct {
	workqueue.TypedRateLimitingInterface[string]
}

func newQueue() queue {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 5*time.Second)
	return queue{workqueue.NewTypedRateLimitingQueue(limiter)}
}

// watch starts the informers and waits until they have synced.
func (n *Nodes) watch(ctx, running context.Context) error {
	services := n.factory.Core().V1().Services().Informer()
	slices := n.factory.Discovery().V1().EndpointSlices().Informer()
	pods := n.factory.Core().V1().Pods().Informer()
	n.services, n.slices, n.podStore = services.GetIndexer(), slices.GetIndexer(), pods.GetIndexer()

	err := slices.AddIndexers(cache.Indexers{byService: func(obj any) ([]string, error) {
		return []string{sliceService(obj.(*discoveryv1.EndpointSlice))}, nil
	}})
	if err == nil {
		_, err = services.AddEventHandler(handler(func(obj any) { n.proxied.Add(key(obj)) }))
	}
	if err == nil {
		_, err = pods.AddEventHandler(handler(func(obj any) { n.kubelet.Add(key(obj)) }))
	}
	if err == nil {
		_, err = slices.AddEventHandler(handler(func(obj any) {
			if s, ok := obj.(*discoveryv1.EndpointSlice); ok {
				n.proxied.Add(sliceService(s))
			}
		}))
	}
	if err != nil {
		return fmt.Errorf("nodes: informers: %w", err)
	}
	n.factory.Start(running.Done())
	for kind, ok := range n.factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("nodes: cannot list %s: %w", kind, context.Cause(ctx))
		}
	}
	return nil
}

// handler calls f with the object of every event; for a deletion that was
// missed, with the object as it was last seen.
func handler(f func(obj any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    f,
		UpdateFunc: func(_, obj any) { f(obj) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			f(obj)
		},
	}
}

// key is namespace/name.
func key(obj any) string {
	name, err := cache.ObjectToName(obj)
	if err != nil {
		return "" // never: the informers hand out API objects only
	}
	return name.String()
}

// sliceService returns the key of the Service that the slice belongs to.
func sliceService(s *discoveryv1.EndpointSlice) string {
	return s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
}

// resync looks at everything again, because the set of nodes has changed.
func (n *Nodes) resync() {
	for _, k := range n.services.ListKeys() {
		n.proxied.Add(k)
	}
	for _, k := range n.podStore.ListKeys() {
		n.kubelet.Add(k)
	}
}

// work calls sync for the keys of the queue until it is shut down. sync may ask
// to be called again after a time.
func (n *Nodes) work(ctx context.Context, q queue, sync func(context.Context, string) (time.Duration, error)) {
	for {
		k, shutdown := q.Get()
		if shutdown {
			return
		}
		again, err := sync(ctx, k)
		switch {
		case err != nil && ctx.Err() == nil:
			n.logger.Error(err, "Will try again", "key", k)
			q.AddRateLimited(k)
		case again > 0:
			q.Forget(k)
			q.AddAfter(k, again)
		default:
			q.Forget(k)
		}
		q.Done(k)
	}
}
