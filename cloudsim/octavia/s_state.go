// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"sync"
	"time"
)

// stateOptions are what newState makes a State of; see the options of the service.
type stateOptions struct {
	DefaultQuota                  *Quota
	StuckChildren, MonitorsReport bool
	Now                           func() time.Time
	// ReleaseVIP lets a load balancer's port go. It is called without the lock.
	ReleaseVIP func(portID string) error
	// OnChange is called without the lock when a change has ended.
	OnChange func(loadBalancerID string)
}

// State is what Octavia knows, and what its workers are doing. Whoever uses it
// holds its lock.
type State struct {
	sync.RWMutex
	options stateOptions

	LoadBalancers index[*loadBalancer]
	Listeners     index[*listener]
	Pools         index[*pool]
	Members       index[*member]
	Monitors      index[*monitor]
	Policies      index[*l7policy]
	Rules         index[*l7rule]
	Quotas        Quotas

	// What the cloud offers for load balancers. Provider is what they have whose
	// request names none.
	Provider       string
	Flavors        index[*flavor]
	FlavorProfiles index[*profile]
	Zones          index[*zone]
	ZoneProfiles   index[*profile]

	byPort  map[string]*loadBalancer
	changes map[*loadBalancer]*change // those under way
	times   changeTimes
	held    bool // all load balancers are
	closed  bool
	running sync.WaitGroup // timers and goroutines of changes
}

// newState makes a State with nothing in it. Close must be called when it is no
// longer needed.
func newState(o stateOptions) *State {
	return &State{
		options:       o,
		LoadBalancers: newIndex[*loadBalancer](),
		Listeners:     newIndex[*listener](), Pools: newIndex[*pool](),
		Members: newIndex[*member](), Monitors: newIndex[*monitor](),
		Policies: newIndex[*l7policy](), Rules: newIndex[*l7rule](),
		Quotas:  Quotas{standard: o.DefaultQuota, usage: map[string]*usage{}, own: map[string]map[string]int{}},
		Flavors: newIndex[*flavor](), FlavorProfiles: newIndex[*profile](),
		Zones: newIndex[*zone](), ZoneProfiles: newIndex[*profile](),
		byPort: map[string]*loadBalancer{}, changes: map[*loadBalancer]*change{},
	}
}

// Close ends all changes under way where they stand and waits for them. It takes
// the lock itself.
func (s *State) Close() {
	s.Lock()
	s.closed = true
	for lb := range s.LoadBalancers.All() {
		if c, ok := s.changes[lb]; ok && c.timer != nil && c.timer.Stop() {
			s.running.Done()
		}
	}
	s.Unlock()
	s.running.Wait()
}

// Now is the time, in Unix seconds.
func (s *State) Now() int64 { return s.options.Now().Unix() }

// OfPort finds the load balancer that has its VIPs on a Neutron port.
func (s *State) OfPort(portID string) (*loadBalancer, bool) {
	lb, ok := s.byPort[portID]
	return lb, ok
}

// Zone finds an availability zone by its name; nil is none.
func (s *State) Zone(name string) *zone {
	for z := range s.Zones.All() {
		if z.name == name {
			return z
		}
	}
	return nil
}
