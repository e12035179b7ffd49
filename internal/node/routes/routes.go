// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package routes manages the routes to the Pods of each Node in a router of Neutron: a route from the Pod CIDR of a
// Node to its address, and the Pod CIDR among the allowed address pairs of its port, so that Neutron admits the packets
// of Pods.
//
// A router has no tags, and other programs may have routes there. Pure functions over Facts decide which routes belong
// to the cluster. A change of a router has only routes of the cluster, or Neutron refuses it if another client changed
// the router in the meantime.
package routes

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
)

// The greatest age of the list of ports.
const (
	// portsAge applies while all routes are as they should be.
	portsAge = 5 * time.Minute
	// writeAge applies to changes. Kubernetes changes the routes of all Nodes at the same time, so they share a list; a
	// port that has changed since is read again.
	writeAge = 15 * time.Second
)

// Options configure Routes.
type Options struct {
	// Cloud reads and writes the router and ports.
	Cloud *Cloud
	// RouterID is the router with the routes.
	RouterID string
	// ClusterUID identifies the cluster in tags of ports.
	ClusterUID string
	// ClusterCIDRs contain the Pod CIDRs of all Nodes. Routes outside of them are not changed.
	ClusterCIDRs []netip.Prefix
	// Nodes lists the Nodes of the cluster; nil if the cluster is gone.
	Nodes func() ([]*corev1.Node, error)
	// IsOwn reports whether a Node is in this cloud and region. Routes to others are not changed; nil means that there
	// are no others.
	IsOwn func(*corev1.Node) bool
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// Routes implements cloudprovider.Routes. It is safe for concurrent use.
type Routes struct {
	Options

	mu    sync.Mutex
	ports ports
	read  time.Time // when the read of ports began
}

// New returns Routes. It makes no calls.
func New(o Options) *Routes {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Routes{Options: o}
}

var _ cloudprovider.Routes = &Routes{}

// ListRoutes implements cloudprovider.Routes. It returns the complete routes of the cluster, and those of removed Nodes
// as blackholes, even if only their tags and address pairs are left. Kubernetes deletes blackholes.
func (r *Routes) ListRoutes(ctx context.Context, _ string) ([]*cloudprovider.Route, error) {
	facts, err := r.Facts(ctx)
	return facts.Listed(), err
}

// Facts reads the router and the Nodes. It reads the ports if the last list may be too old.
func (r *Routes) Facts(ctx context.Context) (facts Facts, err error) {
	facts = Facts{ClusterCIDRs: r.ClusterCIDRs, ClusterUID: r.ClusterUID, RouterID: r.RouterID, IsOwn: r.IsOwn}
	if r.Nodes != nil {
		facts.Nodes, err = r.Nodes()
		if err != nil {
			return Facts{}, err
		}
	}
	router, err := r.Cloud.Router(ctx, r.RouterID)
	if err != nil {
		return Facts{}, err
	}
	facts.Routes = router.Routes
	facts.Ports, err = r.portsSince(ctx, r.Now().Add(-portsAge))
	if err != nil {
		return Facts{}, err
	}
	if facts.needsFreshPorts() {
		facts.Ports, err = r.portsSince(ctx, r.Now())
		if err != nil {
			return Facts{}, err
		}
	}
	return facts, nil
}

// CreateRoute implements cloudprovider.Routes.
func (r *Routes) CreateRoute(ctx context.Context, _, _ string, route *cloudprovider.Route) error {
	cidr, err := netip.ParsePrefix(route.DestinationCIDR)
	if err != nil {
		return fmt.Errorf("the Pod CIDR of Node %s: %w", route.TargetNode, err)
	}
	port, hop, err := r.nextHop(ctx, route.TargetNodeAddresses, cidr)
	if err != nil {
		return fmt.Errorf("next hop of Node %s: %w", route.TargetNode, err)
	}
	// The port is changed first: a route is useless while the port drops the answers of Pods.
	port, err = r.Cloud.admit(ctx, port, cidr)
	r.keep(port, err)
	if err != nil {
		return err
	}
	if !port.hasTag(r.ClusterUID) {
		port, err = r.Cloud.mark(ctx, port, r.tag())
		r.keep(port, err)
		if err != nil { // no Pod needs the tag, and ListRoutes omits the route, so Kubernetes requests it again
			klog.FromContext(ctx).Info("the tag of a port of a Node with routes was not set; this is retried", "reason", err.Error())
		}
	}
	return r.Cloud.addRoute(ctx, r.RouterID, Route{Destination: cidr.String(), NextHop: hop.String()})
}

// nextHop returns the next hop of a Node. If the list lacks the port of a new Node, it is read
// again.
func (r *Routes) nextHop(ctx context.Context, addresses []corev1.NodeAddress, cidr netip.Prefix) (Port, netip.Addr, error) {
	now := r.Now()
	all, err := r.portsSince(ctx, now.Add(-writeAge))
	if err != nil {
		return Port{}, netip.Addr{}, err
	}
	if port, hop, err := all.nextHop(r.RouterID, addresses, cidr); err == nil {
		return port, hop, nil
	}
	all, err = r.portsSince(ctx, now)
	if err != nil {
		return Port{}, netip.Addr{}, err
	}
	return all.nextHop(r.RouterID, addresses, cidr)
}

// DeleteRoute implements cloudprovider.Routes.
func (r *Routes) DeleteRoute(ctx context.Context, _ string, route *cloudprovider.Route) error {
	return r.Delete(ctx, Route{Destination: route.DestinationCIDR, NextHop: route.Name})
}

// Delete removes a route from the router, and then the cluster's changes for it at the port of the next hop. The tag is
// removed last: without it, a route to an existing port might belong to another cluster.
func (r *Routes) Delete(ctx context.Context, gone Route) error {
	all, err := r.portsSince(ctx, r.Now().Add(-writeAge))
	if err != nil {
		return err
	}
	port, _ := all.withAddress(r.RouterID, gone.NextHop)
	ours := port.hasTag(r.ClusterUID)
	if ours {
		port, err = r.Cloud.refuse(ctx, port, gone.Destination)
		r.keep(port, err)
		missing, other := openstack.UnlessGone(err)
		if other != nil {
			return other
		}
		ours = !missing
	}
	if err := r.Cloud.removeRoute(ctx, r.RouterID, gone); err != nil {
		return err
	}
	if !ours || len(port.pairsIn(r.ClusterCIDRs)) > 0 { // the other IP family
		return nil
	}
	port, err = r.Cloud.unmark(ctx, port, r.tag())
	r.keep(port, err) // if there was no tag, the list is outdated, and is read again
	_, err = openstack.UnlessGone(err)
	return err
}

// tag returns the tag of ports to which the cluster has routes.
func (r *Routes) tag() string { return clusterTag(r.ClusterUID) }

// portsSince returns the ports of the project at that time or later.
func (r *Routes) portsSince(ctx context.Context, since time.Time) (ports, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ports != nil && !r.read.Before(since) {
		return r.ports, nil
	}
	began := r.Now()
	all, err := r.Cloud.Ports(ctx)
	if err != nil {
		return nil, err
	}
	r.ports, r.read = all, began
	return r.ports, nil
}

// keep puts a changed port into the list, or drops the list if the state of the port is unknown.
func (r *Routes) keep(port Port, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.ports = nil
		return
	}
	changed := slices.Clone(r.ports) // other goroutines read the old list
	if i := slices.IndexFunc(changed, func(p Port) bool { return p.ID == port.ID }); i >= 0 {
		changed[i] = port
	}
	r.ports = changed
}
