// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Schema writes the JSON schemas of the commands' output with --output=json and yaml, from the Go types and their
// comments.
//
//	cd hack/schema && go run . -out ../../docs/reference/schema/v1
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run . -out ../../docs/reference/schema/v1

func main() {
	out := flag.String("out", "", "directory of the schemas")
	root := flag.String("root", "../..", "directory of the module, with the sources of the types")
	flag.Parse()
	if err := write(*out, *root); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write writes one file per command.
func write(out, root string) error {
	files, err := schemas(root)
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(out, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
