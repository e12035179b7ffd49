// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// withNotedVIP lets the load balancer that is to be made have the address that was noted, in
// its subnet, whatever subnet the configuration names by now.
func withNotedVIP(w lb.Wanted, service *corev1.Service) lb.Wanted {
	vip, noted := NotedVIP(service)
	if !noted || w.LoadBalancer == nil || w.LoadBalancer.VIP.Address != "" || onGivenPort(w) {
		return w
	}
	l := *w.LoadBalancer
	if vip.SubnetID != "" {
		l.VIP = vip
	} else {
		l.VIP.Address = vip.Address
	}
	w.LoadBalancer = &l
	return w
}

// NotedVIP reads the address that an internal Service has while its load balancer is deleted
// and another one made: from the moment at which nobody holds the address, it has to be
// remembered on the Service.
func NotedVIP(service *corev1.Service) (vip lb.VIP, ok bool) {
	address, subnet, _ := strings.Cut(service.Annotations[annotation.VIPAddress], " ")
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return lb.VIP{}, false
	}
	vip = lb.VIP{Address: parsed.String()}
	if openstack.IsID(subnet) {
		vip.SubnetID = subnet
	}
	return vip, true
}

// onGivenPort reports whether the VIP is a port that a person made, which only one load
// balancer can have.
func onGivenPort(w lb.Wanted) bool { return w.LoadBalancer != nil && w.LoadBalancer.VIP.PortID != "" }

// WithCertificate returns what is wanted with the reference of a certificate that was stored
// in the place of its name.
func WithCertificate(w lb.Wanted, name, ref string) lb.Wanted {
	if w.LoadBalancer == nil {
		return w
	}
	l := *w.LoadBalancer
	l.Listeners = slices.Clone(l.Listeners)
	for i, listener := range l.Listeners {
		if listener.TLS != nil && listener.TLS.Certificate == name {
			tls := *listener.TLS
			tls.Certificate = ref
			l.Listeners[i].TLS = &tls
		}
	}
	w.LoadBalancer = &l
	return w
}

func equal(a, b lb.Wanted) bool { return reflect.DeepEqual(a, b) }

// EqualButMembers reports whether a and b differ at most in the members of pools.
func EqualButMembers(a, b lb.Wanted) bool { return equal(withoutMembers(a), withoutMembers(b)) }

func withoutMembers(w lb.Wanted) lb.Wanted {
	if w.LoadBalancer == nil {
		return w
	}
	l := *w.LoadBalancer
	l.Listeners = slices.Clone(l.Listeners)
	for i := range l.Listeners {
		if l.Listeners[i].Pool != nil {
			pool := *l.Listeners[i].Pool
			pool.Members = nil
			l.Listeners[i].Pool = &pool
		}
	}
	w.LoadBalancer = &l
	return w
}
