// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// valueNames are the names that help gives to values of flags; "" is that of a switch.
var valueNames = []string{"", "string", "strings", "int", "float", "duration", "tag|observe"}

// eachCommand calls f with every command of the program, except those of cobra.
func eachCommand(f func(*cobra.Command)) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Name() == "completion" || c.Name() == "help" {
			return
		}
		f(c)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(IO{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}, Options{}))
}

func TestEveryFlagHasAHelpText(t *testing.T) {
	commands, flags := 0, 0
	eachCommand(func(c *cobra.Command) {
		commands++
		c.InitDefaultHelpFlag()
		c.Flags().VisitAll(func(f *pflag.Flag) {
			flags++
			name, usage := pflag.UnquoteUsage(f)
			first := []rune(usage + " ")[0]
			switch {
			case strings.Contains(f.Usage, "`"):
				t.Errorf("%s --%s: a word in backquotes becomes the name of the value: %s", c.CommandPath(), f.Name, f.Usage)
			case !slices.Contains(valueNames, name):
				t.Errorf("%s --%s: the value is called %q", c.CommandPath(), f.Name, name)
			case !unicode.IsLower(first), strings.HasSuffix(usage, "."), usage != strings.TrimSpace(usage):
				t.Errorf("%s --%s: does not begin with a lower-case letter, or ends in a full stop: %q", c.CommandPath(), f.Name, usage)
			}
		})
	})
	if commands < 10 || flags < 60 {
		t.Errorf("only %d commands and %d flags were seen", commands, flags)
	}
}

func TestEveryCommandHasADescription(t *testing.T) {
	eachCommand(func(c *cobra.Command) {
		first := []rune(c.Short + " ")[0]
		if !unicode.IsUpper(first) || strings.HasSuffix(c.Short, ".") || c.Args == nil || c.RunE == nil {
			t.Errorf("%s: %q, arguments checked: %t, runs: %t", c.CommandPath(), c.Short, c.Args != nil, c.RunE != nil)
		}
	})
}
