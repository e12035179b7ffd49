// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// course is what is done about a load balancer that Octavia cannot make into what its
// Service asks for, and about another one that is built beside it for that.
type course int

const (
	// keepOn: nothing is to be replaced.
	keepOn course = iota
	// refuse: it would have to be replaced, and may or can not be.
	refuse
	// buildBeside: another one is to be built beside it.
	buildBeside
	// takeOver: the other one is completed, gets the address, and stays alone.
	takeOver
	// takeBack: the one that has the address is to stay after all, and the other one goes.
	takeBack
	// finishFirst: it takes the place of one that failed, and does so as it is.
	finishFirst
)

// placement is what a course depends on.
type placement struct {
	// suits is whether the load balancer is what its Service asks for in all that Octavia
	// cannot change, and allowed whether the Service lets it be replaced.
	suits, allowed bool
	// obstacle says why no other one can be built beside the one that has the address.
	obstacle string
	// beside is whether that is not this one but one that works and in whose place this
	// one was built, and oldSuits whether it is what the Service asks for.
	beside, oldSuits bool
	// succeeds is whether it takes the place of one that failed.
	succeeds bool
}

func (p placement) course() course {
	switch {
	case p.beside && p.suits && !p.oldSuits && p.allowed && p.obstacle == "":
		return takeOver
	case p.beside:
		return takeBack
	case p.suits:
		return keepOn
	case p.succeeds:
		return finishFirst
	case !p.allowed || p.obstacle != "":
		return refuse
	}
	return buildBeside
}

// besides reports whether one load balancer of a Service was built beside the other, which
// has not failed, to take its place.
func besides(l, old lb.LoadBalancer) bool {
	gone := old.ProvisioningStatus == lb.Error || old.ProvisioningStatus == lb.PendingDelete
	return lb.Replaces(l.Tags) == old.ID && !gone
}

// tookOver reports whether a load balancer has the address of the one in whose place it was
// built: the floating IP leads there, or, where none leads to either, the Service names it.
func tookOver(l, old lb.LoadBalancer, floating []lb.FloatingIP, noted string) bool {
	return leadsTo(floating, l) || !leadsTo(floating, old) && noted == l.ID
}

// leadsTo reports whether one of the floating IPs leads to the load balancer.
func leadsTo(floating []lb.FloatingIP, l lb.LoadBalancer) bool {
	return slices.ContainsFunc(floating, func(f lb.FloatingIP) bool { return f.PortID != "" && f.PortID == l.VIP.PortID })
}

// obstacle says why no other load balancer can be built beside the one that is there, or
// "". The VIPs are those that it is to have, as far as they are asked for.
func obstacle(old lb.LoadBalancer, vips []lb.VIP, owner lb.Owner, can lb.Capabilities) string {
	if !can.Has(lb.FeatureTags) {
		return fmt.Sprintf("two load balancers of one Service cannot be told apart without %s", lb.FeatureTags.Needs())
	}
	if users := otherUsers(old, owner); users != "" {
		return users + " would lose its ports with it; let it leave first"
	}
	for _, want := range vips {
		for _, have := range append([]lb.VIP{old.VIP}, old.AdditionalVIPs...) {
			switch {
			case want.PortID != "" && want.PortID == have.PortID:
				return fmt.Sprintf("its VIP is port %s, which is asked for, and only one load balancer can have it; ask for another port as well", have.PortID)
			case want.Address != "" && want.Address == have.Address:
				return fmt.Sprintf("its VIP has the address %s, which is asked for, and only one load balancer can have it; do not ask for it", have.Address)
			}
		}
	}
	return ""
}

// otherUsers names who else has ports on the Service's load balancer, or "".
func otherUsers(l lb.LoadBalancer, owner lb.Owner) string {
	others := slices.DeleteFunc(lb.Users(l), func(tag string) bool { return tag == owner.LoadBalancerName() || tag == l.Name })
	if len(others) > 0 {
		return strings.Join(others, " and ")
	}
	for _, listener := range l.Listeners {
		if !owner.OwnsListener(listener) {
			return fmt.Sprintf("whoever has listener %s (%s)", listener.ID, listener.Name)
		}
	}
	if diff.Shared(l, owner) {
		return "another Service"
	}
	return ""
}
