// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"slices"
	"unique"
)

type pool struct {
	object
	lb                *loadBalancer
	name, description string
	protocol          string
	algorithm         string
	adminUp           bool
	persistence       *persistence
	members           []*member
	monitor           *monitor

	tls *poolTLS
}

type persistence struct {
	kind, cookie, granularity string
	timeout                   int // seconds, 0 is none
}

type poolTLS struct {
	enabled              bool
	certificate, ca, crl string
	ciphers              string
	versions, alpn       []string
}

// text is a string that many members have in common, kept once.
type text = unique.Handle[string]

func share(s string) text { return unique.Make(s) }

// member is kept small: a simulated cloud may have half a million of them.
type member struct {
	object
	pool                   *pool
	name, address          text
	subnet, monitorAddress text

	port, monitorPort uint16 // monitorPort 0 is none
	weight            uint16
	backup, adminUp   bool
	reported          bool // SetMemberStatus was called
}

type monitor struct {
	object
	pool                 *pool
	name, kind           string
	delay, timeout       int // seconds
	retries, retriesDown int
	method, path, codes  string
	version, domain      string
	adminUp              bool

	unmade bool // see unfinish
}

// listeners returns the listeners whose default pool it is, and those with a
// policy that really sends requests to it.
func (p *pool) listeners() []*listener {
	var ls []*listener
	for _, l := range p.lb.listeners {
		if l.pool == p || len(l.policies) > 0 && slices.Contains(l.pools(), p) {
			ls = append(ls, l)
		}
	}
	return ls
}

// policies returns the policies that send requests to the pool, now or when they
// are switched on and have rules.
func (p *pool) policies() []*l7policy {
	var all []*l7policy
	for _, l := range p.lb.listeners {
		for _, policy := range l.policies {
			if policy.pool == p {
				all = append(all, policy)
			}
		}
	}
	return all
}

func (p *pool) usesUDP() bool { return p.protocol == "UDP" || p.protocol == "SCTP" }

func (m *monitor) usesHTTP() bool { return m.kind == "HTTP" || m.kind == "HTTPS" }
