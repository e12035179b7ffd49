// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/node/cloudprovider"
	"github.com/kube-octavia/kube-octavia/internal/node/instances"
	"github.com/kube-octavia/kube-octavia/internal/node/routes"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	cloudconfig "github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// The controllers that the process can run.
const (
	serviceController       = "service"
	nodeController          = "node"
	nodeLifecycleController = "node-lifecycle"
	routeController         = "route"
)

var allControllers = []string{serviceController, nodeController, nodeLifecycleController, routeController}

// otherNames are their names in Kubernetes' cloud-controller-manager.
var otherNames = map[string]string{
	"service-lb-controller": serviceController,
	"cloud-node":            nodeController, "cloud-node-controller": nodeController,
	"cloud-node-lifecycle": nodeLifecycleController, "cloud-node-lifecycle-controller": nodeLifecycleController,
	"node-route-controller": routeController,
}

// regionalVariable is the environment variable of openstack-cloud-controller-manager that adds the region to provider ids.
const regionalVariable = "OS_CCM_REGIONAL"

// chosenControllers holds the flags that select the controllers to run.
type chosenControllers struct{ names, clusterCIDR []string }

// controllersOptions holds these and the flags of the controllers.
type controllersOptions struct {
	chosenControllers
	statusPeriod  time.Duration
	monitorPeriod time.Duration
	routePeriod   time.Duration
}

func (o *chosenControllers) addFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.names, "controllers", []string{serviceController}, "controllers to run: "+strings.Join(allControllers, ", ")+
		"; * is all of them, and -NAME all but one: *,-route")
	flags.StringSliceVar(&o.clusterCIDR, "cluster-cidr", nil, "address ranges of all Pods, one CIDR of each IP family; needed by controller route, which changes no routes outside of them")
}

func (o *controllersOptions) addFlags(flags *pflag.FlagSet) {
	o.chosenControllers.addFlags(flags)
	flags.DurationVar(&o.statusPeriod, "node-status-update-frequency", 5*time.Minute, "interval for updating the addresses of Nodes")
	flags.DurationVar(&o.monitorPeriod, "node-monitor-period", 5*time.Second, "interval for checking the servers of Nodes that are not ready")
	flags.DurationVar(&o.routePeriod, "route-reconciliation-period", 10*time.Second, "interval for comparing the routes with the Nodes")
}

func (o *chosenControllers) check(p *command.Problems) {
	enabled, err := enabledControllers(o.names)
	p.Add("controllers", command.Quoted(strings.Join(o.names, ",")), err)
	cidrs, err := parseClusterCIDRs(o.clusterCIDR)
	if err == nil && slices.Contains(enabled, routeController) && len(cidrs) == 0 {
		err = errors.New("is required by controller route: the CIDRs of all Pods, such as 10.244.0.0/16, as --cluster-cidr of kube-controller-manager")
	}
	p.Add("cluster-cidr", command.Quoted(strings.Join(o.clusterCIDR, ",")), err)
}

func (o *controllersOptions) check(p *command.Problems) {
	o.chosenControllers.check(p)
	p.Require(o.statusPeriod >= time.Second, "node-status-update-frequency", o.statusPeriod, "must be 1s or more")
	p.Require(o.monitorPeriod >= time.Second, "node-monitor-period", o.monitorPeriod, "must be 1s or more")
	p.Require(o.routePeriod >= time.Second, "route-reconciliation-period", o.routePeriod, "must be 1s or more")
}

// enabledControllers returns the controllers that a list of names, *, and -NAME enables. As in kube-controller-manager,
// a name overrides * in any order.
func enabledControllers(names []string) ([]string, error) {
	said := map[string]bool{}
	star := false
	for _, text := range names {
		name, off := strings.CutPrefix(text, "-")
		if other, known := otherNames[name]; known {
			name = other
		}
		switch {
		case text == "*":
			star = true
			continue
		case !slices.Contains(allControllers, name):
			return nil, fmt.Errorf("%q is not one of %s: write names, * for all, and -NAME for all but one", text, strings.Join(allControllers, ", "))
		}
		if before, twice := said[name]; twice && before == off {
			return nil, fmt.Errorf("%s is both enabled and disabled", name)
		}
		said[name] = !off
	}
	var enabled []string
	for _, name := range allControllers {
		if on, named := said[name]; on || star && !named {
			enabled = append(enabled, name)
		}
	}
	if len(enabled) == 0 {
		return nil, errors.New("enables no controller")
	}
	return enabled, nil
}

// parseClusterCIDRs reads the CIDRs of all Pods.
func parseClusterCIDRs(texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		cidr, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("%q is not a CIDR such as 10.244.0.0/16", text)
		}
		if slices.ContainsFunc(all, func(c netip.Prefix) bool { return c.Addr().Is4() == cidr.Addr().Is4() }) {
			return nil, errors.New("there may be one CIDR of each IP family")
		}
		all = append(all, cidr.Masked())
	}
	return all, nil
}

// runs reports whether a controller is enabled. The flags have been checked.
func (o *chosenControllers) runs(names ...string) bool {
	enabled, _ := enabledControllers(o.names)
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(enabled, name) })
}

// diagnosed returns the controllers for the diagnosis. The flags have been checked.
func (o *chosenControllers) diagnosed() doctor.Controllers {
	cidrs, _ := parseClusterCIDRs(o.clusterCIDR)
	return doctor.Controllers{
		Service: o.runs(serviceController), Node: o.runs(nodeController), NodeLifecycle: o.runs(nodeLifecycleController), Route: o.runs(routeController),
		ClusterCIDRs: cidrs,
	}
}

// checkConfig reports what cloud.conf lacks for the controllers.
func (o *controllersOptions) checkConfig(path string, cloud cloudconfig.Config) error {
	switch {
	case o.runs(serviceController) && !cloud.LoadBalancer.Enabled:
		return fmt.Errorf("%s: [LoadBalancer] enabled is false, so controller service has nothing to do: set --controllers without it", path)
	case o.runs(routeController) && cloud.Route.RouterID == "":
		return fmt.Errorf("%s: [Route] router-id is required by controller route: the id of the router between the networks of the Nodes", path)
	}
	return nil
}

// cloudProvider returns the runner of the controllers of Nodes and routes, or nil if none is
// enabled.
func (o *controllersOptions) cloudProvider(session *openstack.Session, cloud cloudconfig.Config, clusterUID string, delays timing.Delays) (*cloudprovider.Options, error) {
	options := &cloudprovider.Options{
		Node: o.runs(nodeController), NodeLifecycle: o.runs(nodeLifecycleController), Route: o.runs(routeController),
		StatusPeriod: o.statusPeriod, MonitorPeriod: o.monitorPeriod, RoutePeriod: o.routePeriod,
		KubernetesLimit: delays.KubernetesLimit,
	}
	if period := delays.NodePeriod; period > 0 {
		options.StatusPeriod, options.MonitorPeriod, options.RoutePeriod = period, period, period
	}
	if options.Node || options.NodeLifecycle {
		compute, err := session.Compute(instances.Microversion)
		if err != nil {
			return nil, fmt.Errorf("controllers %s and %s: %w", nodeController, nodeLifecycleController, err)
		}
		options.Instances = instances.Options{
			Cloud: instances.NewCloud(compute, session.Network(), session.ProjectID()), Networking: cloud.Networking,
			Region: cloud.Global.Region, RegionInProviderID: os.Getenv(regionalVariable) == "true", ListAge: delays.ServerList,
		}
	}
	if options.Route {
		cidrs, err := parseClusterCIDRs(o.clusterCIDR)
		if err != nil {
			return nil, err
		}
		options.Routes = routes.Options{
			Cloud: routes.NewCloud(session.Network(), session.ProjectID()), RouterID: cloud.Route.RouterID,
			ClusterUID: clusterUID, ClusterCIDRs: cidrs, IsOwn: instances.IsOwn(cloud.Global.Region),
		}
	}
	if !options.Node && !options.NodeLifecycle && !options.Route {
		return nil, nil
	}
	return options, nil
}
