// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/dataplane"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
)

// What tests and the other services of the simulator do with load balancers, not
// through the API.

// Close ends all changes under way where they stand and waits for them. The
// service goes on answering, but no change is carried out any more.
func (s *Service) Close() { s.state.Close() }

// Counts is the number of objects there are.
type Counts struct{ LoadBalancers, Listeners, Pools, Members, HealthMonitors int }

// Counts returns how many objects there are, in all projects.
func (s *Service) Counts() Counts {
	s.state.RLock()
	defer s.state.RUnlock()
	return Counts{s.state.LoadBalancers.Len(), s.state.Listeners.Len(), s.state.Pools.Len(), s.state.Members.Len(), s.state.Monitors.Len()}
}

// VIPPortID returns the id of the Neutron port that holds a load balancer's
// VIPs.
func (s *Service) VIPPortID(loadBalancerID string) (string, bool) {
	s.state.RLock()
	defer s.state.RUnlock()
	lb, ok := s.state.LoadBalancers.Find(loadBalancerID)
	if !ok {
		return "", false
	}
	return lb.Port, true
}

// VIPGroups returns the security groups that say who may connect to a load balancer. There are none if its provider does
// nothing with them.
func (s *Service) VIPGroups(loadBalancerID string) []string {
	s.state.RLock()
	defer s.state.RUnlock()
	if lb, ok := s.state.LoadBalancers.Find(loadBalancerID); ok && lb.Provider != provider.OVN {
		return lb.VIPGroups
	}
	return nil
}

// UnmadeProtocols returns the protocols for which provider ovn has still to make a load balancer of OVN. OVN has one for each
// protocol, and the provider makes it with the first pool or listener of the protocol; that of the load balancer's first listener
// is there from the start. Other providers have nothing to make.
func (s *Service) UnmadeProtocols(loadBalancerID string) []string {
	s.state.RLock()
	defer s.state.RUnlock()
	lb, ok := s.state.LoadBalancers.Find(loadBalancerID)
	if !ok || lb.Provider != provider.OVN {
		return nil
	}
	made, all := map[string]bool{}, map[string]bool{}
	note := func(protocol string, status model.ProvisioningStatus, first bool) {
		all[protocol] = true
		made[protocol] = made[protocol] || first || status != model.PendingCreate
	}
	for i, l := range lb.Listeners {
		note(l.Protocol, l.Provisioning, i == 0)
	}
	for _, p := range lb.Pools {
		note(p.Protocol, p.Provisioning, false)
	}
	maps.DeleteFunc(all, func(protocol string, _ bool) bool { return made[protocol] })
	return slices.Sorted(maps.Keys(all))
}

// LoadBalancerOfPort returns the id of the load balancer that has its VIPs on a
// Neutron port.
func (s *Service) LoadBalancerOfPort(portID string) (string, bool) {
	s.state.RLock()
	defer s.state.RUnlock()
	lb, ok := s.state.OfPort(portID)
	if !ok {
		return "", false
	}
	return lb.ID.String(), true
}

// DataPlane returns what the data plane is to do for a load balancer; false if
// it is not there or has never been ACTIVE. Addresses holds the VIPs only.
// Children that are being created are left out, those being deleted still in.
// A change that the worker failed to carry out is not in it.
func (s *Service) DataPlane(loadBalancerID string) (dataplane.LoadBalancer, bool) {
	s.state.RLock()
	defer s.state.RUnlock()
	lb, ok := s.state.LoadBalancers.Find(loadBalancerID)
	if !ok || !lb.Built {
		return dataplane.LoadBalancer{}, false
	}
	return s.state.DataPlane(lb), true
}

// SetTimes sets how long changes take that begin from now on; see Options.
func (s *Service) SetTimes(build, update, remove time.Duration) {
	s.state.Lock()
	defer s.state.Unlock()
	s.state.SetTimes(build, update, remove)
}

// HoldPending keeps the load balancer's changes from ending, also those that
// begin later, until Release. The empty id holds all load balancers.
func (s *Service) HoldPending(loadBalancerID string) { s.hold(loadBalancerID, true) }

// Release takes HoldPending of the same id back; changes whose time is over end
// at once. The empty id takes back only the hold on all.
func (s *Service) Release(loadBalancerID string) { s.hold(loadBalancerID, false) }

func (s *Service) hold(loadBalancerID string, hold bool) {
	s.state.Lock()
	defer s.state.Unlock()
	if loadBalancerID == "" {
		s.state.HoldAll(hold)
	} else if lb, ok := s.state.LoadBalancers.Find(loadBalancerID); ok {
		s.state.Hold(lb, hold)
	}
}

// SetError puts a load balancer into ERROR: at once, or, while a change is
// under way, when that ends. It reports whether there is such a load balancer.
func (s *Service) SetError(loadBalancerID string) bool {
	s.state.Lock()
	defer s.state.Unlock()
	lb, ok := s.state.LoadBalancers.Find(loadBalancerID)
	if ok {
		s.state.Fail(lb)
	}
	return ok
}

// SetMemberStatus reports how a member is doing: ONLINE, ERROR, DRAINING,
// OFFLINE or NO_MONITOR. Other words and members that are not there are
// ignored. The pool and the load balancer follow: a pool with some members in
// ERROR is DEGRADED, one with nothing but such members is in ERROR, and the
// load balancer is as its worst pool. A listener does not follow its pool, as
// with amphorae.
func (s *Service) SetMemberStatus(memberID, operatingStatus string) {
	i := slices.Index(model.OperatingNames[:], operatingStatus)
	if i < 0 || model.OperatingStatus(i) == model.Degraded {
		return
	}
	s.state.Lock()
	defer s.state.Unlock()
	if m, ok := s.state.Members.Find(memberID); ok {
		s.state.Report(m, model.OperatingStatus(i))
	}
}

// SetClosed says which listeners of a load balancer cannot take connections, such as those
// whose port another program has: their operating status is ERROR.
func (s *Service) SetClosed(loadBalancerID string, listenerIDs []string) {
	s.state.Lock()
	defer s.state.Unlock()
	if lb, ok := s.state.LoadBalancers.Find(loadBalancerID); ok {
		s.state.ReportClosed(lb, listenerIDs)
	}
}

// SetQuota sets a project's whole quota.
func (s *Service) SetQuota(project string, q Quota) {
	s.state.Lock()
	defer s.state.Unlock()
	s.state.Quotas.Set(project, q.limits())
}

// AddFlavor offers a flavor with a profile of its own and returns its id. data
// is the profile's JSON, such as {"loadbalancer_topology": "SINGLE"}.
func (s *Service) AddFlavor(name, provider, data string) string {
	return s.offer(flavorOffers, name, provider, data).String()
}

// AddAvailabilityZone offers an availability zone with a profile of its own.
func (s *Service) AddAvailabilityZone(name, provider, data string) {
	s.offer(zoneOffers, name, provider, data)
}

func (s *Service) offer(k offers, name, provider, data string) uuid.UUID {
	s.state.Lock()
	defer s.state.Unlock()
	p := &model.Profile{Object: model.NewObject(s.state.Now(), nil), Name: name, Provider: provider, Data: data}
	k.profiles.known(s.state).Add(p)
	o := &model.Offer{Object: model.NewObject(s.state.Now(), nil), Name: name, Enabled: true, Profile: p.ID}
	k.resource.known(s.state).Add(o)
	return o.ID
}
