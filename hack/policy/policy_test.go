// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func TestThePolicyIsUpToDate(t *testing.T) {
	want, err := render()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../charts/kube-octavia/files/annotation-rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("the policy is not what the table says; run `make generate` (-table +file):\n%s", diff)
	}
}

func TestPolicyChecksEveryAnnotationThatUsersSet(t *testing.T) {
	text, err := render()
	if err != nil {
		t.Fatal(err)
	}
	var spec admissionv1.ValidatingAdmissionPolicySpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(spec.Variables, func(v admissionv1.Variable) bool { return v.Name == "changed" })
	for _, a := range annotation.Table {
		for _, key := range a.Keys() {
			if strings.Contains(spec.Variables[i].Expression, quote(key)) == a.Output {
				t.Errorf("%s is looked at: %v", key, a.Output)
			}
		}
	}
}

func TestALineOfTheTableWithoutARuleIsAnError(t *testing.T) {
	fine := annotation.Rule{Kind: "kind", Right: "must be fine", Value: "true"}
	for name, c := range map[string]struct {
		rules []annotation.Rule
		want  string
	}{
		"complete":              {[]annotation.Rule{fine, fine}, ""},
		"none":                  {[]annotation.Rule{fine, {}}, "annotation b has no rule"},
		"no words":              {[]annotation.Rule{{Kind: "kind", Value: "true"}}, "annotation a has no rule"},
		"no expression":         {[]annotation.Rule{{Kind: "kind", Right: "must be"}}, "annotation a has no rule"},
		"two rules of one kind": {[]annotation.Rule{fine, {Kind: "Kind!", Right: "must be fine", Value: "false"}}, "different rules"},
	} {
		t.Run(name, func(t *testing.T) {
			var table []annotation.Annotation
			for i, rule := range c.rules {
				table = append(table, annotation.Annotation{Key: string(rune('a' + i)), Rule: rule})
			}
			_, err := newPolicy(table, nil)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, err := newPolicy(nil, annotation.Comparisons); err == nil {
		t.Error("annotations are compared that are not in the table")
	}
	if _, err := newPolicy([]annotation.Annotation{{Key: "a", Output: true}}, nil); err != nil {
		t.Errorf("what the controller writes needs no rule: %v", err)
	}
}
