// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// docsDir is the directory of the pages.
const docsDir = "../../docs"

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGeneratedPagesAreUpToDate(t *testing.T) {
	for name := range pages {
		t.Run(name, func(t *testing.T) {
			want, err := render(name)
			if err != nil {
				t.Error(err)
				return
			}
			if diff := cmp.Diff(want, read(t, filepath.Join(docsDir, "reference", name))); diff != "" {
				t.Errorf("the page is not what the code says; run `make generate` (-code +page):\n%s", diff)
			}
		})
	}
}

// literals returns the strings in the source of the packages in dirs that match.
func literals(t *testing.T, pattern *regexp.Regexp, dirs ...string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join("../../internal", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no source in %s: %v", dir, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, err := strconv.Unquote(lit.Value); err == nil && pattern.MatchString(text) {
						found[text] = true
					}
				}
				return true
			})
		}
	}
	return found
}

// reasons returns the values of the constants that are named Reason*.
func reasons(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, dir := range []string{"reconcile/desired", "model/diff", "reconcile/status"} {
		files, err := filepath.Glob(filepath.Join("../../internal", dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.ValueSpec)
				if !ok {
					return true
				}
				for i, name := range spec.Names {
					if !strings.HasPrefix(name.Name, "Reason") || i >= len(spec.Values) {
						continue
					}
					if lit, ok := spec.Values[i].(*ast.BasicLit); ok {
						value, err := strconv.Unquote(lit.Value)
						if err != nil {
							t.Fatal(err)
						}
						found[value] = true
					}
				}
				return true
			})
		}
	}
	return found
}

// listed returns the names in code at the beginning of the page's table rows.
func listed(page string) map[string]bool {
	found := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(page, -1) {
		found[match[1]] = true
	}
	return found
}

func TestEveryReasonIsExplainedAndNoOther(t *testing.T) {
	want := reasons(t)
	if len(want) < 10 {
		t.Fatalf("found only %d reasons in the code", len(want))
	}
	if diff := cmp.Diff(want, listed(read(t, filepath.Join(docsDir, "reference/conditions.md")))); diff != "" {
		t.Errorf("reasons (-code +page):\n%s", diff)
	}
}

// TestEveryReasonSaysWhatToDo checks the tables of conditions. Only reasons that need no action may have an
// empty cell.
func TestEveryReasonSaysWhatToDo(t *testing.T) {
	page, _, _ := strings.Cut(read(t, filepath.Join(docsDir, "reference/conditions.md")), "\n## Other events\n")
	rows := regexp.MustCompile(`(?m)^\| `+"`(\\w+)`"+` \| (.*?) \| (.*?) ?\| (.*?) ?\|$`).FindAllStringSubmatch(page, -1)
	if len(rows) < 40 {
		t.Fatalf("found only %d reasons", len(rows))
	}
	for _, row := range rows {
		if reason, meaning, do := row[1], row[2], row[3]; strings.TrimSpace(do) == "" && !strings.HasPrefix(meaning, "True. ") {
			t.Errorf("%s does not say what to do", reason)
		}
	}
}

func TestThePageOfVersionsSaysHowEachFeatureWasShown(t *testing.T) {
	want := map[string]bool{}
	for _, name := range lb.FeatureNames() {
		want[name] = true
	}
	_, shown, _ := strings.Cut(read(t, filepath.Join(docsDir, "reference/versions.md")), "\n## How each feature was shown\n")
	if diff := cmp.Diff(want, listed(shown)); diff != "" {
		t.Errorf("features (-code +page):\n%s", diff)
	}
}

func TestEveryMetricIsExplainedAndNoOther(t *testing.T) {
	want := literals(t, regexp.MustCompile(`^kube_octavia_[a-z_]+$`), "node/cloudprovider", "controller", "reconcile/metrics", "cloud/octavia", "cloud/openstack")
	if len(want) < 3 {
		t.Fatalf("found only %d metrics in the code", len(want))
	}
	if diff := cmp.Diff(want, listed(read(t, filepath.Join(docsDir, "reference/metrics.md")))); diff != "" {
		t.Errorf("metrics (-code +page):\n%s", diff)
	}
}

// TestLinksBetweenPagesLeadSomewhere follows the relative links of all pages,
// and those to headings.
func TestLinksBetweenPagesLeadSomewhere(t *testing.T) {
	files := []string{"../../README.md", "../../CONTRIBUTING.md", "../../CHANGELOG.md", "../../SECURITY.md", "../../charts/kube-octavia/README.md"}
	for _, pattern := range []string{"*.md", "*/*.md"} {
		found, err := filepath.Glob(filepath.Join(docsDir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	link := regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	for _, path := range files {
		for _, match := range link.FindAllStringSubmatch(read(t, path), -1) {
			target := path
			if match[1] != "" {
				target = filepath.Join(filepath.Dir(path), match[1])
			}
			info, err := os.Stat(target)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if match[2] != "" && (info.IsDir() || !anchors(read(t, target))[match[2]]) {
				t.Errorf("%s: %s has no heading #%s", path, target, match[2])
			}
		}
	}
}

// anchors returns the names that a page's headings get in links.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, match := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(match[1]), "")
		found[strings.ReplaceAll(name, " ", "-")] = true
	}
	return found
}

func TestBarInACellIsEscaped(t *testing.T) {
	tab := newTable("a", "b")
	tab.row("x|y", code(""))
	if diff := cmp.Diff("| a | b |\n| --- | --- |\n| x\\|y |  |", tab.String()); diff != "" {
		t.Error(diff)
	}
}

// TestCellsOfConditionsAreAtMostTwoSentences keeps the tables of conditions readable.
func TestCellsOfConditionsAreAtMostTwoSentences(t *testing.T) {
	abbreviation := strings.NewReplacer("e.g. ", "", "i.e. ", "")
	for _, line := range strings.Split(read(t, filepath.Join(root, "docs/reference/conditions.md")), "\n") {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		for _, cell := range strings.Split(line, " | ") {
			if n := strings.Count(abbreviation.Replace(strings.TrimSuffix(cell, " |")), ". ") + 1; n > 2 {
				t.Errorf("%d sentences: %s", n, cell)
			}
		}
	}
}
