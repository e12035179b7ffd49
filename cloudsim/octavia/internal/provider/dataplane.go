// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/dataplane"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

// DataPlane returns the configuration of the data plane for a load balancer. Addresses contains
// only the VIPs. Children that are being created are not included; children that are being deleted
// still are.
func DataPlane(lb *model.LoadBalancer) dataplane.LoadBalancer {
	plane := dataplane.LoadBalancer{ID: lb.ID.String(), PreserveSource: lb.Provider == OVN}
	for _, a := range append([]model.AdditionalVIP{{Subnet: lb.Subnet, Address: lb.Address}}, lb.Additional...) {
		if address, err := netip.ParseAddr(a.Address); err == nil {
			plane.Addresses = append(plane.Addresses, address)
		}
	}
	for _, l := range lb.Listeners {
		if lb.AdminUp && l.AdminUp && !beingCreated(lb, &l.Object) {
			plane.Listeners = append(plane.Listeners, listenerPlane(l))
		}
	}
	return plane
}

// beingCreated reports whether a part is being created now. Parts that are stuck in PENDING_CREATE
// are not: they work.
func beingCreated(lb *model.LoadBalancer, o *model.Object) bool {
	return lb.Changing && o.Provisioning == model.PendingCreate
}

func listenerPlane(l *model.Listener) dataplane.Listener {
	plane := dataplane.Listener{
		ID: l.ID.String(), Protocol: l.Protocol, Port: l.Port, ConnectionLimit: l.Limit,
		XForwardedFor: l.Headers["X-Forwarded-For"] == "true", XForwardedPort: l.Headers["X-Forwarded-Port"] == "true",
		XForwardedProto: l.Headers["X-Forwarded-Proto"] == "true", TLS: tlsPlane(l.TLS),
		ClientTimeout:  time.Duration(l.Timeouts.ClientData) * time.Millisecond,
		MemberTimeout:  time.Duration(l.Timeouts.MemberData) * time.Millisecond,
		ConnectTimeout: time.Duration(l.Timeouts.MemberConnect) * time.Millisecond,
	}
	for _, cidr := range l.CIDRs {
		if prefix, err := netip.ParsePrefix(cidr); err == nil {
			plane.AllowedCIDRs = append(plane.AllowedCIDRs, prefix)
		}
	}
	if l.Pool != nil && l.Pool.AdminUp && !beingCreated(l.LB, &l.Pool.Object) {
		plane.Pool = poolPlane(l.Pool)
	}
	return plane
}

// tlsPlane returns how a listener terminates TLS. Of the certificates it knows only the references.
func tlsPlane(t *model.ListenerTLS) *dataplane.TLS {
	if t == nil || len(t.Refs()) == 0 {
		return nil
	}
	plane := &dataplane.TLS{Versions: t.Versions, ALPN: t.ALPN, ClientAuthentication: t.ClientAuth != "NONE", HSTS: hsts(t)}
	if t.Certificate != "" {
		plane.Certificates = append(plane.Certificates, dataplane.Certificate{Ref: t.Certificate})
	}
	for _, ref := range t.SNI {
		plane.Certificates = append(plane.Certificates, dataplane.Certificate{Ref: ref})
	}
	return plane
}

// hsts returns the value of the header Strict-Transport-Security, or "" for none.
func hsts(t *model.ListenerTLS) string {
	if t.HSTSMaxAge < 0 {
		return ""
	}
	value := fmt.Sprintf("max-age=%d;", t.HSTSMaxAge)
	if t.HSTSSubdomains {
		value += " includeSubDomains;"
	}
	if t.HSTSPreload {
		value += " preload;"
	}
	return value
}

func poolPlane(p *model.Pool) *dataplane.Pool {
	plane := &dataplane.Pool{ID: p.ID.String(), Protocol: p.Protocol, Algorithm: p.Algorithm}
	// Provider ovn 3.0 accepts session persistence, but does not implement it.
	if p.Persistence != nil && p.Persistence.Kind == "SOURCE_IP" && p.LB.Provider != OVN {
		plane.SourceIPPersistence = true
		plane.PersistenceTimeout = time.Duration(p.Persistence.Timeout) * time.Second
	}
	for _, m := range p.Members {
		address, err := netip.ParseAddr(m.Address.Value())
		if err != nil || beingCreated(p.LB, &m.Object) {
			continue
		}
		member := dataplane.Member{
			ID: m.ID.String(), Address: address, Port: int(m.Port), Weight: int(m.Weight),
			Backup: m.Backup, AdminUp: m.AdminUp, MonitorPort: int(m.MonitorPort),
		}
		member.MonitorAddress, _ = netip.ParseAddr(m.MonitorAddress.Value()) // the zero Addr if there is none
		plane.Members = append(plane.Members, member)
	}
	if m := p.Monitor; m != nil && !beingCreated(p.LB, &m.Object) {
		plane.Monitor = &dataplane.Monitor{
			ID: m.ID.String(), Type: m.Kind, Delay: time.Duration(m.Delay) * time.Second, Timeout: time.Duration(m.Timeout) * time.Second,
			MaxRetries: m.Retries, MaxRetriesDown: m.RetriesDown,
			HTTPMethod: m.Method, URLPath: m.Path, ExpectedCodes: m.Codes, AdminUp: m.AdminUp,
		}
	}
	return plane
}
