// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"cmp"
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/view"
)

// resource is one kind of resource in the API. Its functions are called with the state's lock held.
// find and rows may be called with the read lock only.
type resource[T model.Item] struct {
	kind view.Kind[T]
	// path is the path of the collection, item that of one resource.
	path, item string
	// root is the name of the body in faults, changeRoot in those of an update, if it differs.
	root, changeRoot string
	// attributes are the attributes of a create, changes those of an update.
	attributes, changes []schema.Attribute
	known               func(*state.State) state.Index[T]
	// find finds the resource that the path names, for reading or for writing.
	find func(r *request, write bool) (T, error)
	// rows returns the resources that a list may show.
	rows func(r *request) ([]T, error)
	// admit refuses a create before the lock is taken; may be nil.
	admit func(r *request, v schema.Values) error
	// create may be nil if another route creates the resource.
	create func(r *request, v schema.Values) (T, error)
	// admitChange refuses an update before the lock is taken; may be nil.
	admitChange func(r *request, v schema.Values) error
	update      func(r *request, item T, v schema.Values) error
	remove      func(r *request, item T) error
}

func (res *resource[T]) routes(route router) {
	route("GET", res.path, res.list)
	if res.create != nil {
		route("POST", res.path, res.add)
	}
	route("GET", res.item, res.show)
	route("PUT", res.item, res.change)
	route("DELETE", res.item, res.delete)
}

func (res *resource[T]) list(r *request) (answer, error) {
	r.state.RLock()
	defer r.state.RUnlock()
	rows, err := res.rows(r)
	if err != nil {
		return answer{}, err
	}
	body, err := res.kind.List(r.document(), r.Request, r.query, rows, res.known(r.state).Find)
	return answer{http.StatusOK, body}, err
}

func (res *resource[T]) add(r *request) (answer, error) {
	v, err := r.parse(res.root, res.kind.One, res.attributes)
	if err != nil {
		return answer{}, err
	}
	if res.admit != nil {
		if err := res.admit(r, v); err != nil {
			return answer{}, err
		}
	}
	r.state.Lock()
	defer r.state.Unlock()
	item, err := res.create(r, v)
	if err != nil {
		return answer{}, err
	}
	return answer{http.StatusCreated, res.kind.Show(r.document(), item)}, nil
}

func (res *resource[T]) show(r *request) (answer, error) {
	r.state.RLock()
	defer r.state.RUnlock()
	item, err := res.find(r, false)
	if err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, res.kind.Show(r.document(), item)}, nil
}

func (res *resource[T]) change(r *request) (answer, error) {
	v, err := r.parse(cmp.Or(res.changeRoot, res.root), res.kind.One, res.changes)
	if err != nil {
		return answer{}, err
	}
	if res.admitChange != nil {
		if err := res.admitChange(r, v); err != nil {
			return answer{}, err
		}
	}
	r.state.Lock()
	defer r.state.Unlock()
	item, err := res.find(r, true)
	if err != nil {
		return answer{}, err
	}
	if err := res.update(r, item, v); err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, res.kind.Show(r.document(), item)}, nil
}

func (res *resource[T]) delete(r *request) (answer, error) {
	r.state.Lock()
	defer r.state.Unlock()
	item, err := res.find(r, true)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusNoContent}, res.remove(r, item)
}
