// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/barbican"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/command"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/kubeconfig"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/neutron"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/planner"
)

// DefaultLoadBalancerClass is the spec.loadBalancerClass of the Services that the controller
// handles unless it is told otherwise.
const DefaultLoadBalancerClass = "kube-octavia.io/octavia"

// The calls to each OpenStack service, in the long run and at once, that the
// controller allows itself unless it is told otherwise.
const (
	defaultCloudRate  = 50
	defaultCloudBurst = 100
)

// connection holds the flags that say which cluster and which cloud.
type connection struct {
	cloudConfig       string
	kubeconfig        string
	clusterName       string
	loadBalancerClass string
	defaultClass      bool
	cloudRate         float64
	cloudBurst        int
	adopt             adoptValue
	// unknownProviders is set by connect: which providers of cloud.conf Octavia does not have.
	unknownProviders error
}

func (c *connection) addFlags(flags *pflag.FlagSet) {
	c.addCloudFlags(flags)
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster; default: the Pod's service account, $KUBECONFIG or ~/.kube/config")
	flags.StringVar(&c.clusterName, "cluster-name", "kubernetes", "name of the cluster in the names of load balancers; after a migration, that of openstack-cloud-controller-manager")
	flags.StringVar(&c.loadBalancerClass, "load-balancer-class", DefaultLoadBalancerClass, "spec.loadBalancerClass of the Services to handle")
	flags.BoolVar(&c.defaultClass, "handle-default-class", true, "also handle Services without spec.loadBalancerClass")
}

// addCloudFlags is for commands that need no cluster.
func (c *connection) addCloudFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.cloudConfig, "cloud-config", "", "path of cloud.conf (required)")
	flags.Float64Var(&c.cloudRate, "cloud-rate", defaultCloudRate, "sustained calls per second to each OpenStack service")
	flags.IntVar(&c.cloudBurst, "cloud-burst", defaultCloudBurst, "burst of calls to each OpenStack service")
}

// addAdoptFlag is for commands that tell, or do, what the controller does.
func (c *connection) addAdoptFlag(flags *pflag.FlagSet) {
	c.adopt = adoptValue(claim.AdoptTag)
	flags.Var(&c.adopt, "adopt", "load balancers of openstack-cloud-controller-manager: tag takes them over by adding tags; observe only reports what would be done and writes nothing but conditions")
}

// loadConfig reads cloud.conf.
func (c *connection) loadConfig() (config.Config, error) {
	return config.Load(c.cloudConfig)
}

// connect authenticates, finds out what the cloud can do, and checks that it has the providers of cloud.conf.
func (c *connection) connect(ctx context.Context, cloud config.Config, version string, log logr.Logger, registry prometheus.Registerer) (*openstack.Session, lb.Capabilities, error) {
	can := lb.Capabilities{Provider: cloud.LoadBalancer.Provider, Vendors: cloud.Vendors}
	session, err := c.login(ctx, cloud, version, log, registry)
	if err != nil {
		return nil, can, err
	}
	can.APIVersion.Major, can.APIVersion.Minor, err = session.OctaviaVersion(ctx)
	if err != nil {
		session.Close()
		return nil, can, err
	}
	c.unknownProviders = checkProviders(ctx, session, c.cloudConfig, cloud, log)
	return session, can, nil
}

// login authenticates.
func (c *connection) login(ctx context.Context, cloud config.Config, version string, log logr.Logger, registry prometheus.Registerer) (*openstack.Session, error) {
	return openstack.Connect(ctx, openstack.Options{
		Config:         cloud.Global,
		RequestTimeout: cloud.RequestTimeout,
		UserAgent:      command.UserAgent(version),
		Logger:         log.WithName("openstack"),
		Metrics:        registry,
		Rate:           openstack.Rate{PerSecond: c.cloudRate, Burst: c.cloudBurst},
		Reread:         c.reread(cloud),
	})
}

// reread returns what reads the credentials once more, for a cloud that is still
// the same.
func (c *connection) reread(cloud config.Config) func() (config.Global, error) {
	return func() (config.Global, error) {
		newer, err := config.Load(c.cloudConfig)
		if err != nil {
			return config.Global{}, err
		}
		if newer.Global.AuthURL != cloud.Global.AuthURL {
			return cloud.Global, nil
		}
		return cloud.Global.Reloaded(newer.Global), nil
	}
}

// look connects to cluster and cloud for a command that reads both and writes nothing.
// Disconnect is to be called when the planner is needed no more.
func (c *connection) look(ctx context.Context, log logr.Logger, version string) (_ *planner.Planner, disconnect func(), _ error) {
	v, err := c.view(ctx, log, version)
	if err != nil {
		return nil, nil, err
	}
	return v.planner, v.session.Close, nil
}

// view is a cluster and a cloud that a command reads.
type view struct {
	cloud   config.Config
	cluster kubeconfig.Cluster
	session *openstack.Session
	planner *planner.Planner
}

// view connects to cluster and cloud. The session is to be closed when it is needed no more.
func (c *connection) view(ctx context.Context, log logr.Logger, version string) (v view, err error) {
	if v.cloud, err = c.loadConfig(); err != nil {
		return v, err
	}
	if v.cluster, err = kubeconfig.Load(c.kubeconfig); err != nil {
		return v, err
	}
	uid, err := v.cluster.UID(ctx)
	if err != nil {
		return v, err
	}
	reader, err := client.New(v.cluster.REST, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return v, v.cluster.Explain(err)
	}
	policy, err := c.policy(v.cloud, uid)
	if err != nil {
		return v, err
	}
	var can lb.Capabilities
	if v.session, can, err = c.connect(ctx, v.cloud, version, log, prometheus.NewRegistry()); err != nil {
		return v, fmt.Errorf("connect to OpenStack: %w", err)
	}
	v.planner = c.planner(reader, reader, v.session, v.cloud, can, policy)
	return v, nil
}

// planner puts together what finds out what Services want and have. Secrets are read from
// the second reader, which must have no cache.
func (c *connection) planner(reader, secrets client.Reader, session *openstack.Session, cloud config.Config, can lb.Capabilities, policy claim.Policy) *planner.Planner {
	// With an application credential there are hardly any certificates, and one that an older
	// version made may not list them.
	expectsCertificates := func() bool { return cloud.LoadBalancer.ExternalContainers() || session.ByPassword() }
	return &planner.Planner{
		Reader:       reader,
		Secrets:      secrets,
		Octavia:      octavia.New(session.LoadBalancer(), session.ProjectID(), can),
		Neutron:      neutron.New(session.Network(), session.ProjectID()),
		Barbican:     barbican.New(session.KeyManager(), session.CheckExchange, expectsCertificates),
		Config:       cloud.LoadBalancer,
		Capabilities: can,
		Policy:       policy,
		Adopt:        claim.Adoption(c.adopt),
	}
}

// policy says which Services the controller serves.
func (c *connection) policy(cloud config.Config, clusterUID string) (claim.Policy, error) {
	clusterIPs, err := claim.NewClusterIPs(cloud.ClusterIP)
	return claim.Policy{
		ClusterName: c.clusterName, ClusterUID: clusterUID,
		LoadBalancerClass: c.loadBalancerClass, DefaultClass: c.defaultClass, ClusterIPs: clusterIPs,
	}, err
}
