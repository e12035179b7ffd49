// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
)

var update = flag.Bool("update", false, "write the golden files")

// caseFile returns a file of a case in testdata.
func caseFile(t *testing.T, name, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// cases has, for each set of values in testdata, the release for which it is rendered.
var cases = map[string]release{
	"existing-secret": helm,
	"cloud-conf":      helm,
	"everything":      helm,
	"host-network":    helm,
	"second":          {Name: "second", Namespace: "kube-octavia", Service: "Helm", Kubernetes: "v1.36.0"},
}

func TestReleasesAreRenderedAsBefore(t *testing.T) {
	for name, r := range cases {
		t.Run(name, func(t *testing.T) {
			texts := rendered(t, r, caseFile(t, name, "values.yaml"))
			var got strings.Builder
			for _, path := range slices.Sorted(maps.Keys(texts)) {
				text := texts[path]
				if path == "dashboards.yaml" {
					text, _, _ = strings.Cut(text, "data:\n") // the whole dashboard would hide other changes
				}
				got.WriteString("--- " + path + "\n" + text)
			}
			path := filepath.Join("testdata", name, "rendered.txt")
			if *update {
				if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(caseFile(t, name, "rendered.txt"), got.String()); diff != "" {
				t.Errorf("if this is intended: go test -run %s -update (-before +now):\n%s", t.Name(), diff)
			}
			for _, text := range texts {
				if strings.Contains(text, "\n\n") && !strings.HasPrefix(text, "kube-octavia is installed") {
					t.Errorf("blank lines in\n%s", text)
				}
			}
		})
	}
}

func TestDashboardsOfTheChartBecomeAConfigMap(t *testing.T) {
	c := loaded(t)
	c.Files = append(c.Files, &chart.File{Name: "files/dashboards/overview.json", Data: []byte("{\n  \"title\": \"{{ overview }}\"\n}\n")})
	texts, err := render(c, parsed(t, minimal+"metrics: {dashboards: {enabled: true}}"), helm)
	if err != nil {
		t.Fatal(err)
	}
	type configMap struct {
		APIVersion string `json:"apiVersion"`
		Kind       string
		Metadata   struct {
			Name, Namespace string
			Labels          map[string]string
		}
		Data map[string]string
	}
	got := object[configMap](t, texts["dashboards.yaml"], "ConfigMap")
	dashboard, err := os.ReadFile(filepath.Join(root, chartDir, "files/dashboards/kube-octavia.json"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"overview.json": "{\n  \"title\": \"{{ overview }}\"\n}\n", "kube-octavia.json": string(dashboard)}
	if diff := cmp.Diff(want, got.Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if got.Metadata.Name != "kube-octavia-dashboards" || got.Metadata.Labels["grafana_dashboard"] != "1" {
		t.Errorf("the sidecar finds it by %+v", got.Metadata)
	}
}

func TestRunbooksOfAlertsAreWhereTheValuesSay(t *testing.T) {
	type rule struct {
		Alert, Expr, For    string
		Labels, Annotations map[string]string
	}
	type prometheusRule struct {
		APIVersion string `json:"apiVersion"`
		Kind       string
		Metadata   map[string]any
		Spec       struct {
			Groups []struct {
				Name  string
				Rules []rule
			}
		}
	}
	for name, test := range map[string]struct{ values, base string }{
		"default":               {"", "https://github.com/kube-octavia/kube-octavia/blob/main/docs/runbooks/"},
		"without a final slash": {", runbookURL: https://wiki.example.com/runbooks", "https://wiki.example.com/runbooks/"},
		"with a final slash":    {", runbookURL: https://wiki.example.com/runbooks/", "https://wiki.example.com/runbooks/"},
	} {
		t.Run(name, func(t *testing.T) {
			texts := rendered(t, helm, minimal+"metrics: {prometheusRule: {enabled: true"+test.values+"}}")
			rules := object[prometheusRule](t, texts["prometheusrule.yaml"], "PrometheusRule").Spec.Groups[0].Rules
			if len(rules) < 10 {
				t.Fatalf("there are only %d alerts", len(rules))
			}
			for _, r := range rules {
				if got, want := r.Annotations["runbook_url"], test.base+r.Alert+".md"; got != want {
					t.Errorf("the runbook of %s is %s, want %s", r.Alert, got, want)
				}
			}
		})
	}
}
