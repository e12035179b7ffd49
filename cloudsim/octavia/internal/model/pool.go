// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"slices"
	"unique"
)

// Pool is a pool with its members.
type Pool struct {
	Object
	LB                *LoadBalancer
	Name, Description string
	Protocol          string
	Algorithm         string
	AdminUp           bool
	Persistence       *Persistence
	Members           []*Member
	Monitor           *Monitor // nil when there is none
	TLS               *PoolTLS // nil if no TLS option is set
}

// Tree returns the load balancer.
func (p *Pool) Tree() *LoadBalancer { return p.LB }

// Persistence is the session persistence of a pool.
type Persistence struct {
	Kind, Cookie, Granularity string
	Timeout                   int // seconds, 0 is none
}

// PoolTLS has the TLS options of a pool.
type PoolTLS struct {
	Enabled              bool
	Certificate, CA, CRL string
	Ciphers              string
	Versions, ALPN       []string
}

// Text is a string that many members share, stored once.
type Text = unique.Handle[string]

// Share returns the Text of a string.
func Share(s string) Text { return unique.Make(s) }

// Member is kept small: a simulated cloud may have half a million of them.
type Member struct {
	Object
	Pool                   *Pool
	Name, Address          Text
	Subnet, MonitorAddress Text
	Port, MonitorPort      uint16 // MonitorPort 0 is none
	Weight                 uint16
	Backup, AdminUp        bool
	SRIOV                  bool // its port is of type direct
	Reported               bool // its operating status was reported
}

// Tree returns the load balancer.
func (m *Member) Tree() *LoadBalancer { return m.Pool.LB }

// Monitor is the health monitor of a pool.
type Monitor struct {
	Object
	Pool                 *Pool
	Name, Kind           string
	Delay, Timeout       int // seconds
	Retries, RetriesDown int
	Method, Path, Codes  string
	Version, Domain      string
	AdminUp              bool
	Unmade               bool // the provider has not created it, and never will
}

// Tree returns the load balancer.
func (m *Monitor) Tree() *LoadBalancer { return m.Pool.LB }

// Listeners returns the listeners whose default pool it is, and those with an active policy that
// sends requests to it.
func (p *Pool) Listeners() []*Listener {
	var ls []*Listener
	for _, l := range p.LB.Listeners {
		if l.Pool == p || len(l.Policies) > 0 && slices.Contains(l.Pools(), p) {
			ls = append(ls, l)
		}
	}
	return ls
}

// Policies returns the policies that send requests to the pool, including those that are disabled
// or have no rules yet.
func (p *Pool) Policies() []*L7Policy {
	var all []*L7Policy
	for _, l := range p.LB.Listeners {
		for _, policy := range l.Policies {
			if policy.Pool == p {
				all = append(all, policy)
			}
		}
	}
	return all
}

// UsesUDP reports whether the pool's members use UDP or SCTP.
func (p *Pool) UsesUDP() bool { return p.Protocol == "UDP" || p.Protocol == "SCTP" }

// UsesHTTP reports whether the monitor makes HTTP requests.
func (m *Monitor) UsesHTTP() bool { return m.Kind == "HTTP" || m.Kind == "HTTPS" }
