// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/command/connection"
	"github.com/kube-octavia/kube-octavia/internal/command/output"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/operate/kubeconfig"
	"github.com/kube-octavia/kube-octavia/internal/operate/report"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
)

// statusInterval is the default time between two reads of `kube-octavia status --watch`.
const statusInterval = 5 * time.Second

var statusFormats = output.Formats{output.Text, output.Wide, output.JSON, output.YAML, output.Name, output.Tree}

// statusOptions holds the flags of `kube-octavia status`.
type statusOptions struct {
	connection connection.Options
	logging    command.Logging
	services   namespaceFlags
	output     string
	watch      bool
	interval   time.Duration
}

func newStatus(streams IO, version string) *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use:   "status [SERVICE...]",
		Short: "Show the load balancers of the cluster's Services, orphans and conflicts",
		Long: "Reads Services and the cloud and prints the Services with their load balancers, then what differs from what\n" +
			"the Services request (drift) and conflicts: objects that a Service needs but does not own. Without SERVICE and\n" +
			"--namespace also orphans (cloud objects of this cluster that no Service uses) and ports that Octavia left behind.\n" +
			serviceUsage + " Writes nothing.\n" +
			settingsUsage + "\n" +
			"Last change is when Octavia last changed the load balancer or anything on it (updated_at). Without a load\n" +
			"balancer it is since when condition Programmed has its status.\n" +
			"How many members are up is only shown with SERVICE, --namespace, or -o wide, json, yaml or tree: this takes a\n" +
			"call to Octavia for each load balancer.\n" +
			"On a terminal, the table has only the columns that fit. -o wide has all.",
		Args: command.Args,
		RunE: func(c *cobra.Command, args []string) error {
			if err := takeSettings(c, streams, &o.connection, func(p *command.Problems) { o.check(p, args) }); err != nil {
				return err
			}
			return o.run(c.Context(), o.logging.Logger(streams), args, streams, version)
		},
	}
	flags := c.Flags()
	o.connection.AddFlags(flags)
	o.connection.AddSettingsFlags(flags)
	o.logging.AddFlags(flags)
	o.services.addFlags(c)
	addOutputFlag(c, &o.output, statusFormats)
	completeServices(c, &o.connection)
	flags.BoolVarP(&o.watch, "watch", "w", false, "keep reading, and print what has changed, until the command is interrupted")
	flags.DurationVar(&o.interval, "interval", statusInterval, "with --watch: time between two reads")
	return c
}

func (o *statusOptions) check(p *command.Problems, args []string) {
	o.connection.Check(p)
	o.logging.Check(p)
	o.services.check(p, args)
	checkOutput(p, o.output, statusFormats)
	p.Require(o.interval >= time.Second, "interval", o.interval, "must be 1s or more")
}

func (o *statusOptions) run(ctx context.Context, log logr.Logger, args []string, streams IO, version string) error {
	view, err := o.connection.Look(ctx, log, version)
	if err != nil {
		return o.unlessInterrupted(ctx, err)
	}
	defer view.Session.Close()
	selected, err := o.selection(ctx, view, args, streams)
	if err != nil {
		return o.unlessInterrupted(ctx, err)
	}
	lists := &kubeconfig.Once{Reader: view.Planner.Options.Reader}
	options := view.Planner.Options
	options.Reader = lists
	show := statusDisplay{source: report.NewSource(planner.New(options)), selected: selected, format: output.Format(o.output), streams: streams}
	show.printer.Format, show.printer.Now, show.printer.Width = report.StatusFormat(o.output), time.Now, streams.Width()
	if err := show.again(ctx); err != nil || !o.watch {
		return o.unlessInterrupted(ctx, err)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(o.interval):
		}
		lists.Forget()
		if err := show.again(ctx); err != nil && ctx.Err() == nil {
			streams.Note("cannot read the state, trying again in " + o.interval.String() + ": " + err.Error())
		}
	}
}

// unlessInterrupted returns the error, or nil if a watch was interrupted, which is its regular end.
func (o *statusOptions) unlessInterrupted(ctx context.Context, err error) error {
	if o.watch && ctx.Err() != nil {
		return nil
	}
	return err
}

// selection returns what the arguments and --namespace select. Named Services and namespaces must exist.
func (o *statusOptions) selection(ctx context.Context, view connection.View, args []string, streams IO) (report.StatusOptions, error) {
	planner := view.Planner
	selected := report.StatusOptions{Parts: o.output != string(output.Text) && o.output != string(output.Name) || o.services.namespace != "" || len(args) > 0}
	if len(args) == 0 {
		selected.Namespace = o.services.namespace
		if o.services.namespace == "" {
			return selected, nil
		}
		return selected, namespaceMissing(ctx, planner.Options.Reader, o.services.namespace)
	}
	for _, arg := range args {
		service, err := readService(ctx, planner.Options.Reader, arg, o.services.namespace, view.Cluster.Namespace())
		if err != nil {
			return selected, err
		}
		key := owner.ServiceKey(service.Namespace, service.Name)
		if !planner.Options.Policy.Serves(&service) && !planner.Options.Policy.Leaves(&service) {
			streams.Note(key.String() + ": not handled: " + planner.Options.Policy.WhyNotServed(&service))
		}
		selected.Names = append(selected.Names, key)
	}
	return selected, nil
}

// statusDisplay prints the state, and afterwards its changes.
type statusDisplay struct {
	source   report.Source
	selected report.StatusOptions
	format   output.Format
	streams  IO
	printer  report.StatusPrinter
	// last is the state that was printed last; nil before the first one.
	last *report.StatusList
}

// again reads the state, and prints it or its changes. JSON is always printed as a whole.
func (d *statusDisplay) again(ctx context.Context) error {
	list, err := report.Status(ctx, d.source, d.selected)
	if err != nil {
		return err
	}
	first := d.last == nil
	if first && len(d.selected.Names) == 0 {
		d.streams.Note(list.Unhandled)
	}
	last := d.last
	d.last = &list
	if d.format != output.Name && !d.format.Structured() {
		return d.printer.Print(d.streams.Out, list)
	}
	if !first && report.ChangeOf(*last, list).Empty() {
		return nil
	}
	if d.format.Structured() {
		return output.Write(d.streams.Out, d.format, output.StatusList, list)
	}
	for _, v := range list.Services {
		if err := output.WriteName(d.streams.Out, v.Name); err != nil {
			return err
		}
	}
	return nil
}
