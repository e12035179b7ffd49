// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"math"
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// availabilityView is the number of addresses that a network has, and of those in use.
type availabilityView struct {
	NetworkID   string               `json:"network_id"`
	NetworkName string               `json:"network_name"`
	TenantID    string               `json:"tenant_id"`
	ProjectID   string               `json:"project_id"`
	TotalIPs    float64              `json:"total_ips"`
	UsedIPs     int                  `json:"used_ips"`
	Subnets     []subnetAvailability `json:"subnet_ip_availability"`
	Details     *availabilityDetails `json:"ip_availability_details,omitempty"`
}

// availabilityDetails is part of the answer since the newest release.
type availabilityDetails struct {
	TotalInSubnet float64 `json:"total_ips_in_subnet"`
	TotalInPool   float64 `json:"total_ips_in_allocation_pool"`
	UsedInSubnet  int     `json:"used_ips_in_subnet"`
	UsedInPool    int     `json:"used_ips_in_allocation_pool"`
}

type subnetAvailability struct {
	SubnetID   string  `json:"subnet_id"`
	SubnetName string  `json:"subnet_name"`
	CIDR       string  `json:"cidr"`
	IPVersion  int     `json:"ip_version"`
	TotalIPs   float64 `json:"total_ips"`
	UsedIPs    int     `json:"used_ips"`

	Details *availabilityDetails `json:"ip_availability_details,omitempty"`
}

// routeAvailability adds the route with which admins read how many addresses networks have left.
func (s *Service) routeAvailability(mux *http.ServeMux) {
	const path = "/v2.0/network-ip-availabilities"
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		all := []availabilityView{}
		if wire.Caller(r.Context()).Admin() {
			for _, n := range inOrder(s.networks, func(*network) bool { return true }) {
				all = append(all, s.availability(n))
			}
		}
		wire.JSON(w, http.StatusOK, map[string]any{"network_ip_availabilities": all})
	})
	mux.HandleFunc("GET "+path+"/{id}", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		n := s.networks[r.PathValue("id")]
		switch {
		case !wire.Caller(r.Context()).Admin():
			NotFound(w, r)
		case n == nil:
			writeError(w, networkMissing(r.PathValue("id")))
		default:
			wire.JSON(w, http.StatusOK, map[string]any{"network_ip_availability": s.availability(n)})
		}
	})
}

func (s *Service) availability(n *network) availabilityView {
	v := availabilityView{NetworkID: n.id, NetworkName: n.name, TenantID: n.project, ProjectID: n.project, Subnets: []subnetAvailability{}}
	details := s.options.Release >= release.Newest
	if details {
		v.Details = &availabilityDetails{}
	}
	for _, id := range n.subnets {
		sub := s.subnets[id]
		one := subnetAvailability{
			SubnetID: id, SubnetName: sub.name, CIDR: sub.cidr.String(), IPVersion: sub.ipVersion(), UsedIPs: len(sub.free.used),
		}
		for _, pool := range sub.pools {
			one.TotalIPs += pool.size()
		}
		if details {
			one.Details = detailsOf(sub, one.TotalIPs)
			v.Details.TotalInSubnet += one.Details.TotalInSubnet
			v.Details.TotalInPool += one.Details.TotalInPool
			v.Details.UsedInSubnet += one.Details.UsedInSubnet
			v.Details.UsedInPool += one.Details.UsedInPool
		}
		v.TotalIPs += one.TotalIPs
		v.UsedIPs += one.UsedIPs
		v.Subnets = append(v.Subnets, one)
	}
	return v
}

// detailsOf counts the addresses of a subnet, for IPv4 without the first and the last one, and separately those of its
// pools.
func detailsOf(sub *subnet, inPool float64) *availabilityDetails {
	bits := sub.cidr.Addr().BitLen() - sub.cidr.Bits()
	d := &availabilityDetails{TotalInSubnet: math.Pow(2, float64(bits)), TotalInPool: inPool, UsedInSubnet: len(sub.free.used)}
	if sub.ipVersion() == 4 {
		d.TotalInSubnet -= 2
	}
	for address := range sub.free.used {
		if slices.ContainsFunc(sub.pools, func(p AddressRange) bool { return address.Compare(p.First) >= 0 && address.Compare(p.Last) <= 0 }) {
			d.UsedInPool++
		}
	}
	return d
}

// size returns the number of addresses of the range, which may exceed an integer.
func (r AddressRange) size() float64 {
	first, last := r.First.As16(), r.Last.As16()
	n := 1.0
	for i := range first {
		n += (float64(last[i]) - float64(first[i])) * math.Pow(256, float64(len(first)-1-i))
	}
	return n
}
