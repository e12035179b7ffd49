// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/command/connection"
	"github.com/kube-octavia/kube-octavia/internal/controller"
	"github.com/kube-octavia/kube-octavia/internal/node/cloudprovider"
	"github.com/kube-octavia/kube-octavia/internal/operate/kubeconfig"
	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	kometrics "github.com/kube-octavia/kube-octavia/internal/reconcile/metrics"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	cloudconfig "github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// namespaceFile has the name of the namespace of the Pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// defaultLeaseName is the default name of the controller's Lease.
const defaultLeaseName = "kube-octavia"

// controllerOptions holds the flags of `kube-octavia controller`.
type controllerOptions struct {
	connection                                connection.Options
	logging                                   command.Logging
	controllers                               controllersOptions
	concurrency                               int
	sweepInterval                             time.Duration
	orphanGrace                               graceValue
	readinessGates                            bool
	metricsAddress, healthAddress             string
	leaderElect                               bool
	cloudConfigSecret                         string
	leaseNamespace, leaseName                 string
	leaseDuration, renewDeadline, retryPeriod time.Duration
	// published are the values of the flags that commands take over.
	published map[string]string
}

func newController(streams IO, program Options) *cobra.Command {
	var o controllerOptions
	c := &cobra.Command{
		Use:   "controller --cloud-config=FILE",
		Short: "Run the controller",
		Long: "Creates an Octavia load balancer for every Service of type LoadBalancer and keeps it up to date.\n" +
			"With --controllers, also initializes Nodes and removes those whose servers are deleted, and keeps routes to Pods.\n" +
			"On SIGTERM it finishes calls in progress and stops. It can be killed at any time without losing state.",
		Args: command.Args,
		RunE: func(c *cobra.Command, _ []string) error {
			var p command.Problems
			if o.check(&p); p.Err() != nil {
				return p.Err()
			}
			o.published = publishedFlags(c.Flags())
			return o.run(c.Context(), o.logging.Logger(streams), program)
		},
	}
	o.addFlags(c.Flags())
	return c
}

func (o *controllerOptions) addFlags(flags *pflag.FlagSet) {
	o.connection.AddFlags(flags)
	o.connection.AddAdoptFlag(flags)
	o.logging.AddFlags(flags)
	o.controllers.addFlags(flags)
	flags.StringVar(&o.cloudConfigSecret, "cloud-config-secret", "", "name of the Secret, in the namespace of the Lease, from which the file of --cloud-config comes; it is only published, so that commands find the Secret")
	flags.IntVar(&o.concurrency, "concurrency", 16, "number of Services that are processed in parallel")
	flags.DurationVar(&o.sweepInterval, "sweep-interval", time.Minute, "interval for checking all load balancers for drift")
	o.orphanGrace = graceValue(time.Hour)
	flags.Var(&o.orphanGrace, "orphan-grace-period", "how long to keep orphaned cloud objects; never disables deletion")
	flags.BoolVar(&o.readinessGates, "pod-readiness-gates", false, "set the readiness gates of Pods that are members; needs the rights in deploy/readiness-gates")
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "listen address of /metrics; 0 disables it")
	flags.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "listen address of /healthz and /readyz; 0 disables them")
	flags.BoolVar(&o.leaderElect, "leader-elect", true, "elect a leader, so that only one replica is active")
	flags.StringVar(&o.leaseNamespace, "leader-elect-resource-namespace", "", "namespace of the Lease; default: the Pod's namespace, or kube-system outside a cluster")
	flags.StringVar(&o.leaseName, "leader-elect-resource-name", defaultLeaseName, "name of the Lease")
	flags.DurationVar(&o.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "how long other replicas wait before they take over the Lease of a leader that does not renew it")
	flags.DurationVar(&o.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "how long the leader tries to renew the Lease before it stops")
	flags.DurationVar(&o.retryPeriod, "leader-elect-retry-period", 2*time.Second, "interval for trying to acquire or renew the Lease")
}

// run connects to cloud and cluster and works until the context ends.
func (o *controllerOptions) run(ctx context.Context, log logr.Logger, program Options) error {
	o.connection.Dial, o.connection.MoreKinds = program.Dial, program.MoreKinds
	cloud, err := o.connection.LoadConfig()
	if err != nil {
		return err
	}
	for _, n := range cloud.Notices {
		log.Info("a setting of cloud.conf may not do what you expect", "notice", n.String())
	}
	if err := o.controllers.checkConfig(o.connection.CloudConfig, cloud); err != nil {
		return err
	}
	cluster, err := kubeconfig.Load(o.connection.Kubeconfig, o.connection.Context)
	if err != nil {
		return err
	}
	cluster.REST.Dial = program.Dial
	uid, err := cluster.UID(ctx)
	if err != nil {
		return err
	}
	policy, err := o.connection.Policy(cloud, uid)
	if err != nil {
		return err
	}
	m, err := o.manager(cluster.REST, cloud.ClusterIP, policy, log)
	if err != nil {
		return err
	}
	counted, err := kometrics.New(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	others := controller.NewOthers(controller.OthersOptions{
		Reader: m.GetAPIReader(), Client: m.GetClient(), Policy: policy, Lease: o.lease(), Metrics: counted, Logger: log,
	})
	connected, err := o.publish(m, cloud, program.Version, log)
	if err != nil {
		return err
	}
	connector := &connection.Connector{
		Options: o.connection, Logger: log, Version: program.Version, Registry: metrics.Registry, Config: cloud, ConfigInterval: program.Timing.CloudConfigInterval,
		Work: o.worker(m, policy, counted, others, connected, log, program.Timing),
		Tell: func(context.Context, error) {},
	}
	if o.controllers.runs(serviceController) {
		connector.Tell = controller.TellUnconnected(m, others, planner.New(planner.Options{Reader: m.GetClient(), Policy: policy, Kinds: o.connection.Kinds(policy, cloud.LoadBalancer)}), log) // it selects Services and needs no cloud
	}
	defer connector.Close()
	checks := []error{m.AddReadyzCheck("openstack", connector.Connected), m.AddReadyzCheck("credentials", connector.Authorized), m.Add(connector)}
	if err := errors.Join(checks...); err != nil {
		return fmt.Errorf("set up the controller: %w", err)
	}
	return m.Start(ctx)
}

// worker returns the function that starts the reconcilers once the cloud is connected.
func (o *controllerOptions) worker(m manager.Manager, policy claim.Policy, counted *kometrics.Metrics, others *controller.Others, connected func(projectID string), log logr.Logger, timing timing.Delays) func(context.Context, connection.Cloud) error {
	return func(_ context.Context, cloud connection.Cloud) error {
		connected(cloud.Session.ProjectID())
		provider, err := o.controllers.cloudProvider(cloud.Session, cloud.Config, policy.ClusterUID, timing)
		if err != nil {
			return err
		}
		if provider != nil {
			provider.Registry = metrics.Registry
			err = cloudprovider.SetUp(m, *provider)
		}
		if err != nil || !o.controllers.runs(serviceController) {
			return err
		}
		return controller.SetUp(m, controller.Options{
			Planner:        o.connection.PlannerOptions(m.GetClient(), m.GetAPIReader(), cloud, policy),
			Metrics:        counted,
			Registry:       metrics.Registry,
			Logger:         log,
			Concurrency:    o.concurrency,
			SweepInterval:  o.sweepInterval,
			OrphanGrace:    time.Duration(o.orphanGrace),
			Others:         others,
			ReadinessGates: o.readinessGates,
			Timing:         timing,
		})
	}
}

// manager returns the manager of the reconcilers, with caches, leader election and probes.
func (o *controllerOptions) manager(cluster *rest.Config, mode cloudconfig.ClusterIP, policy claim.Policy, log logr.Logger) (manager.Manager, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	m, err := ctrl.NewManager(cluster, manager.Options{
		Scheme:                        scheme,
		Logger:                        log,
		Metrics:                       metricsserver.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress:        o.healthAddress,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              o.leaseName,
		LeaderElectionNamespace:       o.namespace(),
		LeaderElectionLabels:          othercontroller.Labels(policy),
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.leaseDuration,
		RenewDeadline:                 &o.renewDeadline,
		RetryPeriod:                   &o.retryPeriod,
		GracefulShutdownTimeout:       ptr.To(30 * time.Second),
		// Reconcilers register by name, and tests run several controllers in one process, one after
		// the other.
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
		Cache:      controller.CacheOptions(mode),
	})
	if err != nil {
		return nil, fmt.Errorf("set up the controller: %w", err)
	}
	if err := m.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	err = m.AddReadyzCheck("caches", func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if !m.GetCache().WaitForCacheSync(ctx) {
			return errors.New(o.emptyCaches())
		}
		return nil
	})
	return m, err
}

// emptyCaches returns the message that caches are not filled yet.
func (o *controllerOptions) emptyCaches() string {
	if o.readinessGates {
		return "the caches of Services, Nodes, EndpointSlices, Pods and Namespaces are not filled yet; --pod-readiness-gates needs the rights in deploy/readiness-gates"
	}
	return "the caches of Services, Nodes and EndpointSlices are not filled yet"
}

// lease returns the Lease of the controller, if it has one.
func (o *controllerOptions) lease() othercontroller.LeaseName {
	if !o.leaderElect {
		return othercontroller.LeaseName{}
	}
	return othercontroller.LeaseName{Namespace: o.namespace(), Name: o.leaseName}
}

// namespace returns the namespace of the Lease.
func (o *controllerOptions) namespace() string {
	if o.leaseNamespace != "" {
		return o.leaseNamespace
	}
	if name, err := os.ReadFile(namespaceFile); err == nil {
		return strings.TrimSpace(string(name))
	}
	return "kube-system"
}
