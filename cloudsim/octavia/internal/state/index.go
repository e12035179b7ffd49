// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"iter"
	"maps"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

// Index finds the objects of a kind by their ids.
type Index[T model.Item] struct{ byID map[uuid.UUID]T }

func newIndex[T model.Item]() Index[T] { return Index[T]{map[uuid.UUID]T{}} }

// Find finds an object. Nothing has an id that is none.
func (x Index[T]) Find(id string) (T, bool) {
	o, ok := x.byID[model.ParseID(id)]
	return o, ok
}

// All are the objects, in any order.
func (x Index[T]) All() iter.Seq[T] { return maps.Values(x.byID) }

// Len is how many objects there are.
func (x Index[T]) Len() int { return len(x.byID) }

// Add puts an object in.
func (x Index[T]) Add(o T) { x.byID[o.Base().ID] = o }

// Remove takes an object out.
func (x Index[T]) Remove(o T) { delete(x.byID, o.Base().ID) }

// Named finds an offer by its name.
func Named(offers Index[*model.Offer], name string) (*model.Offer, bool) {
	for o := range offers.All() {
		if o.Name == name {
			return o, true
		}
	}
	return nil, false
}
