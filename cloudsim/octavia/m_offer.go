// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "github.com/google/uuid"

type flavor struct {
	object
	name, description string
	enabled           bool
	profile           uuid.UUID
}

// zone is known by its name; its id only orders the list.
type zone struct {
	object
	name, description string
	enabled           bool
	profile           uuid.UUID
}

// profile is the provider's side of a flavor or a zone: a JSON object in a
// text.
type profile struct {
	object
	name, provider, data string
}
