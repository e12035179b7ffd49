// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// Published returns the address that was last published for the Service, or "". That of another Service, of which this
// one is a copy, does not count.
func Published(service *corev1.Service) string {
	if claim.Copied(service) {
		return ""
	}
	address := service.Annotations[annotation.LoadBalancerAddress]
	if address == "" && len(service.Status.LoadBalancer.Ingress) > 0 {
		address = service.Status.LoadBalancer.Ingress[0].IP
	}
	return address
}

// Ingress returns the addresses to publish after the pass. There are none until the load
// balancer serves. Published addresses stay if the pass could not read the current ones.
func Ingress(old []corev1.LoadBalancerIngress, p Pass) []corev1.LoadBalancerIngress {
	l := p.Observed.LoadBalancer
	if p.FailedReason == ReasonAddressInUse && p.Err != nil {
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
		// The recorded state is the expected one, and the creation can still fail.
		return nil
	}
	if served(*l) == 0 && !p.Done {
		// It was created without listeners, or its listeners were deleted.
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

// published returns the status entry for an address.
func (p Pass) published(address string) corev1.LoadBalancerIngress {
	switch {
	case !p.ThroughLoadBalancer:
		return corev1.LoadBalancerIngress{IP: address, IPMode: ptr.To(corev1.LoadBalancerIPModeVIP)}
	case p.HostnameSuffix != "":
		// A host name cannot contain the colons of an IPv6 address.
		return corev1.LoadBalancerIngress{Hostname: strings.ReplaceAll(address, ":", "-") + "." + p.HostnameSuffix}
	}
	return corev1.LoadBalancerIngress{IP: address, IPMode: ptr.To(corev1.LoadBalancerIPModeProxy)}
}

// addresses returns the addresses to publish for each served family, in the Service's order.
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

// addressesOf returns the addresses to publish for a VIP and its floating IP, if it has one.
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

// at returns the load balancer's addresses as text for a message.
func (p Pass) at() string {
	if len(p.Families) < 2 {
		return p.Observed.Address()
	}
	return strings.Join(p.addresses(), " and ")
}

// known returns those published addresses of a refused Service that the load balancer still
// has. No other address is published for such a Service.
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

// tookOver reports whether the replacement is complete and has the Service's address.
func (p Pass) tookOver() bool {
	l := p.Observed.LoadBalancer
	return !p.Beside && !l.ProvisioningStatus.Pending() && (!p.External || p.Observed.Address() != l.VIP.Address)
}
