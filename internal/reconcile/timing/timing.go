// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package timing holds the intervals and time limits of the controller.
package timing

import (
	"math/rand/v2"
	"time"
)

// Delays are all waits of the controller. Users cannot set them; tests shorten them for fast clouds.
type Delays struct {
	// FirstBackoff and LastBackoff are the shortest and longest wait of a Service after failed passes.
	FirstBackoff, LastBackoff time.Duration
	// SlowRetry is the wait before a retry that is unlikely to succeed soon: the cloud refuses the request, the
	// quota is exhausted, an address is in use.
	SlowRetry time.Duration
	// LastQuotaRetry is the longest wait for quota; the first is SlowRetry. Deletions by this controller cut the
	// wait short.
	LastQuotaRetry time.Duration
	// QuotaRetry is the wait after a refusal although something was just deleted: Octavia lowers its count a little
	// later.
	QuotaRetry time.Duration
	// Replacement is the wait between attempts to replace a load balancer, and LastingFailure that after several in a row
	// that failed. An hour costs the cloud little, and is the longest that a Service waits when the cloud works again.
	Replacement    Backoff
	LastingFailure time.Duration
	// Drain is how long a working load balancer stays after its replacement has taken over: Neutron's agents, DNS
	// resolvers and requests in progress need a while.
	Drain time.Duration
	// AnswerLimit is how long Octavia may take to list the result of a create whose answer was lost.
	AnswerLimit time.Duration
	// DuplicateRetry is the wait for the deletion of a duplicate load balancer.
	DuplicateRetry time.Duration
	// ChildrenRetry is the wait for children of a load balancer that Octavia left unready although its work has ended.
	ChildrenRetry time.Duration
	// MemberRetry is the wait before the statuses of members are read again while Pods wait for them.
	MemberRetry time.Duration
	// Deletion is the wait after the deletion of a load balancer before its replacement is created, or before
	// another attempt to delete it.
	Deletion Backoff
	// Unfinished is how long parts of an ACTIVE load balancer may take to become ACTIVE: some providers do not
	// complete all at once.
	Unfinished Backoff
	// Late is the same for providers that finish their work after the load balancer is ACTIVE.
	Late time.Duration
	// Repeat is the wait before a change is repeated whose child is in ERROR.
	Repeat Backoff
	// ServerList is for how long after its read a list of servers is used for Nodes that are not ready, which Kubernetes
	// asks about every few seconds.
	ServerList time.Duration
	// NodePeriod replaces the intervals of the controllers of Nodes and routes, which flags set; 0 replaces none.
	NodePeriod time.Duration
	// KubernetesLimit is the timeout of a write to the Kubernetes API.
	KubernetesLimit time.Duration
	// CloudConfigInterval is how often cloud.conf and the files that it names are read. Contents are compared, which works
	// for every kind of mount, and costs less than to watch each kind.
	CloudConfigInterval time.Duration
	// SecretInterval is how often a Secret that a Service names is read.
	SecretInterval time.Duration
	// ConflictLimit is how many writes of another client to the same object, within ConflictWindow, are tolerated
	// before work on the Service stops; 0 is unlimited.
	ConflictLimit  int
	ConflictWindow time.Duration
	// ConflictWait is the wait before the repair of the second and further such writes, ConflictStop how long work
	// stops.
	ConflictWait, ConflictStop Backoff
}

// Default returns the delays for real clouds.
func Default() Delays {
	return Delays{
		FirstBackoff:    500 * time.Millisecond,
		LastBackoff:     2 * time.Minute,
		SlowRetry:       2 * time.Minute,
		LastQuotaRetry:  10 * time.Minute,
		QuotaRetry:      2 * time.Second,
		AnswerLimit:     time.Minute,
		Replacement:     Backoff{10 * time.Second, 5 * time.Minute},
		LastingFailure:  time.Hour,
		Drain:           30 * time.Second,
		DuplicateRetry:  2 * time.Second,
		ChildrenRetry:   10 * time.Second,
		MemberRetry:     2 * time.Second,
		Deletion:        Backoff{5 * time.Second, 5 * time.Minute},
		Unfinished:      Backoff{5 * time.Second, 5 * time.Minute},
		Late:            time.Minute,
		Repeat:          Backoff{5 * time.Second, 5 * time.Minute},
		ServerList:      15 * time.Second,
		KubernetesLimit: 30 * time.Second,
		SecretInterval:  time.Minute,

		CloudConfigInterval: 2 * time.Second,

		ConflictLimit:  4,
		ConflictWindow: 10 * time.Minute,
		ConflictWait:   Backoff{time.Second, 30 * time.Second},
		ConflictStop:   Backoff{10 * time.Minute, time.Hour},
	}
}

// ObserveInterval is the time between two reads of the cloud for a Service that is only observed.
const ObserveInterval = 10 * time.Minute

// HealthInterval is the time between two reads of the health of members.
const HealthInterval = time.Minute

// StaleRetry is the wait before another pass over a Service that was read from a stale cache.
const StaleRetry = 100 * time.Millisecond

// Jitter lengthens d by up to a fifth, so that what failed at the same time is not retried at the same time.
func Jitter(d time.Duration) time.Duration { return d + rand.N(d/5+1) }

// CacheLimit is how long the Kubernetes caches may take to fill. Until then the controller is not ready; ending the
// process would not help.
const CacheLimit = 365 * 24 * time.Hour
