// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import "testing"

func TestReleasesAreReadByTheirNames(t *testing.T) {
	for _, r := range All {
		t.Run(r.String(), func(t *testing.T) {
			text, err := r.MarshalText()
			if err != nil {
				t.Fatal(err)
			}
			var read Release
			if err := read.UnmarshalText(text); err != nil || read != r {
				t.Errorf("%s: %s, %v", text, read, err)
			}
		})
	}
	if err := new(Release).UnmarshalText([]byte("2019.1")); err == nil {
		t.Error("2019.1 is taken")
	}
}
