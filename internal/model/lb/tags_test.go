// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var ours = Owner{ClusterName: "c", ClusterUID: "c-uid", Namespace: "shop", Name: "web", ServiceUID: "s-uid"}.Tags()

// plainTags are tags without those that list custom ones.
func plainTags(tags []string) []string {
	return slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return strings.HasPrefix(t, customTag) })))
}

func TestCustomTagsAreAddedAndRemovedAndAllOthersStay(t *testing.T) {
	hand := "by-hand"
	for name, c := range map[string]struct {
		have, want, become []string
		differ             bool
	}{
		"none are wanted, and there are none":          {slices.Concat(ours, []string{hand}), ours, slices.Concat(ours, []string{hand}), false},
		"one is added":                                 {slices.Concat(ours, []string{hand}), WithCustom(ours, []string{"a"}), slices.Concat(ours, []string{"a", hand}), true},
		"one is exchanged":                             {append(WithCustom(ours, []string{"a", "b"}), hand), WithCustom(ours, []string{"b", "c"}), slices.Concat(ours, []string{"b", "c", hand}), true},
		"all go":                                       {append(WithCustom(ours, []string{"a", "b"}), hand), ours, slices.Concat(ours, []string{hand}), true},
		"one that was there before stays":              {slices.Concat(ours, []string{"a"}), WithCustom(ours, []string{"a"}), slices.Concat(ours, []string{"a"}), false},
		"one that another client removed is set again": {slices.DeleteFunc(WithCustom(ours, []string{"a"}), func(t string) bool { return t == "a" }), WithCustom(ours, []string{"a"}), slices.Concat(ours, []string{"a"}), true},
		"an object without tags gets ours, too":        {nil, WithCustom(ours, []string{"a"}), slices.Concat(ours, []string{"a"}), true},
		"one that lost our mark stays":                 {slices.Concat(ours, []string{"a"}), ours, slices.Concat(ours, []string{"a"}), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CustomDiffer(c.have, c.want); got != c.differ {
				t.Errorf("they differ: %v, want %v", got, c.differ)
			}
			after := Retag(c.have, c.want)
			if diff := cmp.Diff(slices.Sorted(slices.Values(c.become)), plainTags(after)); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
			if CustomDiffer(after, c.want) {
				t.Errorf("%q still differ from %q", after, c.want)
			}
		})
	}
}

func TestATagThatExistedBeforeIsNotRemovedWithTheRequest(t *testing.T) {
	before := slices.Concat(ours, []string{"prod"})
	wished := Retag(before, WithCustom(ours, []string{"prod", "a"}))
	if diff := cmp.Diff(plainTags(before), plainTags(Retag(wished, ours))); diff != "" {
		t.Errorf("tags (-before +after):\n%s", diff)
	}
}

func TestChangesOfCustomTagsDoNotAffectOtherTags(t *testing.T) {
	tag := rapid.StringMatching(`[a-e]{1,2}`)
	some := func(t *rapid.T, label string) []string {
		return rapid.SliceOfNDistinct(tag, 0, 40, rapid.ID).Draw(t, label)
	}
	rapid.Check(t, func(t *rapid.T) {
		hand, first, second := some(t, "by hand"), some(t, "first"), some(t, "second")
		start := slices.Concat(ours, hand)
		between := Retag(start, WithCustom(ours, first))
		end := Retag(between, WithCustom(ours, second))
		want := slices.Sorted(slices.Values(slices.Concat(start, second)))
		if diff := cmp.Diff(slices.Compact(want), plainTags(end)); diff != "" {
			t.Fatalf("after %q and %q (-want +got):\n%s", first, second, diff)
		}
		if again := Retag(end, WithCustom(ours, second)); !slices.Equal(again, end) {
			t.Fatalf("again %q becomes %q", end, again)
		}
		for _, one := range end {
			if utf8.RuneCountInString(one) > LongestTag {
				t.Fatalf("tag %q is too long", one)
			}
		}
		if got, _ := MarkOf(end); got != (Mark{ClusterUID: "c-uid", ServiceUID: "s-uid"}) {
			t.Fatalf("%q bear the mark %v", end, got)
		}
	})
}

func TestTagsWithAMeaningAreReserved(t *testing.T) {
	for _, tag := range append(WithCustom(ours, []string{"a"}), shareTag+"*") {
		if reserved := Reserved(tag); reserved != (tag != "a") {
			t.Errorf("%q is reserved: %v", tag, reserved)
		}
	}
}
