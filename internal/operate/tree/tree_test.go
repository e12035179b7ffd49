// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestATreeShowsWhatIsBelowWhat(t *testing.T) {
	for name, c := range map[string]struct {
		node Node
		want string
	}{
		"alone": {Node{Text: "shop/web"}, "shop/web\n"},
		"flat":  {Node{"shop/web", []Node{{Text: "a"}, {Text: "b"}}}, "shop/web\n  ├─ a\n  └─ b\n"},
		"deep": {Node{"shop/web", []Node{{"a", []Node{{"b", []Node{{Text: "c"}}}}}, {"d", []Node{{Text: "e"}, {Text: "f"}}}}}, `shop/web
  ├─ a
  │  └─ b
  │     └─ c
  └─ d
     ├─ e
     └─ f
`},
	} {
		if d := cmp.Diff(c.want, c.node.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
