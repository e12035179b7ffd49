// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli implements the command line of kube-octavia.
package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/command/credentialcommand"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// The exit statuses of all subcommands.
const (
	exitOK = 0
	// exitError: the command failed.
	exitError = 1
	// exitDifferences: `plan` or `cleanup` found something to do or to keep, or `migrate` something that
	// needs attention.
	exitDifferences = 2
)

// errDifferences makes a command end with exitDifferences. It is not printed.
var errDifferences = errors.New("there is something to do")

// IO holds the writers of commands: results go to Out, everything else to Err.
type IO = command.IO

// Options are the settings of the program that are not flags.
type Options struct {
	// Version is the version of the build; empty means the commit.
	Version string
	// Program is the path by which the program was called; kubectl calls it as kubectl-octavia.
	Program string
	// Timing has the delays of the controller; zero means timing.Default.
	Timing timing.Delays
	// MoreKinds returns the kinds of owners of load balancers that the controller has beside Services; nil means none.
	MoreKinds func(claim.Policy, config.LoadBalancer) []claim.Kind
	// Dial opens the controller's connections to Kubernetes and OpenStack; nil uses the network.
	Dial openstack.Dial
}

// Run runs the command line and returns its exit status.
func Run(ctx context.Context, args []string, streams IO, o Options) int {
	root := newRoot(streams, o)
	if programName(o.Program) == completer {
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	root.SetArgs(args)
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return exitOK
	case errors.Is(err, errDifferences):
		return exitDifferences
	case errors.Is(err, errUnhealthy):
		return exitError
	default:
		fmt.Fprintf(streams.Err, "%s: %v\n", root.CommandPath(), err)
		return exitError
	}
}

// newRoot returns the program as a command, with all its subcommands.
func newRoot(streams IO, o Options) *cobra.Command {
	if o.Timing == (timing.Delays{}) {
		o.Timing = timing.Default()
	}
	root := &cobra.Command{
		Use:           "kube-octavia",
		Short:         "Load balancers for Kubernetes Services from OpenStack Octavia",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	asPlugin := isPlugin(o.Program)
	if asPlugin {
		root.Use = plugin
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl octavia"}
	}
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(command.FlagError)
	root.SetHelpCommand(command.Help())
	root.AddCommand(newCleanup(streams, o), newController(streams, o), credentialcommand.New(streams, o.Version), newDoctor(streams, o.Version), newMigrate(streams, o.Version), newPlan(streams, o.Version), newStatus(streams, o.Version), newUI(streams, o.Version), newVersion(streams, o.Version))
	describeCompletion(root, asPlugin)
	for _, c := range append(root.Commands(), root) {
		if c.HasSubCommands() {
			command.Group(c)
		}
	}
	return root
}

// isPlugin reports whether kubectl called the program, as `kubectl octavia`.
func isPlugin(program string) bool {
	return slices.Contains([]string{plugin, completer}, programName(program))
}

// plugin is the name under which kubectl calls the program.
const plugin = "kubectl-octavia"

// programName returns the name of the program at the path.
func programName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".exe") }
