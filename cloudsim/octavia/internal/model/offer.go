// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "github.com/google/uuid"

// Offer is a flavor or an availability zone, which a cloud offers load balancers. A zone
// is known by its name; its id only orders the list.
type Offer struct {
	Object
	Name, Description string
	Enabled           bool
	Profile           uuid.UUID
}

// Profile is the provider's side of an offer: a JSON object in a
// text.
type Profile struct {
	Object
	Name, Provider, Data string
}
