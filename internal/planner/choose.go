// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/decide"
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
// the other one has taken it over. One that was built to take the place of another says so
// itself.
func choose(ours []lb.LoadBalancer, floating []lb.FloatingIP, noted string, owner lb.Owner) lb.Observed {
	if len(ours) == 0 {
		return lb.Observed{}
	}
	has := func(l lb.LoadBalancer) bool { return decide.HasFloatingIP(l, floating) }
	held := slices.ContainsFunc(ours, has)
	ours = slices.Clone(ours)
	slices.SortFunc(ours, func(a, b lb.LoadBalancer) int {
		return cmp.Or(cmp.Compare(rank(a, noted, held, has(a)), rank(b, noted, held, has(b))), strings.Compare(a.ID, b.ID))
	})
	replaced := toTheFront(ours, has, owner)
	observed := lb.Observed{LoadBalancer: &ours[0], FloatingIPs: floating}
	for _, l := range ours[1:] {
		pending, older := l.ProvisioningStatus.Pending(), (has(l) || l.ID == replaced) && observed.Predecessor == nil
		if lb.ServiceUIDOf(l.Tags) != owner.ServiceUID || owner.SharedBy(l) != "" {
			continue
		}
		if older {
			observed.Predecessor = &l
		}
		switch {
		case pending && l.ID != replaced || has(l) && !older:
			observed.Unsettled = append(observed.Unsettled, l.ID)
		case !older:
			observed.Duplicates = append(observed.Duplicates, l.ID)
		}
	}
	return observed
}

// toTheFront lets that one of the load balancers be the first which was built to take the
// place of another one of them, if there is one, and returns the id of that. One that somebody
// else came to use while it had the floating IP is not replaced any more, and is the first.
func toTheFront(ours []lb.LoadBalancer, has func(lb.LoadBalancer) bool, owner lb.Owner) (replaced string) {
	works := func(l lb.LoadBalancer) bool {
		return l.ProvisioningStatus != lb.Error && l.ProvisioningStatus != lb.PendingDelete
	}
	for i, l := range ours {
		at := slices.IndexFunc(ours, func(o lb.LoadBalancer) bool { return lb.Replaces(l.Tags) == o.ID })
		itself := slices.ContainsFunc(ours, func(o lb.LoadBalancer) bool { return works(o) && lb.Replaces(o.Tags) == l.ID })
		switch shared := at >= 0 && owner.SharedBy(ours[at]) != ""; {
		case !works(l) || at < 0 || itself:
		case !shared:
			replaced = ours[at].ID
			first(ours, i)
			return replaced
		case works(ours[at]) && has(ours[at]) && !has(l):
			first(ours, at)
			return ""
		}
	}
	return ""
}

// first moves one to the front.
func first(ours []lb.LoadBalancer, i int) {
	l := ours[i]
	copy(ours[1:i+1], ours[:i])
	ours[0] = l
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
