// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"

	"github.com/google/uuid"
)

// profiles are the routes of one kind of profile, for admins only.
type profiles struct {
	path, key, list, links string // "flavorprofile" and so on
	root, resource, data   string
	all                    map[uuid.UUID]*profile
	used                   func(uuid.UUID) bool
}

func (s *Service) profileRoutes(route func(method, path string, h handler), k profiles) {
	attributes := []attribute{
		{name: "name", longest: 255}, {name: "provider_name", longest: 255}, {name: k.data, longest: 4096},
	}
	route("GET", k.path, func(r *request) (answer, error) { return s.listProfiles(r, k) })
	route("POST", k.path, func(r *request) (answer, error) {
		return s.createProfile(r, k, required(attributes, "name", "provider_name", k.data))
	})
	route("GET", k.path+"/{id}", func(r *request) (answer, error) {
		s.mu.RLock()
		defer s.mu.RUnlock()
		p, err := k.find(r)
		if err != nil {
			return answer{}, err
		}
		return k.answer(s, r, http.StatusOK, p), nil
	})
	route("PUT", k.path+"/{id}", func(r *request) (answer, error) { return s.updateProfile(r, k, attributes) })
	route("DELETE", k.path+"/{id}", func(r *request) (answer, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		p, err := k.find(r)
		if err != nil {
			return answer{}, err
		}
		if k.used(p.id) {
			return answer{}, inUse(k.resource, p.id.String())
		}
		delete(k.all, p.id)
		return answer{status: http.StatusNoContent}, nil
	})
}

func inUse(resource, id string) error {
	return faultf(http.StatusConflict, "%s %s is in use and cannot be modified.", resource, id)
}

func (k profiles) find(r *request) (*profile, error) {
	if err := r.mayAdmin(); err != nil {
		return nil, err
	}
	p := k.all[parseID(r.PathValue("id"))]
	if p == nil {
		return nil, notFound(k.resource, r.PathValue("id"))
	}
	return p, nil
}

func (k profiles) answer(s *Service, r *request, status int, p *profile) answer {
	return s.one(r, status, k.key, func(d *document) { renderProfile(d, p, k.data) })
}

func (s *Service) listProfiles(r *request, k profiles) (answer, error) {
	if err := r.mayAdmin(); err != nil {
		return answer{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := listing[*profile]{
		key: k.list, links: k.links, known: k.all, column: profileColumn, sample: &profile{},
		render: func(d *document, p *profile) { renderProfile(d, p, k.data) },
	}
	for _, p := range k.all {
		l.rows = append(l.rows, p)
	}
	return list(s, r, l)
}

func (s *Service) createProfile(r *request, k profiles, of []attribute) (answer, error) {
	v, err := s.parse(r.body, k.root, k.key, of, false)
	if err != nil {
		return answer{}, err
	}
	if err := r.mayAdmin(); err != nil {
		return answer{}, err
	}
	if err := checkProfile(v.text("provider_name"), v.text(k.data), k.data); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &profile{object: newObject(s.now(), nil), name: v.text("name"), provider: v.text("provider_name"), data: v.text(k.data)}
	k.all[p.id] = p
	return k.answer(s, r, http.StatusCreated, p), nil
}

func (s *Service) updateProfile(r *request, k profiles, of []attribute) (answer, error) {
	v, err := s.parse(r.body, k.root, k.key, of, false)
	if err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := k.find(r)
	if err != nil {
		return answer{}, err
	}
	if (v.has("provider_name") || v.has(k.data)) && k.used(p.id) {
		return answer{}, inUse(k.resource, p.id.String())
	}
	changed := *p
	setText(&changed.name, v, "name")
	setText(&changed.provider, v, "provider_name")
	setText(&changed.data, v, k.data)
	if err := checkProfile(changed.provider, changed.data, k.data); err != nil {
		return answer{}, err
	}
	*p = changed
	return k.answer(s, r, http.StatusOK, p), nil
}

var flavorAttributes = []attribute{
	{name: "name", longest: 255}, {name: "description", longest: 255}, {name: "enabled", kind: flagKind},
	{name: "flavor_profile_id", kind: idKind},
}

func (s *Service) flavorRoutes(route func(method, path string, h handler)) {
	s.profileRoutes(route, profiles{
		path: "/flavorprofiles", key: "flavorprofile", list: "flavorprofiles", links: "flavorprofile_links",
		root: "flavor_profile_", resource: "Flavor profile", data: "flavor_data", all: s.offers.flavorProfiles,
		used: func(id uuid.UUID) bool {
			for _, f := range s.offers.flavors {
				if f.profile == id {
					return true
				}
			}
			return false
		},
	})
	route("GET", "/flavors", s.listFlavors)
	route("POST", "/flavors", s.createFlavor)
	route("GET", "/flavors/{id}", s.showFlavor)
	route("PUT", "/flavors/{id}", s.updateFlavor)
	route("DELETE", "/flavors/{id}", s.deleteFlavor)
}

func (s *Service) flavor(r *request) (*flavor, error) {
	f := s.offers.flavors[parseID(r.PathValue("id"))]
	if f == nil {
		return nil, notFound("Flavor", r.PathValue("id"))
	}
	return f, nil
}

func (s *Service) listFlavors(r *request) (answer, error) {
	if err := r.mayRead(r.who.ProjectID); err != nil {
		return answer{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := listing[*flavor]{
		key: "flavors", known: s.offers.flavors, column: flavorColumn, sample: &flavor{},
		render: renderFlavor,
	}
	for _, f := range s.offers.flavors {
		l.rows = append(l.rows, f)
	}
	return list(s, r, l)
}

func (s *Service) showFlavor(r *request) (answer, error) {
	if err := r.mayRead(r.who.ProjectID); err != nil {
		return answer{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, err := s.flavor(r)
	if err != nil {
		return answer{}, err
	}
	return s.one(r, http.StatusOK, "flavor", func(d *document) { renderFlavor(d, f) }), nil
}

func (s *Service) createFlavor(r *request) (answer, error) {
	v, err := s.parse(r.body, "flavor_", "flavor", required(flavorAttributes, "name", "flavor_profile_id"), false)
	if err != nil {
		return answer{}, err
	}
	if err := r.mayAdmin(); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.offers.flavors {
		if f.name == v.text("name") {
			return answer{}, faultf(http.StatusConflict, "A flavor of %s already exists.", f.name)
		}
	}
	f := &flavor{
		object: newObject(s.now(), nil), name: v.text("name"), description: v.text("description"),
		enabled: v.flag("enabled", true), profile: parseID(v.text("flavor_profile_id")),
	}
	if s.offers.flavorProfiles[f.profile] == nil {
		return answer{}, faultf(http.StatusInternalServerError, "flavor profile %s does not exist", v.text("flavor_profile_id"))
	}
	s.offers.flavors[f.id] = f
	return s.one(r, http.StatusCreated, "flavor", func(d *document) { renderFlavor(d, f) }), nil
}

func (s *Service) updateFlavor(r *request) (answer, error) {
	v, err := s.parse(r.body, "flavor_", "flavor", without(flavorAttributes, "flavor_profile_id"), false)
	if err != nil {
		return answer{}, err
	}
	if err := r.mayAdmin(); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.flavor(r)
	if err != nil {
		return answer{}, err
	}
	setText(&f.name, v, "name")
	setText(&f.description, v, "description")
	f.enabled = v.flag("enabled", f.enabled)
	return s.one(r, http.StatusOK, "flavor", func(d *document) { renderFlavor(d, f) }), nil
}

func (s *Service) deleteFlavor(r *request) (answer, error) {
	if err := r.mayAdmin(); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.flavor(r)
	if err != nil {
		return answer{}, err
	}
	for _, lb := range s.lbs {
		if parseID(lb.flavor) == f.id {
			return answer{}, inUse("Flavor", f.id.String())
		}
	}
	delete(s.offers.flavors, f.id)
	return answer{status: http.StatusNoContent}, nil
}
