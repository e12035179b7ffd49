// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsyaml

import (
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"
)

// resolved returns the node that an alias stands for, and the node itself otherwise.
func (v value) resolved() *yaml.Node {
	if v.node.Kind == yaml.AliasNode {
		return v.node.Alias
	}
	return v.node
}

func (v value) isNull() bool {
	n := v.resolved()
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// text returns a scalar as it is written, because users write passwords and ids without quotes. Null has no text.
func (v value) text() (string, error) {
	n := v.resolved()
	switch {
	case n.Kind != yaml.ScalarNode:
		return "", errors.New("must be text, not a list or a map")
	case v.isNull():
		return "", nil
	}
	return n.Value, nil
}

// plain reports whether a scalar has no quotes, so that YAML interprets words such as yes.
func (v value) plain() bool {
	n := v.resolved()
	return n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
}

// list returns the elements of a list, or the value itself if it is not a list.
func (v value) list() []value {
	n := v.resolved()
	if n.Kind != yaml.SequenceNode {
		return []value{v}
	}
	all := make([]value, len(n.Content))
	for i, c := range n.Content {
		all[i] = value{node: c, file: v.file}
	}
	return all
}

// mapping returns a map with - replaced by _ in its keys, as in openstacksdk.
func (v value) mapping() (map[string]value, error) {
	return v.mappingBy(func(key string) string { return strings.ReplaceAll(key, "-", "_") })
}

// mappingAsWritten returns a map with its keys unchanged.
func (v value) mappingAsWritten() (map[string]value, error) {
	return v.mappingBy(func(key string) string { return key })
}

func (v value) mappingBy(name func(string) string) (map[string]value, error) {
	all := map[string]value{}
	budget := maxMerged
	err := v.fill(all, name, &budget)
	return all, err
}

// maxMerged limits the number of maps that are merged into one, because merged maps may merge
// others.
const maxMerged = 100

var errNoMap = errors.New("must be a map of keys and values")

// fill adds the missing keys of a map. If a key occurs twice, the last one takes precedence. The map's own keys take
// precedence over those of maps that it merges.
func (v value) fill(all map[string]value, name func(string) string, budget *int) error {
	if *budget--; *budget < 0 {
		return errors.New("merges too many maps")
	}
	n := v.resolved()
	switch {
	case v.isNull():
		return nil
	case n.Kind != yaml.MappingNode:
		return errNoMap
	}
	own := map[string]value{}
	var merged []value
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], value{node: n.Content[i+1], file: v.file}
		if key.Value == "<<" && key.ShortTag() == "!!merge" {
			merged = append(merged, val.list()...)
			continue
		}
		own[name(key.Value)] = val
	}
	for key, val := range own {
		if _, there := all[key]; !there {
			all[key] = val
		}
	}
	for _, m := range merged {
		if err := m.fill(all, name, budget); err != nil {
			return err
		}
	}
	return nil
}
