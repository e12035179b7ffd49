// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package output writes the documents that commands print for programs. All have the same form: an object with
// apiVersion, kind and, if it is a list, items. Package hack/schema publishes a JSON schema of each. Only the commands
// may import this package.
package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// APIVersion is the version of all documents. Within a version, keys may be added, but never renamed or removed, and
// they keep their types.
const APIVersion = "cli.kube-octavia.io/v1"

// Format is a value of flag --output.
type Format string

// The formats. Every command has Text and some of the others.
const (
	// Text is for users: a table, if the command shows a list.
	Text Format = "text"
	// Wide is Text with more columns.
	Wide Format = "wide"
	// Tree is for users: each object is below the one to which it belongs.
	Tree Format = "tree"
	// JSON and YAML have the whole document.
	JSON Format = "json"
	YAML Format = "yaml"
	// Name has one line for each Service: service/NAME.
	Name Format = "name"
)

// Structured reports whether the format has the whole document.
func (f Format) Structured() bool { return f == JSON || f == YAML }

// Formats are the formats of a command.
type Formats []Format

// String joins them for messages: "text, json or yaml".
func (f Formats) String() string {
	words := make([]string, len(f))
	for i, format := range f {
		words[i] = string(format)
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Check returns an error unless the text is one of the formats.
func (f Formats) Check(text string) error {
	if !slices.Contains(f, Format(text)) {
		return errors.New("must be " + f.String())
	}
	return nil
}

// Kind is the kind of a document.
type Kind string

// The kinds, one for each command.
const (
	StatusList    Kind = "StatusList"
	PlanList      Kind = "PlanList"
	MigrationList Kind = "MigrationList"
	CleanupList   Kind = "CleanupList"
	CheckList     Kind = "CheckList"
	Version       Kind = "Version"
)

// Write writes a document: apiVersion and kind, followed by the keys of value, which must be an object in JSON. Several
// documents may be written one after another.
func Write(out io.Writer, format Format, kind Kind, value any) error {
	document, err := Document(kind, value)
	if err != nil {
		return err
	}
	if format == YAML {
		text, err := yaml.JSONToYAML(document)
		if err != nil {
			return fmt.Errorf("write %s as YAML: %w", kind, err)
		}
		document = append([]byte("---\n"), text...)
	}
	_, err = out.Write(document)
	return err
}

// Document returns the document as JSON.
func Document(kind Kind, value any) ([]byte, error) {
	var own bytes.Buffer
	encoder := json.NewEncoder(&own)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("write %s as JSON: %w", kind, err)
	}
	keys, isObject := bytes.CutPrefix(bytes.TrimSpace(own.Bytes()), []byte("{"))
	if !isObject {
		return nil, fmt.Errorf("write %s as JSON: %T is not an object", kind, value)
	}
	head := fmt.Sprintf(`{"apiVersion":%q,"kind":%q`, APIVersion, kind)
	if !bytes.Equal(keys, []byte("}")) {
		head += ","
	}
	var document bytes.Buffer
	if err := json.Indent(&document, append([]byte(head), keys...), "", "  "); err != nil {
		return nil, fmt.Errorf("write %s as JSON: %w", kind, err)
	}
	document.WriteByte('\n')
	return document.Bytes(), nil
}

// WriteName writes the line of a Service in format Name, as kubectl does.
func WriteName(out io.Writer, service string) error {
	_, err := fmt.Fprintln(out, "service/"+service)
	return err
}
