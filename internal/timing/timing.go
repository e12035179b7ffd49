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
	// FirstReplacement and LastReplacement are how long to wait, the first time and
	// at most, from one attempt to replace a load balancer that failed to the next.
	FirstReplacement, LastReplacement time.Duration
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
	// FirstRebirth and LastRebirth are how long to wait after the deletion of a
	// load balancer, the first time and at most, before another one is built in
	// its place, or before it is deleted again because Octavia could not.
	FirstRebirth, LastRebirth time.Duration
	// FirstPatience and LastPatience are how long parts of an ACTIVE load balancer
	// may take to become ACTIVE, too, the first time and at most: some providers
	// are not done with all of them at once.
	FirstPatience, LastPatience time.Duration
	// KubernetesLimit is how long a write to the Kubernetes API may take.
	KubernetesLimit time.Duration
	// SecretInterval is how often a Secret is read that a Service names.
	SecretInterval time.Duration
	// RivalLimit is how often, within RivalWindow, somebody else may write to the same
	// thing of ours before work on the Service is stopped; 0 is for ever. RivalMarkLimit
	// is the same for what only controllers have a reason to write, on the Service.
	RivalLimit, RivalMarkLimit int
	RivalWindow                time.Duration
	// FirstRivalWait and LastRivalWait are how long a second such write and further
	// ones stay before they are put right, at first and at most.
	FirstRivalWait, LastRivalWait time.Duration
	// FirstRivalPause and LastRivalPause are for how long work is stopped, the first
	// time and at most.
	FirstRivalPause, LastRivalPause time.Duration
}

// Default is for real clouds.
func Default() Delays {
	return Delays{
		FirstBackoff:     500 * time.Millisecond,
		LastBackoff:      2 * time.Minute,
		SlowRetry:        2 * time.Minute,
		LastQuotaRetry:   10 * time.Minute,
		QuotaRetry:       2 * time.Second,
		AnswerLimit:      time.Minute,
		FirstReplacement: 10 * time.Second,
		LastReplacement:  5 * time.Minute,
		Drain:            30 * time.Second,
		DuplicateRetry:   2 * time.Second,
		PartsRetry:       10 * time.Second,
		FirstRebirth:     5 * time.Second,
		LastRebirth:      5 * time.Minute,
		FirstPatience:    5 * time.Second,
		LastPatience:     5 * time.Minute,
		KubernetesLimit:  30 * time.Second,
		SecretInterval:   time.Minute,
		RivalLimit:       5,
		RivalMarkLimit:   3,
		RivalWindow:      10 * time.Minute,
		FirstRivalWait:   time.Second,
		LastRivalWait:    30 * time.Second,
		FirstRivalPause:  10 * time.Minute,
		LastRivalPause:   time.Hour,
	}
}

// StaleRetry is how soon to look again at a Service that was read from a stale cache.
const StaleRetry = 100 * time.Millisecond

// Jitter lengthens d by up to a fifth, so that what failed together does not
// come back together.
func Jitter(d time.Duration) time.Duration {
	return d + rand.N(d/5+1)
}
