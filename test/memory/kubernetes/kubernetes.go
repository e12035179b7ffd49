// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubernetes is a small Kubernetes API in memory, for tests that need thousands of clusters, or virtual time
// (testing/synctest). It has what the controller and the tests use: the objects that resources lists; get, list, watch with
// resource versions and initial events, create, update, delete, and patches of all kinds; the subresource status;
// finalizers, conflicts, and the defaults and rules of Services; one user, with a token and rights if a test sets them. Namespaces are deleted with
// their contents. It can simulate an older version. Every difference from a real kube-apiserver is a bug.
package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
)

// object is one object, as JSON. It is never changed, only replaced.
type object = map[string]any

// key is where an object is.
type key struct {
	resource        schema.GroupResource
	namespace, name string
}

// change is one change of an object. Before is nil for a new one, after for one that is gone.
type change struct {
	version       int
	key           key
	before, after object
}

// API is a Kubernetes API in memory. It is an http.Handler.
type API struct {
	// Wrote is called after each write that changed something, without a lock. It may be nil.
	Wrote func(kind watch.EventType, o *unstructured.Unstructured)
	// Access has the rights of users. The zero value lets every user do everything. It must not change while requests
	// are answered.
	Access Access

	// Minor is the minor version of Kubernetes that it simulates: 28 of 1.28. 0 means the newest. It is not to be
	// changed while requests are answered.
	Minor int

	// uid makes the uid of a new object.
	uid func(kind, namespace, name string) types.UID

	mu        sync.Mutex
	version   int
	objects   map[key]object
	changes   []change
	changed   chan struct{} // closed at the next change
	nodePorts map[int64]bool
	addresses map[string]bool
}

// New returns an API with the namespaces default and kube-system, and with its own Service, default/kubernetes.
func New() *API {
	return NewWithUIDs(func(string, string, string) types.UID { return types.UID(uuid.NewString()) })
}

// NewWithUIDs is New with another function that creates the uids of new objects, so that the objects of two APIs can
// have the same.
func NewWithUIDs(uid func(kind, namespace, name string) types.UID) *API {
	a := &API{uid: uid, version: 1, objects: map[key]object{}, changed: make(chan struct{}), nodePorts: map[int64]bool{}, addresses: map[string]bool{}}
	for _, name := range []string{"default", "kube-system"} {
		t, _ := parse("/api/v1/namespaces")
		if _, err := a.create(t, object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name}}); err != nil {
			panic(err) // it is the same each time
		}
	}
	t, _ := parse("/api/v1/namespaces/default/services")
	own := object{"metadata": object{"name": "kubernetes", "labels": object{"component": "apiserver", "provider": "kubernetes"}},
		"spec": object{"ports": []any{object{"name": "https", "port": int64(443), "targetPort": int64(6443)}}}}
	if _, err := a.create(t, own); err != nil {
		panic(err) // as above
	}
	return a
}

func (t target) key(name string) key {
	return key{t.resource.groupResource(), t.namespace, name}
}

func meta(o object) *unstructured.Unstructured { return &unstructured.Unstructured{Object: o} }

// clone copies what JSON can hold.
func clone(o object) object { return (&unstructured.Unstructured{Object: o}).DeepCopy().Object }

// set replaces or removes an object and tells the watches. It is called with the lock.
func (a *API) set(k key, o object) object {
	before := a.objects[k]
	a.version++
	if o != nil {
		meta(o).SetResourceVersion(strconv.Itoa(a.version))
		a.objects[k] = o
	} else {
		delete(a.objects, k)
	}
	a.changes = append(a.changes, change{version: a.version, key: k, before: before, after: o})
	close(a.changed)
	a.changed = make(chan struct{})
	return o
}

func (a *API) get(t target) (object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o, there := a.objects[t.key(t.name)]
	if !there {
		return nil, apierrors.NewNotFound(t.resource.groupResource(), t.name)
	}
	return o, nil
}

// list returns the objects in the order of their names, and the version of the list.
func (a *API) list(t target, match func(object) bool) ([]object, int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.listed(t, match), a.version
}

func (a *API) listed(t target, match func(object) bool) []object {
	all := []object{}
	for _, k := range slices.SortedFunc(maps.Keys(a.objects), compareKeys) {
		if t.holds(k) && match(a.objects[k]) {
			all = append(all, a.objects[k])
		}
	}
	return all
}

func compareKeys(a, b key) int {
	if a.namespace != b.namespace {
		return compare(a.namespace, b.namespace)
	}
	return compare(a.name, b.name)
}

func compare(a, b string) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

// holds reports whether the target, a list, includes what is at the key.
func (t target) holds(k key) bool {
	return k.resource == t.resource.groupResource() && (t.namespace == "" || t.namespace == k.namespace)
}

func (a *API) create(t target, o object) (object, error) {
	m := meta(o)
	m.SetAPIVersion(t.resource.groupVersion().String())
	m.SetKind(t.resource.kind)
	if t.resource.namespaced {
		m.SetNamespace(t.namespace)
	}
	if m.GetName() == "" && m.GetGenerateName() != "" {
		m.SetName(m.GetGenerateName() + uuid.NewString()[:8])
	}
	if m.GetName() == "" {
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: t.resource.kind}, "", nil)
	}
	m.SetUID(a.uid(t.resource.kind, m.GetNamespace(), m.GetName()))
	m.SetCreationTimestamp(metav1.Time{Time: time.Now().UTC().Truncate(time.Second)})
	m.SetDeletionTimestamp(nil)
	m.SetResourceVersion("")
	if t.resource.kind != "Service" { // Services have no generation
		m.SetGeneration(1)
	}
	if t.resource.status {
		delete(o, "status")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.resource.namespaced {
		space, there := a.objects[key{schema.GroupResource{Resource: "namespaces"}, "", t.namespace}]
		if !there {
			return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, t.namespace)
		}
		if meta(space).GetDeletionTimestamp() != nil {
			return nil, apierrors.NewForbidden(t.resource.groupResource(), m.GetName(),
				fmt.Errorf("unable to create new content in namespace %s because it is being terminated", t.namespace))
		}
	}
	k := t.key(m.GetName())
	if _, there := a.objects[k]; there {
		return nil, apierrors.NewAlreadyExists(t.resource.groupResource(), m.GetName())
	}
	if t.resource.kind == "Service" {
		if err := a.completeService(o, nil); err != nil {
			return nil, err
		}
	}
	return a.set(k, o), nil
}

// update replaces an object by what change makes of a copy of it.
func (a *API) update(t target, change func(object) (object, error)) (object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := t.key(t.name)
	before, there := a.objects[k]
	if !there {
		return nil, apierrors.NewNotFound(t.resource.groupResource(), t.name)
	}
	o, err := change(clone(before))
	if err != nil {
		return nil, err
	}
	old, m := meta(before), meta(o)
	if v := m.GetResourceVersion(); v != "" && v != old.GetResourceVersion() {
		return nil, apierrors.NewConflict(t.resource.groupResource(), t.name,
			fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if u := m.GetUID(); u != "" && u != old.GetUID() {
		return nil, apierrors.NewConflict(t.resource.groupResource(), t.name, fmt.Errorf("the uid is %v, not %v", old.GetUID(), u))
	}
	a.drop(t, o)
	a.keep(t, before, o)
	if old.GetDeletionTimestamp() != nil {
		for _, f := range m.GetFinalizers() {
			if !slices.Contains(old.GetFinalizers(), f) {
				return nil, invalid(t.resource.kind, t.name, "metadata.finalizers", "no new finalizers can be added if the object is being deleted")
			}
		}
	}
	if t.resource.kind == "Service" && t.subresource == "" {
		if err := a.completeService(o, before); err != nil {
			return nil, err
		}
	}
	if o["status"] == nil {
		delete(o, "status")
	}
	m.SetResourceVersion(old.GetResourceVersion())
	if reflect.DeepEqual(normal(o), normal(before)) {
		return before, nil
	}
	if m.GetDeletionTimestamp() != nil && len(m.GetFinalizers()) == 0 {
		a.remove(k, before)
		return o, nil
	}
	return a.set(k, o), nil
}

// normal returns the object as JSON has it.
func normal(o object) (same object) {
	text, err := json.Marshal(o)
	if err == nil {
		err = utiljson.Unmarshal(text, &same)
	}
	if err != nil {
		panic(err) // it is JSON
	}
	return same
}

// keep puts back what a request cannot change.
func (a *API) keep(t target, before, o object) {
	old, m := meta(before), meta(o)
	m.SetAPIVersion(old.GetAPIVersion())
	m.SetKind(old.GetKind())
	m.SetUID(old.GetUID())
	m.SetName(old.GetName())
	m.SetNamespace(old.GetNamespace())
	m.SetCreationTimestamp(old.GetCreationTimestamp())
	m.SetDeletionTimestamp(old.GetDeletionTimestamp())
	m.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	m.SetGeneration(old.GetGeneration())
	switch {
	case t.subresource == "status":
		status := o["status"]
		for field := range o {
			if field != "metadata" {
				delete(o, field)
			}
		}
		for field, value := range clone(before) {
			if field != "metadata" {
				o[field] = value
			}
		}
		o["status"] = status
	case t.resource.status:
		o["status"] = clone(before)["status"]
		if t.resource.kind != "Service" && !reflect.DeepEqual(normal(object{"": o["spec"]}), normal(object{"": before["spec"]})) {
			m.SetGeneration(old.GetGeneration() + 1)
		}
	}
}

func (a *API) delete(t target) (object, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := t.key(t.name)
	o, there := a.objects[k]
	if !there {
		return nil, apierrors.NewNotFound(t.resource.groupResource(), t.name)
	}
	if t.resource.kind == "Namespace" {
		return a.deleteNamespace(k, o), nil
	}
	return a.mark(k, o), nil
}

// mark deletes an object, or, if it has finalizers, marks it as being deleted.
func (a *API) mark(k key, o object) object {
	m := meta(o)
	if len(m.GetFinalizers()) == 0 {
		a.remove(k, o)
		return o
	}
	if m.GetDeletionTimestamp() != nil {
		return o
	}
	o = clone(o)
	m = meta(o)
	m.SetDeletionTimestamp(&metav1.Time{Time: time.Now().UTC().Truncate(time.Second)})
	zero := int64(0)
	m.SetDeletionGracePeriodSeconds(&zero)
	return a.set(k, o)
}

// remove removes an object, and a namespace that was waiting for it.
func (a *API) remove(k key, o object) {
	a.releaseService(k, o)
	a.set(k, nil)
	space := key{schema.GroupResource{Resource: "namespaces"}, "", k.namespace}
	if n := a.objects[space]; n != nil && meta(n).GetDeletionTimestamp() != nil && a.isEmpty(k.namespace) {
		a.set(space, nil)
	}
}

func (a *API) isEmpty(namespace string) bool {
	for k := range a.objects {
		if k.namespace == namespace {
			return false
		}
	}
	return true
}

// deleteNamespace does what Kubernetes' namespace controller does: it deletes all that is in the namespace, and the
// namespace when it is empty.
func (a *API) deleteNamespace(k key, o object) object {
	o = clone(o)
	meta(o).SetDeletionTimestamp(&metav1.Time{Time: time.Now().UTC().Truncate(time.Second)})
	o["status"] = object{"phase": "Terminating"}
	o = a.set(k, o)
	for _, inside := range slices.SortedFunc(maps.Keys(a.objects), compareKeys) {
		if inside.namespace == k.name {
			if one, there := a.objects[inside]; there {
				a.mark(inside, one)
			}
		}
	}
	if _, there := a.objects[k]; there && a.isEmpty(k.name) {
		a.set(k, nil)
	}
	return o
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !a.Access.admits(r) {
		fail(w, apierrors.NewUnauthorized("Unauthorized"))
		return
	}
	t, found := parse(r.URL.Path)
	if !found || !a.has(t.resource) {
		if answer := a.discover(r.URL.Path); answer != nil && r.Method == http.MethodGet {
			write(w, http.StatusOK, answer)
			return
		}
		fail(w, apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, schema.GroupResource{}, "", "", 0, false))
		return
	}
	if t.resource.kind == reviewOfSelf || t.resource.kind == reviewOfAccess {
		a.review(w, r, t)
		return
	}
	if err := a.Access.authorize(r, t); err != nil {
		fail(w, err)
		return
	}
	answer, status, err := a.answer(w, r, t)
	switch {
	case err != nil:
		fail(w, err)
	case answer != nil:
		write(w, status, answer)
	}
}
