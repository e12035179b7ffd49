// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package routes keeps the routes to the Pods of each Node in a router of Neutron: a route from the Pod CIDR of a Node to
// its address, and the Pod CIDR among the allowed address pairs of its port, so that Neutron lets the packets of Pods pass.
//
// A router has no tags, and other programs may keep routes there. What belongs to the cluster is decided by pure functions
// over the facts that Facts holds. Changes of a router name only our own routes, or Neutron refuses them if another client
// changed the router in the meantime.
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

// How old the list of ports may be.
const (
	// portsAge is for a look at routes that are all as they should be.
	portsAge = 5 * time.Minute
	// writeAge is for changes: Kubernetes makes those of all Nodes at the same time. A port that has changed since is read again.
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
	// ClusterCIDRs contain the Pod CIDRs of all Nodes. Other routes are not touched.
	ClusterCIDRs []netip.Prefix
	// Nodes lists the Nodes of the cluster; nil if the cluster is gone.
	Nodes func() ([]*corev1.Node, error)
	// IsOwn reports whether a Node is one of this cloud and region. Routes to others are left alone; nil means that there are none.
	IsOwn func(*corev1.Node) bool
	// Now tells the time; nil means time.Now.
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

// ListRoutes implements cloudprovider.Routes. It returns the routes of the cluster that are complete, and those of Nodes
// that are gone as blackholes, which Kubernetes deletes, also if only their tags and address pairs are left.
func (r *Routes) ListRoutes(ctx context.Context, _ string) ([]*cloudprovider.Route, error) {
	facts, err := r.Facts(ctx)
	return facts.Listed(), err
}

// Facts reads the router, the Nodes and, if what is known of them may be too old, the ports.
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
	// The port comes first: packets to Pods are of no use while the port drops the answers.
	port, err = r.Cloud.admit(ctx, port, cidr)
	r.keep(port, err)
	if err != nil {
		return err
	}
	if !port.hasTag(r.ClusterUID) {
		port, err = r.Cloud.mark(ctx, port, r.tag())
		r.keep(port, err)
		if err != nil { // no Pod needs the tag, and ListRoutes leaves the route out, so that Kubernetes requests it again
			klog.FromContext(ctx).Info("a port is not marked as that of a Node with routes; that is tried again", "reason", err.Error())
		}
	}
	return r.Cloud.addRoute(ctx, r.RouterID, Route{Destination: cidr.String(), NextHop: hop.String()})
}

// nextHop finds the next hop of a Node. A list that lacks the port of a new Node is read again.
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

// Delete removes a route from the router, and what the cluster has changed for it at the port of the next hop. The tag of the
// port goes last: without it, a route to a port that still exists might belong to another cluster.
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
	r.keep(port, err) // if there was no tag, the list is wrong, and is read again
	_, err = openstack.UnlessGone(err)
	return err
}

// tag is the tag of ports to which the cluster has routes.
func (r *Routes) tag() string { return clusterTag(r.ClusterUID) }

// portsSince returns the ports of the project, as they were at that time or later.
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

// keep puts a port that was changed into the list, or drops the list if it is not known how the port is.
func (r *Routes) keep(port Port, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.ports = nil
		return
	}
	changed := slices.Clone(r.ports) // others read the old one
	if i := slices.IndexFunc(changed, func(p Port) bool { return p.ID == port.ID }); i >= 0 {
		changed[i] = port
	}
	r.ports = changed
}
