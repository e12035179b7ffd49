// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"iter"
	"maps"

	"github.com/google/uuid"
)

// index finds the objects of a kind by their ids.
type index[T interface{ base() *object }] struct{ byID map[uuid.UUID]T }

func newIndex[T interface{ base() *object }]() index[T] { return index[T]{map[uuid.UUID]T{}} }

// Find finds an object. Nothing has an id that is none.
func (x index[T]) Find(id string) (T, bool) {
	o, ok := x.byID[parseID(id)]
	return o, ok
}

// All are the objects, in any order.
func (x index[T]) All() iter.Seq[T] { return maps.Values(x.byID) }

// Len is how many objects there are.
func (x index[T]) Len() int { return len(x.byID) }

// Add puts an object in.
func (x index[T]) Add(o T) { x.byID[o.base().id] = o }

// Remove takes an object out.
func (x index[T]) Remove(o T) { delete(x.byID, o.base().id) }
