// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

// Right is a right in Kubernetes.
type Right struct {
	Verb, Group, Resource string
	// An empty Subresource means none, an empty Name all objects.
	Subresource, Name string
	// InLeaseNamespace means that the right is needed only in the namespace of the Lease.
	InLeaseNamespace bool
	// For is what needs the right.
	For string
}

// String returns the right as "patch services/status".
func (r Right) String() string {
	text := r.Verb + " " + r.Resource
	if r.Subresource != "" {
		text += "/" + r.Subresource
	}
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += " " + r.Name
	}
	return text
}

// CanI returns the right as the arguments of `kubectl auth can-i`.
func (r Right) CanI() string {
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += "/" + r.Name
	}
	if r.Subresource != "" {
		text += " --subresource=" + r.Subresource
	}
	return text
}
