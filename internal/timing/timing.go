// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package timing holds how long the controller waits for things. It may import
// nothing of the project.
package timing

import (
	"math/rand/v2"
	"time"
)

// Delays are all the times that the controller waits. Users cannot set them; tests
// with clouds that are faster than real ones do.
type Delays struct {
	// FirstBackoff and LastBackoff are how long a Service waits after a failed
	// pass, the first time and at most.
	FirstBackoff, LastBackoff time.Duration
	// SlowRetry is how long to wait before looking again at what will not change
	// by itself soon: a request that the cloud refuses, an exhausted quota, an
	// address in use.
	SlowRetry time.Duration
	// LastQuotaRetry is how long at most to wait before asking again for what the
	// quota does not allow, after waits that begin with SlowRetry. What this
	// controller deletes itself cuts them short.
	LastQuotaRetry time.Duration
	// QuotaRetry is how soon to ask once more for what was refused although
	// something had just been deleted: Octavia lowers its count a little later.
	QuotaRetry time.Duration
	// Replacement lies between two attempts to replace a load balancer.
	Replacement Backoff
	// Drain is how long a load balancer that works stays after another one has taken its
	// place: Neutron's agents and resolvers of names need a while, and so do requests that
	// are under way.
	Drain time.Duration
	// AnswerLimit is how long Octavia may take to show what a create made that it
	// did not answer.
	AnswerLimit time.Duration
	// DuplicateRetry is how soon to look whether a second load balancer is gone.
	DuplicateRetry time.Duration
	// PartsRetry is how long to wait for parts of a load balancer that Octavia
	// left unready although it has ended its work.
	PartsRetry time.Duration
	// Deletion is how long to wait after the deletion of a load balancer before another one
	// is built in its place, or before it is deleted again because Octavia could not.
	Deletion Backoff
	// Unfinished is how long parts of an ACTIVE load balancer may take to become ACTIVE,
	// too: some providers are not done with all of them at once.
	Unfinished Backoff
	// KubernetesLimit is how long a write to the Kubernetes API may take.
	KubernetesLimit time.Duration
	// SecretInterval is how often a Secret is read that a Service names.
	SecretInterval time.Duration
	// ConflictLimit is how often, within ConflictWindow, another client may write to the
	// same thing of ours before work on the Service is stopped; 0 is for ever.
	ConflictLimit  int
	ConflictWindow time.Duration
	// ConflictWait is how long a second such write and further ones stay before they are
	// repaired, and ConflictStop for how long work is stopped.
	ConflictWait, ConflictStop Backoff
}

// Default is for real clouds.
func Default() Delays {
	return Delays{
		FirstBackoff:    500 * time.Millisecond,
		LastBackoff:     2 * time.Minute,
		SlowRetry:       2 * time.Minute,
		LastQuotaRetry:  10 * time.Minute,
		QuotaRetry:      2 * time.Second,
		AnswerLimit:     time.Minute,
		Replacement:     Backoff{10 * time.Second, 5 * time.Minute},
		Drain:           30 * time.Second,
		DuplicateRetry:  2 * time.Second,
		PartsRetry:      10 * time.Second,
		Deletion:        Backoff{5 * time.Second, 5 * time.Minute},
		Unfinished:      Backoff{5 * time.Second, 5 * time.Minute},
		KubernetesLimit: 30 * time.Second,
		SecretInterval:  time.Minute,
		ConflictLimit:   4,
		ConflictWindow:  10 * time.Minute,
		ConflictWait:    Backoff{time.Second, 30 * time.Second},
		ConflictStop:    Backoff{10 * time.Minute, time.Hour},
	}
}

// StaleRetry is how soon to look again at a Service that was read from a stale cache.
const StaleRetry = 100 * time.Millisecond

// Jitter lengthens d by up to a fifth, so that what failed together does not
// come back together.
func Jitter(d time.Duration) time.Duration {
	return d + rand.N(d/5+1)
}

// CacheLimit is how long the caches of Kubernetes may take to be filled. Readiness says that
// they are not; to end the process would not fill them.
const CacheLimit = 365 * 24 * time.Hour
