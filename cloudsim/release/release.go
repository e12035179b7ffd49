// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package release names the releases of OpenStack that can be simulated.
package release

import "fmt"

// Release is a release of OpenStack. Later ones are greater. The zero value is Newest.
type Release int

// The releases.
const (
	// Newest has Octavia 19, Neutron 29 and Keystone 30.
	Newest Release = -iota
	// Epoxy is 2025.1: Octavia 16, Neutron 26, Keystone 27.
	Epoxy
	// Zed is 2022.2: Octavia 11, Neutron 21, Keystone 22.
	Zed
)

// All has the releases, the oldest first.
var All = []Release{Zed, Epoxy, Newest}

var names = map[Release]string{Zed: "2022.2", Epoxy: "2025.1", Newest: "newest"}

// String returns the name of the release, such as 2025.1.
func (r Release) String() string { return names[r] }

// MarshalText writes the name of the release.
func (r Release) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the name of a release.
func (r *Release) UnmarshalText(text []byte) error {
	for _, known := range All {
		if known.String() == string(text) {
			*r = known
			return nil
		}
	}
	return fmt.Errorf("no release %q is simulated, only %v", text, All)
}
