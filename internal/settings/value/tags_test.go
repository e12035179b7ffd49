// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTagsAreReadAsAListOfCommasOrBlanks(t *testing.T) {
	for text, want := range map[string][]string{
		"":                       nil,
		" \n":                    nil,
		"a":                      {"a"},
		" cost=7 ,prod":          {"cost=7", "prod"},
		"a b\u00a0c\nd,a":        {"a", "b", "c", "d"},
		strings.Repeat("ü", 255): {strings.Repeat("ü", 255)},
	} {
		t.Run(fmt.Sprintf("%.20q", text), func(t *testing.T) {
			got, err := ParseTags(text)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
			}
		})
	}
	for text, told := range map[string]string{
		",":                      "is empty",
		"a,":                     "is empty",
		"a,,b":                   "is empty",
		"a, ,b":                  "is empty",
		strings.Repeat("ü", 256): "longer than 255 characters",
		"a,kube-octavia.share=*": `"kube-octavia.share=*" is reserved`,
		"kube_service_c_n_s":     `"kube_service_c_n_s" is reserved`,
	} {
		t.Run(fmt.Sprintf("%.20q", text), func(t *testing.T) {
			if _, err := ParseTags(text); err == nil || !strings.Contains(err.Error(), told) {
				t.Errorf("%q: error %v, want one that tells %q", text, err, told)
			}
		})
	}
}

func FuzzParseTags(f *testing.F) {
	f.Add("a, b c")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseTags(text)
		again, errAgain := ParseTags(strings.Join(got, ","))
		if err == nil && (errAgain != nil || !cmp.Equal(got, again)) {
			t.Fatalf("%q reads as %q, and that as %q (%v)", text, got, again, errAgain)
		}
	})
}
