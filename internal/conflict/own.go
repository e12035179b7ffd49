// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package conflict

import (
	"encoding/json"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// The names of the fields of a Service that only the controller writes, for people. A
// condition's and an annotation's are followed by its own.
const (
	addressesField  = "status.loadBalancer"
	finalizerField  = "finalizer " + claim.Finalizer
	conditionField  = "condition "
	annotationField = "annotation "
)

// IsOwn reports whether the annotation is one that only the controller writes.
func IsOwn(annotationKey string) bool {
	switch annotationKey {
	case annotation.Managed, annotation.VIPAddress, annotation.LoadBalancerID, annotation.LoadBalancerAddress, annotation.Programmed:
		return true
	}
	return false
}

// ownFields are the fields of a Service that only the controller writes, by name.
func ownFields(service *corev1.Service) map[string]string {
	m := map[string]string{}
	for _, c := range service.Status.Conditions {
		if c.Type == status.Accepted || c.Type == status.Programmed {
			m[conditionField+c.Type] = asText([]string{string(c.Status), c.Reason, c.Message})
		}
	}
	if len(service.Status.LoadBalancer.Ingress) > 0 {
		m[addressesField] = asText(service.Status.LoadBalancer.Ingress)
	}
	for key, value := range service.Annotations {
		if IsOwn(key) {
			m[annotationField+key] = value
		}
	}
	if controllerutil.ContainsFinalizer(service, claim.Finalizer) {
		m[finalizerField] = "set"
	}
	return m
}

func asText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "" // texts can always be written
	}
	return string(text)
}

// Changed returns the names of the fields that only the controller writes in which two
// states of a Service differ.
func Changed(before, after *corev1.Service) []string {
	was, is := ownFields(before), ownFields(after)
	var changed []string
	for name := range was {
		if _, there := is[name]; !there {
			changed = append(changed, name)
		}
	}
	for name, value := range is {
		if old, there := was[name]; !there || old != value {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
}

// OwnWrites tells the controller's own writes to Services, when they come back as events,
// from those of other clients to the same fields. It is safe for concurrent use.
type OwnWrites struct {
	mu sync.Mutex
	// awaited are the fields as they were written and have not come back, in the order of
	// the writes.
	awaited map[types.NamespacedName][]string
}

// mostAwaited bounds what is kept of a Service: a write that changed nothing never comes
// back.
const mostAwaited = 8

// NewOwnWrites returns one that awaits nothing.
func NewOwnWrites() *OwnWrites {
	return &OwnWrites{awaited: map[types.NamespacedName][]string{}}
}

// Around makes a write of the object and awaits it as an event, also when its answer was
// lost.
func (o *OwnWrites) Around(object client.Object, write func() error) error {
	service, ok := object.(*corev1.Service)
	if !ok {
		return write()
	}
	key, fields := client.ObjectKeyFromObject(service), asText(ownFields(service))
	o.mu.Lock()
	all := append(o.awaited[key], fields)
	o.awaited[key] = all[max(len(all)-mostAwaited, 0):]
	o.mu.Unlock()
	err := write()
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		o.mu.Lock() // it was not made
		defer o.mu.Unlock()
		if i := slices.Index(o.awaited[key], fields); i >= 0 {
			o.awaited[key] = slices.Delete(o.awaited[key], i, i+1)
		}
	}
	return err
}

// Made reports whether the fields of a Service that has changed are those of a write of the
// controller. Events come in the order of the writes, so those before it are done with.
func (o *OwnWrites) Made(service *corev1.Service) bool {
	key := client.ObjectKeyFromObject(service)
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.Index(o.awaited[key], asText(ownFields(service)))
	if i < 0 {
		return false
	}
	o.awaited[key] = o.awaited[key][i+1:]
	return true
}

// Forget drops a Service that is gone.
func (o *OwnWrites) Forget(key types.NamespacedName) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.awaited, key)
}
