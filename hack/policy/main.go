// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Command policy writes the variables and validations of the ValidatingAdmissionPolicy that refuses malformed
// annotations, from the rules in the table of annotations. The chart turns them into a policy. `make generate`
// runs it, and `make lint` fails when the file is not up to date.
package main

import (
	"fmt"
	"os"
)

//go:generate go run . ../../charts/kube-octavia/files/annotation-rules.yaml

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "policy: name the file to write to")
		os.Exit(1)
	}
	text, err := render()
	if err == nil {
		err = os.WriteFile(os.Args[1], []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "policy: %v\n", err)
		os.Exit(1)
	}
}
