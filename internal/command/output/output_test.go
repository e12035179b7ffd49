// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestADocumentBeginsWithItsVersionAndKind(t *testing.T) {
	type list struct {
		Items []string `json:"items"`
		More  int      `json:"more,omitempty"`
	}
	for name, test := range map[string]struct {
		format Format
		value  any
		want   string
	}{
		"a list": {JSON, list{Items: []string{"a <b>"}}, `{
  "apiVersion": "cli.kube-octavia.io/v1",
  "kind": "PlanList",
  "items": [
    "a <b>"
  ]
}
`},
		"no keys": {JSON, struct{}{}, `{
  "apiVersion": "cli.kube-octavia.io/v1",
  "kind": "PlanList"
}
`},
		"a list as YAML": {YAML, list{[]string{"a: b"}, 1}, `---
apiVersion: cli.kube-octavia.io/v1
items:
- 'a: b'
kind: PlanList
more: 1
`},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Write(&out, test.format, PlanList, test.value); err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(test.want, out.String()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestAnArrayIsNoDocument(t *testing.T) {
	if err := Write(&bytes.Buffer{}, JSON, PlanList, []string{"a"}); err == nil || !strings.Contains(err.Error(), "[]string is not an object") {
		t.Error(err)
	}
}

func TestAFormatIsOneOfTheCommand(t *testing.T) {
	formats := Formats{Text, JSON, YAML}
	if err := formats.Check("yaml"); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"", "wide", "YAML"} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			if err := formats.Check(text); err == nil || err.Error() != "must be text, json or yaml" {
				t.Error(err)
			}
		})
	}
}
