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
	faultyOneIn = 20
	// ahead is how many faults are kept ready: more than there are calls in the time
	// between two looks, divided by faultyOneIn.
	ahead = 200
)

// unrest lets calls go wrong.
type unrest struct {
	faults *wire.Faults
	// kinds are the ways in which they do.
	kinds  []wire.Fault
	random *rand.Rand
}

// unrestOf is one among the calls of a service of these kinds; kubernetes is one, any
// other stands for the cloud's.
func unrestOf(service string, faults *wire.Faults, random *rand.Rand) *unrest {
	u := &unrest{faults: faults, random: random}
	for _, d := range disturbances {
		if d.fault != nil && (d.fits == nil || d.fits(place{service: service})) {
			u.kinds = append(u.kinds, *d.fault)
		}
	}
	return u
}

// rage lets calls go wrong until the time is over.
func (u *unrest) rage(ctx context.Context) {
	defer u.faults.Clear()
	for {
		u.prepare()
		select {
		case <-ctx.Done():
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// prepare keeps faults ready, each for one call, at random distances.
func (u *unrest) prepare() {
	ready := len(u.faults.List())
	if ready > ahead/2 {
		return
	}
	// A fault counts calls from when it was added; what is ready has yet to hit.
	at := ready * faultyOneIn
	for range ahead - ready {
		at += 1 + u.random.IntN(2*faultyOneIn-1)
		f := u.kinds[u.random.IntN(len(u.kinds))]
		f.Skip = at
		u.faults.Add(f)
	}
}
