// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kube-octavia/kube-octavia/internal/status"
)

// services watches the Services of the cluster. Its methods may be called from
// several goroutines.
type services struct {
	client  kubernetes.Interface
	factory informers.SharedInformerFactory
	stop    chan struct{}

	mu sync.Mutex
	// programmed is when each Service was first seen Programmed, and existing are
	// those that exist.
	programmed map[string]time.Time
	existing   map[string]bool
}

// watchServices begins to watch. close must be called.
func watchServices(ctx context.Context, client kubernetes.Interface) (*services, error) {
	s := &services{
		client: client, factory: informers.NewSharedInformerFactory(client, 0), stop: make(chan struct{}),
		programmed: map[string]time.Time{}, existing: map[string]bool{},
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
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.existing[service.Name] = true
	if _, seen := s.programmed[service.Name]; !seen && meta.IsStatusConditionTrue(service.Status.Conditions, status.Programmed) {
		s.programmed[service.Name] = time.Now()
	}
}

func (s *services) remove(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	if service, ok := object.(*corev1.Service); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.existing, service.Name)
		delete(s.programmed, service.Name)
	}
}

// batch are Services that were created together, by name, with the time before each create.
type batch struct {
	began time.Time
	at    map[string]time.Time
}

// createBatch creates n Services with the ports at once.
func (s *services) createBatch(ctx context.Context, prefix string, n, ports int) (batch, error) {
	made := batch{began: time.Now(), at: map[string]time.Time{}}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	for i := range n {
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", prefix, i)},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": prefix}},
		}
		for p := range ports {
			service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("port-%d", p), Port: int32(8000 + p)})
		}
		group.Go(func() error {
			began := time.Now()
			if _, err := s.client.CoreV1().Services(namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create Service %s: %w", service.Name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			made.at[service.Name] = began
			return nil
		})
	}
	return made, group.Wait()
}

// checkProgrammed returns an error until all of them are Programmed.
func (s *services) checkProgrammed(made batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := 0
	for name := range made.at {
		if _, seen := s.programmed[name]; !seen {
			left++
		}
	}
	if left > 0 {
		return fmt.Errorf("%d of %d Services are not programmed", left, len(made.at))
	}
	return nil
}

// times are how long it took until each was Programmed: since the first of them
// was created, and since it was itself.
func (s *services) times(made batch) (sinceFirst, sinceOwn []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, began := range made.at {
		sinceFirst = append(sinceFirst, s.programmed[name].Sub(made.began))
		sinceOwn = append(sinceOwn, s.programmed[name].Sub(began))
	}
	return sinceFirst, sinceOwn
}

// touch changes a label and an annotation that mean nothing. The label alone
// would bring about no pass.
func (s *services) touch(ctx context.Context, name, value string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"touched":%q},"annotations":{"example.com/touched":%q}}}`, value, value)
	_, err := s.client.CoreV1().Services(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// deleteBatch deletes the Services.
func (s *services) deleteBatch(ctx context.Context, made batch) error {
	for name := range made.at {
		if err := s.client.CoreV1().Services(namespace).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete Service %s: %w", name, err)
		}
	}
	return nil
}

// checkGone returns an error while one of them exists.
func (s *services) checkGone(made batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range made.at {
		if s.existing[name] {
			return errors.New("the Service " + name + " is still there")
		}
	}
	return nil
}
