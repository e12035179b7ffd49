// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"
	"path"
	"strings"
	"text/template"
)

//go:embed README.md.tmpl
var readme string

// readmeFile renders the README.md of the chart.
func readmeFile(root string) (map[string]string, error) {
	values, err := readValues(root)
	if err != nil {
		return nil, err
	}
	var table strings.Builder
	table.WriteString("| value | default | meaning |\n| --- | --- | --- |\n")
	for _, v := range values {
		// A vertical bar would end the cell.
		fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", v.Path, v.Default, strings.ReplaceAll(v.Doc, "|", `\|`))
	}
	t, err := template.New("README.md").Option("missingkey=error").Parse(readme)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	err = t.Execute(&text, map[string]any{"Values": strings.TrimSuffix(table.String(), "\n")})
	return map[string]string{path.Join(chartDir, "README.md"): text.String()}, err
}
