// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// alert is an alert of the chart.
type alert struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// alerts returns the alerts of the chart.
func alerts(t *testing.T) (all []alert) {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string  `json:"name"`
			Rules []alert `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.UnmarshalStrict([]byte(read(t, filepath.Join(root, "charts/kube-octavia/files/alerts.yaml"))), &file); err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// TestThePageOfMetricsListsTheAlertsOfTheChart compares each alert, its expression and its description.
func TestThePageOfMetricsListsTheAlertsOfTheChart(t *testing.T) {
	var want strings.Builder
	for _, rule := range alerts(t) {
		wait := ""
		if rule.For != "" {
			wait = ", for more than " + rule.For
		}
		fmt.Fprintf(&want, "- **[%s](../runbooks/%s.md)**, %s: `%s`%s\n  %s\n", rule.Alert, rule.Alert, rule.Labels["severity"], rule.Expr, wait, rule.Annotations["description"])
	}
	got := sectionOf(t, read(t, filepath.Join(docsDir, "reference/metrics.md")), "What to alert on")
	if i := strings.Index(got, "\n- "); i >= 0 {
		got = got[i+1:]
	}
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("alerts (-chart +page):\n%s", diff)
	}
}

// TestEveryAlertHasARunbookAndNothingElseHas compares the names, and looks for the sections that a runbook needs.
func TestEveryAlertHasARunbookAndNothingElseHas(t *testing.T) {
	var want []string
	for _, rule := range alerts(t) {
		want = append(want, rule.Alert+".md")
		if url := rule.Annotations["runbook_url"]; path.Base(url) != rule.Alert+".md" || rule.Annotations["summary"] == "" {
			t.Errorf("%s has the annotations %v", rule.Alert, rule.Annotations)
		}
	}
	files, err := filepath.Glob(filepath.Join(docsDir, "runbooks/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, file := range files {
		got = append(got, filepath.Base(file))
		page := read(t, file)
		for _, text := range []string{"# " + strings.TrimSuffix(filepath.Base(file), ".md") + "\n\n", "\n**Does traffic flow?** ", "\n## Look\n", "\n## Do\n", "\n## When to call the cloud operator\n"} {
			if !strings.Contains(page, text) {
				t.Errorf("%s lacks %q", file, strings.TrimSpace(text))
			}
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runbooks (-alerts +pages):\n%s", diff)
	}
}
