// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"sync"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/dataplane"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
)

// Options are what newState makes a State of; see the options of the service.
type Options struct {
	DefaultQuota                  map[string]int // by resource
	StuckChildren, MonitorsReport bool
	// WholeTree is whether a fully populated create brings all that it makes to ACTIVE, and a change of a monitor all that is
	// above it.
	WholeTree bool
	// LateChildren is whether provider ovn reports what a change was about only after its load balancer is ACTIVE.
	LateChildren bool
	// RangesOfOneFamily is whether a load balancer with VIPs of both families works with source ranges of one.
	RangesOfOneFamily bool
	Now               func() time.Time
	// Vary makes times of changes differ; nil leaves them as they are.
	Vary func(time.Duration) time.Duration
	// ReleaseVIP lets a load balancer's port go. It is called without the lock.
	ReleaseVIP func(portID string) error
	// SetVIPRules makes the rules of the port's security group. It is called without the lock.
	SetVIPRules func(portID string, wanted []neutron.VIPRule) ([]neutron.VIPRule, error)
	// SetVIPGroups gives the port security groups beside that of the VIP. It is called without the lock.
	SetVIPGroups func(portID string, groups []string) error
	// OnChange is called without the lock when a change has ended.
	OnChange func(loadBalancerID string)
}

// State is what Octavia knows, and what its workers are doing. Whoever uses it
// holds its lock.
type State struct {
	sync.RWMutex
	options Options
	Objects
	Catalogue
	changing
}

// Objects are the objects of all projects, by id.
type Objects struct {
	LoadBalancers Index[*model.LoadBalancer]
	Listeners     Index[*model.Listener]
	Pools         Index[*model.Pool]
	Members       Index[*model.Member]
	Monitors      Index[*model.Monitor]
	Policies      Index[*model.L7Policy]
	Rules         Index[*model.L7Rule]
	Quotas        Quotas
}

// Catalogue is what the cloud offers for load balancers. Provider is for requests that
// name none.
type Catalogue struct {
	Provider       string
	Flavors        Index[*model.Offer]
	FlavorProfiles Index[*model.Profile]
	Zones          Index[*model.Offer]
	ZoneProfiles   Index[*model.Profile]
}

// changing is what changes of load balancers need.
type changing struct {
	byPort  map[string]*model.LoadBalancer
	changes map[*model.LoadBalancer]*Change // those under way
	late    map[*model.Object]*Change       // what is reported later than the load balancer, by the change that it was last in
	times   changeTimes
	// inForce is what the worker has last carried out, for load balancers of which it failed at a change since.
	inForce map[*model.LoadBalancer]dataplane.LoadBalancer
	// admitted are the rules of VIPs that the worker could not complete.
	admitted map[*model.LoadBalancer][]neutron.VIPRule
	held     bool // all load balancers are
	closed   bool
	running  sync.WaitGroup // timers and goroutines of changes
}

// New makes a State with nothing in it. Close must be called when it is no
// longer needed.
func New(o Options) *State {
	return &State{
		options: o,
		Objects: Objects{
			LoadBalancers: newIndex[*model.LoadBalancer](),
			Listeners:     newIndex[*model.Listener](), Pools: newIndex[*model.Pool](),
			Members: newIndex[*model.Member](), Monitors: newIndex[*model.Monitor](),
			Policies: newIndex[*model.L7Policy](), Rules: newIndex[*model.L7Rule](),
			Quotas: Quotas{standard: o.DefaultQuota, own: map[string]map[string]int{}, usage: map[string]map[string]int{}},
		},
		Catalogue: Catalogue{
			Flavors: newIndex[*model.Offer](), FlavorProfiles: newIndex[*model.Profile](),
			Zones: newIndex[*model.Offer](), ZoneProfiles: newIndex[*model.Profile](),
		},
		changing: changing{byPort: map[string]*model.LoadBalancer{}, changes: map[*model.LoadBalancer]*Change{}, late: map[*model.Object]*Change{},
			inForce: map[*model.LoadBalancer]dataplane.LoadBalancer{}, admitted: map[*model.LoadBalancer][]neutron.VIPRule{}},
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
	s.stopLate()
	s.Unlock()
	s.running.Wait()
}

// Now is the time, in Unix seconds.
func (s *State) Now() int64 { return s.options.Now().Unix() }

// OfPort finds the load balancer that has its VIPs on a Neutron port.
func (s *State) OfPort(portID string) (*model.LoadBalancer, bool) {
	lb, ok := s.byPort[portID]
	return lb, ok
}

// DataPlane is what the data plane does for a load balancer: what its objects say, unless the worker failed at a change
// of them.
func (s *State) DataPlane(lb *model.LoadBalancer) dataplane.LoadBalancer {
	plane, behind := s.inForce[lb]
	if !behind {
		plane = provider.DataPlane(lb)
	}
	if rules, lacks := s.admitted[lb]; lacks {
		return provider.Admitting(plane, rules)
	}
	return plane
}
