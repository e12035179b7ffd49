// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Objects has the numbers of objects that count towards quotas.
type Objects struct {
	LoadBalancers  int `json:"loadBalancers"`
	Listeners      int `json:"listeners"`
	Pools          int `json:"pools"`
	Members        int `json:"members"`
	HealthMonitors int `json:"healthMonitors"`
	FloatingIPs    int `json:"floatingIPs"`
}

func (o Objects) plus(p Objects) Objects {
	return Objects{
		o.LoadBalancers + p.LoadBalancers, o.Listeners + p.Listeners, o.Pools + p.Pools,
		o.Members + p.Members, o.HealthMonitors + p.HealthMonitors, o.FloatingIPs + p.FloatingIPs,
	}
}

// Sum returns the number of all objects.
func (o Objects) Sum() int {
	return o.LoadBalancers + o.Listeners + o.Pools + o.Members + o.HealthMonitors + o.FloatingIPs
}

// Members has the numbers of members of a Service's listeners.
type Members struct {
	Total int `json:"total"`
	// Up is the number of members whose operating status is ONLINE; nil if the statuses were not
	// read.
	Up *int `json:"up,omitempty"`
	// Unmonitored is the number of members that no health monitor checks.
	Unmonitored int `json:"unmonitored,omitempty"`
	// Unknown is the reason why the statuses could not be read.
	Unknown string `json:"unknown,omitempty"`
}

// Part is an object of a load balancer, with the statuses that Octavia shows.
type Part struct {
	// Kind is listener, pool, member or healthmonitor.
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	Name     string `json:"name,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	Address  string `json:"address,omitempty"`
	Port     int    `json:"port,omitempty"`

	ProvisioningStatus lb.ProvisioningStatus `json:"provisioningStatus,omitempty"`
	OperatingStatus    string                `json:"operatingStatus,omitempty"`

	Parts []Part `json:"parts,omitempty"`
}

// The kinds of parts.
const (
	listenerKind = "listener"
	poolKind     = "pool"
	memberKind   = "member"
	monitorKind  = "healthmonitor"
)

// Operating statuses of members.
const (
	online    = "ONLINE"
	noMonitor = "NO_MONITOR"
)

// listeners returns the Service's listeners on the load balancer.
func (f holding) listeners(l octavia.Listed) (own []lb.Listener) {
	for _, listener := range l.Bare.Listeners {
		if f.owner.OwnsListener(listener) {
			own = append(own, listener)
		}
	}
	return own
}

// pools returns the Service's pools on the load balancer, without duplicates.
func (f holding) pools(l octavia.Listed) (own []lb.Pool) {
	known := map[string]bool{}
	for _, listener := range f.listeners(l) {
		if p := listener.Pool; p != nil && !known[p.ID] {
			known[p.ID] = true
			own = append(own, *p)
		}
	}
	for _, p := range l.Bare.DetachedPools {
		if f.owner.OwnsPool(p) {
			own = append(own, p)
		}
	}
	return own
}

// objects counts the cloud objects of the Service.
func (f holding) objects() (o Objects) {
	on := f.own
	if f.owner.Sharer && f.current != nil {
		on = append(on[:len(on):len(on)], *f.current)
	}
	o.LoadBalancers = len(f.own)
	if f.countsShared {
		o.LoadBalancers++
	}
	for _, l := range on {
		o.Listeners += len(f.listeners(l))
		for _, p := range f.pools(l) {
			o.Pools++
			o.Members += l.Members[p.ID]
			if p.Monitor != nil {
				o.HealthMonitors++
			}
		}
	}
	for _, floating := range f.floating {
		shared := f.owner.Sharer && floating.PortID == f.current.Bare.VIP.PortID
		if !shared || f.countsShared || f.owner.MadeFloatingIP(floating) {
			o.FloatingIPs++
		}
	}
	return o
}

// members counts the members of the Service's listeners.
func (f holding) members() *Members {
	if f.current == nil {
		return nil
	}
	m := Members{}
	if f.treeErr != nil {
		m.Unknown = f.treeErr.Error()
	}
	if f.tree != nil && f.treeErr == nil {
		m.Up = new(int)
	}
	known := map[string]bool{}
	for _, listener := range f.listeners(*f.current) {
		p := listener.Pool
		if p == nil || known[p.ID] {
			continue
		}
		known[p.ID] = true
		if m.Up == nil {
			m.Total += f.current.Members[p.ID]
			continue
		}
		shown, _ := f.tree.Members(p.ID)
		for _, member := range shown {
			m.Total++
			switch member.OperatingStatus {
			case online:
				*m.Up++
			case noMonitor:
				m.Unmonitored++
			}
		}
	}
	return &m
}

// parts returns the Service's listeners with their pools, members and monitors, and pools that no listener uses. It
// returns nil if the status tree was not read.
func (f holding) parts() (all []Part) {
	if f.current == nil || f.tree == nil || f.treeErr != nil {
		return nil
	}
	operating := f.tree.OperatingStatuses()
	for _, listener := range f.listeners(*f.current) {
		part := Part{Kind: listenerKind, ID: listener.ID, Name: listener.Name, Protocol: string(listener.Protocol), Port: listener.Port,
			ProvisioningStatus: listener.ProvisioningStatus, OperatingStatus: operating[listener.ID]}
		if listener.Pool != nil {
			part.Parts = []Part{f.pool(*listener.Pool, operating)}
		}
		all = append(all, part)
	}
	for _, p := range f.current.Bare.DetachedPools {
		if f.owner.OwnsPool(p) {
			all = append(all, f.pool(p, operating))
		}
	}
	return all
}

func (f holding) pool(p lb.Pool, operating map[string]string) Part {
	part := Part{Kind: poolKind, ID: p.ID, Name: p.Name, Protocol: string(p.Protocol), ProvisioningStatus: p.ProvisioningStatus, OperatingStatus: operating[p.ID]}
	members, _ := f.tree.Members(p.ID)
	for _, m := range members {
		part.Parts = append(part.Parts, Part{Kind: memberKind, ID: m.ID, Name: m.Name, Address: m.Address, Port: m.Port,
			ProvisioningStatus: m.ProvisioningStatus, OperatingStatus: m.OperatingStatus})
	}
	if m := p.Monitor; m != nil {
		part.Parts = append(part.Parts, Part{Kind: monitorKind, ID: m.ID, Name: m.Name, Protocol: string(m.Type),
			ProvisioningStatus: m.ProvisioningStatus, OperatingStatus: operating[m.ID]})
	}
	return part
}
