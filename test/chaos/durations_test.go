// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"os"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// durations depend on the cloud.
type durations struct {
	// deadline bounds every wait, and pollInterval is the time between two checks.
	deadline, pollInterval time.Duration
	// requestTimeout is how long the controller waits for an answer of the cloud.
	requestTimeout time.Duration
	// delays are the controller's.
	delays timing.Delays
}

// realCloudVariable is set in the environment of a controller whose cloud is a real one.
const realCloudVariable = "KUBE_OCTAVIA_CHAOS_REAL"

// cloudDurations are for a cloud whose changes take milliseconds, or for a real one.
func cloudDurations() durations {
	if *stateDir == "" && os.Getenv(realCloudVariable) == "" {
		return durations{deadline: 40 * time.Second, pollInterval: 20 * time.Millisecond, requestTimeout: time.Second, delays: delaysTimes(1)}
	}
	return durations{deadline: 4 * time.Minute, pollInterval: 250 * time.Millisecond, requestTimeout: 10 * time.Second, delays: delaysTimes(15)}
}

// delaysTimes returns the controller's delays with a simulated cloud, multiplied.
func delaysTimes(by time.Duration) timing.Delays {
	return timing.Delays{
		FirstBackoff: by * 50 * time.Millisecond, LastBackoff: by * time.Second,
		SlowRetry:      by * 500 * time.Millisecond,
		AnswerLimit:    by * 1500 * time.Millisecond,
		DuplicateRetry: by * 200 * time.Millisecond,
		ChildrenRetry:  by * 200 * time.Millisecond,
		MemberRetry:    by * 200 * time.Millisecond,
		Deletion:       timing.Backoff{First: by * 100 * time.Millisecond, Last: by * time.Second},
		Replacement:    timing.Backoff{First: by * 100 * time.Millisecond, Last: by * time.Second},
		LastingFailure: by * time.Second,
		Drain:          by * 100 * time.Millisecond,
		QuotaRetry:     by * 100 * time.Millisecond, LastQuotaRetry: by * time.Second,
		Unfinished: timing.Backoff{First: by * 300 * time.Millisecond, Last: by * 2 * time.Second},
		Repeat:     timing.Backoff{First: by * 100 * time.Millisecond, Last: by * time.Second},
		ServerList: by * 50 * time.Millisecond, NodePeriod: by * 100 * time.Millisecond,
		KubernetesLimit: time.Second, SecretInterval: by * 200 * time.Millisecond, CloudConfigInterval: 2 * time.Second,
		// Tampering here is never another controller's.
		ConflictLimit: 5, ConflictWindow: by * 2 * time.Second,
		ConflictWait: timing.Backoff{First: by * 20 * time.Millisecond, Last: by * 200 * time.Millisecond},
		ConflictStop: timing.Backoff{First: by * time.Second, Last: by * 2 * time.Second},
	}
}
