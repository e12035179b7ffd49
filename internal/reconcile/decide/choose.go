// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Choose decides which of a Service's own load balancers is the current one, and what the others are. Floating are
// their floating IPs, id is the one on the Service.
//
// There are several after a create whose answer was lost, and during a replacement. A new controller has to choose in
// the same way as the previous controller did, so only the state of the cloud counts. A working load balancer comes
// before a failed one. The load balancer with the floating IP stays the current one until another one has taken over
// the floating IP. A tag identifies the replacement of a working load balancer.
func Choose(own []lb.LoadBalancer, floating []lb.FloatingIP, id string, owner lb.Owner) lb.Observed {
	if len(own) == 0 {
		return lb.Observed{}
	}
	attached := func(l lb.LoadBalancer) bool { return HasFloatingIP(l, floating) }
	external := slices.ContainsFunc(own, attached)
	own = slices.Clone(own)
	slices.SortFunc(own, func(a, b lb.LoadBalancer) int {
		return cmp.Or(cmp.Compare(rank(a, id, external, attached(a)), rank(b, id, external, attached(b))), strings.Compare(a.ID, b.ID))
	})
	current, replaced := workingReplacement(own, attached, owner)
	l := own[current]
	o := lb.Observed{LoadBalancer: &l, FloatingIPs: floating}
	for _, other := range slices.Delete(own, current, current+1) {
		ours := lb.ServiceUIDOf(other.Tags) == owner.ServiceUID || other.ID == replaced && owner.Claims(other).Adopted
		if !ours || owner.SharedBy(other) != "" {
			continue
		}
		predecessor := (attached(other) || other.ID == replaced) && o.Predecessor == nil
		if predecessor {
			o.Predecessor = &other
		}
		switch pending := other.ProvisioningStatus.Pending(); {
		case pending && other.ID != replaced || attached(other) && !predecessor:
			o.Unsettled = append(o.Unsettled, other.ID)
		case !predecessor:
			o.Duplicates = append(o.Duplicates, other.ID)
		}
	}
	return o
}

// workingReplacement returns the index of a working load balancer that replaces another one of own, and the id of the replaced
// one; or 0 and "". If another Service has started to share the replaced load balancer while this one has the floating
// IP, it is not replaced: then workingReplacement returns its index, and "".
func workingReplacement(own []lb.LoadBalancer, attached func(lb.LoadBalancer) bool, owner lb.Owner) (current int, replaced string) {
	works := func(l lb.LoadBalancer) bool {
		return l.ProvisioningStatus != lb.Error && l.ProvisioningStatus != lb.PendingDelete
	}
	for i, l := range own {
		old := slices.IndexFunc(own, func(o lb.LoadBalancer) bool { return lb.Replaces(l.Tags) == o.ID })
		isReplaced := slices.ContainsFunc(own, func(o lb.LoadBalancer) bool { return works(o) && lb.Replaces(o.Tags) == l.ID })
		switch {
		case !works(l) || old < 0 || isReplaced:
		case owner.SharedBy(own[old]) == "":
			return i, own[old].ID
		case works(own[old]) && attached(own[old]) && !attached(l):
			return old, ""
		}
	}
	return 0, ""
}

// rank orders the load balancers of a Service: the one with the id on the Service first,
// failed ones late, and deleted ones last. If none has a floating IP, as for internal
// Services, the one with the id has the address and comes first even if it failed.
func rank(l lb.LoadBalancer, id string, external, attached bool) int {
	failed := l.ProvisioningStatus == lb.Error
	switch {
	case l.ProvisioningStatus == lb.PendingDelete:
		return 4
	case l.ID == id && (!failed || !external):
		return 0
	case !failed:
		return 1
	case attached:
		return 2
	}
	return 3
}
