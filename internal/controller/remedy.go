// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// mostReplacements is how many load balancers in a row may be built in the place
// of one that failed. When none of them comes to serve, the trouble is not the
// load balancer's, and a person has to look.
const mostReplacements = 3

// remedy is what is done about a load balancer that served and went into ERROR.
type remedy int

const (
	// leave: nothing that this controller may do.
	leave remedy = iota
	// failOver: Octavia rebuilds it.
	failOver
	// wait: it is too early for the next attempt.
	wait
	// replaceBeside: another one is built beside it, since it may still carry
	// traffic, and takes the floating IP over when it is complete.
	replaceBeside
	// replaceInPlace: it is deleted, and another one gets its VIP address.
	replaceInPlace
	// giveUp: enough was tried.
	giveUp
)

// failure is what a remedy depends on.
type failure struct {
	// canFailOver is whether Octavia may be asked for a failover, and was not yet.
	canFailOver bool
	// replaceable is whether it may be deleted, and it is known what is to come in
	// its place.
	replaceable bool
	// beside is whether the address can move from one to another.
	beside bool
	// attempts were made since a load balancer of the Service last served.
	attempts int
	// delay is left until the next attempt.
	delay time.Duration
}

func (f failure) remedy() remedy {
	switch {
	case f.canFailOver:
		return failOver
	case !f.replaceable:
		return leave
	case f.attempts >= mostReplacements:
		return giveUp
	case f.delay > 0:
		return wait
	case f.beside:
		return replaceBeside
	}
	return replaceInPlace
}

// plan is what the remedy does first; it is empty for one that waits or gives up.
func (r remedy) plan(l lb.LoadBalancer, wanted lb.Wanted, owner lb.Owner) diff.Plan {
	switch r {
	case failOver:
		return diff.Plan{Ops: []diff.Op{diff.FailoverLoadBalancer{ID: l.ID}}}
	case replaceBeside:
		return diff.Beside(wanted, "")
	case replaceInPlace:
		return diff.New(lb.Wanted{AddressAsFound: true}, lb.Observed{LoadBalancer: &l}, owner)
	}
	return diff.Plan{}
}

// attempts is what was done about a load balancer that failed, since one of the
// Service last served. It is kept in memory: another controller begins anew.
type attempts struct {
	// failover is the load balancer that Octavia was asked to fail over.
	failover string
	// made are the load balancers that were built in the place of one that failed,
	// begun counts the attempts, and next is when another one may be made.
	made  []string
	begun int
	next  time.Time
	// last is the request id of the last attempt, trouble what the cloud said
	// against a failover.
	last, trouble string
	// gaveUp is what was wanted when enough was tried, or nil.
	gaveUp *lb.Wanted
}

// begin counts an attempt and puts off the next one.
func (a *attempts) begin(now time.Time, requestID string, t timing.Delays) {
	a.next = now.Add(timing.Jitter(min(t.FirstReplacement<<a.begun, t.LastReplacement)))
	a.begun++
	a.last = requestID
}

// tell says what is done about the load balancer, for its Service's condition.
func (a attempts) tell(r remedy, l lb.LoadBalancer) (reason, message string) {
	failed := fmt.Sprintf("load balancer %s went into ERROR", l.ID)
	before := ""
	if len(a.made) > 0 {
		before = fmt.Sprintf(", after %d of %d attempts to replace it (load balancers built for that: %s)", a.begun, mostReplacements, strings.Join(a.made, ", "))
	}
	if a.trouble != "" {
		before += "; no failover: " + a.trouble
	}
	switch r {
	case failOver:
		return status.ReasonFailed, failed + "; Octavia fails it over"
	case wait:
		return status.ReasonFailed, failed + before + "; another one takes its place soon"
	case replaceBeside:
		return status.ReasonReplacing, failed + before + "; another one is built beside it and takes over its address"
	case replaceInPlace:
		return status.ReasonReplacing, failed + before + "; it is deleted and another one gets its address " + l.VIP.Address
	case giveUp:
		return status.ReasonReplacementFailed, fmt.Sprintf("%s%s; the last attempt was request %s. A person has to look: ask the cloud's operator why load balancers fail. "+
			"It goes on when load balancer %s is ACTIVE again or deleted, or the Service is changed", failed, before, a.last, l.ID)
	}
	return status.ReasonFailed, failed + before + "; ask the cloud's operator for the reason, or delete the Service and create it again"
}
