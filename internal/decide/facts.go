// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package decide decides what is done for a Service. Decide is a pure function from facts
// (what is wanted, what the cloud has, what is remembered, the time) to a decision; the
// controller, `kube-octavia plan`, `migrate` and observe mode all use it. What a decision
// turns out to depend on is a Need: the caller reads it and decides again.
//
// It may import memory, status, build, diff and what these import. It reads and writes
// nothing.
package decide

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// Facts is everything that a decision about one Service depends on.
type Facts struct {
	Now    time.Time
	Timing timing.Delays
	Config config.LoadBalancer
	// Capabilities is what the cloud can do.
	Capabilities lb.Capabilities
	Service      *corev1.Service
	// Serves is whether the Service is to have a load balancer; otherwise what it has is
	// to be deleted.
	Serves  bool
	Desired Desired
	Record  memory.Record
	// Remembered is whether Record was not read anew for this decision.
	Remembered bool
	// Provided are the needs that were met for this decision.
	Provided []Need
	// FailoverRefused is why the cloud lets this controller fail over no load balancer of
	// the provider, or "".
	FailoverRefused string
	// NodesClosed is what the nodes' security group does not let in yet, or "".
	NodesClosed string
	// RequestID is the id of the pass in the cloud's logs.
	RequestID string
	// Preview decides what a controller does once it has waited for what it waits for.
	Preview bool

	owner lb.Owner
}

// ForOwner returns the facts for the Service's owner of objects in the cloud.
func (f Facts) ForOwner(o lb.Owner) Facts {
	f.owner = o
	return f
}

// Owner is the Service as the owner of objects in the cloud.
func (f Facts) Owner() lb.Owner {
	o := f.owner
	o.Sharer = f.Record.Cloud.Observed.Sharer
	return o
}

// observed is what the cloud has.
func (f Facts) observed() lb.Observed { return f.Record.Cloud.Observed }

// loadBalancer is the Service's load balancer, or nil.
func (f Facts) loadBalancer() *lb.LoadBalancer { return f.Record.Cloud.Observed.LoadBalancer }

// has reports whether the need was met.
func (f Facts) has(n Need) bool { return slices.Contains(f.Provided, n) }

func (f Facts) options() annotation.Options {
	options, _ := annotation.Parse(f.Service.Annotations, f.Config)
	return options
}

// Desired is what a Service is to have, as far as that was gathered and built.
type Desired struct {
	// Built is for the load balancer that is there, or is to be made.
	Built
	// Old is what the members of a load balancer depend on that another one replaces; nil
	// where there is none.
	Old *build.Input
	// Fresh is built as if there was no load balancer, where a replacement needs it.
	Fresh *Built
	// Discarded is whether one of two load balancers was made a duplicate for this.
	Discarded bool
}

// Built is the input of build, and what came of it.
type Built struct {
	// Input is empty if it could not be gathered.
	Input  build.Input
	Wanted lb.Wanted
	// Err is why nothing was built: a *build.Invalid, a *GroupWait, or the error of a call.
	Err error
}

// Need is something to read, or to store, before a decision can be made.
type Need string

// The needs. Each is asked for once in a pass at most, but for NeedDesired.
const (
	// NeedDesired: what is wanted is to be gathered and built for what Record has now.
	NeedDesired Need = "desired"
	// NeedFresh: what is wanted is to be built as if there was no load balancer.
	NeedFresh Need = "fresh"
	// NeedCertificate: the certificate of the Service's Secret is to be stored.
	NeedCertificate Need = "certificate"
	// NeedRequestedAddress: the floating IP that the Service asks for is to be looked up.
	NeedRequestedAddress Need = "requested address"
	// NeedFloatingIPs: the floating IPs are to be read again, since one is to be moved.
	NeedFloatingIPs Need = "floating IPs"
	// NeedStatusTree: the load balancer is to be compared with its status tree.
	NeedStatusTree Need = "status tree"
	// NeedPredecessor: the load balancer that is replaced is to be read again, and whether
	// the nodes let the traffic in.
	NeedPredecessor Need = "predecessor"
)

// Decision is what is to be done now, and what is to be remembered and said.
type Decision struct {
	Action Action
	// Need is what is missing to decide, or "". The rest but Record is empty then.
	Need Need
	Wish Wish
	Plan diff.Plan
	// Record is what is remembered once the plan is carried out as Applied says.
	Record memory.Record
	// Held are ops that the Service's drift policy forbids.
	Held []diff.Op
	// Foreign are the ops that make up for changes of another client.
	Foreign []diff.Op
	// Unready says which parts of the load balancer are not ready although Octavia has
	// ended its work, or "".
	Unready string
	// LeftBehind is whether parts were found to be left unfinished for good.
	LeftBehind bool
	// Complete is whether a load balancer that replaces another one lacks no more than to
	// be published.
	Complete bool
	// Done is whether the cloud has everything that is wanted, Agrees whether it has all
	// that can be had, and Postponed whether something is left to be done later all the
	// same.
	Done, Agrees, Postponed bool
	// Delay is how long to leave the Service alone, or 0.
	Delay time.Duration
}

// Wish is what a Service is to have just now, and why not all that it asks for.
type Wish struct {
	Wanted lb.Wanted
	// Input is what Wanted was built from.
	Input build.Input
	// Refused is why the Service is refused, or nil. Waits is for whom of its group it
	// waits, or nil. Err is why it is not known what is wanted, or nil.
	Refused *build.Invalid
	Waits   *GroupWait
	Err     error
	// MembersOnly is whether, for one of these reasons, no more is wanted than that pools
	// follow the nodes.
	MembersOnly bool
	// Known is whether it is known what to do for the Service.
	Known bool
	// Digest stands for what the Service asks for, and Policy is what it wants done about
	// drift.
	Digest string
	Policy annotation.Drift
	// old is what the members of a load balancer depend on that another one replaces.
	old *build.Input
	// replaces is whether another load balancer is to be built beside the one that is there.
	replaces bool
}

// GroupWait is the error of a Service whose group has no load balancer yet, which is made
// for another Service of the group.
type GroupWait struct{ For string }

func (w *GroupWait) Error() string {
	return "the load balancer of the group is made for Service " + w.For + " first"
}
