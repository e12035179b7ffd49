// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "github.com/google/uuid"

// Flavor is what a cloud offers a load balancer to be like.
type Flavor struct {
	Object
	Name, Description string
	Enabled           bool
	Profile           uuid.UUID
}

// Zone is known by its name; its id only orders the list.
type Zone struct {
	Object
	Name, Description string
	Enabled           bool
	Profile           uuid.UUID
}

// Profile is the provider's side of a flavor or a zone: a JSON object in a
// text.
type Profile struct {
	Object
	Name, Provider, Data string
}
