// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
)

// TestHelmLintReportsNoProblem lints the chart as `helm lint` does, without values and with those of each case.
func TestHelmLintReportsNoProblem(t *testing.T) {
	version, err := chartutil.ParseKubeVersion(helm.Kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]map[string]any{"no values": {}}
	for name := range cases {
		values[name] = parsed(t, caseFile(t, name, "values.yaml"))
	}
	for name, v := range values {
		t.Run(name, func(t *testing.T) {
			for _, message := range lint.AllWithKubeVersion(filepath.Join(root, chartDir), v, helm.Namespace, version).Messages {
				// The project has no icon.
				if message.Err.Error() != "icon is recommended" {
					t.Error(message)
				}
			}
		})
	}
}
