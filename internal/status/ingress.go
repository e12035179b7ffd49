// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// Published is the address that was last published of the Service, or "".
func Published(service *corev1.Service) string {
	address := service.Annotations[annotation.LoadBalancerAddress]
	if address == "" && len(service.Status.LoadBalancer.Ingress) > 0 {
		address = service.Status.LoadBalancer.Ingress[0].IP
	}
	return address
}

// Ingress returns the addresses to publish after the pass: once the load balancer
// serves, and none before. What was published stays while the pass
// could not find out better.
func Ingress(old []corev1.LoadBalancerIngress, p Pass) []corev1.LoadBalancerIngress {
	l := p.Observed.LoadBalancer
	if p.FailedReason == ReasonAddressTaken && p.Err != nil {
		return nil
	}
	if p.OnlyObserved || l == nil || l.ProvisioningStatus == lb.Error || p.Err != nil || p.Replacing && !p.tookOver() {
		return old
	}
	if p.Invalid != nil {
		return p.known(old)
	}
	if l.ProvisioningStatus == lb.PendingCreate || l.ProvisioningStatus == lb.PendingDelete {
		return nil
	}
	if p.Leaving {
		return old
	}
	if len(old) == 0 && l.ProvisioningStatus.Pending() {
		// What is known of it is how it will be, and it may fail yet.
		return nil
	}
	if served(*l) == 0 && !p.Done {
		// It was created alone, or another client took its ports away.
		return old
	}
	address := p.Observed.Address()
	if address == "" || p.External && address == l.VIP.Address {
		// The floating IP is missing: the VIP is not what clients can reach.
		return nil
	}
	if p.Hostname != "" {
		return []corev1.LoadBalancerIngress{{Hostname: p.Hostname}}
	}
	addresses := p.addresses()
	ingress := make([]corev1.LoadBalancerIngress, len(addresses))
	for i, a := range addresses {
		ingress[i] = p.published(a)
	}
	return ingress
}

// published is how an address is published.
func (p Pass) published(address string) corev1.LoadBalancerIngress {
	switch {
	case !p.ThroughLoadBalancer:
		return corev1.LoadBalancerIngress{IP: address, IPMode: ptr.To(corev1.LoadBalancerIPModeVIP)}
	case p.HostnameSuffix != "":
		// Colons, of IPv6, may not be in a name.
		return corev1.LoadBalancerIngress{Hostname: strings.ReplaceAll(address, ":", "-") + "." + p.HostnameSuffix}
	}
	return corev1.LoadBalancerIngress{IP: address, IPMode: ptr.To(corev1.LoadBalancerIPModeProxy)}
}

// addresses are those to publish: of each family that is served, in the Service's order.
func (p Pass) addresses() []string {
	l := p.Observed.LoadBalancer
	if len(p.Families) < 2 {
		return p.addressesOf(l.VIP)
	}
	var all []string
	for _, family := range p.Families {
		vip, _ := l.VIPOf(family == corev1.IPv4Protocol)
		if family == corev1.IPv4Protocol {
			all = append(all, p.addressesOf(vip)...)
		} else if vip.Address != "" {
			all = append(all, vip.Address)
		}
	}
	return all
}

// addressesOf are those of the VIP that the floating IP leads to, if there is one.
func (p Pass) addressesOf(vip lb.VIP) []string {
	floating := p.Observed.Address()
	if p.Observed.LoadBalancer.Has(floating) {
		floating = vip.Address // there is none
	}
	switch {
	case p.External && p.Addresses == annotation.StatusVIP:
		return []string{vip.Address}
	case p.External && p.Addresses == annotation.StatusBoth:
		return []string{floating, vip.Address}
	default:
		return []string{floating}
	}
}

// at is where clients reach the load balancer, for people.
func (p Pass) at() string {
	if len(p.Families) < 2 {
		return p.Observed.Address()
	}
	return strings.Join(p.addresses(), " and ")
}

// known leaves out, of what is published of a Service that is refused, the addresses that
// the load balancer does not have any more. Nothing else is published of it.
func (p Pass) known(old []corev1.LoadBalancerIngress) []corev1.LoadBalancerIngress {
	l := p.Observed.LoadBalancer
	if l.ProvisioningStatus != lb.Active {
		return old
	}
	return slices.DeleteFunc(slices.Clone(old), func(i corev1.LoadBalancerIngress) bool {
		return i.Hostname == "" && !l.Has(i.IP) && !slices.ContainsFunc(p.Observed.FloatingIPs, func(f lb.FloatingIP) bool {
			return f.Address == i.IP && f.PortID == l.VIP.PortID
		})
	})
}

// tookOver reports whether the load balancer is there and has the address at which
// the Service is to be reached.
func (p Pass) tookOver() bool {
	l := p.Observed.LoadBalancer
	return !p.Beside && !l.ProvisioningStatus.Pending() && (!p.External || p.Observed.Address() != l.VIP.Address)
}
