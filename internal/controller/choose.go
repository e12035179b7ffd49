// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// choose says which of the load balancers of one Service is the one that is to
// serve, and what the others are. floating are the floating IPs that lead to
// them, noted is the id in the Service's annotation.
//
// There are several when the answer to a create was lost, and while one takes the
// place of another that failed. A controller that begins in the middle has to
// choose as the one before it did, so everything is decided from what there is:
// what works comes before what failed, and what has the floating IP stays until
// the other one has taken it over.
func choose(ours []lb.LoadBalancer, floating []lb.FloatingIP, noted string, owner lb.Owner) lb.Observed {
	if len(ours) == 0 {
		return lb.Observed{}
	}
	has := func(l lb.LoadBalancer) bool {
		return slices.ContainsFunc(floating, func(f lb.FloatingIP) bool { return f.PortID != "" && f.PortID == l.VIP.PortID })
	}
	held := slices.ContainsFunc(ours, has)
	ours = slices.Clone(ours)
	slices.SortFunc(ours, func(a, b lb.LoadBalancer) int {
		return cmp.Or(cmp.Compare(rank(a, noted, held, has(a)), rank(b, noted, held, has(b))), strings.Compare(a.ID, b.ID))
	})
	observed := lb.Observed{LoadBalancer: &ours[0], FloatingIPs: floating}
	for _, l := range ours[1:] {
		pending, older := l.ProvisioningStatus.Pending(), has(l) && observed.Predecessor == nil
		if lb.ServiceUIDOf(l.Tags) != owner.ServiceUID || owner.SharedBy(l) != "" {
			continue
		}
		if older {
			observed.Predecessor = &l
		}
		switch {
		case pending || has(l) && !older:
			observed.Unsettled = append(observed.Unsettled, l.ID)
		case !older:
			observed.Duplicates = append(observed.Duplicates, l.ID)
		}
	}
	return observed
}

// rank orders load balancers of one Service: one that is on its way out comes
// last, one that failed before that, and the noted one first. Where none has a
// floating IP, as with internal Services, the noted one has the address, and is
// first whatever became of it.
func rank(l lb.LoadBalancer, noted string, held, has bool) int {
	failed, isNoted := l.ProvisioningStatus == lb.Error, l.ID == noted
	switch {
	case l.ProvisioningStatus == lb.PendingDelete:
		return 4
	case isNoted && (!failed || !held):
		return 0
	case !failed:
		return 1
	case has:
		return 2
	}
	return 3
}
