// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package topologyfacts

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// syncLimit is the time limit for the watches to start.
const syncLimit = 20 * time.Second

// answerLimit is the time limit for an answer of the cluster while the watches run.
const answerLimit = 5 * time.Second

// kube is the cache of the cluster's objects while the page is open.
type kube struct {
	options Options
	reader  cache.Cache
	synced  bool
	// changed has an element if something has changed. members counts changes of objects on which
	// members depend.
	changed chan struct{}
	members atomic.Int64
	cancel  context.CancelFunc
	running sync.WaitGroup
	// direct reads without the cache.
	direct client.Client
}

func newKube(o Options) *kube { return &kube{options: o, changed: make(chan struct{}, 1)} }

// start starts the watches or, if they run, checks that the cluster still answers, which watches do not show.
func (k *kube) start(ctx context.Context) error {
	if k.synced {
		return k.options.Explain(k.answers(ctx))
	}
	k.stop()
	if err := k.check(ctx); err != nil {
		return k.options.Explain(err)
	}
	options := k.options.Cache
	options.ByObject = maps.Clone(options.ByObject)
	options.ByObject[&corev1.Event{}] = cache.ByObject{Field: fields.OneTermEqualSelector("involvedObject.kind", "Service")}
	reader, err := cache.New(k.options.Cluster, options)
	if err != nil {
		return k.options.Explain(err)
	}
	ctx, k.cancel = context.WithCancel(ctx)
	var failure error
	k.running.Go(func() { failure = reader.Start(ctx) })
	limited, cancel := context.WithTimeout(ctx, syncLimit)
	defer cancel()
	for _, object := range []client.Object{&corev1.Service{}, &corev1.Node{}, &discoveryv1.EndpointSlice{}, &corev1.Event{}} {
		informer, err := reader.GetInformer(limited, object)
		if err == nil {
			err = k.follow(informer, object)
		}
		if err != nil {
			k.stop()
			return k.options.Explain(err)
		}
	}
	if !reader.WaitForCacheSync(limited) {
		k.stop()
		if failure != nil {
			return k.options.Explain(failure)
		}
		return errNotSynced(syncLimit)
	}
	k.reader, k.synced = reader, true
	return nil
}

// answers returns an error if the cluster does not answer.
func (k *kube) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	return k.direct.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &corev1.Namespace{})
}

// check reads one object of each kind, because a cache does not report why it cannot read them.
func (k *kube) check(ctx context.Context) error {
	var err error
	k.direct, err = client.New(k.options.Cluster, client.Options{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, syncLimit)
	defer cancel()
	for _, list := range []client.ObjectList{&corev1.ServiceList{}, &corev1.NodeList{}, &discoveryv1.EndpointSliceList{}, &corev1.EventList{}} {
		if err := k.direct.List(ctx, list, client.Limit(1)); err != nil {
			return err
		}
	}
	return nil
}

// follow registers the handler of changes of the objects.
func (k *kube) follow(informer cache.Informer, object client.Object) error {
	_, service := object.(*corev1.Service)
	_, event := object.(*corev1.Event)
	note := func() {
		if !service && !event {
			k.members.Add(1)
		}
		select {
		case k.changed <- struct{}{}:
		default: // it is already signalled
		}
	}
	_, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { note() },
		DeleteFunc: func(any) { note() },
		UpdateFunc: func(before, after any) {
			a, known := before.(client.Object)
			b, is := after.(client.Object)
			if !known || !is || a.GetResourceVersion() != b.GetResourceVersion() {
				note()
			}
		},
	})
	return err
}

// stop ends the watches.
func (k *kube) stop() {
	if k.cancel != nil {
		k.cancel()
	}
	k.running.Wait()
	k.reader, k.synced, k.cancel = nil, false, nil
}
