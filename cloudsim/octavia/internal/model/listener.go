// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// Listener is a port of a load balancer.
type Listener struct {
	Object
	LB                *LoadBalancer
	Name, Description string
	Protocol          string
	Port, Limit       int
	AdminUp           bool
	// Closed means that the data plane cannot open the port.
	Closed   bool
	Pool     *Pool // the default pool, may be nil
	Policies []*L7Policy
	Timeouts Timeouts
	Headers  map[string]string
	CIDRs    []string
	TLS      *ListenerTLS // nil when no option of TLS is set
}

// Tree returns the load balancer.
func (l *Listener) Tree() *LoadBalancer { return l.LB }

// Timeouts are in milliseconds.
type Timeouts struct{ ClientData, MemberConnect, MemberData, TCPInspect int }

// DefaultTimeouts are the timeouts of a listener whose request sets none.
var DefaultTimeouts = Timeouts{ClientData: 50000, MemberConnect: 5000, MemberData: 50000}

// ListenerTLS has the TLS options of a listener.
type ListenerTLS struct {
	Certificate    string
	SNI            []string
	ClientCA, CRL  string
	ClientAuth     string
	Ciphers        string
	Versions, ALPN []string
	HSTSMaxAge     int // -1 is none
	HSTSSubdomains bool
	HSTSPreload    bool
}

// Pools returns the default pool and the pools of active policies: those that are enabled and have
// rules.
func (l *Listener) Pools() []*Pool {
	var ps []*Pool
	if l.Pool != nil {
		ps = append(ps, l.Pool)
	}
	for _, policy := range l.Policies {
		if policy.Pool != nil && policy.AdminUp && len(policy.Rules) > 0 && !slices.Contains(ps, policy.Pool) {
			ps = append(ps, policy.Pool)
		}
	}
	return ps
}

// UsesUDP reports whether the listener uses UDP or SCTP, which have fewer options.
func (l *Listener) UsesUDP() bool { return l.Protocol == "UDP" || l.Protocol == "SCTP" }

// Empty reports whether no option is set.
func (t *ListenerTLS) Empty() bool {
	return len(t.Refs()) == 0 && t.ClientCA == "" && t.CRL == "" && t.ClientAuth == "NONE" && t.Ciphers == "" &&
		len(t.Versions)+len(t.ALPN) == 0 && t.HSTSMaxAge < 0 && !t.HSTSPreload && !t.HSTSSubdomains
}

// Refs returns the references to certificates.
func (t *ListenerTLS) Refs() []string {
	refs := slices.Clone(t.SNI)
	if t.Certificate != "" {
		refs = append(refs, t.Certificate)
	}
	return refs
}
