// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// checkSharing refuses a Service that cannot have its ports on a load balancer of another owner: it cannot have
// another address there, and an internal Service must not become reachable from outside.
func (in Input) checkSharing(options annotation.Options, address string, vip netip.Addr, external bool) error {
	shared := in.Found
	if !in.Sharer || shared == nil {
		return nil
	}
	refuse := func(format string, args ...any) *Invalid {
		source := "annotation " + annotation.LoadBalancerID
		if options.Group != "" {
			source = fmt.Sprintf("group %q", options.Group)
		}
		return invalid(ReasonSharingRefused, "load balancer %s of %s: %s", shared.ID, source, fmt.Sprintf(format, args...))
	}
	names := lb.NameTags(*shared)
	joined := slices.Contains(names, in.Owner.LoadBalancerName())
	floating := in.FoundAddress != shared.VIP.Address
	switch {
	case in.Config.AtClusterIP != nil:
		return refuse("its address is %s, and the Service requires its ClusterIP %s ([ClusterIP] of cloud.conf); remove the annotation", shared.VIP.Address, vip)
	case !in.Capabilities.Has(lb.FeatureTags):
		return refuse("sharing needs %s; this cloud has version %s", lb.FeatureTags.Needs(), in.Capabilities.APIVersion)
	case len(names) >= in.Config.MaxShared && !joined:
		return refuse("%d Services use it, and [LoadBalancer] max-shared-lb allows %d", len(names), in.Config.MaxShared)
	case options.Internal && floating:
		refused := refuse("it has floating IP %s, which would expose the ports of an internal Service; make the Service external, or give it a separate load balancer", in.FoundAddress)
		refused.Exposed = !in.OwnerInternal
		return refused
	case options.Internal && in.OwnerExternal && !joined:
		return refuse("the Service that it was created for requests a floating IP, which would expose the ports of an internal Service; make the Service external, or give it a separate load balancer")
	case external && !floating:
		return refuse("it has no floating IP, so an external Service would be unreachable; attach one to port %s, or make the Service internal", shared.VIP.PortID)
	case vip.IsValid() && !shared.Has(vip.String()):
		return refuse("its address is %s, and the Service requests %s; request that address, or none", in.FoundAddress, vip)
	case address != "" && address != in.FoundAddress:
		return refuse("its address is %s, and the Service requests %s; request that address, or none", in.FoundAddress, address)
	}
	return nil
}

// checkCutOff refuses an internal Service that has ports on its own load balancer, if other Services need the floating
// IP of the load balancer. Without the floating IP, these Services would be unreachable. With it, the internal Service
// would stay reachable from outside. So the internal Service leaves the load balancer to the others.
func (in Input) checkCutOff(options annotation.Options) error {
	if !options.Internal || in.Found == nil || len(in.WouldCutOff) == 0 {
		return nil
	}
	refused := invalid(ReasonSharingRefused, "load balancer %s has floating IP %s, which others need (%s) and which would expose the ports of an internal Service; "+
		"its ports there are closed: make the Service external, or give it a separate load balancer", in.Found.ID, in.FoundAddress, strings.Join(in.WouldCutOff, ", "))
	refused.Exposed = true
	return refused
}

// checkExposure refuses a floating IP for a load balancer that internal Services share: it would make them
// reachable from outside.
func (in Input) checkExposure(external bool) error {
	if !external || len(in.WouldExpose) == 0 {
		return nil
	}
	return invalid(ReasonSharingRefused, "load balancer %s is shared with internal Services (%s), whose ports a floating IP would expose; "+
		"move them to another load balancer, or make them external first, or make this Service internal", in.Found.ID, strings.Join(in.WouldExpose, ", "))
}
