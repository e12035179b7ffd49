// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
)

// newTags copies the tags of a request for a new object; a tag that comes twice
// is refused.
func newTags(v schema.Values) ([]string, error) {
	tags := v.Texts("tags")
	seen := make(map[string]bool, len(tags))
	for _, t := range tags {
		if seen[t] {
			return nil, fault.ErrDuplicateID
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

// ChangedTags copies the tags of a request to change an object. Here the real
// service does not expect its database to refuse a tag that comes twice.
func ChangedTags(v schema.Values) ([]string, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, fault.New(http.StatusInternalServerError, "duplicate tag")
	}
	return tags, nil
}
