// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"github.com/kube-octavia/kube-octavia/internal/command"
	"github.com/kube-octavia/kube-octavia/internal/report"
)

// statusOptions holds the flags of `kube-octavia status`.
type statusOptions struct {
	connection
	logging
	output string
}

func newStatus(streams IO, version string) *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the load balancers of the cluster's Services, orphans and conflicts",
		Long: "Reads Services and the cloud and prints the Services with their load balancers, then\n" +
			"orphans (cloud objects of this cluster that no Service uses), conflicts (objects that\n" +
			"a Service needs but does not own) and ports that Octavia left behind. Writes nothing.",
		Args: command.Args,
		RunE: func(c *cobra.Command, _ []string) error {
			var p problems
			if o.check(&p); p.err() != nil {
				return p.err()
			}
			return o.run(c.Context(), o.logger(streams), streams, version)
		},
	}
	o.connection.addFlags(c.Flags())
	o.logging.addFlags(c.Flags())
	c.Flags().StringVarP(&o.output, "output", "o", "text", "output format: text or json")
	return c
}

func (o *statusOptions) check(p *problems) {
	o.connection.check(p)
	o.logging.check(p)
	checkOutput(p, o.output)
}

func (o *statusOptions) run(ctx context.Context, log logr.Logger, streams IO, version string) error {
	planner, disconnect, err := o.look(ctx, log, version)
	if err != nil {
		return err
	}
	defer disconnect()
	survey, err := report.Status(ctx, planner.Source())
	if err != nil {
		return err
	}
	streams.Note(survey.Unhandled)
	if o.output == "json" {
		return printJSON(streams.Out, survey)
	}
	return survey.Print(streams.Out)
}
