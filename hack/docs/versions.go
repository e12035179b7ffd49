// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// versions gives the page what each feature needs of Octavia, the tested versions
// of README.md, and the oldest Kubernetes of the chart.
func versions() (any, error) {
	features := newTable("Octavia API", "with provider ovn", "feature", "name in cloud.conf")
	for _, r := range lb.Requirements() {
		ovn := "no"
		if r.OVNSince != (lb.Version{}) {
			ovn = r.OVNSince.String()
		}
		features.row(r.Since.String(), ovn, r.Doc, code(r.Name))
	}
	tested, err := found("README.md", `(?s)\nTested versions:\n\n(.*?)\n\n`)
	if err != nil {
		return nil, err
	}
	chart, err := found("charts/kube-octavia/Chart.yaml", `(?m)^kubeVersion: ">=(\d+\.\d+)\.0-0"$`)
	if err != nil {
		return nil, err
	}
	return map[string]any{"Features": features, "Tested": tested, "Chart": chart}, nil
}

// found is the text in a file of the repository that the group in the pattern matches.
func found(file, pattern string) (string, error) {
	text, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		return "", err
	}
	match := regexp.MustCompile(pattern).FindSubmatch(text)
	if match == nil {
		return "", fmt.Errorf("%s: nothing matches %s", file, pattern)
	}
	return string(match[1]), nil
}
