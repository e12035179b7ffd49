// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// Ingress returns the addresses to publish after the pass: only addresses that clients reach, or will reach again. There
// are none until the load balancer has a listener of the Service: on one that it shares, they would lead to the Pods of
// another Service. Published addresses stay if the pass could not read the current ones, and while a load balancer is
// created again behind a floating IP that stays.
func Ingress(old []corev1.LoadBalancerIngress, p Pass) []corev1.LoadBalancerIngress {
	return Kept(old, p.ingress(old))
}

// Kept returns the wanted addresses as the API server that has the old ones keeps them. API servers before Kubernetes 1.30
// do not have the field ipMode, unless a feature gate is on: they remove it from what is written, so that it would be
// written again in each pass. Newer ones set it on each address that they return, so addresses without it show what
// the API server is, also after an update of Kubernetes.
func Kept(old, wanted []corev1.LoadBalancerIngress) []corev1.LoadBalancerIngress {
	isAddress := func(i corev1.LoadBalancerIngress) bool { return i.IP != "" }
	hasMode := func(i corev1.LoadBalancerIngress) bool { return i.IPMode != nil }
	if !slices.ContainsFunc(old, isAddress) || slices.ContainsFunc(old, hasMode) {
		return wanted
	}
	return WithoutIPMode(wanted)
}

// WithoutIPMode returns the addresses as an API server that does not have the field ipMode keeps them.
func WithoutIPMode(ingress []corev1.LoadBalancerIngress) []corev1.LoadBalancerIngress {
	ingress = slices.Clone(ingress)
	for i := range ingress {
		ingress[i].IPMode = nil
	}
	return ingress
}

// ingress returns the addresses to publish on an API server that has the field ipMode.
func (p Pass) ingress(old []corev1.LoadBalancerIngress) []corev1.LoadBalancerIngress {
	l := p.Observed.LoadBalancer
	if p.FailedReason == ReasonAddressInUse && p.Err != nil {
		return nil
	}
	switch {
	case l == nil && p.Done && !p.OnlyObserved:
		return p.own(old) // it was deleted, and stays so
	case l == nil && p.creates() && !p.Replacing && !p.OnlyObserved:
		return p.own(old) // it was deleted, and the new one may have another address
	case p.OnlyObserved, l == nil, l.ProvisioningStatus == lb.Error, p.Replacing && !p.tookOver():
		return old
	case p.Err != nil:
		return p.remaining(old)
	}
	if p.Invalid != nil {
		return p.known(old)
	}
	if l.ProvisioningStatus == lb.PendingCreate || l.ProvisioningStatus == lb.PendingDelete {
		return p.own(old)
	}
	if p.Leaving {
		return old
	}
	if len(old) == 0 && l.ProvisioningStatus.Pending() {
		// The recorded state is the expected one, and the creation can still fail.
		return nil
	}
	if p.served() == 0 {
		return p.unserved(old)
	}
	address := p.Address()
	if address == "" || p.External && address == l.VIP.Address {
		// The floating IP is missing: the VIP is not what clients can reach, unless it is published beside.
		return p.withoutFloatingIP(old)
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

// unserved returns those published addresses that stay although the load balancer has no listener of
// the Service: all while its listeners are being created or are not known, and none if it gets none.
func (p Pass) unserved(old []corev1.LoadBalancerIngress) []corev1.LoadBalancerIngress {
	opens := slices.ContainsFunc(p.Left, func(op diff.Op) bool {
		_, creates := op.(diff.CreateListener)
		return creates
	})
	if p.Observed.LoadBalancer.ProvisioningStatus == lb.Active && !opens && (p.Done || len(p.Refused) > 0) {
		return nil
	}
	return old
}

// Withdraw returns the addresses to publish before the floating IP with the address is released.
func Withdraw(old []corev1.LoadBalancerIngress, p Pass, address string) []corev1.LoadBalancerIngress {
	has := func(i corev1.LoadBalancerIngress) bool { return p.leadsTo(i, address) }
	if !slices.ContainsFunc(old, has) {
		return old
	}
	return slices.DeleteFunc(slices.Clone(Ingress(old, p)), has)
}

// Address returns the address for clients: of the floating IPs on the VIP port the requested one, or else any; or the
// VIP.
func (p Pass) Address() string {
	l := p.Observed.LoadBalancer
	if l == nil {
		return ""
	}
	if p.Internal {
		return l.VIP.Address
	}
	for _, f := range p.Observed.FloatingIPs {
		if f.PortID != "" && f.PortID == l.VIP.PortID && f.Address == p.Requested {
			return f.Address
		}
	}
	return p.Observed.Address()
}

// leadsTo reports whether the entry is the address, or a host name that is made of it.
func (p Pass) leadsTo(i corev1.LoadBalancerIngress, address string) bool {
	return i.IP == address || i.Hostname != "" && i.Hostname == p.published(address).Hostname
}

// creates reports whether the load balancer has to be created: the cloud was read, and there is none.
func (p Pass) creates() bool {
	return slices.ContainsFunc(p.Left, func(op diff.Op) bool {
		_, creates := op.(diff.CreateLoadBalancer)
		return creates
	})
}

// own returns the published addresses of floating IPs that the Service still has.
func (p Pass) own(old []corev1.LoadBalancerIngress) []corev1.LoadBalancerIngress {
	return slices.DeleteFunc(slices.Clone(old), func(i corev1.LoadBalancerIngress) bool { return !p.isOwn(i) })
}

func (p Pass) isOwn(i corev1.LoadBalancerIngress) bool {
	if i.IP == "" && (p.HostnameSuffix == "" || !strings.HasSuffix(i.Hostname, "."+p.HostnameSuffix)) {
		return len(p.Own) > 0 // a host name that a person chose stands for the address
	}
	return slices.ContainsFunc(p.Own, func(address string) bool { return p.leadsTo(i, address) })
}

// withoutFloatingIP returns the published addresses that stay while the floating IP is missing: those of own, and VIPs that
// are published beside it.
func (p Pass) withoutFloatingIP(old []corev1.LoadBalancerIngress) []corev1.LoadBalancerIngress {
	vips := p.vipsBesideFloatingIP()
	return slices.DeleteFunc(slices.Clone(old), func(i corev1.LoadBalancerIngress) bool {
		isVIP := slices.ContainsFunc(vips, func(address string) bool { return p.leadsTo(i, address) })
		return !isVIP && !p.isOwn(i)
	})
}

// vipsBesideFloatingIP returns the VIPs to publish beside a floating IP, which leads to an IPv4 address only.
func (p Pass) vipsBesideFloatingIP() []string {
	var vips []string
	l := p.Observed.LoadBalancer
	for _, vip := range append([]lb.VIP{l.VIP}, l.AdditionalVIPs...) {
		isIPv6 := strings.Contains(vip.Address, ":")
		served := len(p.Families) > 1 || vip.Address == l.VIP.Address
		if served && (isIPv6 || p.Addresses == annotation.StatusVIP || p.Addresses == annotation.StatusBoth) {
			vips = append(vips, vip.Address)
		}
	}
	return vips
}

// remaining returns the published addresses that the Service has, as far as is known after a failure.
func (p Pass) remaining(old []corev1.LoadBalancerIngress) []corev1.LoadBalancerIngress {
	o := p.Observed
	return slices.DeleteFunc(slices.Clone(old), func(i corev1.LoadBalancerIngress) bool {
		return i.IP != "" && !o.LoadBalancer.Has(i.IP) && !slices.Contains(p.Own, i.IP) && (o.Predecessor == nil || !o.Predecessor.Has(i.IP))
	})
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

// addressesOf returns the addresses to publish for a VIP and its floating IP, if it has one. That of another Service, whose
// load balancer this one shares, counts as well.
func (p Pass) addressesOf(vip lb.VIP) []string {
	floating := p.Address()
	switch {
	case p.Observed.LoadBalancer.Has(floating): // there is none
		return []string{vip.Address}
	case p.Addresses == annotation.StatusVIP:
		return []string{vip.Address}
	case p.Addresses == annotation.StatusBoth:
		return []string{floating, vip.Address}
	default:
		return []string{floating}
	}
}

// at returns the load balancer's addresses as text for a message.
func (p Pass) at() string {
	if len(p.Families) < 2 {
		return p.Address()
	}
	return strings.Join(p.addresses(), " and ")
}

// known returns those published addresses of a refused Service that the load balancer still
// has, if it still has a listener of the Service. No other address is published for such a Service.
func (p Pass) known(old []corev1.LoadBalancerIngress) []corev1.LoadBalancerIngress {
	l := p.Observed.LoadBalancer
	if l.ProvisioningStatus != lb.Active {
		return old
	}
	if p.served() == 0 {
		return nil
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
	return !p.Beside && !l.ProvisioningStatus.Pending() && (!p.External || p.Address() != l.VIP.Address)
}
