// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Command monitoring writes the Grafana dashboard of the chart. `make generate` runs it, and `make lint` fails when the
// file is not up to date. Its tests evaluate the dashboard and the alerts, as Prometheus does, on metrics of a running
// controller.
//
// It is a separate module, so that the product's go.mod stays small. k8s.io/... have the versions of the product's
// go.mod: raise them together.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . ../..

// dashboardFile is the path of the dashboard in the repository.
const dashboardFile = "charts/kube-octavia/files/dashboards/kube-octavia.json"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "monitoring: name the directory of the repository")
		os.Exit(1)
	}
	text, err := dashboardText()
	if err == nil {
		err = os.WriteFile(filepath.Join(os.Args[1], dashboardFile), text, 0o644)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "monitoring: %v\n", err)
		os.Exit(1)
	}
}

// dashboardText returns the JSON of the dashboard.
func dashboardText() ([]byte, error) {
	built, err := build(rows)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(built)
	return text.Bytes(), err
}
