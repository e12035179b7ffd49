// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

//go:embed policy.yaml.tmpl
var text string

// policy is the data of the template.
type policy struct {
	// Keys are the keys of all annotations that are checked.
	Keys        []string
	Kinds       []*kind
	Comparisons []comparison
	Tries       []try
	// Aliases are the keys that exist with two prefixes.
	Aliases []alias
}

// alias is a key of the table with its equivalent key.
type alias struct{ Key, Other string }

// kind is a rule with the annotations to which it applies.
type kind struct {
	annotation.Rule
	Name string
	Keys []string
}

// comparison is a rule about two annotations, with the conditions under which each can be compared.
type comparison struct {
	Name, Right, Value string
	// First and Second are the keys of the two.
	First, Second                     []string
	FirstWellFormed, SecondWellFormed string
}

// try is an expression that cannot be evaluated if a value is malformed.
type try struct {
	Name, Right, Expression string
	Keys                    []string
}

// Names returns the keys for messages.
func (t try) Names() string { return strings.Join(t.Keys, " or ") }

// render returns the text of the policy.
func render() (string, error) {
	p, err := newPolicy(annotation.Table, annotation.Comparisons)
	if err != nil {
		return "", err
	}
	t, err := template.New("").Option("missingkey=error").Funcs(template.FuncMap{"cel": quote, "shown": shown, "indent": indent}).Parse(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = t.Execute(&out, p)
	return out.String(), err
}

// newPolicy groups the annotations of the table by rule, in the order of the table.
func newPolicy(table []annotation.Annotation, comparisons []annotation.Comparison) (policy, error) {
	var p policy
	for _, a := range table {
		if a.Output {
			continue
		}
		if a.Rule.Kind == "" || a.Rule.Right == "" || a.Rule.Value == "" && a.Rule.Part == "" {
			return p, fmt.Errorf("annotation %s has no rule", a.Key)
		}
		keys := a.Keys()
		p.Keys = append(p.Keys, keys...)
		if len(keys) > 1 {
			p.Aliases = append(p.Aliases, alias{keys[0], keys[1]})
		}
		if err := p.add(a); err != nil {
			return p, err
		}
	}
	for _, k := range p.Kinds {
		if k.Try != "" {
			p.Tries = append(p.Tries, try{Name: k.Name + "_try", Right: k.Right, Keys: k.Keys, Expression: k.unlessEmpty(k.Try)})
		}
	}
	for _, c := range comparisons {
		first, second := p.of(c.Keys[0]), p.of(c.Keys[1])
		if first == nil || second == nil {
			return p, fmt.Errorf("%v are compared, but not in the table", c.Keys)
		}
		_, of := annotation.Split(c.Keys[0])
		p.Comparisons = append(p.Comparisons, comparison{
			Name: name("compared", of), Right: c.Right, Value: c.Value, First: p.keysOf(c.Keys[0]), Second: p.keysOf(c.Keys[1]),
			FirstWellFormed: first.WellFormed(), SecondWellFormed: second.WellFormed(),
		})
	}
	return p, nil
}

// keysOf returns the keys of an annotation.
func (p *policy) keysOf(key string) []string {
	for _, a := range p.Aliases {
		if a.Key == key {
			return []string{a.Key, a.Other}
		}
	}
	return []string{key}
}

// add adds an annotation to its kind.
func (p *policy) add(a annotation.Annotation) error {
	id := name("not", a.Rule.Kind)
	i := slices.IndexFunc(p.Kinds, func(k *kind) bool { return k.Name == id })
	switch {
	case i < 0:
		p.Kinds = append(p.Kinds, &kind{Rule: a.Rule, Name: id, Keys: a.Keys()})
	case p.Kinds[i].Rule != a.Rule:
		return fmt.Errorf("annotations %s and %s have the same kind, %q, but different rules", p.Kinds[i].Keys[0], a.Key, a.Rule.Kind)
	default:
		p.Kinds[i].Keys = append(p.Kinds[i].Keys, a.Keys()...)
	}
	return nil
}

// of returns the kind of an annotation.
func (p *policy) of(key string) *kind {
	for _, k := range p.Kinds {
		if slices.Contains(k.Keys, key) {
			return k
		}
	}
	return nil
}

// WellFormed returns an expression over v that is true for well-formed values.
func (k *kind) WellFormed() string {
	var both []string
	if k.Part != "" {
		both = append(both, tooLong+` || [v.split(",")].all(parts, `+tooMany+` ||
  parts.map(p, p.trim()).all(p, p == "" || (`+k.Part+")))")
	}
	if k.Value != "" {
		both = append(both, k.Value)
	}
	if len(both) > 1 {
		return k.unlessEmpty("(" + strings.Join(both, ")\n  && (") + ")")
	}
	return k.unlessEmpty(both[0])
}

func (k *kind) unlessEmpty(expression string) string {
	if k.EmptyCounts {
		return expression
	}
	return `v == "" || (` + expression + ")"
}

// Culprit returns an expression over k, a key, whose value describes the first malformed part.
func (k *kind) Culprit() string {
	if k.Part == "" {
		return ""
	}
	return "[variables.annotations[k]].map(v, " + tooLong + ` ? [] : v.split(",")).map(parts, ` + tooMany + ` ? [] :
  parts.map(p, p.trim()).filter(p, p != "" && !(` + k.Part + `)))
  .map(wrong, wrong.size() == 0 ? "" : [wrong[0]].map(p, ", and " + ` + shown("p") + ` + " is none")[0])[0]`
}

// Longer lists are checked only by the controller, because kube-apiserver aborts an expression
// after a million steps.
const (
	tooLong = "v.size() > 32768"
	tooMany = "parts.size() > 1000"
)

// shown returns an expression for a quoted text, which is truncated if it is long.
func shown(x string) string {
	return fmt.Sprintf(`strings.quote(%s.size() > 100 ? %[1]s.substring(0, 97) + "..." : %[1]s)`, x)
}

// name returns a valid name in CEL, made from words.
func name(words ...string) string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(strings.Join(words, "_")), "_"), "_")
}

// indent indents all lines except the first by n spaces.
func indent(n int, text string) string {
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", n))
}

// quote returns a text as a string literal of CEL, whose escape sequences include those of Go.
func quote(text string) string { return fmt.Sprintf("%q", text) }
