// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Custom tags are those that users and operators ask for. One that is no longer asked for
// is taken off only if we set it, so each object says of its custom tags which these are:
// tags that begin with customTag list their digests, since a tag that names other tags
// would be too long. What says so is written with what it is about, by one call.
const customTag = ownTags + "tags="

const (
	digestSeparator = "."
	digestLength    = 8
	// digestsPerTag is how many digests fit into one tag.
	digestsPerTag = (maxText - len(customTag) + len(digestSeparator)) / (digestLength + len(digestSeparator))
)

// Reserved reports whether a tag has a meaning to us, or to openstack-cloud-controller-manager,
// so that nobody can ask for it.
func Reserved(tag string) bool {
	return strings.HasPrefix(tag, ownTags) || strings.HasPrefix(tag, namePrefix)
}

// LongestTag is how long a tag may be, in characters.
const LongestTag = maxText

// WithCustom returns the tags of an object that bears ours and custom ones.
func WithCustom(ours, custom []string) []string {
	tags := slices.Clone(ours)
	for _, t := range custom {
		if !slices.Contains(tags, t) {
			tags = append(tags, t)
		}
	}
	return append(tags, digests(custom)...)
}

// CustomDiffer reports whether an object with the tags have lacks custom tags of want, which
// WithCustom made, or has custom ones that we set and that are not wanted any more.
func CustomDiffer(have, want []string) bool {
	set, wanted := customOf(have), customOf(want)
	return slices.ContainsFunc(want, func(t string) bool { return wanted.has(t) && !slices.Contains(have, t) }) ||
		slices.ContainsFunc(have, func(t string) bool { return set.has(t) && !wanted.has(t) })
}

// Retag returns the tags of an object that has some and is to have those of want, which
// WithCustom made: what is missing is added, and custom ones that we set and that are not
// wanted any more are taken off. All others stay, and one that was there before us never
// becomes ours.
func Retag(have, want []string) []string {
	set, wanted := customOf(have), customOf(want)
	var tags, custom []string
	for _, t := range have {
		if strings.HasPrefix(t, customTag) || set.has(t) && !wanted.has(t) {
			continue
		}
		tags = append(tags, t)
		if set.has(t) {
			custom = append(custom, t)
		}
	}
	for _, t := range want {
		if strings.HasPrefix(t, customTag) || slices.Contains(tags, t) {
			continue
		}
		tags = append(tags, t)
		if wanted.has(t) {
			custom = append(custom, t)
		}
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

// digests returns the tags that list custom ones.
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
