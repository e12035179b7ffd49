// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/command/output"
)

var versionFormats = output.Formats{output.Text, output.JSON, output.YAML}

// Versions is the output of `kube-octavia version`.
type Versions struct {
	// Version is the version of the program, or the commit from which it was built.
	Version string `json:"version"`
	// GoVersion is the version of the compiler, and Platform the operating system and the
	// architecture.
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
}

func newVersion(streams IO, version string) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  command.Args,
		RunE: func(*cobra.Command, []string) error {
			var p command.Problems
			checkOutput(&p, format, versionFormats)
			if err := p.Err(); err != nil {
				return err
			}
			v := Versions{command.Version(version), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
			if f := output.Format(format); f.Structured() {
				return output.Write(streams.Out, f, output.Version, v)
			}
			_, err := fmt.Fprintf(streams.Out, "kube-octavia %s (%s %s)\n", v.Version, v.GoVersion, v.Platform)
			return err
		},
	}
	addOutputFlag(c, &format, versionFormats)
	return c
}
