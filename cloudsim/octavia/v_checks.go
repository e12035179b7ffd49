// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// VIPNetwork is what Octavia asks of Neutron, as an admin. It is called without
// any lock of this package held.
type VIPNetwork interface {
	// AllocateVIP makes the VIP port, or takes the one the request names.
	AllocateVIP(req neutron.VIPRequest) (neutron.VIP, error)
	// ReleaseVIP deletes a VIP port that AllocateVIP made; another port is kept
	// and let go.
	ReleaseVIP(portID string) error
	// Subnet finds a subnet that the project may use.
	Subnet(projectID, id string) (neutron.SubnetInfo, bool)
	// Network reports whether the project may use a network.
	Network(projectID, id string) bool
}

// Checks are what one request is checked against.
type Checks struct {
	State   *State
	Network VIPNetwork
	Secrets SecretReader // nil takes every reference
	Minor   int          // of the API's version
	Caller  wire.Identity
	Admin   bool // whether the caller is one, for Octavia
}

// checkMutable refuses changes in a load balancer that is not ACTIVE.
func checkMutable(lb *loadBalancer) error {
	if lb.prov != active {
		return immutable("Load Balancer", lb.id.String())
	}
	return nil
}
