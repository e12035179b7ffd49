// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decide decides what to do for a Service. Decide is a pure function from facts (the
// desired state, the state of the cloud, memory, the time) to a decision. The controller,
// `kube-octavia plan`, `migrate` and observe mode all use it. If a decision depends on
// something that was not read yet, it returns a Need: the caller provides that and decides
// again.
//
// The package does no I/O.
package decide

import (
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// Facts is everything on which a decision about one owner depends.
type Facts struct {
	Now          time.Time
	Timing       timing.Delays
	Config       config.LoadBalancer
	Capabilities lb.Capabilities
	// Login is the login in use, if the owner requests a certificate.
	Login Login
	// Owner is what the load balancer is for. If it is not to have one, everything that it has in the cloud is deleted.
	Owner   claim.Owner
	Desired Desired
	Record  memory.Record
	// FromMemory reports whether the state of the cloud was known before this pass.
	FromMemory bool
	// Provided lists the needs that were met in this pass.
	Provided []Need
	// Stop says how work on the owner has stopped; nil if it has not.
	Stop *Stop
	// FailoverRefused says why the cloud refuses to fail over load balancers of this
	// provider, or is empty.
	FailoverRefused string
	// MissingNodeRules says what the nodes' security group does not allow yet, or is empty.
	MissingNodeRules string
	// Group are the owners of the owner's group, sorted by age, the owner itself included as it was when they were read;
	// empty if it has no group.
	Group []GroupMember
	// RequestedAddresses are the addresses and ids of floating IPs that other Services request.
	RequestedAddresses []string
	// AbandonedFloatingIPs are the ids of the floating IPs with the requested address whose Services, of this cluster,
	// do not exist any more.
	AbandonedFloatingIPs []string
	// RequestID identifies the pass in the logs of OpenStack.
	RequestID string
	// Preview decides as if all delays were over.
	Preview bool
}

// Identity returns the identity of the owner in the cloud.
func (f Facts) Identity() lb.Owner {
	identity := f.Owner.Identity
	identity.Sharer = f.observed().Sharer
	return identity
}

func (f Facts) observed() lb.Observed { return f.Record.Cloud.Observed }

func (f Facts) loadBalancer() *lb.LoadBalancer { return f.observed().LoadBalancer }

func (f Facts) provided(n Need) bool { return slices.Contains(f.Provided, n) }

// Desired is the desired state of a Service, as far as it was built.
type Desired struct {
	// Built is for the existing load balancer, or for the one to create.
	Built
	// Predecessor is the input for the members of the predecessor; nil if there is none.
	Predecessor *desired.Input
	// Replacement is built as if the Service had no load balancer; nil if not needed yet.
	Replacement *Built
	// Discarded reports whether one of two load balancers has just become a duplicate.
	Discarded bool
}

// Built is an input of package desired, and the result.
type Built struct {
	// Input is empty if it could not be gathered.
	Input  desired.Input
	Wanted lb.Wanted
	// Err says why nothing was built: a *desired.Invalid, a *GroupWait, or the error of a call.
	Err error
}
