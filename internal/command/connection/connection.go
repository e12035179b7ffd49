// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package connection connects commands to the cluster and the cloud. It has their flags, a connection for commands
// that read both, and one for the controller that is retried until it succeeds.
package connection

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/accessrule"
	"github.com/kube-octavia/kube-octavia/internal/cloud/barbican"
	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/operate/kubeconfig"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// DefaultLoadBalancerClass is the default of --load-balancer-class.
const DefaultLoadBalancerClass = "kube-octavia.io/octavia"

// DefaultClusterName is the default of --cluster-name of the controller.
const DefaultClusterName = "kubernetes"

// The default limits of the controller's calls to each OpenStack service: sustained and burst.
const (
	defaultCloudRate  = 50
	defaultCloudBurst = 100
)

// Options holds the flags that select the cluster and the cloud.
type Options struct {
	// CloudConfig is the path of cloud.conf. Without it, FindSettings searches for the settings of the
	// controller.
	CloudConfig string
	// Kubeconfig is the path of the kubeconfig; if it is empty, the usual places are searched.
	Kubeconfig string
	// Context is a context of the kubeconfig; empty means the current one.
	Context string
	// ClusterName is the name of the cluster in the names of load balancers.
	ClusterName string
	// LoadBalancerClass is the spec.loadBalancerClass of the Services to handle.
	LoadBalancerClass string
	// DefaultClass is whether Services without spec.loadBalancerClass are also handled.
	DefaultClass bool
	// Adopt is how load balancers of openstack-cloud-controller-manager are handled.
	Adopt claim.Adoption
	// Dial opens the connections to the cloud; nil uses the network. No flag sets it.
	Dial openstack.Dial
	// MoreKinds returns the kinds of owners of load balancers beside Services; nil means none. No flag sets it.
	MoreKinds func(claim.Policy, config.LoadBalancer) []claim.Kind
	// ExamineRefusal is as in openstack.Options. No flag sets it.
	ExamineRefusal bool
	cloudRate      float64
	cloudBurst     int
	// settings names the ConfigMap with the settings of the controller. findsSettings is whether the command searches
	// for it, and found is the result.
	settings      string
	findsSettings bool
	found         *found
	// kubernetesLimit limits the duration of each call of the search for settings; 0 means the
	// default. Tests set it.
	kubernetesLimit time.Duration
}

// Cloud is a connected cloud. Close its session when it is no longer needed.
type Cloud struct {
	Config       config.Config
	Session      *openstack.Session
	Capabilities lb.Capabilities
	// UnknownProviders is the error that names the providers of cloud.conf that Octavia does not have, or nil if
	// it has all of them.
	UnknownProviders error
}

// View is a connected cluster and cloud, for a command that reads both and writes nothing.
type View struct {
	Cloud
	Cluster kubeconfig.Cluster
	Planner *planner.Planner
}

// ClusterView is a connected cluster and the content of cloud.conf. The cloud is not connected yet.
type ClusterView struct {
	Config  config.Config
	Cluster kubeconfig.Cluster
	// Reader has no cache.
	Reader client.Reader
	Policy claim.Policy
}

// AddFlags adds the flags of cluster and cloud, with their defaults.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.AddCloudFlags(flags)
	o.AddClusterFlags(flags)
	flags.StringVar(&o.ClusterName, "cluster-name", DefaultClusterName, "name of the cluster in the names of load balancers; after a migration, that of openstack-cloud-controller-manager")
}

// AddClusterFlags adds the flags that select the cluster and its Services.
func (o *Options) AddClusterFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig of the cluster; default: the Pod's service account, $KUBECONFIG or ~/.kube/config")
	flags.StringVar(&o.LoadBalancerClass, "load-balancer-class", DefaultLoadBalancerClass, "spec.loadBalancerClass of the Services to handle")
	flags.BoolVar(&o.DefaultClass, "handle-default-class", true, "also handle Services without spec.loadBalancerClass")
}

// AddContextFlag is for commands that users run, with their kubeconfig.
func (o *Options) AddContextFlag(flags *pflag.FlagSet) {
	flags.StringVar(&o.Context, "context", "", "context of the kubeconfig; default: its current context")
}

// AddCloudFlags is for commands that need no cluster.
func (o *Options) AddCloudFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.CloudConfig, "cloud-config", "", "path of cloud.conf (required)")
	flags.Float64Var(&o.cloudRate, "cloud-rate", defaultCloudRate, "sustained calls per second to each OpenStack service")
	flags.IntVar(&o.cloudBurst, "cloud-burst", defaultCloudBurst, "burst of calls to each OpenStack service")
}

// AddAdoptFlag is for the controller and for commands that show its plan.
func (o *Options) AddAdoptFlag(flags *pflag.FlagSet) {
	o.Adopt = claim.AdoptTag
	flags.Var((*adoptValue)(&o.Adopt), "adopt", "load balancers of openstack-cloud-controller-manager: tag takes them over by adding tags; observe only reports what would be done and writes nothing but conditions")
}

// LoadConfig reads cloud.conf, or the settings that were found instead.
func (o *Options) LoadConfig() (config.Config, error) {
	if o.found != nil {
		return o.found.read()
	}
	return config.Load(o.CloudConfig)
}

// ConfigName returns where cloud.conf is, for messages.
func (o *Options) ConfigName() string {
	if o.found != nil {
		return o.found.name
	}
	return o.CloudConfig
}

// Origin returns what kind of place ConfigName names.
func (o *Options) Origin() config.Origin {
	if o.found != nil {
		return o.found.origin
	}
	return config.FromFile
}

// Connect authenticates, determines the capabilities of the cloud, and checks whether it has the providers of
// cloud.conf.
func (o *Options) Connect(ctx context.Context, cloud config.Config, version string, log logr.Logger, registry prometheus.Registerer) (Cloud, error) {
	session, err := o.Login(ctx, cloud, version, log, registry)
	if err != nil {
		return Cloud{}, err
	}
	can := lb.Capabilities{Provider: cloud.LoadBalancer.Provider, Vendors: cloud.Vendors}
	can.APIVersion.Major, can.APIVersion.Minor, err = session.OctaviaVersion(ctx)
	if err != nil {
		session.Close()
		return Cloud{}, o.place(err)
	}
	if cloud.ClusterIP.Enabled {
		can.UnlimitedChildren = unlimitedChildren(ctx, session, log)
	}
	return Cloud{Config: cloud, Session: session, Capabilities: can, UnknownProviders: checkProviders(ctx, session, o.ConfigName(), cloud, log)}, nil
}

// place makes the advice about a failed connection name where the login is, if that is not the file of
// --cloud-config.
func (o *Options) place(err error) error {
	switch o.Origin() {
	case config.FromFile:
		return err
	case config.FromSecret:
		return openstack.WithPlace(err, "[Global] of "+o.found.name)
	}
	return openstack.WithPlace(err, o.found.name)
}

// unlimitedChildren reports whether no quota limits the objects below load balancers. An error is only logged.
func unlimitedChildren(ctx context.Context, session *openstack.Session, log logr.Logger) bool {
	if !session.MayCall(calls.QuotaPath) {
		return false
	}
	quota, err := octavia.New(session.LoadBalancer(), session.ProjectID(), lb.Capabilities{}).Quota(ctx)
	if err != nil {
		log.Info("load balancers at ClusterIPs are created without their ports, which takes more calls", "error", err.Error())
		return false
	}
	return !quota.LimitsChildren()
}

// Login only authenticates. The error names the values in cloud.conf that may be the cause.
func (o *Options) Login(ctx context.Context, cloud config.Config, version string, log logr.Logger, registry prometheus.Registerer) (*openstack.Session, error) {
	session, err := openstack.Connect(ctx, openstack.Options{
		Config:         cloud.Global,
		RequestTimeout: cloud.RequestTimeout,
		UserAgent:      command.UserAgent(version),
		Logger:         log.WithName("openstack"),
		Metrics:        registry,
		Rate:           openstack.Rate{PerSecond: o.cloudRate, Burst: o.cloudBurst},
		Reread:         o.reread(cloud),
		Dial:           o.Dial,
		ExamineRefusal: o.ExamineRefusal,
	})
	if err != nil {
		return session, openstack.WithDoubts(o.place(err), cloud.LoginDoubts())
	}
	if o.found == nil {
		return session, nil
	}
	if err := o.found.checkProject(session); err != nil {
		session.Close()
		return nil, err
	}
	return session, nil
}

// reread returns the function that reads the credentials again. It fails if cloud.conf now names
// another cloud.
func (o *Options) reread(cloud config.Config) func() (config.Global, error) {
	return func() (config.Global, error) {
		newer, err := o.LoadConfig()
		if err != nil {
			return config.Global{}, err
		}
		if newer.Global.AuthURL != cloud.Global.AuthURL {
			return cloud.Global, nil
		}
		return cloud.Global.Reloaded(newer.Global), nil
	}
}

// Look connects to cluster and cloud, for a command that reads both and writes nothing. Close the session when the view
// is no longer needed.
func (o *Options) Look(ctx context.Context, log logr.Logger, version string) (v View, err error) {
	c, err := o.LookAtCluster(ctx)
	if err != nil {
		return v, err
	}
	v.Cluster = c.Cluster
	v.Cloud, err = o.Connect(ctx, c.Config, version, log, prometheus.NewRegistry())
	if err != nil {
		return v, fmt.Errorf("connect to OpenStack: %w", err)
	}
	v.Planner = planner.New(o.PlannerOptions(c.Reader, c.Reader, v.Cloud, c.Policy))
	return v, nil
}

// LookAtCluster reads cloud.conf and connects to the cluster, but not to the cloud.
func (o *Options) LookAtCluster(ctx context.Context) (v ClusterView, err error) {
	v.Config, err = o.LoadConfig()
	if err != nil {
		return v, err
	}
	v.Cluster, err = kubeconfig.Load(o.Kubeconfig, o.Context)
	if err != nil {
		return v, err
	}
	uid, err := v.Cluster.UID(ctx)
	if err != nil {
		return v, err
	}
	v.Reader, err = client.New(v.Cluster.REST, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return v, v.Cluster.Explain(err)
	}
	v.Policy, err = o.Policy(v.Config, uid)
	return v, err
}

// PlannerOptions returns what a planner needs to read what owners request and have. Secrets are read from the second
// reader, which must have no cache.
func (o *Options) PlannerOptions(reader, secrets client.Reader, cloud Cloud, policy claim.Policy) planner.Options {
	session, settings, can := cloud.Session, cloud.Config.LoadBalancer, cloud.Capabilities
	return planner.Options{
		Reader:       reader,
		Secrets:      secrets,
		Octavia:      octavia.New(session.LoadBalancer(), session.ProjectID(), can),
		Neutron:      neutron.New(session.Network(), session.ProjectID()),
		Barbican:     barbican.New(session.KeyManager(), func() bool { return session.MayCall(calls.SecretsPath) }),
		Login:        func() decide.Login { return loginOf(session) },
		Config:       settings,
		Capabilities: can,
		Policy:       policy,
		Kinds:        o.Kinds(policy, settings),
		Adopt:        o.Adopt,
	}
}

// Kinds returns the kinds of owners of load balancers.
func (o *Options) Kinds(policy claim.Policy, settings config.LoadBalancer) []claim.Kind {
	kinds := []claim.Kind{service.Kind{Policy: policy, Config: settings}}
	if o.MoreKinds != nil {
		kinds = append(kinds, o.MoreKinds(policy, settings)...)
	}
	return kinds
}

// loginOf describes the login in use.
func loginOf(session *openstack.Session) decide.Login {
	l := decide.Login{}
	l.Kind, l.ID = session.LoginID()
	for _, call := range accessrule.Of(calls.FeatureCertificateGrants, session.MissingRules()) {
		l.Lacks = append(l.Lacks, call.String())
	}
	return l
}

// Policy returns the rules for which Services the controller serves.
func (o *Options) Policy(cloud config.Config, clusterUID string) (claim.Policy, error) {
	clusterIPs, err := claim.NewClusterIPs(cloud.ClusterIP)
	return claim.Policy{
		ClusterName: o.ClusterName, ClusterUID: clusterUID,
		LoadBalancerClass: o.LoadBalancerClass, DefaultClass: o.DefaultClass, ClusterIPs: clusterIPs,
	}, err
}
