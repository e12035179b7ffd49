// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

func write(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone
}

func fail(w http.ResponseWriter, err error) {
	var known apierrors.APIStatus
	if !errors.As(err, &known) {
		known = apierrors.NewBadRequest(err.Error())
	}
	status := known.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	write(w, int(status.Code), status)
}

func invalid(kind, name, field, why string) error {
	e := apierrors.NewInvalid(schema.GroupKind{Kind: kind}, name, nil)
	e.ErrStatus.Message = fmt.Sprintf("%s %q is invalid: %s: %s", kind, name, field, why)
	return e
}

// answer carries out a request. A watch answers by itself.
func (a *API) answer(w http.ResponseWriter, r *http.Request, t target) (any, int, error) {
	switch {
	case t.name == "" && r.Method == http.MethodGet:
		return a.answerList(w, r, t)
	case t.name == "" && r.Method == http.MethodPost:
		o, err := decode(r)
		if err == nil {
			o, err = a.create(t, o)
		}
		return o, http.StatusCreated, err
	case t.name == "" && r.Method == http.MethodDelete:
		return a.deleteAll(t), http.StatusOK, nil
	case t.name == "" || !methods[r.Method]:
		return nil, 0, apierrors.NewMethodNotSupported(t.resource.groupResource(), r.Method)
	}
	var o object
	var err error
	switch r.Method {
	case http.MethodGet:
		o, err = a.get(t)
	case http.MethodDelete:
		o, err = a.delete(t)
	case http.MethodPut:
		var next object
		next, err = decode(r)
		if err == nil {
			o, err = a.update(t, func(object) (object, error) { return next, nil })
		}
	case http.MethodPatch:
		var text []byte
		text, err = io.ReadAll(r.Body)
		if err == nil {
			kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
			o, err = a.update(t, func(before object) (object, error) { return patch(t, before, types.PatchType(kind), text) })
		}
	}
	return o, http.StatusOK, err
}

// deleteAll deletes all objects of a list.
func (a *API) deleteAll(t target) object {
	all, _ := a.list(t, func(object) bool { return true })
	for _, o := range all {
		one := t
		one.name, one.namespace = meta(o).GetName(), meta(o).GetNamespace()
		_, _ = a.delete(one) // it may be gone
	}
	return object{"kind": "Status", "apiVersion": "v1", "status": "Success"}
}

// decode reads an object in JSON or protobuf.
func decode(r *http.Request) (object, error) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), runtime.ContentTypeProtobuf) {
		typed, _, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
		if err != nil {
			return nil, err
		}
		text, err = json.Marshal(typed)
		if err != nil {
			return nil, err
		}
	}
	var o object
	return o, utiljson.Unmarshal(text, &o)
}

// patch applies a patch.
func patch(t target, before object, kind types.PatchType, text []byte) (o object, err error) {
	old, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	var changed []byte
	switch kind {
	case types.MergePatchType:
		changed, err = jsonpatch.MergePatch(old, text)
	case types.JSONPatchType:
		var p jsonpatch.Patch
		p, err = jsonpatch.DecodePatch(text)
		if err == nil {
			changed, err = p.Apply(old)
		}
	case types.StrategicMergePatchType:
		var typed runtime.Object
		typed, err = scheme.Scheme.New(t.resource.groupVersion().WithKind(t.resource.kind))
		if err == nil {
			changed, err = strategicpatch.StrategicMergePatch(old, text, typed)
		}
	default:
		return nil, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "patch", t.resource.groupResource(), t.name, string(kind), 0, false)
	}
	if err != nil {
		return nil, err
	}
	return o, utiljson.Unmarshal(changed, &o)
}

// selection returns what the selectors of a request select.
func selection(r *http.Request) (func(object) bool, error) {
	query := r.URL.Query()
	byLabel, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	byField, err := fields.ParseSelector(query.Get("fieldSelector"))
	return func(o object) bool {
		m := meta(o)
		return byLabel.Matches(labels.Set(m.GetLabels())) &&
			byField.Matches(fields.Set{"metadata.name": m.GetName(), "metadata.namespace": m.GetNamespace()})
	}, err
}

func (a *API) answerList(w http.ResponseWriter, r *http.Request, t target) (any, int, error) {
	match, err := selection(r)
	if err != nil {
		return nil, 0, err
	}
	if r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1" {
		if r.URL.Query().Has("sendInitialEvents") && a.minor() < streamsLists {
			return nil, 0, invalid("ListOptions", "", "sendInitialEvents", "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
		}
		return nil, 0, a.watch(w, r, t, match)
	}
	all, version := a.list(t, match)
	return object{
		"kind": t.resource.kind + "List", "apiVersion": t.resource.groupVersion().String(),
		"metadata": metav1.ListMeta{ResourceVersion: strconv.Itoa(version)}, "items": all,
	}, http.StatusOK, nil
}

// watch sends changes until the client goes or the time is over.
func (a *API) watch(w http.ResponseWriter, r *http.Request, t target, match func(object) bool) error {
	query := r.URL.Query()
	since, err := strconv.Atoi(query.Get("resourceVersion"))
	if err != nil {
		since = 0
	}
	stream := json.NewEncoder(w)
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(http.StatusOK)
	send := func(kind string, o object) error { return stream.Encode(object{"type": kind, "object": o}) }
	a.mu.Lock()
	next := 0
	for next < len(a.changes) && a.changes[next].version <= since {
		next++
	}
	var initial []object
	version := a.version
	if query.Get("sendInitialEvents") == "true" || query.Get("resourceVersion") == "" || query.Get("resourceVersion") == "0" {
		initial, next = a.listed(t, match), len(a.changes)
	}
	a.mu.Unlock()
	for _, o := range initial {
		_ = send("ADDED", o) // the client may be gone
	}
	bookmark := func(annotations map[string]any) error {
		return send("BOOKMARK", object{"kind": t.resource.kind, "apiVersion": t.resource.groupVersion().String(),
			"metadata": object{"resourceVersion": strconv.Itoa(version), "annotations": annotations}})
	}
	if query.Get("sendInitialEvents") == "true" {
		_ = bookmark(map[string]any{metav1.InitialEventsAnnotationKey: "true"})
	}
	flush := http.NewResponseController(w)
	var end <-chan time.Time
	if seconds, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil {
		timer := time.NewTimer(time.Duration(seconds) * time.Second)
		defer timer.Stop()
		end = timer.C
	}
	for {
		a.mu.Lock()
		news, changed := a.changes[next:], a.changed
		next, version = len(a.changes), a.version
		a.mu.Unlock()
		for _, c := range news {
			if kind, o := c.event(t, match); kind != "" {
				_ = send(kind, o)
			}
		}
		if flush.Flush() != nil {
			return nil
		}
		select {
		case <-changed:
		case <-end:
			_ = bookmark(nil)
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
}

// event returns what a watch must send of a change; "" for nothing.
func (c change) event(t target, match func(object) bool) (string, object) {
	if !t.holds(c.key) {
		return "", nil
	}
	before, after := c.before != nil && match(c.before), c.after != nil && match(c.after)
	switch {
	case before && after:
		return "MODIFIED", c.after
	case after:
		return "ADDED", c.after
	case before:
		gone := c.after
		if gone == nil {
			gone = clone(c.before)
			meta(gone).SetResourceVersion(strconv.Itoa(c.version))
		}
		return "DELETED", gone
	}
	return "", nil
}
