// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/command"
	"github.com/kube-octavia/kube-octavia/internal/connection"
	"github.com/kube-octavia/kube-octavia/internal/diagnosis"
	"github.com/kube-octavia/kube-octavia/internal/doctor"
	"github.com/kube-octavia/kube-octavia/internal/doctorfacts"
	"github.com/kube-octavia/kube-octavia/internal/kubeconfig"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/othercontroller"
)

// errUnhealthy makes a command end with exitError. The report has said why.
var errUnhealthy = errors.New("a check has status error")

// doctorOptions holds the flags of `kube-octavia doctor`.
type doctorOptions struct {
	connection     connection.Options
	logging        command.Logging
	controllers    chosenControllers
	output, checks string
	lease          othercontroller.LeaseName
	all            bool
	chosen         []diagnosis.Check
}

func newDoctor(streams IO, version string) *cobra.Command {
	var o doctorOptions
	c := &cobra.Command{
		Use:   "doctor --cloud-config=FILE",
		Short: "Check whether cloud, cluster and configuration fit together",
		Long: "Reads cloud.conf, the cloud and the cluster and checks that they fit together, before and after an installation.\n" +
			"Each check has a status: ok, warning (WARN), error (ERROR), unknown (?) or skipped (-). For everything that is\n" +
			"not ok, it says why that matters and what to do. Writes nothing. Works without a cluster, and without a cloud.\n" +
			"Use the same flags as for the controller.\n" +
			"Exit status: 0 no check has status error, 1 at least one has, or the command failed.\n" +
			"\n" +
			"With --output=json it prints one object, whose keys are never renamed or removed:\n" +
			"  checks: list of {check, status, lookedAt, seen, skippedBecause, findings}, in the order below;\n" +
			"          status is ok, warning, error, unknown or skipped, that of the worst finding;\n" +
			"          findings is a list of {status, what, why, do}\n" +
			"  counts: number of checks of each status",
		Args: command.Args,
		RunE: func(c *cobra.Command, _ []string) error {
			var p command.Problems
			if o.check(&p); p.Err() != nil {
				return p.Err()
			}
			return o.run(c.Context(), o.logging.Logger(streams), streams.Out, version)
		},
	}
	o.connection.AddFlags(c.Flags())
	o.logging.AddFlags(c.Flags())
	o.controllers.addFlags(c.Flags())
	c.Flags().StringVarP(&o.output, "output", "o", "text", "output format: text or json")
	c.Flags().StringVar(&o.checks, "checks", "", "names of the checks to show, separated by commas; default: all, which are "+doctor.AllNames())
	c.Flags().StringVar(&o.lease.Namespace, "leader-elect-resource-namespace", "kube-octavia", "namespace of the controller's Lease")
	c.Flags().StringVar(&o.lease.Name, "leader-elect-resource-name", "kube-octavia", "name of the controller's Lease")
	c.Flags().BoolVar(&o.all, "all", false, "show what each check looked at and saw, also if it is ok")
	return c
}

func (o *doctorOptions) check(p *command.Problems) {
	o.connection.Check(p)
	o.logging.Check(p)
	o.controllers.check(p)
	checkOutput(p, o.output)
	var err error
	o.chosen, err = doctor.ParseChecks(o.checks)
	p.Add("checks", command.Quoted(o.checks), err)
}

func (o *doctorOptions) run(ctx context.Context, log logr.Logger, out io.Writer, version string) error {
	report := doctor.Diagnose(doctorfacts.Gather(ctx, o.source(log, version)), o.chosen)
	var err error
	if o.output == "json" {
		err = printJSON(out, report)
	} else {
		err = report.Print(out, o.all)
	}
	return cmp.Or(err, ctx.Err(), verdictOf(report))
}

func verdictOf(report diagnosis.Report) error {
	if report.Failed() {
		return errUnhealthy
	}
	return nil
}

// source says where the facts are. What is wrong with it becomes a finding.
func (o *doctorOptions) source(log logr.Logger, version string) doctorfacts.Source {
	s := doctorfacts.Source{ConfigPath: o.connection.CloudConfig, Controllers: o.controllers.diagnosed(), Lease: o.lease}
	s.Config, s.ConfigErr = o.connection.LoadConfig()
	s.Cluster, s.ClusterErr = kubeconfig.Load(o.connection.Kubeconfig)
	s.NoCluster = errors.Is(s.ClusterErr, rest.ErrNotInCluster) && o.connection.Kubeconfig == "" && os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == ""
	s.Policy = claim.Policy{ClusterName: o.connection.ClusterName, LoadBalancerClass: o.connection.LoadBalancerClass, DefaultClass: o.connection.DefaultClass}
	if s.ConfigErr == nil {
		s.Policy, s.ConfigErr = o.connection.Policy(s.Config, "")
	}
	s.Login = func(ctx context.Context) (*openstack.Session, error) {
		return o.connection.Login(ctx, s.Config, version, log, prometheus.NewRegistry())
	}
	return s
}
