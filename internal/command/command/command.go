// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command has what the subcommands of kube-octavia have in common: output, logging, the version, and errors
// of arguments and flags.
package command

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"golang.org/x/term"
)

// IO holds the writers of commands: results go to Out, everything else to Err.
type IO struct {
	Out, Err io.Writer
}

// Width returns the number of columns of the terminal to which results are written, or 0 if that is not a terminal.
func (s IO) Width() int {
	file, isFile := s.Out.(*os.File)
	if !isFile {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// Note writes a line for the user that is not a result; it writes nothing for "".
func (s IO) Note(text string) {
	if text != "" {
		fmt.Fprintln(s.Err, text)
	}
}

// Version returns the version that was set at build time, or else the commit that Go recorded, or
// "unknown".
func Version(build string) string {
	if build != "" {
		return build
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown"
}

// UserAgent returns the User-Agent of the program in calls to OpenStack.
func UserAgent(build string) string { return "kube-octavia/" + Version(build) }
