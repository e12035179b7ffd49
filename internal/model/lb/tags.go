// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Custom tags are those that users and operators request. A custom tag that is no longer requested is removed only if
// we set it. So each object lists the digests of the custom tags that we set in tags that begin with customTag (the
// tags themselves would be too long). The list is written in the same call as the tags.
const customTag = ownTags + "tags="

const (
	digestSeparator = "."
	digestLength    = 8
	// digestsPerTag is how many digests fit into one tag.
	digestsPerTag = (maxText - len(customTag) + len(digestSeparator)) / (digestLength + len(digestSeparator))
)

// Reserved reports whether a tag has a meaning for us or for openstack-cloud-controller-manager, so that it may not be
// requested.
func Reserved(tag string) bool {
	return strings.HasPrefix(tag, ownTags) || strings.HasPrefix(tag, namePrefix)
}

// LongestTag is the maximum length of a tag, in characters.
const LongestTag = maxText

// WithCustom returns the tags of an object with our tags and custom tags.
func WithCustom(ours, custom []string) []string {
	tags := slices.Clone(ours)
	for _, t := range custom {
		if !slices.Contains(tags, t) {
			tags = append(tags, t)
		}
	}
	return append(tags, digests(custom)...)
}

// CustomDiffer reports whether an object with the tags have lacks custom tags of want (as returned by WithCustom),
// or has custom tags that we set and that want does not contain.
func CustomDiffer(have, want []string) bool {
	set, wanted := customOf(have), customOf(want)
	return slices.ContainsFunc(want, func(t string) bool { return wanted.has(t) && !slices.Contains(have, t) }) ||
		slices.ContainsFunc(have, func(t string) bool { return set.has(t) && !wanted.has(t) })
}

// Retag changes the tags of an object to those of want, which WithCustom returned: it adds missing ones, and removes
// custom tags that we set and that are no longer wanted. All others stay. A tag that existed before never counts as
// set by us.
func Retag(have, want []string) []string {
	set, wanted := customOf(have), customOf(want)
	var tags, custom []string
	add := func(t string, ours customTags) {
		if !strings.HasPrefix(t, customTag) && !slices.Contains(tags, t) {
			tags = append(tags, t)
			if ours.has(t) {
				custom = append(custom, t)
			}
		}
	}
	for _, t := range have {
		if !set.has(t) || wanted.has(t) {
			add(t, set)
		}
	}
	for _, t := range want {
		add(t, wanted)
	}
	return append(tags, digests(custom)...)
}

// customTags are the digests of custom tags that we set.
type customTags map[string]bool

func customOf(tags []string) customTags {
	set := customTags{}
	for _, t := range tags {
		if list, ok := strings.CutPrefix(t, customTag); ok {
			for digest := range strings.SplitSeq(list, digestSeparator) {
				set[digest] = true
			}
		}
	}
	return set
}

func (c customTags) has(tag string) bool { return c[digest(tag)] }

// digests returns the tags that list the digests of custom tags.
func digests(custom []string) []string {
	all := make([]string, len(custom))
	for i, t := range custom {
		all[i] = digest(t)
	}
	slices.Sort(all)
	var tags []string
	for some := range slices.Chunk(slices.Compact(all), digestsPerTag) {
		tags = append(tags, customTag+strings.Join(some, digestSeparator))
	}
	return tags
}

func digest(tag string) string {
	sum := sha256.Sum256([]byte(tag))
	return hex.EncodeToString(sum[:])[:digestLength]
}
