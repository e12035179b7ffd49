// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// schemaSource is the schema of the values, without descriptions and without the keys of cloud.conf.
//
//go:embed values.schema.yaml
var schemaSource []byte

// node is a part of a JSON schema.
type node = map[string]any

// schemaFile renders the values.schema.json of the chart: descriptions come from values.yaml, the keys of cloud.conf from
// the table of the controller.
func schemaFile(root string) (map[string]string, error) {
	values, err := readValues(root)
	if err != nil {
		return nil, err
	}
	text, err := schema(values)
	return map[string]string{path.Join(chartDir, "values.schema.json"): text}, err
}

func schema(values []value) (string, error) {
	var root node
	if err := yaml.Unmarshal(schemaSource, &root); err != nil {
		return "", err
	}
	delete(root, "definitions") // the source refers to them by anchors
	docs := map[string]string{}
	for _, v := range values {
		docs[v.Path] = v.Doc
	}
	if err := describe(root, "", docs); err != nil {
		return "", err
	}
	for path := range docs {
		return "", fmt.Errorf("values.schema.yaml has no %s", path)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(root)
	return text.String(), err
}

// describe adds the descriptions to a schema and its properties, whose paths have this prefix. It removes used
// entries from docs.
func describe(n node, prefix string, docs map[string]string) error {
	properties, _ := n["properties"].(node)
	for name, property := range properties {
		path, below := prefix+name, property.(node)
		doc, documented := docs[path]
		if documented {
			below["description"] = doc
			delete(docs, path)
		} else if below["properties"] == nil {
			return fmt.Errorf("values.yaml has no comment for %s, which is in values.schema.yaml", path)
		}
		if section, is := below["section"].(string); is {
			delete(below, "section")
			if err := addSection(below, section); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			continue
		}
		if documented {
			continue
		}
		if err := describe(below, path+".", docs); err != nil {
			return err
		}
	}
	return nil
}

// addSection turns a schema into that of a section of cloud.conf. A named section may exist several times, by name.
func addSection(n node, name string) error {
	i := slices.IndexFunc(config.Sections(), func(s config.Section) bool { return s.Name == name })
	if i < 0 {
		return fmt.Errorf("cloud.conf has no section %s", name)
	}
	properties := node{}
	for _, key := range config.Keys() {
		if key.Section == name {
			property := keyTypes[key.Kind]()
			property["description"] = links.ReplaceAllString(key.Doc, "$1")
			properties[key.Name] = property
		}
	}
	keys := node{"type": "object", "additionalProperties": false, "properties": properties}
	if config.Sections()[i].Named {
		n["type"] = "object"
		n["additionalProperties"] = false
		n["patternProperties"] = node{sectionName: keys}
		return nil
	}
	for k, v := range keys {
		n[k] = v
	}
	return nil
}

// sectionName matches the names that [Section "name"] can contain.
const sectionName = `^[^\x00-\x1f]+$`

// links matches Markdown links, which are removed because a description is plain text.
var links = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)

// uuidOrNothing matches a UUID, with or without hyphens, or nothing. So a name is refused before
// anything is installed.
const uuidOrNothing = `^$|^([0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32})$`

// keyTypes has the schemas of the kinds of keys. Text must be a string, so that YAML does not parse a password or an id
// as a number. null means no value.
var keyTypes = map[config.Kind]func() node{
	config.String: func() node { return node{"type": []string{"string", "null"}} },
	config.ID: func() node {
		return node{"type": []string{"string", "null"}, "pattern": uuidOrNothing}
	},
	config.Password:  func() node { return node{"type": []string{"string", "null"}} },
	config.Duration:  func() node { return node{"type": []string{"string", "null"}} },
	config.Bool:      func() node { return node{"type": []string{"boolean", "null"}} },
	config.TrueFalse: func() node { return node{"type": []string{"boolean", "null"}} },
	config.Int:       func() node { return node{"type": []string{"integer", "null"}} },
	config.Strings: func() node {
		return node{"type": []string{"string", "array", "null"}, "items": node{"type": "string"}}
	},
}
