// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// root is the directory of the repository.
const root = "../.."

// helm is a release with the default name.
var helm = release{Name: "kube-octavia", Namespace: "kube-octavia", Service: "Helm", Kubernetes: "v1.36.0"}

// loaded returns the chart.
func loaded(t rapid.TB) *chart.Chart {
	t.Helper()
	c, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// parsed parses values in YAML.
func parsed(t rapid.TB, text string) map[string]any {
	t.Helper()
	values, err := chartutil.ReadValues([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// rendered returns the manifests of a release with these values in YAML.
func rendered(t rapid.TB, r release, values string) map[string]string {
	t.Helper()
	texts, err := render(loaded(t), parsed(t, values), r)
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// object returns one of several manifests in a text, by kind.
func object[T any](t rapid.TB, text, kind string) T {
	t.Helper()
	for one := range strings.SplitSeq(text, "\n---\n") {
		if !strings.Contains(one, "\nkind: "+kind+"\n") {
			continue
		}
		var into T
		if err := yaml.UnmarshalStrict([]byte(one), &into); err != nil {
			t.Fatalf("%s: %v\n%s", kind, err, one)
		}
		return into
	}
	t.Fatalf("there is no %s in\n%s", kind, text)
	panic("unreachable")
}

// minimal has the values that a user must set.
const minimal = `
clusterName: prod
image: {repository: registry.example.com/kube-octavia, tag: v1}
cloudConfig: {existingSecret: cloud-config}
`

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	for name, generate := range map[string]func(string) (map[string]string, error){"schema": schemaFile, "readme": readmeFile, "manifests": manifestFiles} {
		t.Run(name, func(t *testing.T) {
			files, err := generate(root)
			if err != nil {
				t.Error(err)
			}
			for path, want := range files {
				got, err := os.ReadFile(filepath.Join(root, path))
				if err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(want, string(got)); diff != "" {
					t.Errorf("%s is not up to date; run `make generate` (-chart +file):\n%s", path, diff)
				}
			}
		})
	}
}

// written are the files in deploy that are not rendered from the chart.
var written = []string{"example/secret.yaml", "kustomization.yaml", "admission-policy/kustomization.yaml", "readiness-gates/kustomization.yaml", "doctor/kustomization.yaml", "drain/kustomization.yaml", "nodes/kustomization.yaml", "ui/kustomization.yaml", "namespace.yaml"}

func TestEveryManifestComesFromTheChart(t *testing.T) {
	var got []string
	dir := filepath.Join(root, "deploy")
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(dir, path)
			got = append(got, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(slices.Values(slices.Concat(written, manifests)))
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files in deploy (-known +there):\n%s", diff)
	}
}

func TestAValueWithoutACommentIsAnError(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"first value":               {"a: 1", "line 1: a has no comment"},
		"second value":              {"# A.\na: 1\nb: {}", "line 3: b has no comment"},
		"value in another":          {"# A.\na: 1\nb:\n  c: []", "line 4: b.c has no comment"},
		"all values have a comment": {"# A.\na: 1\nb:\n  # C.\n  c:", ""},
		"list":                      {"[]", "not a mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseValues([]byte(test.text))
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestAValueThatTheSchemaDoesNotKnowIsAnError(t *testing.T) {
	values, err := readValues(root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schema(append(values, value{Path: "log.colour", Doc: "Unknown."})); err == nil || !strings.Contains(err.Error(), "log.colour") {
		t.Errorf("a value that the schema does not have: %v", err)
	}
	if _, err := schema(values[1:]); err == nil || !strings.Contains(err.Error(), values[0].Path) {
		t.Errorf("a value of the schema that values.yaml does not have: %v", err)
	}
}

// names returns the objects in manifests, as kind, namespace and name.
func names(t *testing.T, texts map[string]string) []string {
	t.Helper()
	var all []string
	for path, text := range texts {
		if filepath.Ext(path) != ".yaml" {
			continue
		}
		for one := range strings.SplitSeq(text, "\n---\n") {
			var head struct {
				Kind     string
				Metadata struct{ Namespace, Name string }
			}
			if err := yaml.Unmarshal([]byte(one), &head); err != nil {
				t.Fatalf("%s: %v\n%s", path, err, one)
			}
			all = append(all, head.Kind+" "+head.Metadata.Namespace+"/"+head.Metadata.Name)
		}
	}
	slices.Sort(all)
	return all
}

// TestReleasesHaveNoObjectInCommon renders everything that has a name, for releases that differ in name or namespace only.
func TestReleasesHaveNoObjectInCommon(t *testing.T) {
	values := caseFile(t, "everything", "values.yaml")
	owner := map[string]release{}
	for _, r := range []release{
		helm,
		{Name: "second", Namespace: "kube-octavia"},
		{Name: "kube-octavia", Namespace: "other"},
		{Name: "second", Namespace: "other"},
		{Name: "a.kube-octavia", Namespace: "b"},
		{Name: "kube-octavia", Namespace: "a"},
		{Name: "kube-octavia-a", Namespace: "b"},
		{Name: "kube-octavia-a", Namespace: "kube-octavia-a"},
	} {
		r.Service, r.Kubernetes = helm.Service, helm.Kubernetes
		all := names(t, rendered(t, r, values))
		if len(all) < 15 {
			t.Fatalf("%v has only %v", r, all)
		}
		for _, name := range all {
			if other, taken := owner[name]; taken {
				t.Errorf("%v and %v both have %s", r, other, name)
			}
			owner[name] = r
		}
	}
	leases := map[string]bool{}
	for name := range maps.Keys(owner) {
		if role, is := strings.CutPrefix(name, "Role "); is && !strings.HasSuffix(role, "-drain") {
			leases[role] = true
		}
	}
	if len(leases) != 8 {
		t.Errorf("the leases are %v", leases)
	}
}
