// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
)

// checkServiceSubnet refuses a Service before its first load balancer at its ClusterIP is created, if the subnet cannot
// have it.
func (b *Builder) checkServiceSubnet(ctx context.Context, of claim.Owner, in desired.Input, observed lb.Observed) (desired.Input, error) {
	options := of.Spec.Options
	if in.Config.AtClusterIP == nil || observed.LoadBalancer != nil || of.WasAtClusterIP {
		return in, nil
	}
	ranges, err := clusterIPRanges(ctx, b.Secrets)
	if err != nil {
		return in, err
	}
	subnets := []string{in.Networks.VIPSubnetID, in.Networks.AdditionalSubnetID}
	for i, family := range in.FamiliesToServe(options) {
		if clusterIP, has := in.Spec.ClusterIPs[family]; has && subnets[i] != "" {
			if err := serviceSubnetError(ctx, b.Neutron, subnets[i], clusterIP, ranges, subnetsAge, freshSubnetsAge); err != nil {
				return in, err
			}
		}
	}
	return in, nil
}

// serviceSubnetError returns an error that is for the author of the Service, if the subnet cannot have the ClusterIP. What is known of the
// subnet may be as old as the first of the ages. If it shows problems, the subnet is read again with the next age: an
// operator may have solved them.
func serviceSubnetError(ctx context.Context, n *neutron.Client, subnetID string, clusterIP netip.Addr, ranges []netip.Prefix, ages ...time.Duration) error {
	var problems []string
	for _, age := range ages {
		plan, err := n.SubnetPlan(ctx, subnetID, age)
		switch {
		case openstack.Classify(err) == openstack.Gone:
			return desired.ServiceSubnetUnusable(fmt.Sprintf("the project sees no subnet %s; name another one, or share its network with the project", subnetID))
		case err != nil:
			return err
		}
		problems = desired.ServiceSubnetProblems(plan, ranges, clusterIP)
		if len(problems) == 0 {
			return nil
		}
	}
	return desired.ServiceSubnetUnusable(problems...)
}

// clusterIPRanges returns the addresses from which Kubernetes assigns ClusterIPs. There are none if the API does not show them, before
// Kubernetes 1.33. The reader must have no cache.
func clusterIPRanges(ctx context.Context, reader client.Reader) (ranges []netip.Prefix, _ error) {
	var all networkingv1.ServiceCIDRList
	switch err := reader.List(ctx, &all); {
	case meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list ServiceCIDRs: %w", err)
	}
	for _, one := range all.Items {
		for _, text := range one.Spec.CIDRs {
			if cidr, err := netip.ParsePrefix(text); err == nil {
				ranges = append(ranges, cidr)
			}
		}
	}
	return ranges, nil
}
