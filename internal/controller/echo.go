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

// marksOf is everything on a Service that is written here, as text.
func marksOf(service *corev1.Service) string {
	var marks struct {
		Conditions  [][4]string
		Addresses   []corev1.LoadBalancerIngress
		Annotations map[string]string
		Finalizer   bool
	}
	for _, c := range service.Status.Conditions {
		if c.Type == status.Accepted || c.Type == status.Programmed {
			marks.Conditions = append(marks.Conditions, [4]string{c.Type, string(c.Status), c.Reason, c.Message})
		}
	}
	marks.Addresses = service.Status.LoadBalancer.Ingress
	marks.Annotations = map[string]string{}
	for key, value := range service.Annotations {
		if isMark(key) {
			marks.Annotations[key] = value
		}
	}
	marks.Finalizer = controllerutil.ContainsFinalizer(service, finalizer)
	text, err := json.Marshal(marks)
	if err != nil {
		return "" // texts can always be written
	}
	return string(text)
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

// ours tells whether the marks on a Service that has changed are those of a write
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
