// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "slices"

type listener struct {
	object
	lb                *loadBalancer
	name, description string
	protocol          string
	port, limit       int
	adminUp           bool
	// closed is whether the data plane cannot open the port.
	closed   bool
	pool     *pool // the default pool, may be nil
	policies []*l7policy
	timeouts timeouts
	headers  map[string]string
	cidrs    []string
	tls      *listenerTLS // nil when no option of TLS is set
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

func (l *listener) overUDP() bool { return l.protocol == "UDP" || l.protocol == "SCTP" }

func (t *listenerTLS) empty() bool {
	return len(t.refs()) == 0 && t.clientCA == "" && t.crl == "" && t.clientAuth == "NONE" && t.ciphers == "" &&
		len(t.versions)+len(t.alpn) == 0 && t.hstsMaxAge < 0 && !t.hstsPreload && !t.hstsSubdomains
}

func (t *listenerTLS) refs() []string {
	refs := slices.Clone(t.sni)
	if t.certificate != "" {
		refs = append(refs, t.certificate)
	}
	return refs
}
