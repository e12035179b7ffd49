// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/netip"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/dataplane"
)

// dataPlane returns what the data plane is to do for a load balancer. Addresses holds
// the VIPs only. Children that are being created are left out, those being deleted
// still in.
func dataPlane(lb *loadBalancer) dataplane.LoadBalancer {
	plane := dataplane.LoadBalancer{ID: lb.id.String(), PreserveSource: lb.provider == ovn}
	for _, a := range append([]additionalVIP{{lb.subnet, lb.address}}, lb.additional...) {
		if address, err := netip.ParseAddr(a.address); err == nil {
			plane.Addresses = append(plane.Addresses, address)
		}
	}
	for _, l := range lb.listeners {
		if lb.adminUp && l.adminUp && !unborn(lb, &l.object) {
			plane.Listeners = append(plane.Listeners, listenerPlane(l))
		}
	}
	return plane
}

// unborn reports whether a part is just being created. Parts that are stuck in
// PENDING_CREATE work.
func unborn(lb *loadBalancer, o *object) bool { return lb.changing && o.prov == pendingCreate }

func listenerPlane(l *listener) dataplane.Listener {
	plane := dataplane.Listener{
		ID: l.id.String(), Protocol: l.protocol, Port: l.port, ConnectionLimit: l.limit,
		XForwardedFor:  l.headers["X-Forwarded-For"] == "true",
		ClientTimeout:  time.Duration(l.timeouts.clientData) * time.Millisecond,
		MemberTimeout:  time.Duration(l.timeouts.memberData) * time.Millisecond,
		ConnectTimeout: time.Duration(l.timeouts.memberConnect) * time.Millisecond,
	}
	for _, cidr := range l.cidrs {
		if prefix, err := netip.ParsePrefix(cidr); err == nil {
			plane.AllowedCIDRs = append(plane.AllowedCIDRs, prefix)
		}
	}
	if l.pool != nil && l.pool.adminUp && !unborn(l.lb, &l.pool.object) {
		plane.Pool = poolPlane(l.pool)
	}
	return plane
}

func poolPlane(p *pool) *dataplane.Pool {
	plane := &dataplane.Pool{ID: p.id.String(), Protocol: p.protocol, Algorithm: p.algorithm}
	// Provider ovn 3.0 takes session persistence and carries none out.
	if p.persistence != nil && p.persistence.kind == "SOURCE_IP" && p.lb.provider != ovn {
		plane.SourceIPPersistence = true
		plane.PersistenceTimeout = time.Duration(p.persistence.timeout) * time.Second
	}
	for _, m := range p.members {
		address, err := netip.ParseAddr(m.address.Value())
		if err != nil || unborn(p.lb, &m.object) {
			continue
		}
		member := dataplane.Member{
			ID: m.id.String(), Address: address, Port: int(m.port), Weight: int(m.weight),
			Backup: m.backup, AdminUp: m.adminUp, MonitorPort: int(m.monitorPort),
		}
		member.MonitorAddress, _ = netip.ParseAddr(m.monitorAddress.Value()) // zero if there is none
		plane.Members = append(plane.Members, member)
	}
	if m := p.monitor; m != nil && !unborn(p.lb, &m.object) {
		plane.Monitor = &dataplane.Monitor{
			ID: m.id.String(), Type: m.kind, Delay: time.Duration(m.delay) * time.Second, Timeout: time.Duration(m.timeout) * time.Second,
			MaxRetries: m.retries, MaxRetriesDown: m.retriesDown,
			HTTPMethod: m.method, URLPath: m.path, ExpectedCodes: m.codes, AdminUp: m.adminUp,
		}
	}
	return plane
}
