// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"
	"slices"
)

var zoneProfileResource = profileResource(profiles{
	resource: resource[*profile]{
		kind: zoneProfilesView, path: "/availabilityzoneprofiles", root: "availability_zone_profile_",
		attributes: zoneProfileCreate, changes: zoneProfileUpdate,
		known: func(s *State) index[*profile] { return s.ZoneProfiles },
	},
	name: "Availability Zone Profile", data: "availability_zone_data",
	used: func(s *State, p *profile) bool {
		for z := range s.Zones.All() {
			if z.profile == p.id {
				return true
			}
		}
		return false
	},
})

var zoneResource = &resource[*zone]{
	kind: zonesView, path: "/availabilityzones", item: "/availabilityzones/{name}",
	root: "availability_zone_", attributes: zoneCreate, changes: zoneUpdate,
	known: func(s *State) index[*zone] { return s.Zones },
	find: func(r *request, write bool) (*zone, error) {
		if err := r.mayOffer(write); err != nil {
			return nil, err
		}
		z := r.State.Zone(r.PathValue("name"))
		if z == nil {
			return nil, notFound("Availability Zone", r.PathValue("name"))
		}
		return z, nil
	},
	rows: func(r *request) ([]*zone, error) {
		return slices.Collect(r.State.Zones.All()), r.mayOffer(false)
	},
	admit:  func(r *request, _ values) error { return r.mayOffer(true) },
	create: createZone, update: updateZone, remove: deleteZone,
}

func zoneRoutes(route router) {
	zoneProfileResource.routes(route)
	zoneResource.routes(route)
}

func createZone(r *request, v values) (*zone, error) {
	if r.State.Zone(v.text("name")) != nil {
		return nil, faultf(http.StatusConflict, "A availability zone of %s already exists.", v.text("name"))
	}
	p, ok := r.State.ZoneProfiles.Find(v.text("availability_zone_profile_id"))
	if !ok {
		return nil, notFound("Availability Zone Profile", v.text("availability_zone_profile_id"))
	}
	z := &zone{
		object: newObject(r.State.Now(), nil), name: v.text("name"), description: v.text("description"),
		enabled: v.flag("enabled", true), profile: p.id,
	}
	r.State.Zones.Add(z)
	return z, nil
}

func updateZone(_ *request, z *zone, v values) error {
	v.set("description", &z.description)
	z.enabled = v.flag("enabled", z.enabled)
	return nil
}

func deleteZone(r *request, z *zone) error {
	for lb := range r.State.LoadBalancers.All() {
		if lb.zone == z.name {
			return inUse("Availability Zone", z.name)
		}
	}
	r.State.Zones.Remove(z)
	return nil
}
