// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestANodeSelectorNamesLabelsAndPerhapsTheirValues(t *testing.T) {
	for text, want := range map[string]NodeSelector{
		"":                         {},
		" , ":                      {},
		"zone=a":                   {"zone": "a"},
		" zone = a , disk=ssd,":    {"zone": "a", "disk": "ssd"},
		"gpu":                      {"gpu": ""},
		"gpu=":                     {"gpu": ""},
		"zone=a,zone=a":            {"zone": "a"},
		"topology.example.com/r=1": {"topology.example.com/r": "1"},
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			got, err := ParseNodeSelector(text)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	for text, part := range map[string]string{
		"zone=a,zone=b": "zone is listed twice", "=a": `""`, "zone=a=b": `"a=b"`, "zone!=a": `"zone!"`, "zone in (a)": `"zone in (a)"`, "a/b/c=d": `"a/b/c"`,
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			if got, err := ParseNodeSelector(text); err == nil || got != nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v, %v; want an error with %s", got, err, part)
			}
		})
	}
}

func TestASelectedNodeHasAllTheLabels(t *testing.T) {
	labels := map[string]string{"zone": "a", "gpu": "", "disk": "ssd"}
	for text, want := range map[string]bool{
		"": true, "zone=a": true, "zone": true, "gpu": true, "zone=a,disk=ssd": true,
		"zone=b": false, "zone=a,disk=hdd": false, "rack": false, "gpu=yes": false,
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			selector, err := ParseNodeSelector(text)
			if got := selector.Matches(labels); err != nil || got != want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

func FuzzNodeSelector(f *testing.F) {
	for _, text := range []string{"", "zone=a,gpu", "a=b=c", ",,", "x=,x", "example.com/a=b"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		selector, err := ParseNodeSelector(text)
		if err != nil {
			return
		}
		if !selector.Matches(selector) {
			t.Errorf("%q does not select a node with just these labels: %v", text, selector)
		}
	})
}
