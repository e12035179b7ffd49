// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"net/http"
	"net/netip"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// Network has the calls that Octavia makes to Neutron, as an admin, when it checks a request. It is
// called without the lock of the state.
type Network interface {
	// Subnet finds a subnet that the project may use.
	Subnet(projectID, id string) (neutron.SubnetInfo, bool)
	// Network reports whether the project may use a network.
	Network(projectID, id string) bool
	// SecurityGroup reports whether the project may use a security group.
	SecurityGroup(projectID, id string) bool
}

// Checks has what one request is checked against.
type Checks struct {
	State   *state.State
	Network Network
	Secrets SecretReader // nil accepts every reference
	Minor   int          // of the API's version
	Release release.Release
	Caller  wire.Identity
	Admin   bool // the caller is an admin of Octavia
	// ReservedIPs are the addresses that members cannot have.
	ReservedIPs []netip.Addr
}

// CheckMutable refuses changes of a load balancer that is not ACTIVE.
func CheckMutable(lb *model.LoadBalancer) error {
	if lb.Provisioning != model.Active {
		return fault.Immutable("Load Balancer", lb.ID.String())
	}
	return nil
}

// newTags copies the tags of a request for a new object, in the order of Octavia's database.
// Duplicate tags are refused.
func newTags(v schema.Values) ([]string, error) {
	tags := v.Texts("tags")
	seen := make(map[string]bool, len(tags))
	for _, t := range tags {
		if seen[t] {
			return nil, fault.ErrDuplicateID
		}
		seen[t] = true
	}
	tags = slices.Clone(tags)
	slices.Sort(tags)
	return tags, nil
}

// ChangedTags copies the tags of a request to change an object. In this case the real service does
// not handle its database's refusal of duplicate tags.
func ChangedTags(v schema.Values) ([]string, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, fault.New(http.StatusInternalServerError, "duplicate tag")
	}
	return tags, nil
}
