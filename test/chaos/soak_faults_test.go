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
	// callsPerFault is how many calls there are for one that fails.
	callsPerFault = 20
	// preparedFaults is how many faults are prepared: enough for the calls between two
	// refills.
	preparedFaults = 200
)

// faultInjector makes calls fail at random.
type faultInjector struct {
	faults *wire.Faults
	// kinds are the faults.
	kinds  []wire.Fault
	random *rand.Rand
}

// newFaultInjector is for the calls to a service: kubernetes, or any other for those to the
// cloud.
func newFaultInjector(service string, faults *wire.Faults, random *rand.Rand) *faultInjector {
	fi := &faultInjector{faults: faults, random: random}
	for _, inj := range injections {
		if inj.fault != nil && (inj.applies == nil || inj.applies(target{service: service})) {
			fi.kinds = append(fi.kinds, *inj.fault)
		}
	}
	return fi
}

// run makes calls fail until the time is over.
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

// refill prepares faults, each for one call, at random distances.
func (fi *faultInjector) refill() {
	ready := len(fi.faults.List())
	if ready > preparedFaults/2 {
		return
	}
	// A fault counts calls from when it was added; those that are ready hit first.
	at := ready * callsPerFault
	for range preparedFaults - ready {
		at += 1 + fi.random.IntN(2*callsPerFault-1)
		f := fi.kinds[fi.random.IntN(len(fi.kinds))]
		f.Skip = at
		fi.faults.Add(f)
	}
}
