// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"math/rand/v2"
	"time"
)

// Limits are what the cloud alone needs for a number of load balancers that all change in
// parallel, if the next call is always made at once.
type Limits struct {
	// Call is the time of one list.
	Call time.Duration `json:"call"`
	// Create is for all to become ACTIVE, each created by one POST, and to be seen ACTIVE.
	Create time.Duration `json:"create"`
	// Update is for one change of each, UpdatePorts for one change of each port, one after the
	// other on each load balancer.
	Update      time.Duration `json:"update"`
	UpdatePorts time.Duration `json:"updatePorts"`
	// Delete is for all to be gone, each deleted by one call, and to be seen gone.
	Delete time.Duration `json:"delete"`
}

// limitSamples is how often random times are drawn for the limits of a profile with a tail.
const limitSamples = 300

// Limits computes the limits of n load balancers with the given number of ports. With a tail they
// are means over many draws, because all wait for the slowest of n.
func (p Profile) Limits(n, ports int) Limits {
	random := rand.New(rand.NewPCG(1, 1))
	slowest := func(of time.Duration, changes int) time.Duration {
		if p.Tail.Kind == "" {
			return time.Duration(changes) * (of + p.Call)
		}
		var sum float64
		for range limitSamples {
			longest := 0.0
			for range n {
				total := 0.0
				for range changes {
					total += float64(of)*p.Tail.factor(random) + float64(p.Call)
				}
				longest = max(longest, total)
			}
			sum += longest
		}
		return time.Duration(sum / limitSamples)
	}
	return Limits{
		Call: p.Call, Create: slowest(p.Create, 1) + p.Call, Update: slowest(p.Update, 1), UpdatePorts: slowest(p.Update, ports),
		Delete: slowest(p.Delete, 1) + p.Call,
	}
}
