// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Prefixes are the prefixes that users can use for every key that they set.
var Prefixes = []string{Prefix, OwnPrefix}

// aliasOf maps a key of the table to the same name with the other prefix; canonicalOf is the reverse.
var aliasOf, canonicalOf = aliases(Table)

// aliases returns the maps between the keys of a table and their aliases. Annotations that the controller writes have
// no alias: it updates only the key of the table, so an alias would become outdated. Keys with a prefix of Kubernetes
// have none either: their names make sense only with that prefix.
func aliases(table []Annotation) (aliasOf, canonicalOf map[string]string) {
	aliasOf, canonicalOf = map[string]string{}, map[string]string{}
	for _, a := range table {
		prefix, name := Split(a.Key)
		if i := slices.Index(Prefixes, prefix); i >= 0 && !a.Output {
			alias := Prefixes[1-i] + name
			aliasOf[a.Key], canonicalOf[alias] = alias, a.Key
		}
	}
	return aliasOf, canonicalOf
}

// Split returns the prefix of a key with its slash, or "", and the name after it.
func Split(key string) (prefix, name string) {
	i := strings.LastIndex(key, "/") + 1
	return key[:i], key[i:]
}

// Keys returns all keys of the annotation, that of the table first.
func (a Annotation) Keys() []string {
	if alias, there := aliasOf[a.Key]; there {
		return []string{a.Key, alias}
	}
	return []string{a.Key}
}

// Canonical returns the annotations with aliases replaced by the keys of the table. If both are set, the key of the
// table takes precedence; Parse reports a problem if they differ. The argument is not changed.
func Canonical(annotations map[string]string) map[string]string {
	var all map[string]string
	for key, value := range annotations {
		canonical, alias := canonicalOf[key]
		if !alias {
			continue
		}
		if all == nil {
			all = maps.Clone(annotations)
		}
		if delete(all, key); !has(annotations, canonical) {
			all[canonical] = value
		}
	}
	if all == nil {
		return annotations // usually no key is an alias
	}
	return all
}

// Value returns the trimmed value of an annotation, by its key of the table.
func Value(annotations map[string]string, key string) string {
	return strings.TrimSpace(annotations[TypedKey(annotations, key)])
}

// Values returns the values of an annotation under all its keys: two if they contradict each other.
func Values(annotations map[string]string, key string) (all []string) {
	for _, k := range []string{key, aliasOf[key]} {
		if value := strings.TrimSpace(annotations[k]); k != "" && value != "" && !slices.Contains(all, value) {
			all = append(all, value)
		}
	}
	return all
}

// TypedKey returns the key on the Service for a key of the table: that key, unless only its alias is set.
func TypedKey(annotations map[string]string, key string) string {
	if alias, there := aliasOf[key]; there && !has(annotations, key) && has(annotations, alias) {
		return alias
	}
	return key
}

// conflicts returns a problem for each annotation that is set under two keys with different values.
func conflicts(annotations map[string]string) (problems []Problem) {
	for alias, value := range annotations {
		key, there := canonicalOf[alias]
		if !there || !has(annotations, key) || strings.TrimSpace(annotations[key]) == strings.TrimSpace(value) {
			continue
		}
		problems = append(problems, Problem{Key: key, Value: annotations[key], Canonical: key, Text: fmt.Sprintf(
			"annotation %s=%q is the same setting with another value; remove one of the two", alias, value)})
	}
	return problems
}

func has(annotations map[string]string, key string) bool {
	_, there := annotations[key]
	return there
}
