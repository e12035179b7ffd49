// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/netip"
	"slices"
	"unique"

	"github.com/google/uuid"
)

// provisioning is a provisioning_status.
type provisioning uint8

const (
	active provisioning = iota
	pendingCreate
	pendingUpdate
	pendingDelete
	inError
)

var provisioningNames = [...]string{"ACTIVE", "PENDING_CREATE", "PENDING_UPDATE", "PENDING_DELETE", "ERROR"}

func (p provisioning) String() string { return provisioningNames[p] }

// operating is an operating_status.
type operating uint8

const (
	offline operating = iota
	online
	degraded
	broken
	draining
	noMonitor
)

var operatingNames = [...]string{"OFFLINE", "ONLINE", "DEGRADED", "ERROR", "DRAINING", "NO_MONITOR"}

func (o operating) String() string { return operatingNames[o] }

// object is what all parts of a load balancer's tree have. Times are Unix
// seconds; updated is 0 until the first change.
type object struct {
	id               uuid.UUID
	created, updated int64
	prov             provisioning
	oper             operating
}

func (o *object) base() *object { return o }

type loadBalancer struct {
	object
	name, description, project string
	provider, flavor, zone     string
	subnet, network, port      string
	address                    string
	cidr                       netip.Prefix // of the VIP's subnet
	additional                 []additionalVIP
	adminUp                    bool
	tags                       []string
	listeners                  []*listener
	pools                      []*pool
	change                     *change // nil while nothing is under way
	held                       bool    // see HoldPending
	built                      bool    // has been ACTIVE once
}

type additionalVIP struct{ subnet, address string }

type listener struct {
	object
	lb                *loadBalancer
	name, description string
	protocol          string
	port, limit       int
	adminUp           bool
	// closed is whether the data plane cannot open the port.
	closed      bool
	pool        *pool // the default pool, may be nil
	policies    []*l7policy
	timeouts    timeouts
	headers     map[string]string
	cidrs, tags []string
	tls         *listenerTLS // nil when no option of TLS is set
}

// timeouts are in milliseconds.
type timeouts struct{ clientData, memberConnect, memberData, tcpInspect int }

var defaultTimeouts = timeouts{clientData: 50000, memberConnect: 5000, memberData: 50000}

type listenerTLS struct {
	certificate    string
	sni            []string
	clientCA, crl  string
	clientAuth     string
	ciphers        string
	versions, alpn []string
	hstsMaxAge     int // -1 is none
	hstsSubdomains bool
	hstsPreload    bool
}

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
	tags              []string
	tls               *poolTLS
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
	tags                   []string
	port, monitorPort      uint16 // monitorPort 0 is none
	weight                 uint16
	backup, adminUp        bool
	reported               bool // SetMemberStatus was called
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
	tags                 []string
	unmade               bool // see unfinish
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

// pools returns the default pool and those that policies really send requests
// to: policies that are switched on and have rules.
func (l *listener) pools() []*pool {
	var ps []*pool
	if l.pool != nil {
		ps = append(ps, l.pool)
	}
	for _, policy := range l.policies {
		if policy.pool != nil && policy.adminUp && len(policy.rules) > 0 && !slices.Contains(ps, policy.pool) {
			ps = append(ps, policy.pool)
		}
	}
	return ps
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
