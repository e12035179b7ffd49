// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

const (
	// faultyOneIn is how many calls there are for one that goes wrong.
	callsPerFault = 20
	// ahead is how many faults are kept ready: more than there are calls in the time
	// between two looks, divided by faultyOneIn.
	preparedFaults = 200
)

// unrest lets calls go wrong.
type faultInjector struct {
	faults *wire.Faults
	// kinds are the ways in which they do.
	kinds  []wire.Fault
	random *rand.Rand
}

// unrestOf is one among the calls of a service of these kinds; kubernetes is one, any
// other stands for the cloud's.
func newFaultInjector(service string, faults *wire.Faults, random *rand.Rand) *faultInjector {
	fi := &faultInjector{faults: faults, random: random}
	for _, inj := range injections {
		if inj.fault != nil && (inj.applies == nil || inj.applies(target{service: service})) {
			fi.kinds = append(fi.kinds, *inj.fault)
		}
	}
	return fi
}

// rage lets calls go wrong until the time is over.
func (fi *faultInjector) run(ctx context.Context) {
	defer fi.faults.Clear()
	for {
		fi.refill()
		select {
		case <-ctx.Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// prepare keeps faults ready, each for one call, at random distances.
func (fi *faultInjector) refill() {
	ready := len(fi.faults.List())
	if ready > preparedFaults/2 {
		return
	}
	// A fault counts calls from when it was added; what is ready has yet to hit.
	at := ready * callsPerFault
	for range preparedFaults - ready {
		at += 1 + fi.random.IntN(2*callsPerFault-1)
		f := fi.kinds[fi.random.IntN(len(fi.kinds))]
		f.Skip = at
		fi.faults.Add(f)
	}
}
