// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m, kubetest.IgnoreStoppedQueue()) }

// published is the directory of the schemas.
const published = "../../docs/reference/schema/v1"

func TestPublishedSchemasMatchTheTypes(t *testing.T) {
	want, err := schemas("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(published, name))
		if d := cmp.Diff(string(text), string(got)); err != nil || d != "" {
			t.Errorf("%s: %v; run `go generate` in hack/schema (-types +published):\n%s", name, err, d)
		}
	}
	files, err := filepath.Glob(filepath.Join(published, "*"))
	if err != nil || len(files) != len(want) {
		t.Errorf("%v: %d files for %d commands: %v", err, len(files), len(want), files)
	}
}

func TestEveryCommandThatPrintsJSONHasASchema(t *testing.T) {
	var want []string
	for _, name := range []string{"cleanup", "controller", "doctor", "migrate", "plan", "status", "ui", "version"} {
		if strings.Contains(help(t, name), "output format: ") {
			want = append(want, name)
		}
	}
	var got []string
	for _, o := range cli.Outputs() {
		got = append(got, o.Command)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-commands +schemas):\n%s", d)
	}
}

// compiled returns the published schema of a command.
func compiled(t *testing.T, command string) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(filepath.Join(published, fileOf(command)))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// invalid returns why a document does not match the schema of a command, or nil.
func invalid(t *testing.T, command, document string) error {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	if err != nil {
		t.Fatalf("%s: %v in:\n%s", command, err, document)
	}
	return compiled(t, command).Validate(value)
}

func TestSchemaRejectsOtherDocuments(t *testing.T) {
	const head = `{"apiVersion": "cli.kube-octavia.io/v1", "kind": "PlanList", `
	for name, test := range map[string]struct {
		document string
		fits     bool
	}{
		"an empty list":      {head + `"items": []}`, true},
		"a key of later":     {head + `"items": [], "more": 1}`, true},
		"a Service":          {head + `"items": [{"namespace": "a", "name": "b", "ops": []}]}`, true},
		"no list":            {head + `"items": null}`, false},
		"no items":           {`{"apiVersion": "cli.kube-octavia.io/v1", "kind": "PlanList"}`, false},
		"another version":    {`{"apiVersion": "cli.kube-octavia.io/v2", "kind": "PlanList", "items": []}`, false},
		"another kind":       {`{"apiVersion": "cli.kube-octavia.io/v1", "kind": "StatusList", "items": []}`, false},
		"a Service unnamed":  {head + `"items": [{"namespace": "a", "ops": []}]}`, false},
		"ops that are a map": {head + `"items": [{"namespace": "a", "name": "b", "ops": {}}]}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := invalid(t, "plan", test.document); (err == nil) != test.fits {
				t.Error(err)
			}
		})
	}
}

// help returns the help of a command.
func help(t *testing.T, name string) string {
	t.Helper()
	status, out, errs := run(t, name, "--help")
	if status != 0 {
		t.Fatalf("%s --help: status %d, %s", name, status, errs)
	}
	return out
}

// run runs a command and returns its exit status and its output.
func run(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr strings.Builder
	status = cli.Run(t.Context(), slices.Clone(args), cli.IO{Out: &stdout, Err: &stderr}, cli.Options{Version: "test"})
	return status, stdout.String(), stderr.String()
}
