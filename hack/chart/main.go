// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Command chart writes the files that are generated from the chart in charts/kube-octavia: the manifests in deploy,
// and the chart's README.md and values.schema.json. `make generate` runs it, and `make lint` fails when a file is
// not up to date.
//
// It is a separate module, so that the product's go.mod stays small. k8s.io/... have the versions of the product's
// go.mod: raise them together.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . ../..

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "chart: name the directory of the repository")
		os.Exit(1)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "chart: %v\n", err)
		os.Exit(1)
	}
}

// write generates all files below the root of the repository.
func write(root string) error {
	// The schema is first, because rendering checks the values with it.
	for _, generate := range []func(root string) (map[string]string, error){schemaFile, readmeFile, manifestFiles} {
		files, err := generate(root)
		if err != nil {
			return err
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
