// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/invopop/jsonschema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/command/output"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
)

const module = "github.com/kube-octavia/kube-octavia"

// base is the URL below which the schemas are published.
const base = "https://raw.githubusercontent.com/kube-octavia/kube-octavia/main/docs/reference/schema/v1/"

// fileOf returns the name of the schema of a command.
func fileOf(command string) string { return command + ".json" }

// schemas returns the text of each schema, by file name.
func schemas(root string) (map[string][]byte, error) {
	comments, err := commentsOf(root)
	if err != nil {
		return nil, err
	}
	all := map[string][]byte{}
	for _, o := range cli.Outputs() {
		schema := reflected(o, comments)
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(schema); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", o.Command, err)
		}
		all[fileOf(o.Command)] = text.Bytes()
	}
	return all, nil
}

// reflected returns the schema of a command's output: the keys of all documents, then those of the Go type. Later
// releases may add keys within the same version, so unknown keys are allowed.
func reflected(o cli.Output, comments map[string]string) *jsonschema.Schema {
	r := &jsonschema.Reflector{AllowAdditionalProperties: true, ExpandedStruct: true, Anonymous: true, Mapper: mapped, CommentMap: comments}
	schema := r.ReflectFromType(reflect.TypeOf(o.Value))
	schema.ID = jsonschema.ID(base + fileOf(o.Command))
	schema.Title = fmt.Sprintf("%s: the output of `kube-octavia %s --output=json`", o.Kind, o.Command)
	own := schema.Properties
	schema.Properties = jsonschema.NewProperties()
	schema.Properties.Set("apiVersion", &jsonschema.Schema{Type: "string", Const: output.APIVersion})
	schema.Properties.Set("kind", &jsonschema.Schema{Type: "string", Const: string(o.Kind)})
	for pair := own.Oldest(); pair != nil; pair = pair.Next() {
		schema.Properties.Set(pair.Key, pair.Value)
	}
	schema.Required = append([]string{"apiVersion", "kind"}, schema.Required...)
	return schema
}

var (
	timeType = reflect.TypeFor[metav1.Time]()
	opType   = reflect.TypeFor[diff.Op]()
)

// mapped returns the schemas of types with their own JSON encoding.
func mapped(t reflect.Type) *jsonschema.Schema {
	switch t {
	case timeType:
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case opType:
		return &jsonschema.Schema{Type: "object", Description: "The operation in full. Its keys depend on kind, and are not part of this schema."}
	}
	return nil
}

// packages are the packages with types of documents.
var packages = []string{"operate/cleanup", "command/cli", "operate/doctor", "model/diff", "model/lb", "reconcile/orphan", "operate/report"}

// commentsOf returns the comments of the types and their fields, by name.
func commentsOf(root string) (map[string]string, error) {
	var r jsonschema.Reflector
	before, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Chdir(before) }() // the library accepts only paths below the working directory
	if err := os.Chdir(root); err != nil {
		return nil, err
	}
	for _, name := range packages {
		if err := r.AddGoComments(module, "./"+filepath.Join("internal", name)); err != nil {
			return nil, fmt.Errorf("comments of internal/%s: %w", name, err)
		}
	}
	for name, text := range r.CommentMap {
		r.CommentMap[name] = sentence(text)
	}
	return r.CommentMap, nil
}

var spaces = regexp.MustCompile(`\s+`)

// sentence returns a comment as one line.
func sentence(text string) string { return strings.TrimSpace(spaces.ReplaceAllString(text, " ")) }
