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

// Options configure a State; see the options of the service.
type Options struct {
	DefaultQuota                  map[string]int // by resource
	StuckChildren, MonitorsReport bool
	// WholeTree means that a fully populated create brings all its objects to ACTIVE, and a change of a monitor all
	// objects above it.
	WholeTree bool
	// LateChildren means that provider ovn reports changed parts only after their load balancer is ACTIVE.
	LateChildren bool
	// RangesOfOneFamily means that a load balancer with VIPs of both families works with source ranges of one
	// family.
	RangesOfOneFamily bool
	Now               func() time.Time
	// Vary varies the durations of changes; nil leaves them unchanged.
	Vary func(time.Duration) time.Duration
	// ReleaseVIP releases a load balancer's port. It is called without the lock.
	ReleaseVIP func(portID string) error
	// SetVIPRules sets the rules of the port's security group. It is called without the lock.
	SetVIPRules func(portID string, wanted []neutron.VIPRule) ([]neutron.VIPRule, error)
	// SetVIPGroups sets the port's security groups in addition to that of the VIP. It is called without
	// the lock.
	SetVIPGroups func(portID string, groups []string) error
	// OnChange is called without the lock when a change has ended.
	OnChange func(loadBalancerID string)
}

// State is Octavia's database and the state of its workers. Its users must hold its lock.
type State struct {
	sync.RWMutex
	options Options
	Objects
	Catalogue
	changing
}

// Objects has the objects of all projects, by id.
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

// Catalogue is what the cloud offers for load balancers. Provider is the default of requests that
// name none.
type Catalogue struct {
	Provider       string
	Flavors        Index[*model.Offer]
	FlavorProfiles Index[*model.Profile]
	Zones          Index[*model.Offer]
	ZoneProfiles   Index[*model.Profile]
}

// changing has what changes of load balancers need.
type changing struct {
	byPort  map[string]*model.LoadBalancer
	changes map[*model.LoadBalancer]*Change // those in progress
	late    map[*model.Object]*Change       // parts that are reported later than the load balancer, with their last change
	times   changeTimes
	// inForce is the configuration that the worker last carried out, for load balancers of which a later change
	// failed.
	inForce map[*model.LoadBalancer]dataplane.LoadBalancer
	// admitted has the existing rules of VIPs whose rules the worker could not complete.
	admitted map[*model.LoadBalancer][]neutron.VIPRule
	held     bool // all load balancers are held
	closed   bool
	running  sync.WaitGroup // timers and goroutines of changes
}

// New returns an empty State. Close must be called when it is no longer needed.
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

// Close aborts all changes in progress and waits until they have ended. It takes the lock itself.
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

// Now returns the time, in Unix seconds.
func (s *State) Now() int64 { return s.options.Now().Unix() }

// OfPort finds the load balancer whose VIPs are on a Neutron port.
func (s *State) OfPort(portID string) (*model.LoadBalancer, bool) {
	lb, ok := s.byPort[portID]
	return lb, ok
}

// DataPlane returns the configuration of the data plane for a load balancer: that of its objects, unless the worker
// failed at a change of them.
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
