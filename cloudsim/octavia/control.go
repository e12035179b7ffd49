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

// What tests and the other services of the simulator do with load balancers without using the API.

// Close aborts all changes in progress and waits until they have ended. The service still answers
// requests, but no longer carries out changes.
func (s *Service) Close() { s.state.Close() }

// Counts has the number of objects of each kind.
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

// VIPGroups returns the security groups that restrict the clients of a load balancer. It returns none if the provider
// does not use them.
func (s *Service) VIPGroups(loadBalancerID string) []string {
	s.state.RLock()
	defer s.state.RUnlock()
	if lb, ok := s.state.LoadBalancers.Find(loadBalancerID); ok && lb.Provider != provider.OVN {
		return lb.VIPGroups
	}
	return nil
}

// UnmadeProtocols returns the protocols for which provider ovn has not created a load balancer in OVN yet. OVN has one
// for each protocol, and the provider creates it with the first pool or listener of the protocol; that of the load
// balancer's first listener exists from the start. For other providers there are none.
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

// LoadBalancerOfPort returns the id of the load balancer whose VIPs are on a Neutron port.
func (s *Service) LoadBalancerOfPort(portID string) (string, bool) {
	s.state.RLock()
	defer s.state.RUnlock()
	lb, ok := s.state.OfPort(portID)
	if !ok {
		return "", false
	}
	return lb.ID.String(), true
}

// DataPlane returns the configuration of the data plane for a load balancer; false if it does not
// exist or was never ACTIVE. Addresses contains only the VIPs. Children that are being created are
// not included; children that are being deleted still are. Changes that the worker failed to carry
// out are not included.
func (s *Service) DataPlane(loadBalancerID string) (dataplane.LoadBalancer, bool) {
	s.state.RLock()
	defer s.state.RUnlock()
	lb, ok := s.state.LoadBalancers.Find(loadBalancerID)
	if !ok || !lb.Built {
		return dataplane.LoadBalancer{}, false
	}
	return s.state.DataPlane(lb), true
}

// SetTimes sets the duration of changes that begin from now on; see Options.
func (s *Service) SetTimes(build, update, remove time.Duration) {
	s.state.Lock()
	defer s.state.Unlock()
	s.state.SetTimes(build, update, remove)
}

// HoldPending prevents changes of the load balancer from ending, including those that begin later,
// until Release is called. The empty id holds all load balancers.
func (s *Service) HoldPending(loadBalancerID string) { s.hold(loadBalancerID, true) }

// Release undoes HoldPending of the same id; changes whose time is over end at once. The empty id
// undoes only the hold on all.
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

// SetError puts a load balancer into ERROR: at once or, if a change is in progress, at its end. It
// reports whether the load balancer exists.
func (s *Service) SetError(loadBalancerID string) bool {
	s.state.Lock()
	defer s.state.Unlock()
	lb, ok := s.state.LoadBalancers.Find(loadBalancerID)
	if ok {
		s.state.Fail(lb)
	}
	return ok
}

// SetMemberStatus sets the operating status of a member: ONLINE, ERROR, DRAINING, OFFLINE or
// NO_MONITOR. Other values and unknown members are ignored. The pool and the load balancer follow:
// a pool with some members in ERROR is DEGRADED, one with only such members is in ERROR, and the
// load balancer has the status of its worst pool. As with amphorae, a listener does not follow its
// pool.
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

// SetClosed sets which listeners of a load balancer cannot accept connections, for example because
// another program uses the port. Their operating status is ERROR.
func (s *Service) SetClosed(loadBalancerID string, listenerIDs []string) {
	s.state.Lock()
	defer s.state.Unlock()
	if lb, ok := s.state.LoadBalancers.Find(loadBalancerID); ok {
		s.state.ReportClosed(lb, listenerIDs)
	}
}

// SetQuota sets the complete quota of a project.
func (s *Service) SetQuota(project string, q Quota) {
	s.state.Lock()
	defer s.state.Unlock()
	s.state.Quotas.Set(project, q.limits())
}

// AddFlavor adds a flavor with its own profile and returns its id. data is the profile's JSON, such
// as {"loadbalancer_topology": "SINGLE"}.
func (s *Service) AddFlavor(name, provider, data string) string {
	return s.offer(flavorOffers, name, provider, data).String()
}

// AddAvailabilityZone adds an availability zone with its own profile.
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
