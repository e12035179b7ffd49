// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsim

import (
	"crypto/tls"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/dataplane"
)

// setMemberStatus passes the result of a health monitor to Octavia.
func (c *Cloud) setMemberStatus(memberID, operatingStatus string) {
	c.octavia.SetMemberStatus(memberID, operatingStatus)
}

// floatingIPChanged makes the load balancer behind a port listen on the floating IPs that the port
// has now.
func (c *Cloud) floatingIPChanged(portID string) {
	if c.plane == nil {
		return
	}
	if id, ok := c.octavia.LoadBalancerOfPort(portID); ok {
		c.noteMissed(id, portID)
		c.forward(id)
	}
}

// noteMissed records the protocols for which provider ovn misses that floating IPs were attached to a port: those that
// it is creating at that moment. On Octavia 16, UDP was never answered at a floating IP that was attached while the
// load balancer was being created. A real cloud misses this only sometimes, the simulator always. Attaching the
// floating IP again fixes it.
func (c *Cloud) noteMissed(loadBalancerID, portID string) {
	c.forwarding.Lock()
	defer c.forwarding.Unlock()
	before, now := c.missed[loadBalancerID], map[string][]string{}
	for _, address := range c.neutron.FloatingAddresses(portID) {
		missed, known := before[address]
		if !known {
			missed = c.octavia.UnmadeProtocols(loadBalancerID)
		}
		now[address] = missed
	}
	c.missed[loadBalancerID] = now
}

// lacking sets the floating IPs on which the listeners do not listen.
func (c *Cloud) lacking(lb dataplane.LoadBalancer) {
	for address, protocols := range c.missed[lb.ID] {
		ip, err := netip.ParseAddr(address)
		if err != nil {
			continue
		}
		for i := range lb.Listeners {
			if l := &lb.Listeners[i]; slices.Contains(protocols, l.Protocol) {
				l.Lacks = append(l.Lacks, ip)
			}
		}
	}
}

// movedFrom returns the floating IPs of all other load balancers.
func (c *Cloud) movedFrom(loadBalancerID string) []netip.Addr {
	var moved []netip.Addr
	for text, port := range c.neutron.PortsOfFloatingAddresses() {
		id, ok := c.octavia.LoadBalancerOfPort(port)
		if ip, err := netip.ParseAddr(text); err == nil && ok && id != loadBalancerID {
			moved = append(moved, ip)
		}
	}
	return moved
}

// forward applies the current state of a load balancer in Octavia and Neutron to the data plane.
// Calls are serialized, so that the state that is read last is also set last.
func (c *Cloud) forward(loadBalancerID string) {
	c.forwarding.Lock()
	defer c.forwarding.Unlock()
	lb, ok := c.octavia.DataPlane(loadBalancerID)
	if !ok {
		c.plane.Remove(loadBalancerID)
		delete(c.certificates, loadBalancerID)
		if _, there := c.octavia.VIPPortID(loadBalancerID); !there {
			delete(c.missed, loadBalancerID)
		}
		return
	}
	if port, ok := c.octavia.VIPPortID(loadBalancerID); ok {
		for _, text := range c.neutron.FloatingAddresses(port) {
			if ip, err := netip.ParseAddr(text); err == nil {
				lb.Addresses = append(lb.Addresses, ip)
			}
		}
	}
	lb.Moved = c.movedFrom(loadBalancerID)
	lb.Listeners = c.admitted(loadBalancerID, slices.Clone(lb.Listeners))
	// IPv6 VIPs and VIPs of networks that are not on loopback have no data plane.
	loopback := lb.Addresses[:0:0]
	for _, ip := range lb.Addresses {
		if ip.IsLoopback() {
			loopback = append(loopback, ip)
		}
	}
	lb.Addresses = loopback
	c.lacking(lb)
	c.findMembers(lb)
	c.findCertificates(lb)
	err := c.plane.Set(lb)
	if err != nil {
		c.logger.Error(err, "The data plane cannot apply the load balancer completely", "loadbalancer", loadBalancerID)
	}
	c.octavia.SetClosed(loadBalancerID, closedListeners(err))
}

// admitted returns the listeners to which the security groups of the VIP, if any, let clients connect. Changes of
// rules take effect with the next change of the load balancer.
func (c *Cloud) admitted(loadBalancerID string, all []dataplane.Listener) (open []dataplane.Listener) {
	groups := c.octavia.VIPGroups(loadBalancerID)
	if len(groups) == 0 {
		return all
	}
	for _, l := range all {
		protocol := "tcp"
		if l.Protocol == "UDP" || l.Protocol == "SCTP" {
			protocol = strings.ToLower(l.Protocol)
		}
		l.AllowedCIDRs = c.neutron.Admitted(groups, protocol, l.Port)
		if len(l.AllowedCIDRs) > 0 {
			open = append(open, l)
		}
	}
	return open
}

// findMembers replaces the addresses of members by those at which the data plane reaches them.
func (c *Cloud) findMembers(lb dataplane.LoadBalancer) {
	if c.options.MemberAt == nil {
		return
	}
	for _, l := range lb.Listeners {
		if l.Pool == nil {
			continue
		}
		for i := range l.Pool.Members {
			if m := &l.Pool.Members[i]; !m.Address.IsLoopback() {
				m.Address = c.options.MemberAt(m.Address)
			}
		}
	}
}

// findCertificates reads the certificates of listeners. A certificate that a load balancer already has is not
// read again, so that it stays when its secret is deleted, as in an amphora. The content of a secret never
// changes.
func (c *Cloud) findCertificates(lb dataplane.LoadBalancer) {
	had, has := c.certificates[lb.ID], map[string]tls.Certificate{}
	for i := range lb.Listeners {
		l := &lb.Listeners[i]
		if l.TLS == nil {
			continue
		}
		terminate := *l.TLS
		terminate.Certificates = nil
		for _, certificate := range l.TLS.Certificates {
			certificate.Pair = c.certificate(had, certificate.Ref)
			terminate.Certificates, has[certificate.Ref] = append(terminate.Certificates, certificate), certificate.Pair
		}
		l.TLS = &terminate
	}
	c.certificates[lb.ID] = has
}

// certificate returns the certificate of a reference, without content if it cannot be read.
func (c *Cloud) certificate(had map[string]tls.Certificate, ref string) tls.Certificate {
	if pair := had[ref]; len(pair.Certificate) > 0 {
		return pair
	}
	pair, err := c.barbican.ReaderFor(c.octaviaUser).KeyPair(ref)
	if err != nil {
		c.logger.Error(err, "the data plane cannot read a certificate", "reference", ref)
		return tls.Certificate{}
	}
	return pair
}

// closedListeners returns the ids of the listeners that do not accept connections.
func closedListeners(err error) []string {
	var one *dataplane.ListenerError
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var ids []string
		for _, e := range joined.Unwrap() {
			ids = append(ids, closedListeners(e)...)
		}
		return ids
	} else if errors.As(err, &one) {
		return []string{one.ID}
	}
	return nil
}
