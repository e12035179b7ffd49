// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cloudprovider runs Kubernetes' own controllers for Nodes and routes, those of k8s.io/cloud-provider, with
// packages instances and routes. They have their own informers and queues, so that a slow Nova never delays
// Services.
package cloudprovider

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/controllers/node"
	"k8s.io/cloud-provider/controllers/nodelifecycle"
	"k8s.io/cloud-provider/controllers/route"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/controller-manager/pkg/features"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kube-octavia/kube-octavia/internal/node/instances"
	"github.com/kube-octavia/kube-octavia/internal/node/routes"
)

// resync is the interval at which the informer of Nodes delivers all Nodes again, as in
// kube-controller-manager.
const resync = 12 * time.Hour

// The number of Nodes that are processed concurrently. One list of servers covers all Nodes that are not
// ready, so checking them concurrently would gain nothing.
const (
	nodeWorkers      = 10
	statusWorkers    = 10
	lifecycleWorkers = 1
)

// Options configure which controllers run and how.
type Options struct {
	// Node, NodeLifecycle and Route enable the controllers.
	Node, NodeLifecycle, Route bool
	// StatusPeriod is the interval for updating the addresses of all Nodes.
	StatusPeriod time.Duration
	// MonitorPeriod is the interval for checking the servers of Nodes that are not ready.
	MonitorPeriod time.Duration
	// RoutePeriod is the interval for comparing the routes with the Nodes.
	RoutePeriod time.Duration
	// KubernetesLimit is the timeout of requests to the Kubernetes API other than watches. Kubernetes' controllers set
	// none, so a write that is never answered would block them for ever.
	KubernetesLimit time.Duration
	// Instances configures the controllers of Nodes, without Nodes and Recorder.
	Instances instances.Options
	// Routes configures the controller of routes, without Nodes.
	Routes routes.Options
	// Registry is the registry for the gauges of Nodes.
	Registry prometheus.Registerer
}

// SetUp adds the controllers to the manager. They run only on the leader.
func SetUp(m manager.Manager, o Options) error {
	o.Instances.Recorder = m.GetEventRecorder("kube-octavia")
	return m.Add(&runner{Options: o, cluster: m.GetConfig()})
}

// runner runs the controllers.
type runner struct {
	Options
	cluster *rest.Config
}

// Start implements manager.Runnable.
func (r *runner) Start(ctx context.Context) error {
	if err := registerGates(); err != nil {
		return fmt.Errorf("feature gates of the route controller: %w", err)
	}
	watching, err := kubernetes.NewForConfig(r.cluster)
	if err != nil {
		return err
	}
	config := rest.CopyConfig(r.cluster)
	config.Wrap(func(to http.RoundTripper) http.RoundTripper { return limited{to, r.KubernetesLimit} })
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(watching, resync)
	controllers, err := r.controllers(client, factory)
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	factory.WaitForCacheSync(ctx.Done())
	counted := gauges{nodes: r.Routes.Nodes, node: r.Node, route: r.Route}
	r.Registry.Unregister(counted) // tests run one controller after the other in a process
	if err := r.Registry.Register(counted); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	var running sync.WaitGroup
	for _, run := range controllers {
		running.Go(func() { run(ctx) })
	}
	running.Wait()
	return nil
}

// controllers returns the enabled controllers.
func (r *runner) controllers(client kubernetes.Interface, factory informers.SharedInformerFactory) (all []func(context.Context), err error) {
	nodes := factory.Core().V1().Nodes()
	list := lister(nodes.Lister())
	r.Instances.Nodes, r.Routes.Nodes = list, list
	cloud := &cloud{}
	counted := controllersmetrics.NewControllerManagerMetrics("kube-octavia")
	if r.Node || r.NodeLifecycle {
		cloud.instances = instances.New(r.Instances)
	}
	if r.Node {
		c, failure := node.NewCloudNodeController(nodes, client, cloud, r.StatusPeriod, nodeWorkers, statusWorkers)
		err = errors.Join(err, failure)
		all = append(all, func(ctx context.Context) { c.RunWithContext(ctx, counted) })
	}
	if r.NodeLifecycle {
		c, failure := nodelifecycle.NewCloudNodeLifecycleController(nodes, client, cloud, r.MonitorPeriod, lifecycleWorkers)
		err = errors.Join(err, failure)
		all = append(all, func(ctx context.Context) { c.Run(ctx, counted) })
	}
	if r.Route {
		c, failure := route.New(routes.New(r.Routes), client, ownNodes{nodes, r.Routes.IsOwn}, "", networks(r.Routes.ClusterCIDRs))
		err = errors.Join(err, failure)
		all = append(all, func(ctx context.Context) { c.Run(ctx, r.RoutePeriod, counted) })
	}
	return all, err
}

func lister(nodes corelisters.NodeLister) func() ([]*corev1.Node, error) {
	return func() ([]*corev1.Node, error) { return nodes.List(labels.Everything()) }
}

func networks(cidrs []netip.Prefix) []*net.IPNet {
	var all []*net.IPNet
	for _, cidr := range cidrs {
		all = append(all, &net.IPNet{IP: cidr.Addr().AsSlice(), Mask: net.CIDRMask(cidr.Bits(), cidr.Addr().BitLen())})
	}
	return all
}

// registerGates registers the feature gates that the route controller reads. It would panic if a gate were not
// registered.
var registerGates = sync.OnceValue(func() error {
	return features.SetupCurrentKubernetesSpecificFeatureGates(utilfeature.DefaultMutableFeatureGate)
})

// cloud implements cloudprovider.Interface, from which Kubernetes' controllers get the parts of a cloud.
type cloud struct{ instances *instances.Instances }

var _ cloudprovider.Interface = &cloud{}

func (c *cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}
func (c *cloud) ProviderName() string                                              { return "openstack" }
func (c *cloud) HasClusterID() bool                                                { return true }
func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool)                    { return c.instances, true }
func (c *cloud) Instances() (cloudprovider.Instances, bool)                        { return nil, false }
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool)                  { return nil, false }
func (c *cloud) Routes() (cloudprovider.Routes, bool)                              { return nil, false }
func (c *cloud) Zones() (cloudprovider.Zones, bool)                                { return nil, false }
func (c *cloud) Clusters() (cloudprovider.Clusters, bool)                          { return nil, false }
