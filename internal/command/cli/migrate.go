// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/command/connection"
	"github.com/kube-octavia/kube-octavia/internal/command/output"
	"github.com/kube-octavia/kube-octavia/internal/operate/report"
)

var migrateFormats = output.Formats{output.Text, output.JSON, output.YAML, output.Name}

// migrateOptions holds the flags of `kube-octavia migrate`.
type migrateOptions struct {
	connection connection.Options
	logging    command.Logging
	output     string
	from       string
}

func newMigrate(streams IO, version string) *cobra.Command {
	var o migrateOptions
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Show what a migration from openstack-cloud-controller-manager or Kuryr would change",
		Long: "Reads all Services and the cloud and prints what the controller would do when it takes over:\n" +
			"which load balancers it would take over unchanged, which it would change and how, and which\n" +
			"belong to others. Use the same flags as for the controller, above all --cluster-name.\n" +
			"Writes nothing.\n" +
			settingsUsage + "\n" +
			"Exit status: 0 everything would be taken over unchanged, 2 something needs your attention, 1 an error.",
		Args: command.Args,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := takeSettings(c, streams, &o.connection, o.check); err != nil {
				return err
			}
			return o.run(c.Context(), o.logging.Logger(streams), streams, version)
		},
	}
	o.connection.AddFlags(c.Flags())
	o.connection.AddSettingsFlags(c.Flags())
	o.logging.AddFlags(c.Flags())
	c.Flags().StringVar(&o.from, "from", string(report.OCCM), "what created the load balancers: occm (openstack-cloud-controller-manager) or kuryr, which needs section [ClusterIP] in cloud.conf")
	addOutputFlag(c, &o.output, migrateFormats)
	return c
}

func (o *migrateOptions) check(p *command.Problems) {
	o.connection.Check(p)
	o.logging.Check(p)
	checkOutput(p, o.output, migrateFormats)
	from := report.Predecessor(o.from)
	p.Require(from == report.OCCM || from == report.Kuryr, "from", command.Quoted(o.from), "must be occm or kuryr")
}

func (o *migrateOptions) run(ctx context.Context, log logr.Logger, streams IO, version string) error {
	from := report.Predecessor(o.from)
	view, err := o.connection.Look(ctx, log, version)
	if err != nil {
		return err
	}
	defer view.Session.Close()
	if from == report.Kuryr && view.Planner.Options.Policy.ClusterIPs == nil {
		return fmt.Errorf("--from kuryr: %s has no section [ClusterIP] with enabled = true, so the controller would serve no ClusterIP", o.connection.ConfigName())
	}
	migration, err := report.Migrate(ctx, report.NewSource(view.Planner), from)
	if err != nil {
		return err
	}
	streams.Note(migration.Unhandled)
	if err := o.print(streams, migration); err != nil {
		return err
	}
	return verdict(migration)
}

func (o *migrateOptions) print(streams IO, migration report.Migration) error {
	switch format := output.Format(o.output); {
	case format.Structured():
		return output.Write(streams.Out, format, output.MigrationList, migration)
	case format != output.Name:
		return migration.Print(streams.Out)
	}
	for _, s := range migration.Services {
		if err := output.WriteName(streams.Out, s.Name); err != nil {
			return err
		}
	}
	return nil
}

// verdict returns the result of the command: an error if something could not be determined,
// errDifferences if something needs the attention of an operator, or nil.
func verdict(m report.Migration) error {
	var failures []error
	unchanged := true
	for _, s := range m.Services {
		if s.Outcome == report.OutcomeUnknown {
			failures = append(failures, fmt.Errorf("%s/%s: %s", s.Namespace, s.Name, strings.Join(s.Reasons, "; ")))
		}
		unchanged = unchanged && s.Outcome.Unchanged()
	}
	if len(failures) > 0 {
		return errors.Join(failures...)
	}
	if !unchanged {
		return errDifferences
	}
	return nil
}
