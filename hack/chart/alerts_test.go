// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// alerts reads the rules of the chart as Prometheus does.
func alerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, chartDir, "files/alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return groups.Groups[0].Rules
}

// documented are the labels of each metric in docs/reference/metrics.md.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs/reference/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	metrics := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(kube_octavia_[a-z_]+)` \\| (\\w+) \\|([^|]*)\\|").FindAllStringSubmatch(string(page), -1) {
		names := strings.Split(strings.TrimSpace(strings.ReplaceAll(row[3], "`", "")), ", ")
		metrics[row[1]] = names
		if row[2] == "histogram" {
			metrics[row[1]+"_count"] = names
		}
	}
	return metrics
}

func TestAlertsAreAboutMetricsAndLabelsThatExist(t *testing.T) {
	metrics := documented(t)
	rules := alerts(t)
	if len(rules) < 10 || len(metrics) < 10 {
		t.Fatalf("%d alerts, %d metrics", len(rules), len(metrics))
	}
	for _, rule := range rules {
		expr, err := parser.ParseExpr(rule.Expr)
		if err != nil {
			t.Fatal(err)
		}
		selected := 0
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			switch n := n.(type) {
			case *parser.VectorSelector:
				selected++
				names, known := metrics[n.Name]
				if !known {
					t.Errorf("%s: there is no metric %s", rule.Alert, n.Name)
				}
				for _, m := range n.LabelMatchers {
					if m.Name != "__name__" && !slices.Contains(names, m.Name) {
						t.Errorf("%s: metric %s has no label %s", rule.Alert, n.Name, m.Name)
					}
				}
			case *parser.AggregateExpr:
				for _, name := range n.Grouping {
					selector := regexp.MustCompile(`kube_octavia_[a-z_]+`).FindString(n.Expr.String())
					if !slices.Contains(metrics[selector], name) {
						t.Errorf("%s: metric %s has no label %s", rule.Alert, selector, name)
					}
				}
			}
			return nil
		})
		if selected == 0 {
			t.Errorf("%s is about no metric", rule.Alert)
		}
		if rule.Labels["severity"] == "" || !strings.HasSuffix(rule.Annotations["description"], ".") {
			t.Errorf("%s has labels %v and annotations %v", rule.Alert, rule.Labels, rule.Annotations)
		}
	}
}
