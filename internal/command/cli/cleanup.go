// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kube-octavia/kube-octavia/internal/cloud/barbican"
	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/command/connection"
	"github.com/kube-octavia/kube-octavia/internal/command/output"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/node/routes"
	"github.com/kube-octavia/kube-octavia/internal/operate/cleanup"
)

// cleanupInterval is the time between two reads of the cloud.
const cleanupInterval = 3 * time.Second

var cleanupFormats = output.Formats{output.Text, output.JSON, output.YAML}

// cleanupOptions holds the flags of `kube-octavia cleanup`.
type cleanupOptions struct {
	connection      connection.Options
	logging         command.Logging
	cluster         lb.Cluster
	delete          bool
	keepFloatingIPs bool
	clusterCIDR     []string
	timeout         time.Duration
	output          string
	drain           drainOptions
}

func newCleanup(streams IO, program Options) *cobra.Command {
	var o cleanupOptions
	c := &cobra.Command{
		Use:   "cleanup --cloud-config=FILE --cluster-uid=UID",
		Short: "Delete the cloud objects of a cluster that no longer exists, or that is to be deleted",
		Long: "Finds what a cluster left in the project: load balancers, floating IPs, security groups and certificates\n" +
			"that kube-octavia or openstack-cloud-controller-manager created for its Services. It only shows them,\n" +
			"unless --delete is set. It does not connect to the cluster. If the cluster still exists, use --drain, or the\n" +
			"controller creates the objects again.\n" +
			"Load balancers are deleted with everything on them. Objects of other clusters and of users stay.\n" +
			"With --cluster-cidr it also finds routes to Pods in the router that [Route] in cloud.conf names.\n" +
			"With --drain it connects to the cluster and releases its Services as the controller releases a Service that is\n" +
			"deleted. The Services stay, without load balancers, until a controller runs again. Only one controller may run:\n" +
			"the command waits for the controller's Lease. Services of other classes and of other controllers stay as they are.\n" +
			"If the command is interrupted, run it again.\n" +
			"If no object has the --cluster-uid, the command only warns: the cluster left nothing, or the uid is wrong.\n" +
			"Exit status: 0 nothing is left, 2 objects would be deleted, or with --drain are kept, 1 an error, or objects are\n" +
			"left after --timeout.",
		Args: command.Args,
		RunE: func(c *cobra.Command, _ []string) error {
			var p command.Problems
			if o.check(&p, c.Flags()); p.Err() != nil {
				return p.Err()
			}
			if o.drain.enabled {
				if err := o.connection.FindSettings(c.Context(), c.Flags(), os.Getenv, streams.Note); err != nil {
					return err
				}
				o.clusterCIDR = nil // the controller's flag; routes are not drained
				if o.check(&p, c.Flags()); p.Err() != nil {
					return p.Err()
				}
				o.drain.leaseNamed = c.Flags().Changed("leader-elect-resource-name")
				return o.runDrain(c.Context(), o.logging.Logger(streams), streams, program)
			}
			return o.run(c.Context(), o.logging.Logger(streams), streams, program.Version)
		},
	}
	flags := c.Flags()
	o.connection.AddCloudFlags(flags)
	o.logging.AddFlags(flags)
	flags.StringVar(&o.cluster.Name, "cluster-name", "", "also select objects that have only the name of the cluster, not its uid: --cluster-name of its controller, by default kubernetes; omit it if another cluster has this name; with --drain, use that of the controller")
	flags.StringVar(&o.cluster.UID, "cluster-uid", "", "uid of the cluster: that of its namespace kube-system; objects of kube-octavia have it")
	flags.BoolVar(&o.delete, "delete", false, "delete the objects; without it they are only shown")
	flags.BoolVar(&o.keepFloatingIPs, "keep-floating-ips", false, "detach the floating IPs and keep them in the project")
	flags.StringSliceVar(&o.clusterCIDR, "cluster-cidr", nil, "address ranges of all Pods, one CIDR of each IP family: also remove the routes into them that controller route left, and the allowed address pairs at ports; needs --cluster-uid, and router-id in [Route] of cloud.conf")
	flags.DurationVar(&o.timeout, "timeout", 30*time.Minute, "how long to wait until everything is deleted")
	addOutputFlag(c, &o.output, cleanupFormats)
	o.addDrainFlags(flags)
	flags.Lookup("cloud-config").Usage = "path of cloud.conf; required without --drain, which by default uses the settings of the controller in the cluster, and the login of $OS_CLOUD, of an openrc file, or of the controller's Secret"
	return c
}

func (o *cleanupOptions) check(p *command.Problems, given *pflag.FlagSet) {
	if !o.drain.enabled {
		o.connection.RequireCloudConfig()
	}
	o.connection.CheckCloud(p)
	o.logging.Check(p)
	checkOutput(p, o.output, cleanupFormats)
	o.checkDrain(p, given)
	if !o.drain.enabled && o.cluster.Name == "" && o.cluster.UID == "" {
		*p = append(*p, errors.New("--cluster-name or --cluster-uid is required: it selects the cluster"))
	}
	cidrs, err := parseClusterCIDRs(o.clusterCIDR)
	if err == nil && len(cidrs) > 0 && (o.drain.enabled || o.cluster.UID == "") {
		err = errors.New("needs --cluster-uid, and the cluster must be gone: while its Nodes exist, they need their routes")
	}
	p.Add("cluster-cidr", command.Quoted(strings.Join(o.clusterCIDR, ",")), err)
	p.Require(o.timeout > 0, "timeout", o.timeout, "must be above 0s")
}

func (o *cleanupOptions) run(ctx context.Context, log logr.Logger, streams IO, version string) error {
	settings, err := o.connection.LoadConfig()
	if err != nil {
		return err
	}
	if len(o.clusterCIDR) > 0 && settings.Route.RouterID == "" {
		return fmt.Errorf("%s: [Route] router-id is not set, so --cluster-cidr has no effect: set it to the id of the router with the routes", o.connection.CloudConfig)
	}
	cloud, err := o.connection.Connect(ctx, settings, version, log, prometheus.NewRegistry())
	if err != nil {
		return fmt.Errorf("connect to OpenStack: %w", err)
	}
	defer cloud.Session.Close()
	cleaner := newCleaner(cloud, cleanup.Options{Cluster: o.cluster, KeepFloatingIPs: o.keepFloatingIPs}, streams)
	if cidrs, _ := parseClusterCIDRs(o.clusterCIDR); len(cidrs) > 0 { // they have been checked
		cleaner.Routes = routes.New(routes.Options{
			Cloud: routes.NewCloud(cloud.Session.Network(), cloud.Session.ProjectID()), RouterID: settings.Route.RouterID,
			ClusterUID: o.cluster.UID, ClusterCIDRs: cidrs,
		})
	}
	plan, err := cleaner.Look(ctx)
	if err != nil {
		return err
	}
	if err := plan.CheckFound(); err != nil {
		return errors.Join(plan.Incomplete(), err)
	}
	streams.Note(plan.Doubt())
	if !o.delete {
		if err := o.print(streams.Out, plan); err != nil {
			return err
		}
		if len(plan.Remaining()) == 0 {
			return plan.Incomplete()
		}
		fmt.Fprintln(streams.Err, "Nothing was deleted. To delete these objects, add --delete.")
		return errDifferences
	}
	if o.output == "text" {
		if err := plan.Print(streams.Out); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	last, failure := cleaner.Run(ctx)
	if output.Format(o.output).Structured() {
		failure = errors.Join(failure, o.print(streams.Out, last))
	}
	return failure
}

func newCleaner(cloud connection.Cloud, options cleanup.Options, streams IO) *cleanup.Cleaner {
	session := cloud.Session
	return &cleanup.Cleaner{
		Octavia:  octavia.New(session.LoadBalancer(), session.ProjectID(), cloud.Capabilities),
		Neutron:  neutron.New(session.Network(), session.ProjectID()),
		Barbican: barbican.New(session.KeyManager(), func() bool { return true }),
		Options:  options,
		Interval: cleanupInterval,
		Progress: cleanup.ProgressTo(streams.Err, "deleted %d of %d objects"),
	}
}

func (o *cleanupOptions) print(out io.Writer, plan cleanup.Plan) error {
	if format := output.Format(o.output); format.Structured() {
		return output.Write(out, format, output.CleanupList, plan)
	}
	return plan.Print(out)
}
