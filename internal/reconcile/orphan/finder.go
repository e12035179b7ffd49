// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package orphan

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/barbican"
	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// Finder finds orphans. It writes nothing: a Collector deletes what it finds.
type Finder struct {
	// Policy names the cluster.
	Policy claim.Policy
	// Config holds the operator's settings for load balancers.
	Config config.LoadBalancer
	// Reader reads owners of the Kinds, and Nodes.
	Reader   client.Reader
	Kinds    []claim.Kind
	Octavia  *octavia.Client
	Neutron  *neutron.Client
	Barbican *barbican.Client
	// KeepSecurityGroups is whether no security group is deleted, because of --adopt=observe.
	KeepSecurityGroups bool

	// proven are the security groups that were seen on ports of the cluster's nodes and on no
	// others. If one was detached from these ports and its deletion failed, it is on no port.
	proven map[string]bool
}

// Inventory has all objects of each kind.
type Inventory struct {
	LoadBalancers []octavia.Head
	FloatingIPs   []lb.FloatingIP
	// Certificates are the ones that were stored for Services.
	Certificates   []lb.Certificate
	SecurityGroups SecurityGroups
}

// Owners reads the owners of load balancers.
func (f *Finder) Owners() claim.Owners { return claim.Owners{Reader: f.Reader, Kinds: f.Kinds} }

// Orphans returns the orphans in the inventory. The Finder must read from the API server.
func (f *Finder) Orphans(ctx context.Context, all Inventory) ([]Object, error) {
	owners, err := f.owners(ctx, f.Reader)
	if err != nil {
		return nil, err
	}
	return owners.orphans(f.marked(all), all), nil
}

// Among returns the orphans in the inventory. The owners must be all owners of the cluster.
func (f *Finder) Among(all []claim.Owner, inventory Inventory) []Object {
	return ownersAmong(all).orphans(f.marked(inventory), inventory)
}

// marked returns the objects in the inventory that were created for Services of this cluster and
// of no other one.
func (f *Finder) marked(all Inventory) (marked []Object) {
	for _, kind := range f.kinds() {
		marked = append(marked, kind.marked(all)...)
	}
	return marked
}
