// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTreeShowsTheHierarchyOfObjects(t *testing.T) {
	for name, c := range map[string]struct {
		node Node
		want string
	}{
		"one object":           {Node{Text: "shop/web"}, "shop/web\n"},
		"objects of one level": {Node{"shop/web", []Node{{Text: "a"}, {Text: "b"}}}, "shop/web\n  ├─ a\n  └─ b\n"},
		"objects of several levels": {Node{"shop/web", []Node{{"a", []Node{{"b", []Node{{Text: "c"}}}}}, {"d", []Node{{Text: "e"}, {Text: "f"}}}}}, `shop/web
  ├─ a
  │  └─ b
  │     └─ c
  └─ d
     ├─ e
     └─ f
`},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, c.node.String()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
