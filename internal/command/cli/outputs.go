// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/kube-octavia/kube-octavia/internal/command/output"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/internal/operate/report"
)

// Output is a document that a command prints for programs.
type Output struct {
	// Command is the name of the command.
	Command string
	// Kind is the kind of the document.
	Kind output.Kind
	// Value has the type of the document, without apiVersion and kind.
	Value any
}

// Outputs returns the documents that commands print with --output=json and yaml. Package hack/schema publishes a
// schema of each.
func Outputs() []Output {
	return []Output{
		{"cleanup", output.CleanupList, Drained{}},
		{"doctor", output.CheckList, doctor.Report{}},
		{"migrate", output.MigrationList, report.Migration{}},
		{"plan", output.PlanList, Plans{}},
		{"status", output.StatusList, report.StatusList{}},
		{"version", output.Version, Versions{}},
	}
}
