// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "github.com/google/uuid"

// Offer is a flavor or an availability zone that a cloud offers. A zone is identified by its name;
// its id only orders the list.
type Offer struct {
	Object
	Name, Description string
	Enabled           bool
	Profile           uuid.UUID
}

// Profile is the provider's part of an offer: a JSON object as text.
type Profile struct {
	Object
	Name, Provider, Data string
}
