// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// services watches the Services of the namespace. Its methods may be called from several
// goroutines.
type services struct {
	factory informers.SharedInformerFactory
	stop    chan struct{}

	mu sync.Mutex
	// served is when each Service was first seen with an address, gone when it was deleted.
	served, gone map[string]time.Time
	existing     map[string]bool
}

// watchServices begins to watch. close must be called.
func watchServices(ctx context.Context, client kubernetes.Interface) (*services, error) {
	s := &services{
		factory: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace)), stop: make(chan struct{}),
		served: map[string]time.Time{}, gone: map[string]time.Time{}, existing: map[string]bool{},
	}
	informer := s.factory.Core().V1().Services().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    s.add,
		UpdateFunc: func(_, changed any) { s.add(changed) },
		DeleteFunc: s.remove,
	})
	if err != nil {
		return nil, err
	}
	s.factory.Start(s.stop)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		s.close()
		return nil, fmt.Errorf("watch Services: %w", context.Cause(ctx))
	}
	return s, nil
}

func (s *services) close() {
	close(s.stop)
	s.factory.Shutdown()
}

func (s *services) add(object any) {
	service, ok := object.(*corev1.Service)
	if !ok || service.Name == "kubernetes" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.existing[service.Name] = true
	delete(s.gone, service.Name)
	if !isServed(service) {
		delete(s.served, service.Name)
	} else if _, seen := s.served[service.Name]; !seen {
		s.served[service.Name] = time.Now()
	}
}

// isServed reports whether the Service has an address or, in cluster-ip mode, its load balancer.
func isServed(service *corev1.Service) bool {
	if service.Spec.Type == corev1.ServiceTypeClusterIP {
		return meta.IsStatusConditionTrue(service.Status.Conditions, "kube-octavia.io/Programmed")
	}
	return len(service.Status.LoadBalancer.Ingress) > 0
}

func (s *services) remove(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	if service, ok := object.(*corev1.Service); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.existing, service.Name)
		delete(s.served, service.Name)
		s.gone[service.Name] = time.Now()
	}
}

// names returns the Services that exist.
func (s *services) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.existing))
}

// checkServed returns an error until all of them have an address.
func (s *services) checkServed(names []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var missing []string
	for _, name := range names {
		if _, served := s.served[name]; !served {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%d of %d Services have no address in status.loadBalancer.ingress: %v", len(missing), len(names), some(missing))
	}
	return nil
}

// checkGone returns an error while one of them exists.
func (s *services) checkGone(names []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var left []string
	for _, name := range names {
		if s.existing[name] {
			left = append(left, name)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("%d of %d Services still exist: %v", len(left), len(names), some(left))
	}
	return nil
}

// some returns the first of many names.
func some(names []string) []string { return names[:min(len(names), 5)] }

// since returns how long after each of the beginnings the Service was served, or gone.
func (s *services) since(began map[string]time.Time, gone bool) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := s.served
	if gone {
		ended = s.gone
	}
	var times []time.Duration
	for name, at := range began {
		times = append(times, ended[name].Sub(at))
	}
	return times
}
