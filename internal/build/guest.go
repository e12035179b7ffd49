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
// made for somebody else. It cannot have another address there, and what is to be reached
// from inside only is not opened to the outside.
func (in Input) checkGuest(options annotation.Options, address string, vip netip.Addr, external bool) error {
	host := in.Found
	if !in.Guest || host == nil {
		return nil
	}
	refuse := func(format string, args ...any) error {
		named := "annotation " + annotation.LoadBalancerID
		if options.Group != "" {
			named = fmt.Sprintf("group %q", options.Group)
		}
		return &Invalid{ReasonSharingRefused, fmt.Sprintf("load balancer %s of %s: ", host.ID, named) + fmt.Sprintf(format, args...)}
	}
	users := lb.Users(*host)
	floating := in.HostAddress != host.VIP.Address
	switch {
	case !in.Capabilities.Has(lb.FeatureTags):
		return refuse("sharing needs %s; this cloud has version %s", lb.FeatureTags.Needs(), in.Capabilities.APIVersion)
	case len(users) >= in.Config.MaxShared && !slices.Contains(users, in.Owner.LoadBalancerName()):
		return refuse("%d Services use it, and [LoadBalancer] max-shared-lb lets no more than %d do so", len(users), in.Config.MaxShared)
	case options.Internal && floating:
		return refuse("it has the floating IP %s, at which the ports of an internal Service would be open to everybody; make the Service external, or let it have a load balancer of its own", in.HostAddress)
	case options.Internal && in.HostExternal && !slices.Contains(users, in.Owner.LoadBalancerName()):
		return refuse("the Service that it was made for asks for a floating IP, at which the ports of an internal Service would be open to everybody; make the Service external, or let it have a load balancer of its own")
	case external && !floating:
		return refuse("it has no floating IP, so the Service could not be reached from outside; attach one to port %s, or make the Service internal", host.VIP.PortID)
	case vip.IsValid() && !host.Has(vip.String()):
		return refuse("it is at %s, and the Service asks for %s; take that back", in.HostAddress, vip)
	case address != "" && address != in.HostAddress:
		return refuse("it is at %s, and the Service asks for %s; take that back", in.HostAddress, address)
	}
	return nil
}

// checkOpening refuses to give a load balancer a floating IP that internal Services share:
// they were promised that nobody from outside reaches them.
func (in Input) checkOpening(external bool) error {
	if !external || len(in.WouldOpen) == 0 {
		return nil
	}
	return &Invalid{ReasonSharingRefused, fmt.Sprintf(
		"load balancer %s is shared with internal Services (%s), whose ports a floating IP would open to everybody; let them have another one, or make them external first, or make this Service internal",
		in.Found.ID, strings.Join(in.WouldOpen, ", "))}
}
