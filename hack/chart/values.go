// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value is a documented value of the chart.
type value struct {
	// Path has the keys from the root, with dots between them.
	Path string
	// Default is the value in values.yaml, as JSON.
	Default string
	// Doc is the comment, in one line.
	Doc string
}

// readValues returns the values of a repository's chart in the order of values.yaml. A value without a comment must
// have keys with comments.
func readValues(root string) ([]value, error) {
	text, err := os.ReadFile(filepath.Join(root, chartDir, "values.yaml"))
	if err != nil {
		return nil, err
	}
	return parseValues(text)
}

// parseValues is readValues for the text of values.yaml.
func parseValues(text []byte) ([]value, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, fmt.Errorf("values.yaml is not a mapping")
	}
	return valuesOf("", document.Content[0])
}

// valuesOf returns the values in a mapping whose path has this prefix.
func valuesOf(prefix string, mapping *yaml.Node) ([]value, error) {
	var all []value
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, node := mapping.Content[i], mapping.Content[i+1]
		path := prefix + key.Value
		doc := comment(key.HeadComment)
		if doc == "" {
			if node.Kind != yaml.MappingNode || len(node.Content) == 0 {
				return nil, fmt.Errorf("values.yaml, line %d: %s has no comment", key.Line, path)
			}
			below, err := valuesOf(path+".", node)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
			continue
		}
		var decoded any
		if err := node.Decode(&decoded); err != nil {
			return nil, err
		}
		text, err := json.Marshal(decoded)
		if err != nil {
			return nil, err
		}
		all = append(all, value{Path: path, Default: string(text), Doc: doc})
	}
	return all, nil
}

// comment joins the lines of the last paragraph of a comment.
func comment(text string) string {
	if i := strings.LastIndex(text, "\n\n"); i >= 0 {
		text = text[i+2:]
	}
	var words []string
	for line := range strings.SplitSeq(text, "\n") {
		words = append(words, strings.Fields(strings.TrimPrefix(line, "#"))...)
	}
	return strings.Join(words, " ")
}
