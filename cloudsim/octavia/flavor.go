// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/view"
)

var flavorProfileResource = profileResource(profiles{
	resource: resource[*model.Profile]{
		kind: view.FlavorProfiles, path: "/flavorprofiles", root: "flavor_profile_",
		attributes: schema.FlavorProfileCreate, changes: schema.FlavorProfileUpdate,
		known: func(s *state.State) state.Index[*model.Profile] { return s.FlavorProfiles },
	},
	name: "Flavor profile", data: "flavor_data",
	used: func(s *state.State, p *model.Profile) bool {
		for f := range s.Flavors.All() {
			if f.Profile == p.ID {
				return true
			}
		}
		return false
	},
})

var flavorResource = &resource[*model.Flavor]{
	kind: view.Flavors, path: "/flavors", item: "/flavors/{id}",
	root: "flavor_", attributes: schema.FlavorCreate, changes: schema.FlavorUpdate,
	known: func(s *state.State) state.Index[*model.Flavor] { return s.Flavors },
	find: func(r *request, write bool) (*model.Flavor, error) {
		if err := r.mayOffer(write); err != nil {
			return nil, err
		}
		f, ok := r.State.Flavors.Find(r.PathValue("id"))
		if !ok {
			return nil, fault.NotFound("Flavor", r.PathValue("id"))
		}
		return f, nil
	},
	rows: func(r *request) ([]*model.Flavor, error) {
		return slices.Collect(r.State.Flavors.All()), r.mayOffer(false)
	},
	admit:  func(r *request, _ schema.Values) error { return r.mayOffer(true) },
	create: createFlavor, update: updateFlavor, remove: deleteFlavor,
}

func flavorRoutes(route router) {
	flavorProfileResource.routes(route)
	flavorResource.routes(route)
}

func createFlavor(r *request, v schema.Values) (*model.Flavor, error) {
	for f := range r.State.Flavors.All() {
		if f.Name == v.Text("name") {
			return nil, fault.New(http.StatusConflict, "A flavor of %s already exists.", f.Name)
		}
	}
	p, ok := r.State.FlavorProfiles.Find(v.Text("flavor_profile_id"))
	if !ok {
		return nil, fault.New(http.StatusInternalServerError, "flavor profile %s does not exist", v.Text("flavor_profile_id"))
	}
	f := &model.Flavor{
		Object: model.NewObject(r.State.Now(), nil), Name: v.Text("name"), Description: v.Text("description"),
		Enabled: v.Flag("enabled", true), Profile: p.ID,
	}
	r.State.Flavors.Add(f)
	return f, nil
}

func updateFlavor(_ *request, f *model.Flavor, v schema.Values) error {
	v.Set("name", &f.Name)
	v.Set("description", &f.Description)
	f.Enabled = v.Flag("enabled", f.Enabled)
	return nil
}

func deleteFlavor(r *request, f *model.Flavor) error {
	for lb := range r.State.LoadBalancers.All() {
		if lb.Flavor == f.ID.String() {
			return inUse("Flavor", f.ID.String())
		}
	}
	r.State.Flavors.Remove(f)
	return nil
}

func inUse(resource, id string) error {
	return fault.New(http.StatusConflict, "%s %s is in use and cannot be modified.", resource, id)
}

func listProviders(r *request) (answer, error) {
	if err := r.mayOffer(false); err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, view.Providers(r.document(), provider.Names(), provider.Description)}, nil
}
