// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// addresses returns the requested address of the floating IP, and the VIP's address: the requested one, or the
// ClusterIP.
func (in Input) addresses(options annotation.Options, external bool) (floating string, vip netip.Addr, err error) {
	floating, vip, err = in.requestedAddresses(options, external)
	if err == nil {
		vip, err = in.clusterIPOr(vip)
	}
	return floating, vip, err
}

// clusterIPOr returns the address of the VIP: in cluster-ip mode the ClusterIP, and otherwise the requested one.
func (in Input) clusterIPOr(requested netip.Addr) (netip.Addr, error) {
	if in.Config.AtClusterIP == nil {
		return requested, nil
	}
	clusterIP, has := in.Spec.ClusterIPs[in.Family()]
	switch {
	case !has:
		return clusterIP, invalid(ReasonInvalidAddress, "the Service has no ClusterIP of family %s", in.Family())
	case requested.IsValid() && requested != in.Spec.ClusterIPs[FamilyOf(requested)]:
		return clusterIP, invalid(ReasonInvalidAddress, "spec.loadBalancerIP requests %s for the VIP, but the VIP is the ClusterIP %s ([ClusterIP] of cloud.conf); "+
			"remove spec.loadBalancerIP, or make the Service external to request a floating IP", requested, clusterIP)
	}
	return clusterIP, nil
}

// atClusterIPs requests the ClusterIP of the second family for the additional VIP. The first is requested already.
func (in Input) atClusterIPs(l *lb.LoadBalancer) {
	if in.Config.AtClusterIP == nil || len(l.AdditionalVIPs) == 0 {
		return
	}
	l.AdditionalVIPs[0].Address = in.Spec.ClusterIPs[in.Families()[1]].String()
}

// otherVIPs says which VIPs of the existing load balancer should be at a ClusterIP, but are not.
func (in Input) otherVIPs() []string {
	if in.Config.AtClusterIP == nil {
		return nil
	}
	var others []string
	for _, family := range in.served() {
		clusterIP, has := in.Spec.ClusterIPs[family]
		vip, _ := in.Found.VIPOf(family == corev1.IPv4Protocol)
		if address, err := netip.ParseAddr(vip.Address); has && err == nil && address != clusterIP {
			others = append(others, fmt.Sprintf("VIP address %s, the ClusterIP, instead of %s", clusterIP, address))
		}
	}
	return others
}
