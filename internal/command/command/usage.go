// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Args checks the arguments of a command against the names in its usage line: NAME is required, [NAME] is optional, and
// [NAME...], as the last one, stands for any number. The error has the missing or unexpected argument and the usage
// line.
func Args(c *cobra.Command, args []string) error {
	var names []string
	for _, word := range strings.Fields(c.Use)[1:] {
		if !strings.HasPrefix(word, "-") {
			names = append(names, word)
		}
	}
	many := len(names) > 0 && strings.HasSuffix(names[len(names)-1], "...]")
	switch {
	case many && len(args) >= len(names):
	case len(args) > len(names) && len(names) == 0:
		return fmt.Errorf("unexpected argument %q: the command takes none; usage: %s", args[0], c.UseLine())
	case len(args) > len(names):
		return fmt.Errorf("unexpected argument %q after %s; usage: %s", args[len(names)], strings.Join(names, " "), c.UseLine())
	case len(args) < len(names) && !strings.HasPrefix(names[len(args)], "["):
		return fmt.Errorf("argument %s is missing; usage: %s", names[len(args)], c.UseLine())
	}
	return nil
}

// Group lets a command that only has subcommands show its help if none is given, and report an unknown
// one.
func Group(c *cobra.Command) {
	c.DisableFlagsInUseLine = true
	c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return UnknownCommand(c, args[0])
	}
}

// UnknownCommand returns the error for a subcommand that c does not have. It suggests similar ones or else all
// of them.
func UnknownCommand(c *cobra.Command, name string) error {
	const similar = 2 // changed letters
	c.SuggestionsMinimumDistance = similar
	known := c.SuggestionsFor(name)
	if len(known) > 0 {
		return fmt.Errorf("unknown command %q for `%s`; did you mean %s?", name, c.CommandPath(), strings.Join(known, " or "))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	return fmt.Errorf("unknown command %q for `%s`; there are %s", name, c.CommandPath(), strings.Join(known, ", "))
}

// Help returns the subcommand help, which reports unknown commands.
func Help() *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "Help about any command",
		Long:  "Shows the help of a command, as --help does.",
		RunE: func(c *cobra.Command, args []string) error {
			of := c.Root()
			for _, name := range args {
				next, _, err := of.Find([]string{name})
				if err != nil || next == of {
					return UnknownCommand(of, name)
				}
				of = next
			}
			of.InitDefaultHelpFlag()
			return of.Help()
		},
	}
}

// FlagError explains an error of a command's flags: the flag, its value and the right form.
func FlagError(c *cobra.Command, err error) error {
	if c.HasSubCommands() && c.Flags().NArg() > 0 {
		return UnknownCommand(c, c.Flags().Arg(0)) // the flag may belong to the command whose name is misspelt
	}
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		err = fmt.Errorf("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), form(invalid))
	}
	return fmt.Errorf("%w; see `%s --help`", err, c.CommandPath())
}

// meaning returns the first part of the usage of a flag, which explains what it counts.
func meaning(f *pflag.Flag) string {
	text, _, _ := strings.Cut(f.Usage, ";")
	return text
}

// form returns what the value of a flag must be. The project's own types state it in their errors; the errors
// of pflag are about Go.
func form(e *pflag.InvalidValueError) string {
	if own := e.Unwrap().Error(); strings.HasPrefix(own, "must ") {
		return own
	}
	switch e.GetFlag().Value.Type() {
	case "duration":
		return "must be a duration with a unit, such as 90s, 10m or 1h30m"
	case "bool":
		return "must be true or false"
	case "int":
		return "must be a whole number: " + meaning(e.GetFlag())
	case "float64":
		return "must be a number: " + meaning(e.GetFlag())
	}
	return e.Unwrap().Error()
}
