// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

// maxID bounds the length of an id. Those of OpenStack have 32 or 36 characters.
const maxID = 64

// IsID reports whether a text can be the id of an object. Ids become parts of addresses, where an empty one, a dot or a slash
// would make another object, or all of a kind, of the one that is meant. So nothing is read from or written to what has no
// proper id, whoever gave it.
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
