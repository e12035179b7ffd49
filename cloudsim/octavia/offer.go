// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/view"
)

// offers are the flavors or the availability zones of a cloud, with their profiles. All users see
// them, admins change them.
type offers struct {
	resource resource[*model.Offer]
	profiles resource[*model.Profile]
	// name and profileName are the names in faults. profileKey and dataKey are attributes: the
	// profile of an offer, and the provider's part of a profile.
	name, profileName   string
	profileKey, dataKey string
	find                func(r *request) (*model.Offer, bool)
	noProfile           func(id string) error
	// inUse reports whether a load balancer uses it.
	inUse func(lb *model.LoadBalancer, o *model.Offer) bool
}

var flavorOffers = offers{
	resource: resource[*model.Offer]{
		kind: view.Flavors, path: "/flavors", item: "/flavors/{id}",
		root: "flavor_", attributes: schema.FlavorCreate, changes: schema.FlavorUpdate,
		known: func(s *state.State) state.Index[*model.Offer] { return s.Flavors },
	},
	profiles: resource[*model.Profile]{
		kind: view.FlavorProfiles, path: "/flavorprofiles", item: "/flavorprofiles/{id}",
		root: "flavor_profile_", attributes: schema.FlavorProfileCreate, changes: schema.FlavorProfileUpdate,
		known: func(s *state.State) state.Index[*model.Profile] { return s.FlavorProfiles },
	},
	name: "Flavor", profileName: "Flavor profile", profileKey: "flavor_profile_id", dataKey: "flavor_data",
	find: func(r *request) (*model.Offer, bool) { return r.state.Flavors.Find(r.PathValue("id")) },
	noProfile: func(id string) error {
		return fault.New(http.StatusInternalServerError, "flavor profile %s does not exist", id)
	},
	inUse: func(lb *model.LoadBalancer, o *model.Offer) bool { return lb.Flavor == o.ID.String() },
}

var zoneOffers = offers{
	resource: resource[*model.Offer]{
		kind: view.Zones, path: "/availabilityzones", item: "/availabilityzones/{name}",
		root: "availability_zone_", attributes: schema.ZoneCreate, changes: schema.ZoneUpdate,
		known: func(s *state.State) state.Index[*model.Offer] { return s.Zones },
	},
	profiles: resource[*model.Profile]{
		kind: view.ZoneProfiles, path: "/availabilityzoneprofiles", item: "/availabilityzoneprofiles/{id}",
		root: "availability_zone_profile_", attributes: schema.ZoneProfileCreate, changes: schema.ZoneProfileUpdate,
		known: func(s *state.State) state.Index[*model.Profile] { return s.ZoneProfiles },
	},
	name: "Availability Zone", profileName: "Availability Zone Profile",
	profileKey: "availability_zone_profile_id", dataKey: "availability_zone_data",
	find:      func(r *request) (*model.Offer, bool) { return state.Named(r.state.Zones, r.PathValue("name")) },
	noProfile: func(id string) error { return fault.NotFound("Availability Zone Profile", id) },
	inUse:     func(lb *model.LoadBalancer, o *model.Offer) bool { return lb.Zone == o.Name },
}

func (k offers) routes(route router) {
	k.profileResource().routes(route)
	res := k.resource
	res.find = func(r *request, write bool) (*model.Offer, error) {
		if err := r.mayOffer(write); err != nil {
			return nil, err
		}
		o, ok := k.find(r)
		if !ok {
			return nil, fault.NotFound(k.name, cmp.Or(r.PathValue("name"), r.PathValue("id")))
		}
		return o, nil
	}
	res.rows = func(r *request) ([]*model.Offer, error) {
		return slices.Collect(res.known(r.state).All()), r.mayOffer(false)
	}
	res.admit = func(r *request, _ schema.Values) error { return r.mayOffer(true) }
	res.create = k.create
	res.update = func(_ *request, o *model.Offer, v schema.Values) error {
		v.Set("name", &o.Name)
		v.Set("description", &o.Description)
		o.Enabled = v.Flag("enabled", o.Enabled)
		return nil
	}
	res.remove = func(r *request, o *model.Offer) error {
		for lb := range r.state.LoadBalancers.All() {
			if k.inUse(lb, o) {
				return inUse(k.name, cmp.Or(r.PathValue("name"), o.ID.String()))
			}
		}
		res.known(r.state).Remove(o)
		return nil
	}
	res.routes(route)
}

func (k offers) create(r *request, v schema.Values) (*model.Offer, error) {
	if _, taken := state.Named(k.resource.known(r.state), v.Text("name")); taken {
		return nil, fault.New(http.StatusConflict, "A %s of %s already exists.", strings.ToLower(k.name), v.Text("name"))
	}
	p, ok := k.profiles.known(r.state).Find(v.Text(k.profileKey))
	if !ok {
		return nil, k.noProfile(v.Text(k.profileKey))
	}
	o := &model.Offer{
		Object: model.NewObject(r.state.Now(), nil), Name: v.Text("name"), Description: v.Text("description"),
		Enabled: v.Flag("enabled", true), Profile: p.ID,
	}
	k.resource.known(r.state).Add(o)
	return o, nil
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
