// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import "github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"

// Kind describes how one kind of resource is shown.
type Kind[T model.Item] struct {
	One, many string // the keys of a single one and of a list
	links     string // the key of a list's links, many+"_links" if empty
	// column returns the value of a resource's column. For the sample, which is any resource, it
	// determines which columns exist.
	column func(item T, name string) cell
	sample T
	render func(d *Document, item T)
}

// Show writes a single resource.
func (k Kind[T]) Show(d *Document, item T) []byte {
	return d.one(k.One, func(d *Document) { k.render(d, item) })
}

// The kinds of resources.
var (
	LoadBalancers = Kind[*model.LoadBalancer]{
		One: "loadbalancer", many: "loadbalancers", column: loadBalancerColumn, sample: &model.LoadBalancer{},
		render: func(d *Document, lb *model.LoadBalancer) { renderLoadBalancer(d, lb, false) },
	}
	Listeners = Kind[*model.Listener]{
		One: "listener", many: "listeners", column: listenerColumn, sample: &model.Listener{LB: LoadBalancers.sample},
		render: func(d *Document, l *model.Listener) { renderListener(d, l, false) },
	}
	Pools = Kind[*model.Pool]{
		One: "pool", many: "pools", column: poolColumn, sample: &model.Pool{LB: LoadBalancers.sample},
		render: func(d *Document, p *model.Pool) { renderPool(d, p, false) },
	}
	Members = Kind[*model.Member]{
		One: "member", many: "members", column: memberColumn, render: renderMember,
		sample: &model.Member{Pool: Pools.sample, Name: model.Share(""), Address: model.Share(""), Subnet: model.Share(""), MonitorAddress: model.Share("")},
	}
	Monitors = Kind[*model.Monitor]{
		One: "healthmonitor", many: "healthmonitors", column: monitorColumn, sample: &model.Monitor{Pool: Pools.sample},
		render: func(d *Document, m *model.Monitor) { renderMonitor(d, m, false) },
	}
	Policies = Kind[*model.L7Policy]{
		One: "l7policy", many: "l7policies", column: policyColumn, sample: &model.L7Policy{Listener: Listeners.sample},
		render: func(d *Document, policy *model.L7Policy) { renderPolicy(d, policy, false) },
	}
	Rules = Kind[*model.L7Rule]{
		One: "rule", many: "rules", column: ruleColumn, sample: &model.L7Rule{Policy: Policies.sample}, render: renderRule,
	}
	Flavors = Kind[*model.Offer]{
		One: "flavor", many: "flavors", column: flavorColumn, sample: &model.Offer{},
		render: func(d *Document, f *model.Offer) {
			d.id("id", f.ID)
			renderOffer(d, f, "flavor_profile_id")
		},
	}
	Zones = Kind[*model.Offer]{
		One: "availability_zone", many: "availability_zones", column: zoneColumn, sample: &model.Offer{},
		render: func(d *Document, z *model.Offer) { renderOffer(d, z, "availability_zone_profile_id") },
	}
	FlavorProfiles = Kind[*model.Profile]{
		One: "flavorprofile", many: "flavorprofiles", links: "flavorprofile_links", column: profileColumn, sample: &model.Profile{},
		render: func(d *Document, p *model.Profile) { renderProfile(d, p, "flavor_data") },
	}
	ZoneProfiles = Kind[*model.Profile]{
		One: "availability_zone_profile", many: "availability_zone_profiles", column: profileColumn, sample: &model.Profile{},
		render: func(d *Document, p *model.Profile) { renderProfile(d, p, "availability_zone_data") },
	}
)
