// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"
	"slices"
)

var flavorProfileResource = profileResource(profiles{
	resource: resource[*profile]{
		kind: flavorProfilesView, path: "/flavorprofiles", root: "flavor_profile_",
		attributes: flavorProfileCreate, changes: flavorProfileUpdate,
		known: func(s *State) index[*profile] { return s.FlavorProfiles },
	},
	name: "Flavor profile", data: "flavor_data",
	used: func(s *State, p *profile) bool {
		for f := range s.Flavors.All() {
			if f.profile == p.id {
				return true
			}
		}
		return false
	},
})

var flavorResource = &resource[*flavor]{
	kind: flavorsView, path: "/flavors", item: "/flavors/{id}",
	root: "flavor_", attributes: flavorCreate, changes: flavorUpdate,
	known: func(s *State) index[*flavor] { return s.Flavors },
	find: func(r *request, write bool) (*flavor, error) {
		if err := r.mayOffer(write); err != nil {
			return nil, err
		}
		f, ok := r.State.Flavors.Find(r.PathValue("id"))
		if !ok {
			return nil, notFound("Flavor", r.PathValue("id"))
		}
		return f, nil
	},
	rows: func(r *request) ([]*flavor, error) {
		return slices.Collect(r.State.Flavors.All()), r.mayOffer(false)
	},
	admit:  func(r *request, _ values) error { return r.mayOffer(true) },
	create: createFlavor, update: updateFlavor, remove: deleteFlavor,
}

func flavorRoutes(route router) {
	flavorProfileResource.routes(route)
	flavorResource.routes(route)
}

func createFlavor(r *request, v values) (*flavor, error) {
	for f := range r.State.Flavors.All() {
		if f.name == v.text("name") {
			return nil, faultf(http.StatusConflict, "A flavor of %s already exists.", f.name)
		}
	}
	p, ok := r.State.FlavorProfiles.Find(v.text("flavor_profile_id"))
	if !ok {
		return nil, faultf(http.StatusInternalServerError, "flavor profile %s does not exist", v.text("flavor_profile_id"))
	}
	f := &flavor{
		object: newObject(r.State.Now(), nil), name: v.text("name"), description: v.text("description"),
		enabled: v.flag("enabled", true), profile: p.id,
	}
	r.State.Flavors.Add(f)
	return f, nil
}

func updateFlavor(_ *request, f *flavor, v values) error {
	v.set("name", &f.name)
	v.set("description", &f.description)
	f.enabled = v.flag("enabled", f.enabled)
	return nil
}

func deleteFlavor(r *request, f *flavor) error {
	for lb := range r.State.LoadBalancers.All() {
		if lb.flavor == f.id.String() {
			return inUse("Flavor", f.id.String())
		}
	}
	r.State.Flavors.Remove(f)
	return nil
}

func inUse(resource, id string) error {
	return faultf(http.StatusConflict, "%s %s is in use and cannot be modified.", resource, id)
}

func listProviders(r *request) (answer, error) {
	if err := r.mayOffer(false); err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, providerList(r.document(), Names(), Description)}, nil
}
