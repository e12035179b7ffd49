// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const idA, idB = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04", "00000000-0c5d-4e8e-9d43-7b1c2a6f5e04"

func TestListsOfIDsAreRead(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, " ": nil, idA: {idA}, idA + " , " + idB + "," + idA: {idB, idA},
		"3F2B1A900C5D4E8E9D437B1C2A6F5E04": {idA},
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			got, err := ParseIDs(Network, text)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("error %v, ids (-want +got):\n%s", err, diff)
			}
		})
	}
	for _, text := range []string{"pods", idA + ",", "," + idA, idA + " " + idB, idA[1:]} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			if got, err := ParseIDs(Network, text); err == nil || got != nil {
				t.Errorf("got %v", got)
			}
		})
	}
}

func FuzzParseIDs(f *testing.F) {
	f.Add(idA + "," + idB)
	f.Add("x, ,")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseIDs(Network, text)
		if !slices.IsSorted(got) || err != nil && got != nil || slices.ContainsFunc(got, func(id string) bool { return !idPattern.MatchString(id) }) {
			t.Errorf("ParseIDs(%q) = %q, %v", text, got, err)
		}
	})
}
