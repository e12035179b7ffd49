// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// checkGuest reports whether the Service may have its ports on a load balancer that was
// created for another owner. It cannot have another address there, and what is to be reached
// from inside only is not opened to the outside.
func (in Input) checkGuest(options annotation.Options, address string, vip netip.Addr, external bool) error {
	host := in.Found
	if !in.Sharer || host == nil {
		return nil
	}
	refuse := func(format string, args ...any) error {
		named := "annotation " + annotation.LoadBalancerID
		if options.Group != "" {
			named = fmt.Sprintf("group %q", options.Group)
		}
		return &Invalid{ReasonSharingRefused, fmt.Sprintf("load balancer %s of %s: ", host.ID, named) + fmt.Sprintf(format, args...)}
	}
	users := lb.NameTags(*host)
	floating := in.FoundAddress != host.VIP.Address
	switch {
	case !in.Capabilities.Has(lb.FeatureTags):
		return refuse("sharing needs %s; this cloud has version %s", lb.FeatureTags.Needs(), in.Capabilities.APIVersion)
	case len(users) >= in.Config.MaxShared && !slices.Contains(users, in.Owner.LoadBalancerName()):
		return refuse("%d Services use it, and [LoadBalancer] max-shared-lb allows %d", len(users), in.Config.MaxShared)
	case options.Internal && floating:
		return refuse("it has floating IP %s, which would expose the ports of an internal Service; make the Service external, or give it a separate load balancer", in.FoundAddress)
	case options.Internal && in.OwnerExternal && !slices.Contains(users, in.Owner.LoadBalancerName()):
		return refuse("the Service that it was created for requests a floating IP, which would expose the ports of an internal Service; make the Service external, or give it a separate load balancer")
	case external && !floating:
		return refuse("it has no floating IP, so an external Service would be unreachable; attach one to port %s, or make the Service internal", host.VIP.PortID)
	case vip.IsValid() && !host.Has(vip.String()):
		return refuse("its address is %s, and the Service requests %s; request that address, or none", in.FoundAddress, vip)
	case address != "" && address != in.FoundAddress:
		return refuse("its address is %s, and the Service requests %s; request that address, or none", in.FoundAddress, address)
	}
	return nil
}

// checkOpening refuses to give a load balancer a floating IP that internal Services share:
// they were promised that nobody from outside reaches them.
func (in Input) checkOpening(external bool) error {
	if !external || len(in.WouldExpose) == 0 {
		return nil
	}
	return &Invalid{ReasonSharingRefused, fmt.Sprintf(
		"load balancer %s is shared with internal Services (%s), whose ports a floating IP would expose; move them to another load balancer, or make them external first, or make this Service internal",
		in.Found.ID, strings.Join(in.WouldExpose, ", "))}
}
