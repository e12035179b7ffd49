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

	"github.com/kube-octavia/kube-octavia/internal/command"
	"github.com/kube-octavia/kube-octavia/internal/connection"
	"github.com/kube-octavia/kube-octavia/internal/report"
)

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
			"Exit status: 0 everything would be taken over unchanged, 2 something needs your attention, 1 an error.",
		Args: command.Args,
		RunE: func(c *cobra.Command, _ []string) error {
			var p command.Problems
			if o.check(&p); p.Err() != nil {
				return p.Err()
			}
			return o.run(c.Context(), o.logging.Logger(streams), streams, version)
		},
	}
	o.connection.AddFlags(c.Flags())
	o.logging.AddFlags(c.Flags())
	c.Flags().StringVar(&o.from, "from", string(report.OCCM), "what created the load balancers: occm (openstack-cloud-controller-manager) or kuryr, which needs section [ClusterIP] in cloud.conf")
	c.Flags().StringVarP(&o.output, "output", "o", "text", "output format: text or json")
	return c
}

func (o *migrateOptions) check(p *command.Problems) {
	o.connection.Check(p)
	o.logging.Check(p)
	checkOutput(p, o.output)
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
	if from == report.Kuryr && view.Planner.ClusterIPs == nil {
		return fmt.Errorf("--from kuryr: %s has no section [ClusterIP] with enabled = true, so the controller would serve no ClusterIP", o.connection.CloudConfig)
	}
	migration, err := report.Migrate(ctx, view.Planner.Source(), from)
	if err != nil {
		return err
	}
	streams.Note(migration.Unhandled)
	if o.output == "json" {
		err = printJSON(streams.Out, migration)
	} else {
		err = migration.Print(streams.Out)
	}
	if err != nil {
		return err
	}
	return verdict(migration)
}

// verdict is the command's end: an error if anything could not be found out, or
// errDifferences if somebody has to look at something.
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
