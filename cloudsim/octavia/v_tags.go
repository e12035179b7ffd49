// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"
	"slices"
)

// newTags copies the tags of a request for a new object; a tag that comes twice
// is refused.
func newTags(v values) ([]string, error) {
	tags := v.texts("tags")
	seen := make(map[string]bool, len(tags))
	for _, t := range tags {
		if seen[t] {
			return nil, errDuplicateID
		}
		seen[t] = true
	}
	return sorted(tags), nil
}

// sorted are the tags in the order in which Octavia's database keeps them.
func sorted(tags []string) []string {
	tags = slices.Clone(tags)
	slices.Sort(tags)
	return tags
}

// changedTags copies the tags of a request to change an object. Here the real
// service does not expect its database to refuse a tag that comes twice.
func changedTags(v values) ([]string, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, faultf(http.StatusInternalServerError, "duplicate tag")
	}
	return tags, nil
}
