// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

// maxID limits the length of an id. Ids of OpenStack have 32 or 36 characters.
const maxID = 64

// IsID reports whether a text can be the id of an object. Ids become parts of URLs, where an empty id, a dot or a
// slash would address another object, or all objects of a kind. So nothing is read or written with an id for
// which IsID is false, regardless of its source.
func IsID(text string) bool {
	if text == "" || len(text) > maxID {
		return false
	}
	for _, c := range []byte(text) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
