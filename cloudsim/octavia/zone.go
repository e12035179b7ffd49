// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/view"
)

var zoneProfileResource = profileResource(profiles{
	resource: resource[*model.Profile]{
		kind: view.ZoneProfiles, path: "/availabilityzoneprofiles", root: "availability_zone_profile_",
		attributes: schema.ZoneProfileCreate, changes: schema.ZoneProfileUpdate,
		known: func(s *state.State) state.Index[*model.Profile] { return s.ZoneProfiles },
	},
	name: "Availability Zone Profile", data: "availability_zone_data",
	used: func(s *state.State, p *model.Profile) bool {
		for z := range s.Zones.All() {
			if z.Profile == p.ID {
				return true
			}
		}
		return false
	},
})

var zoneResource = &resource[*model.Zone]{
	kind: view.Zones, path: "/availabilityzones", item: "/availabilityzones/{name}",
	root: "availability_zone_", attributes: schema.ZoneCreate, changes: schema.ZoneUpdate,
	known: func(s *state.State) state.Index[*model.Zone] { return s.Zones },
	find: func(r *request, write bool) (*model.Zone, error) {
		if err := r.mayOffer(write); err != nil {
			return nil, err
		}
		z := r.State.Zone(r.PathValue("name"))
		if z == nil {
			return nil, fault.NotFound("Availability Zone", r.PathValue("name"))
		}
		return z, nil
	},
	rows: func(r *request) ([]*model.Zone, error) {
		return slices.Collect(r.State.Zones.All()), r.mayOffer(false)
	},
	admit:  func(r *request, _ schema.Values) error { return r.mayOffer(true) },
	create: createZone, update: updateZone, remove: deleteZone,
}

func zoneRoutes(route router) {
	zoneProfileResource.routes(route)
	zoneResource.routes(route)
}

func createZone(r *request, v schema.Values) (*model.Zone, error) {
	if r.State.Zone(v.Text("name")) != nil {
		return nil, fault.New(http.StatusConflict, "A availability zone of %s already exists.", v.Text("name"))
	}
	p, ok := r.State.ZoneProfiles.Find(v.Text("availability_zone_profile_id"))
	if !ok {
		return nil, fault.NotFound("Availability Zone Profile", v.Text("availability_zone_profile_id"))
	}
	z := &model.Zone{
		Object: model.NewObject(r.State.Now(), nil), Name: v.Text("name"), Description: v.Text("description"),
		Enabled: v.Flag("enabled", true), Profile: p.ID,
	}
	r.State.Zones.Add(z)
	return z, nil
}

func updateZone(_ *request, z *model.Zone, v schema.Values) error {
	v.Set("description", &z.Description)
	z.Enabled = v.Flag("enabled", z.Enabled)
	return nil
}

func deleteZone(r *request, z *model.Zone) error {
	for lb := range r.State.LoadBalancers.All() {
		if lb.Zone == z.Name {
			return inUse("Availability Zone", z.Name)
		}
	}
	r.State.Zones.Remove(z)
	return nil
}
