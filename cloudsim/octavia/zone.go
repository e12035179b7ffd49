// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"

	"github.com/google/uuid"
)

var zoneAttributes = []attribute{
	{name: "name", longest: 255}, {name: "description", longest: 255}, {name: "enabled", kind: flagKind},
	{name: "availability_zone_profile_id", kind: idKind},
}

func (s *Service) zoneRoutes(route func(method, path string, h handler)) {
	s.profileRoutes(route, profiles{
		path: "/availabilityzoneprofiles", key: "availability_zone_profile", list: "availability_zone_profiles",
		root: "availability_zone_profile_", resource: "Availability Zone Profile", data: "availability_zone_data", all: s.offers.zoneProfiles,
		used: func(id uuid.UUID) bool {
			for _, z := range s.offers.zones {
				if z.profile == id {
					return true
				}
			}
			return false
		},
	})
	route("GET", "/availabilityzones", s.listZones)
	route("POST", "/availabilityzones", s.createZone)
	route("GET", "/availabilityzones/{name}", s.showZone)
	route("PUT", "/availabilityzones/{name}", s.updateZone)
	route("DELETE", "/availabilityzones/{name}", s.deleteZone)
}

func (s *Service) findZone(r *request) (*zone, error) {
	z := s.offers.zone(r.PathValue("name"))
	if z == nil {
		return nil, notFound("Availability Zone", r.PathValue("name"))
	}
	return z, nil
}

func (s *Service) listZones(r *request) (answer, error) {
	if err := r.mayRead(r.who.ProjectID); err != nil {
		return answer{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := listing[*zone]{
		key: "availability_zones", known: s.offers.zones, column: zoneColumn, sample: &zone{},
		render: renderZone,
	}
	for _, z := range s.offers.zones {
		l.rows = append(l.rows, z)
	}
	return list(s, r, l)
}

func (s *Service) showZone(r *request) (answer, error) {
	if err := r.mayRead(r.who.ProjectID); err != nil {
		return answer{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	z, err := s.findZone(r)
	if err != nil {
		return answer{}, err
	}
	return s.one(r, http.StatusOK, "availability_zone", func(d *document) { renderZone(d, z) }), nil
}

func (s *Service) createZone(r *request) (answer, error) {
	v, err := s.parse(r.body, "availability_zone_", "availability_zone", required(zoneAttributes, "name", "availability_zone_profile_id"), false)
	if err != nil {
		return answer{}, err
	}
	if err := r.mayAdmin(); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.offers.zone(v.text("name")) != nil {
		return answer{}, faultf(http.StatusConflict, "A availability zone of %s already exists.", v.text("name"))
	}
	z := &zone{
		object: newObject(s.now(), nil), name: v.text("name"), description: v.text("description"),
		enabled: v.flag("enabled", true), profile: parseID(v.text("availability_zone_profile_id")),
	}
	if s.offers.zoneProfiles[z.profile] == nil {
		return answer{}, notFound("Availability Zone Profile", v.text("availability_zone_profile_id"))
	}
	s.offers.zones[z.id] = z
	return s.one(r, http.StatusCreated, "availability_zone", func(d *document) { renderZone(d, z) }), nil
}

func (s *Service) updateZone(r *request) (answer, error) {
	v, err := s.parse(r.body, "availability_zone_", "availability_zone", without(zoneAttributes, "name", "availability_zone_profile_id"), false)
	if err != nil {
		return answer{}, err
	}
	if err := r.mayAdmin(); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	z, err := s.findZone(r)
	if err != nil {
		return answer{}, err
	}
	setText(&z.description, v, "description")
	z.enabled = v.flag("enabled", z.enabled)
	return s.one(r, http.StatusOK, "availability_zone", func(d *document) { renderZone(d, z) }), nil
}

func (s *Service) deleteZone(r *request) (answer, error) {
	if err := r.mayAdmin(); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	z, err := s.findZone(r)
	if err != nil {
		return answer{}, err
	}
	for _, lb := range s.lbs {
		if lb.zone == z.name {
			return answer{}, inUse("Availability Zone", z.name)
		}
	}
	delete(s.offers.zones, z.id)
	return answer{status: http.StatusNoContent}, nil
}
