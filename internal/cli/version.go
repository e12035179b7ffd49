// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/kube-octavia/kube-octavia/internal/command"
)

func newVersion(streams IO, version string) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  command.Args,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(streams.Out, "kube-octavia %s (%s %s/%s)\n", command.Version(version), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
