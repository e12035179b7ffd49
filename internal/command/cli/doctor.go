// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/command/connection"
	"github.com/kube-octavia/kube-octavia/internal/command/output"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctorfacts"
	"github.com/kube-octavia/kube-octavia/internal/operate/kubeconfig"
	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

// errUnhealthy makes a command end with exitError. The report has the reason.
var errUnhealthy = errors.New("a check has status error")

// leaseLimit limits the search for the Lease, because the checks wait for it. They report an API that does not answer.
const leaseLimit = 10 * time.Second

var doctorFormats = output.Formats{output.Text, output.JSON, output.YAML}

// doctorOptions holds the flags of `kube-octavia doctor`.
type doctorOptions struct {
	connection     connection.Options
	logging        command.Logging
	controllers    chosenControllers
	output, checks string
	lease          othercontroller.LeaseName
	leaseNamed     bool
	all            bool
	chosen         []doctor.Check
}

func newDoctor(streams IO, version string) *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether cloud, cluster and configuration fit together",
		Long: "Reads cloud.conf, the cloud and the cluster and checks that they fit together, before and after an installation.\n" +
			"Each check has a status: ok, warning (WARN), error (ERROR), unknown (?) or skipped (-). For everything that is\n" +
			"not ok, it says why that matters and what to do. Writes nothing. Works without a cluster, and without a cloud.\n" +
			settingsUsage + " Before the installation, use the same\n" +
			"flags as for the controller.\n" +
			"Exit status: 0 no check has status error, 1 at least one has, or the command failed.\n" +
			"\n" +
			"With --output=json it prints one object:\n" +
			"  items:  list of {check, status, lookedAt, seen, skippedBecause, findings}, in the order below;\n" +
			"          status is ok, warning, error, unknown or skipped, that of the worst finding;\n" +
			"          findings is a list of {status, what, why, do}\n" +
			"  counts: number of checks of each status",
		Args: command.Args,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := takeSettings(c, streams, &o.connection, o.check); err != nil {
				return err
			}
			o.leaseNamed = c.Flags().Changed("leader-elect-resource-name")
			return o.run(c.Context(), o.logging.Logger(streams), streams.Out, version)
		},
	}
	o.connection.AddFlags(c.Flags())
	o.connection.AddSettingsFlags(c.Flags())
	o.logging.AddFlags(c.Flags())
	o.controllers.addFlags(c.Flags())
	addOutputFlag(c, &o.output, doctorFormats)
	c.Flags().StringVar(&o.checks, "checks", "", "names of the checks to show, separated by commas; default: all, which are "+doctor.AllNames())
	c.Flags().StringVar(&o.lease.Namespace, "leader-elect-resource-namespace", "", leaseNamespaceUsage)
	c.Flags().StringVar(&o.lease.Name, "leader-elect-resource-name", defaultLeaseName, "name of the controller's Lease")
	c.Flags().BoolVar(&o.all, "all", false, "show what each check examined and saw, also if it is ok")
	return c
}

func (o *doctorOptions) check(p *command.Problems) {
	o.connection.Check(p)
	o.logging.Check(p)
	o.controllers.check(p)
	checkOutput(p, o.output, doctorFormats)
	var err error
	o.chosen, err = doctor.ParseChecks(o.checks)
	p.Add("checks", command.Quoted(o.checks), err)
}

func (o *doctorOptions) run(ctx context.Context, log logr.Logger, out io.Writer, version string) error {
	report := doctor.Diagnose(doctorfacts.Gather(ctx, o.source(ctx, log, version)), o.chosen)
	var err error
	if format := output.Format(o.output); format.Structured() {
		err = output.Write(out, format, output.CheckList, report)
	} else {
		err = report.Print(out, o.all)
	}
	return cmp.Or(err, ctx.Err(), verdictOf(report))
}

func verdictOf(report doctor.Report) error {
	if report.Failed() {
		return errUnhealthy
	}
	return nil
}

// source returns where the facts come from. A problem with it becomes a finding.
func (o *doctorOptions) source(ctx context.Context, log logr.Logger, version string) doctorfacts.Source {
	o.connection.ExamineRefusal = true // it logs in once, and a user reads the result
	s := doctorfacts.Source{ConfigPath: o.connection.ConfigName(), ConfigOrigin: o.connection.Origin(), Controllers: o.controllers.diagnosed(), Lease: o.lease}
	s.Config, s.ConfigErr = o.connection.LoadConfig()
	s.Cluster, s.ClusterErr = kubeconfig.Load(o.connection.Kubeconfig, o.connection.Context)
	s.NoCluster = errors.Is(s.ClusterErr, rest.ErrNotInCluster) && o.connection.Kubeconfig == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == ""
	s.Policy = claim.Policy{ClusterName: o.connection.ClusterName, LoadBalancerClass: o.connection.LoadBalancerClass, DefaultClass: o.connection.DefaultClass}
	if s.ConfigErr == nil {
		s.Policy, s.ConfigErr = o.connection.Policy(s.Config, "")
	}
	s.Lease = o.ownLease(ctx, s)
	s.Login = func(ctx context.Context) (*openstack.Session, error) {
		return o.connection.Login(ctx, s.Config, version, log, prometheus.NewRegistry())
	}
	return s
}

// ownLease returns the Lease of the controller. If it is not found, the checks report that.
func (o *doctorOptions) ownLease(ctx context.Context, s doctorfacts.Source) othercontroller.LeaseName {
	assumed := othercontroller.LeaseName{Namespace: cmp.Or(o.lease.Namespace, defaultLeaseNamespace), Name: o.lease.Name}
	if s.ClusterErr != nil || o.lease.Namespace != "" {
		return assumed
	}
	limited := rest.CopyConfig(s.Cluster.REST)
	limited.Timeout = leaseLimit
	reader, err := client.New(limited, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return assumed
	}
	found, err := findLease(ctx, reader, s.Cluster.Explain, s.Policy, o.lease, o.leaseNamed)
	if err != nil {
		return assumed
	}
	return found
}
