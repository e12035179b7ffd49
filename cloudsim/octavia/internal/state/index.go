// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"iter"
	"maps"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

// Index finds the objects of a kind by id.
type Index[T model.Item] struct{ byID map[uuid.UUID]T }

func newIndex[T model.Item]() Index[T] { return Index[T]{map[uuid.UUID]T{}} }

// Find returns the object with the id. An invalid id finds nothing.
func (x Index[T]) Find(id string) (T, bool) {
	o, ok := x.byID[model.ParseID(id)]
	return o, ok
}

// All returns the objects, in any order.
func (x Index[T]) All() iter.Seq[T] { return maps.Values(x.byID) }

// Len returns the number of objects.
func (x Index[T]) Len() int { return len(x.byID) }

// Add adds an object.
func (x Index[T]) Add(o T) { x.byID[o.Base().ID] = o }

// Remove removes an object.
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
