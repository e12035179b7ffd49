// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/command/connection"
	"github.com/kube-octavia/kube-octavia/internal/command/output"
	"github.com/kube-octavia/kube-octavia/internal/controller"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/operate/cleanup"
	"github.com/kube-octavia/kube-octavia/internal/operate/drain"
	"github.com/kube-octavia/kube-octavia/internal/operate/kubeconfig"
	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	kometrics "github.com/kube-octavia/kube-octavia/internal/reconcile/metrics"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
)

// drainInterval is the time between two reads of the Services.
const drainInterval = time.Second

// defaultLeaseNamespace is the namespace of the Lease in the manifests.
const defaultLeaseNamespace = "kube-octavia"

// drainOptions holds the flags of `kube-octavia cleanup` that need --drain.
type drainOptions struct {
	enabled                                   bool
	leaseNamespace, leaseName, deploymentName string
	leaseNamed                                bool
}

// drainFlags are the names of these flags.
var drainFlags = []string{"kubeconfig", "context", "settings", "load-balancer-class", "handle-default-class", "leader-elect-resource-namespace", "leader-elect-resource-name", "scale-down"}

func (o *cleanupOptions) addDrainFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&o.drain.enabled, "drain", false, "release the Services of a cluster that exists, and delete everything that its controller created; --kubeconfig, --load-balancer-class, --handle-default-class, --leader-elect-resource-* and --scale-down are for this")
	o.connection.AddClusterFlags(flags)
	o.connection.AddSettingsFlags(flags)
	flags.StringVar(&o.drain.leaseNamespace, "leader-elect-resource-namespace", "", "namespace of the controller's Lease; default: the Pod's namespace; outside a Pod, that of the only Lease of a controller for --load-balancer-class, or "+defaultLeaseNamespace)
	flags.StringVar(&o.drain.leaseName, "leader-elect-resource-name", defaultLeaseName, "name of the controller's Lease")
	flags.StringVar(&o.drain.deploymentName, "scale-down", "", "name of the controller's Deployment, in the namespace of the Lease: scale it to 0 first")
}

// checkDrain adds the problems of flags that need --drain, and of those that it does not allow.
func (o *cleanupOptions) checkDrain(p *command.Problems, given *pflag.FlagSet) {
	if !o.drain.enabled {
		for _, name := range drainFlags {
			p.Require(!given.Changed(name), name, given.Lookup(name).Value, "needs --drain: without it, the command does not connect to the cluster")
		}
		return
	}
	c := o.controller()
	c.connection.Check(p)
	p.Require(o.cluster.UID == "", "cluster-uid", o.cluster.UID, "must not be set with --drain, which reads it from the cluster")
	p.Require(!o.keepFloatingIPs, "keep-floating-ips", true, "must not be set with --drain: floating IPs of Services with annotation loadbalancer.openstack.org/keep-floatingip are kept")
	p.Require(o.drain.deploymentName == "" || o.delete, "scale-down", o.drain.deploymentName, "needs --delete")
}

// controller returns the flags of the controller that releases the Services.
func (o *cleanupOptions) controller() controllerOptions {
	var c controllerOptions
	c.addFlags(pflag.NewFlagSet("", pflag.ContinueOnError)) // sets the defaults
	adopt := c.connection.Adopt
	c.connection = o.connection
	c.connection.ClusterName, c.connection.Adopt = cmp.Or(o.cluster.Name, connection.DefaultClusterName), adopt
	c.metricsAddress, c.healthAddress, c.orphanGrace = "0", "0", graceValue(orphan.Never)
	c.leaseName, c.leaseNamespace = o.drain.leaseName, o.drain.leaseNamespace
	return c
}

// findLease completes the name of the Lease.
func (d *drainRun) findLease(ctx context.Context) error {
	if _, err := os.Stat(namespaceFile); err == nil {
		return nil // the controller's Pod has the same namespace
	}
	given := othercontroller.LeaseName{Namespace: d.controller.leaseNamespace, Name: d.controller.leaseName}
	found, err := findLease(ctx, d.client, d.cluster.Explain, d.policy, given, d.options.drain.leaseNamed)
	d.controller.leaseNamespace, d.controller.leaseName = found.Namespace, found.Name
	return err
}

// Drained is the output of `cleanup --drain`: Services to release or that could not be released, and objects that no
// Service releases.
type Drained struct {
	// Services are those to release, or that were not released. They are omitted without --drain.
	Services []ServicePlan `json:"services,omitzero"`
	cleanup.Plan
}

// Print prints it as text.
func (d Drained) Print(out io.Writer) error {
	fmt.Fprintf(out, "Services to release: %d\n", len(d.Services))
	for _, s := range d.Services {
		s.print(out)
	}
	fmt.Fprintln(out, "\nObjects that no Service releases:")
	return d.Plan.Print(out)
}

// drainRun is one run of `cleanup --drain`.
type drainRun struct {
	options    *cleanupOptions
	controller controllerOptions
	program    Options
	streams    IO
	log        logr.Logger
	cloud      connection.Cloud
	cluster    kubeconfig.Cluster
	policy     claim.Policy
	owners     claim.Owners
	client     client.Client // has no cache
	registry   *prometheus.Registry
	lease      drain.Lease
	drainer    *drain.Drainer
}

// runDrain shows what would be released, or releases it with --delete.
func (o *cleanupOptions) runDrain(ctx context.Context, log logr.Logger, streams IO, program Options) error {
	if o.delete {
		if err := o.connection.CheckController(); err != nil {
			return err
		}
	}
	d := &drainRun{options: o, controller: o.controller(), program: program, streams: streams, log: log, registry: prometheus.NewRegistry()}
	if err := d.connect(ctx); err != nil {
		return err
	}
	defer d.cloud.Session.Close()
	found, err := d.look(ctx)
	if err != nil {
		return err
	}
	if !o.delete {
		return d.show(ctx, found)
	}
	if !output.Format(o.output).Structured() {
		if err := found.Print(streams.Out); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	if name := o.drain.deploymentName; name != "" {
		if err := d.lease.ScaleDown(ctx, name); err != nil {
			return err
		}
	}
	result, err := d.run(ctx)
	kept := len(result.Objects) - len(result.Remaining())
	if incomplete := result.Incomplete(); incomplete != nil && err == nil {
		streams.Note("Warning: " + incomplete.Error())
	}
	switch {
	case output.Format(o.output).Structured():
		err = errors.Join(err, output.Write(streams.Out, output.Format(o.output), output.CleanupList, result))
	case kept > 0:
		err = errors.Join(err, result.Plan.Print(streams.Out))
	}
	if err == nil && kept > 0 {
		fmt.Fprintf(streams.Err, "%d objects are kept, for the reasons above.\n", kept)
		return errDifferences
	}
	return err
}

// connect connects to cluster and cloud.
func (d *drainRun) connect(ctx context.Context) error {
	settings, err := d.options.connection.LoadConfig()
	if err != nil {
		return err
	}
	d.cluster, err = kubeconfig.Load(d.options.connection.Kubeconfig, d.options.connection.Context)
	if err != nil {
		return err
	}
	uid, err := d.cluster.UID(ctx)
	if err != nil {
		return err
	}
	d.client, err = client.New(d.cluster.REST, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return d.cluster.Explain(err)
	}
	d.policy, err = d.controller.connection.Policy(settings, uid)
	if err != nil {
		return err
	}
	d.policy.Drain = true
	if err := d.findLease(ctx); err != nil {
		return err
	}
	d.cloud, err = d.controller.connection.Connect(ctx, settings, d.program.Version, d.log, d.registry)
	if err != nil {
		return fmt.Errorf("connect to OpenStack: %w", err)
	}
	d.lease = drain.Lease{Client: d.client, Namespace: d.controller.namespace(), Name: d.controller.leaseName, Duration: d.controller.leaseDuration, Note: d.streams.Note}
	d.owners = claim.Owners{Kinds: d.controller.connection.Kinds(d.policy, settings.LoadBalancer)}.From(d.client)
	cluster := lb.Cluster{UID: uid} // objects without a uid may belong to another controller, which still runs
	d.drainer = drain.New(drain.Drainer{
		ClusterUID: d.policy.ClusterUID, Owners: d.owners, Interval: drainInterval,
		Cleaner:  newCleaner(d.cloud, cleanup.Options{Cluster: cluster, Class: d.policy.LoadBalancerClass}, d.streams),
		Progress: cleanup.ProgressTo(d.streams.Err, "released %d of %d Services"),
	})
	return nil
}

// look returns what would be done, and changes nothing.
func (d *drainRun) look(ctx context.Context) (Drained, error) {
	found := Drained{Services: []ServicePlan{}}
	owners, err := orphan.Owners(ctx, d.owners, d.policy.ClusterUID)
	if err != nil {
		return found, err
	}
	planner := planner.New(d.controller.connection.PlannerOptions(d.client, d.client, d.cloud, d.policy))
	for _, of := range owners {
		if of.Leaves {
			found.Services = append(found.Services, planOf(ctx, planner, of))
		}
	}
	found.Plan, err = d.drainer.Cleaner.Look(ctx)
	return found, err
}

// show prints what would be done.
func (d *drainRun) show(ctx context.Context, found Drained) error {
	var err error
	if format := output.Format(d.options.output); format.Structured() {
		err = output.Write(d.streams.Out, format, output.CleanupList, found)
	} else {
		err = found.Print(d.streams.Out)
	}
	var failures []error
	for _, s := range found.Services {
		if s.Error != "" {
			failures = append(failures, fmt.Errorf("%s/%s: %s", s.Namespace, s.Service, s.Error))
		}
	}
	if err := errors.Join(append(failures, err)...); err != nil {
		return err
	}
	d.streams.Note(d.lease.Holder(ctx))
	if len(found.Services) == 0 && len(found.Objects) == 0 {
		return nil
	}
	fmt.Fprintln(d.streams.Err, "Nothing was released or deleted. To do it, add --delete.")
	return errDifferences
}

// run releases Services until none of them and nothing in the cloud is left.
func (d *drainRun) run(ctx context.Context) (Drained, error) {
	left := Drained{Services: []ServicePlan{}, Plan: cleanup.Plan{Objects: []cleanup.Object{}}}
	end := drain.NewEnd()
	d.log = end.Logger(d.log)
	m, err := d.manager()
	if err != nil {
		return left, err
	}
	services, plan, err := d.drainer.RunIn(ctx, m, d.lease, end)
	for _, s := range services {
		left.Services = append(left.Services, ServicePlan{Namespace: s.Namespace, Service: s.Name, Ops: []PlannedOp{}, Error: cmp.Or(s.Message, "not processed yet")})
	}
	if plan.Objects != nil {
		left.Plan = plan
	}
	return left, err
}

// manager returns the manager of the controller.
func (d *drainRun) manager() (manager.Manager, error) {
	m, err := d.controller.manager(d.cluster.REST, d.cloud.Config.ClusterIP, d.policy, d.log)
	if err != nil {
		return nil, err
	}
	counted, err := kometrics.New(d.registry)
	if err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return m, controller.SetUp(m, controller.Options{
		Planner: d.controller.connection.PlannerOptions(m.GetClient(), m.GetAPIReader(), d.cloud, d.policy),
		Metrics: counted, Registry: d.registry, Logger: d.log, Timing: d.program.Timing,
		Others: controller.NewOthers(controller.OthersOptions{
			Reader: m.GetAPIReader(), Client: m.GetClient(), Policy: d.policy, Lease: d.controller.lease(), Metrics: counted, Logger: d.log,
		}),
		Concurrency: d.controller.concurrency, SweepInterval: d.controller.sweepInterval, OrphanGrace: orphan.Never,
	})
}
