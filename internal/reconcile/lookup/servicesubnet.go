// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/servicesubnet"
)

// checkServiceSubnet refuses a Service before its first load balancer at its ClusterIP is created, if the subnet cannot
// have it.
func (b *Builder) checkServiceSubnet(ctx context.Context, of claim.Owner, in *desired.Input, observed lb.Observed) error {
	options := of.Spec.Options
	if in.Config.AtClusterIP == nil || observed.LoadBalancer != nil || of.WasAtClusterIP {
		return nil
	}
	ranges, err := servicesubnet.Ranges(ctx, b.Secrets)
	if err != nil {
		return err
	}
	subnets := []string{in.Networks.VIPSubnetID, in.Networks.AdditionalSubnetID}
	for i, family := range in.FamiliesToServe(options) {
		if clusterIP, has := in.Spec.ClusterIPs[family]; has && subnets[i] != "" {
			if err := servicesubnet.Check(ctx, b.Neutron, subnets[i], clusterIP, ranges, subnetsAge, freshSubnetsAge); err != nil {
				return err
			}
		}
	}
	return nil
}
