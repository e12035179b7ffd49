// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// checkServiceSubnet refuses a Service before its load balancer is created, if the subnet of the ClusterIPs cannot have it.
func (p *Planner) checkServiceSubnet(ctx context.Context, in *build.Input, options annotation.Options, observed lb.Observed) error {
	if in.Config.AtClusterIP == nil || observed.LoadBalancer != nil {
		return nil
	}
	ranges, err := p.serviceRanges(ctx)
	if err != nil {
		return err
	}
	subnets := []string{in.Networks.VIPSubnetID, in.Networks.AdditionalSubnetID}
	for i, family := range in.FamiliesToServe(options) {
		if clusterIP, has := build.ClusterIPs(in.Service)[family]; has && subnets[i] != "" {
			if err := p.checkSubnetOf(ctx, clusterIP, subnets[i], ranges); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSubnetOf reads the subnet again if what is known of it has problems: somebody may have solved them.
func (p *Planner) checkSubnetOf(ctx context.Context, clusterIP netip.Addr, subnetID string, ranges []netip.Prefix) error {
	var problems []string
	for _, age := range []time.Duration{subnetsAge, freshSubnetsAge} {
		plan, err := p.Neutron.SubnetPlan(ctx, subnetID, age)
		switch {
		case openstack.Classify(err) == openstack.Gone:
			return build.ServiceSubnetUnusable(fmt.Sprintf("the project sees no subnet %s; name another one, or share its network with the project", subnetID))
		case err != nil:
			return err
		}
		if problems = build.ServiceSubnetProblems(plan, ranges, clusterIP); len(problems) == 0 {
			return nil
		}
	}
	return build.ServiceSubnetUnusable(problems...)
}

// serviceRanges returns the addresses from which Kubernetes assigns ClusterIPs. There are none if the API does not show
// them, before Kubernetes 1.33.
func (p *Planner) serviceRanges(ctx context.Context) (ranges []netip.Prefix, _ error) {
	var all networkingv1.ServiceCIDRList
	switch err := p.Secrets.List(ctx, &all); {
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
