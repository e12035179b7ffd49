// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// echoes knows our own writes to Services when they come back as events, from the
// writes of others to the same marks: a controller that leads no more and does not
// know it yet, another controller that thinks a Service its own, or a person. Ours
// ask for no pass, or one that failed would bring about the next one by reporting;
// theirs do, or what they wrote would stay. It is safe for concurrent use.
type echoes struct {
	mu sync.Mutex
	// awaited are the marks that were written and have not come back, in the order
	// of the writes.
	awaited map[types.NamespacedName][]string
}

// mostAwaited bounds what is kept of a Service: a write that changed nothing never
// comes back.
const mostAwaited = 8

func newEchoes() *echoes { return &echoes{awaited: map[types.NamespacedName][]string{}} }

// The names of marks, for people and in marks. A condition's and an annotation's are
// followed by its own.
const (
	addressesMark  = "status.loadBalancer"
	finalizerMark  = "finalizer " + claim.Finalizer
	conditionMark  = "condition "
	annotationMark = "annotation "
)

// marks is everything on a Service that is written here, by name.
type marks map[string]string

func newMarks(service *corev1.Service) marks {
	m := marks{}
	for _, c := range service.Status.Conditions {
		if c.Type == status.Accepted || c.Type == status.Programmed {
			m[conditionMark+c.Type] = asText([]string{string(c.Status), c.Reason, c.Message})
		}
	}
	if len(service.Status.LoadBalancer.Ingress) > 0 {
		m[addressesMark] = asText(service.Status.LoadBalancer.Ingress)
	}
	for key, value := range service.Annotations {
		if isMark(key) {
			m[annotationMark+key] = value
		}
	}
	if controllerutil.ContainsFinalizer(service, claim.Finalizer) {
		m[finalizerMark] = "set"
	}
	return m
}

// marksOf is everything on a Service that is written here, as text.
func marksOf(service *corev1.Service) string { return asText(newMarks(service)) }

func asText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "" // texts can always be written
	}
	return string(text)
}

// changedMarks are the names of the marks in which two states of a Service differ.
func changedMarks(before, after *corev1.Service) []string {
	was, is := newMarks(before), newMarks(after)
	var changed []string
	for name, value := range is {
		if old, there := was[name]; !there || old != value {
			changed = append(changed, name)
		}
	}
	for name := range was {
		if _, there := is[name]; !there {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	return changed
}

// expect notes a write that is about to be made; forget takes it back if it failed.
func (e *echoes) expect(service *corev1.Service) (forget func()) {
	key, marks := client.ObjectKeyFromObject(service), marksOf(service)
	e.mu.Lock()
	defer e.mu.Unlock()
	all := append(e.awaited[key], marks)
	e.awaited[key] = all[max(len(all)-mostAwaited, 0):]
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if i := slices.Index(e.awaited[key], marks); i >= 0 {
			e.awaited[key] = slices.Delete(e.awaited[key], i, i+1)
		}
	}
}

// ours reports whether the marks on a Service that has changed are those of a write
// of ours. Events come in the order of the writes, so those before it are done with.
func (e *echoes) ours(service *corev1.Service) bool {
	key := client.ObjectKeyFromObject(service)
	e.mu.Lock()
	defer e.mu.Unlock()
	i := slices.Index(e.awaited[key], marksOf(service))
	if i < 0 {
		return false
	}
	e.awaited[key] = e.awaited[key][i+1:]
	return true
}

// drop forgets a Service that is gone.
func (e *echoes) drop(key types.NamespacedName) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.awaited, key)
}

// announcing is a client whose patches of Services are expected to come back.
type announcing struct {
	client.Client
	echoes *echoes
}

// Patch implements client.Writer.
func (c announcing) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	return c.echoes.around(object, func() error { return c.Client.Patch(ctx, object, patch, options...) })
}

// Status implements client.StatusClient.
func (c announcing) Status() client.SubResourceWriter {
	return announcingStatus{c.Client.Status(), c.echoes}
}

type announcingStatus struct {
	client.SubResourceWriter
	echoes *echoes
}

// Patch implements client.SubResourceWriter.
func (c announcingStatus) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	return c.echoes.around(object, func() error { return c.SubResourceWriter.Patch(ctx, object, patch, options...) })
}

// around makes a write and lets it be expected, also when its answer was lost.
func (e *echoes) around(object client.Object, write func() error) error {
	service, ok := object.(*corev1.Service)
	if !ok {
		return write()
	}
	forget := e.expect(service)
	err := write()
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		forget() // it was not made
	}
	return err
}
