// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"github.com/kube-octavia/kube-octavia/internal/report"
)

// migrateOptions holds the flags of `kube-octavia migrate`.
type migrateOptions struct {
	connection
	logging
	output string
}

func newMigrate(streams IO, version string) *cobra.Command {
	var o migrateOptions
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Show what a migration from openstack-cloud-controller-manager would change",
		Long: "Reads all Services and the cloud and prints what the controller would do when it takes over:\n" +
			"which load balancers it would take over unchanged, which it would change and how, and which\n" +
			"belong to others. Use the same flags as for the controller, above all --cluster-name.\n" +
			"Writes nothing.\n" +
			"Exit status: 0 everything would be taken over unchanged, 2 something needs your attention, 1 an error.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			log, err := o.logger(streams)
			if err != nil {
				return err
			}
			return o.run(c.Context(), log, streams.Out, version)
		},
	}
	o.connection.addFlags(c.Flags())
	o.logging.addFlags(c.Flags())
	c.Flags().StringVarP(&o.output, "output", "o", "text", "output format: text or json")
	return c
}

func (o *migrateOptions) run(ctx context.Context, log logr.Logger, out io.Writer, version string) error {
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("--output %q: must be text or json", o.output)
	}
	planner, disconnect, err := o.look(ctx, log, version)
	if err != nil {
		return err
	}
	defer disconnect()
	migration, err := report.Migrate(ctx, planner.Source())
	if err != nil {
		return err
	}
	if o.output == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(migration)
	} else {
		err = printMigration(out, migration)
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

// told is what the text says of each outcome, those first that somebody has to look at.
var told = []struct {
	outcome report.Outcome
	text    string
}{
	{report.OutcomeUnknown, "a call failed"},
	{report.OutcomeForeign, "the load balancer belongs to something else"},
	{report.OutcomeRefused, "cannot be served, completely or in part"},
	{report.OutcomeChanged, "would be taken over, then changed"},
	{report.OutcomeCreated, "has no load balancer and would get one"},
	{report.OutcomeReleased, "no longer needs a load balancer, which would be deleted"},
	{report.OutcomeBusy, "the load balancer is PENDING or in ERROR"},
	{report.OutcomeAdopted, "would be taken over unchanged"},
	{report.OutcomeServed, "is already taken over"},
	{report.OutcomeLeftAlone, "is not handled by this controller"},
}

// printMigration prints how many Services there are of each outcome, a table of all of
// them, why they are not taken over as they are, and what belongs to none of them.
func printMigration(out io.Writer, m report.Migration) error {
	count := map[report.Outcome]int{}
	for _, s := range m.Services {
		count[s.Outcome]++
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "%d Services:\n", len(m.Services))
	for _, t := range told {
		if n := count[t.outcome]; n > 0 {
			fmt.Fprintf(w, "  %d\t%s\t%s\n", n, t.outcome, t.text)
		}
	}
	fmt.Fprintln(w, "\nNAMESPACE\tNAME\tOUTCOME\tLOAD BALANCER\tADDRESS")
	for _, s := range m.Services {
		row(w, s.Namespace, s.Name, string(s.Outcome), s.LoadBalancerID, s.Address)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, t := range told {
		for _, s := range m.Services {
			if s.Outcome == t.outcome {
				printService(out, s)
			}
		}
	}
	if len(m.Others) > 0 {
		fmt.Fprintln(out, "\nLoad balancers of other Services:")
	}
	for _, o := range m.Others {
		fmt.Fprintf(out, "\n%s (%s)\n  %s\n", o.Name, o.ID, o.Reason)
	}
	if len(m.SecurityGroups) > 0 {
		fmt.Fprintln(out, "\nSecurity groups of Services:")
	}
	for _, g := range m.SecurityGroups {
		fmt.Fprintf(out, "\n%s (%s): %s\n  %s\n", g.Name, g.ID, g.Outcome, g.Reason)
	}
	return nil
}

// printService prints why a Service is not taken over as it is, and what would be done.
func printService(out io.Writer, s report.ServiceMigration) {
	if s.Outcome.Unchanged() && len(s.Reasons) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s/%s: %s\n", s.Namespace, s.Name, s.Outcome)
	for _, reason := range s.Reasons {
		fmt.Fprintf(out, "  %s\n", reason)
	}
	for i, op := range s.Ops {
		fmt.Fprintf(out, "  %d. %s\n", i+1, op.Text)
	}
}
