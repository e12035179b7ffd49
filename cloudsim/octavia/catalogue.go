// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"

	"github.com/google/uuid"
)

// catalogue is what a cloud offers for load balancers: flavors and
// availability zones with their profiles.
type catalogue struct {
	flavors        map[uuid.UUID]*flavor
	flavorProfiles map[uuid.UUID]*profile
	zones          map[uuid.UUID]*zone
	zoneProfiles   map[uuid.UUID]*profile
}

func (c *catalogue) init() {
	c.flavors, c.flavorProfiles = map[uuid.UUID]*flavor{}, map[uuid.UUID]*profile{}
	c.zones, c.zoneProfiles = map[uuid.UUID]*zone{}, map[uuid.UUID]*profile{}
}

// AddFlavor offers a flavor with a profile of its own and returns its id. data
// is the profile's JSON, such as {"loadbalancer_topology": "SINGLE"}.
func (s *Service) AddFlavor(name, provider, data string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &profile{object: newObject(s.now(), nil), name: name, provider: provider, data: data}
	s.offers.flavorProfiles[p.id] = p
	f := &flavor{object: newObject(s.now(), nil), name: name, enabled: true, profile: p.id}
	s.offers.flavors[f.id] = f
	return f.id.String()
}

// AddAvailabilityZone offers an availability zone with a profile of its own.
func (s *Service) AddAvailabilityZone(name, provider, data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &profile{object: newObject(s.now(), nil), name: name, provider: provider, data: data}
	s.offers.zoneProfiles[p.id] = p
	z := &zone{object: newObject(s.now(), nil), name: name, enabled: true, profile: p.id}
	s.offers.zones[z.id] = z
}

func (c *catalogue) zone(name string) *zone {
	for _, z := range c.zones {
		if z.name == name {
			return z
		}
	}
	return nil
}

// chooseProvider checks flavor, availability zone and provider of a new load
// balancer against each other.
func (s *Service) chooseProvider(v values) (string, error) {
	chosen := v.text("provider")
	var features *profile
	if id := v.text("flavor_id"); id != "" {
		f := s.offers.flavors[parseID(id)]
		switch {
		case f == nil:
			return "", invalid("Invalid flavor_id.")
		case !f.enabled:
			return "", faultf(http.StatusBadRequest, "The selected flavor is not allowed in this deployment: %s", id)
		}
		features = s.offers.flavorProfiles[f.profile]
	}
	zoneName := v.text("availability_zone")
	if zoneName != "" {
		z := s.offers.zone(zoneName)
		switch {
		case z == nil:
			return "", invalid("Invalid availability zone.")
		case !z.enabled:
			return "", faultf(http.StatusBadRequest, "The selected availability_zone is not allowed in this deployment: %s", zoneName)
		}
	}
	switch {
	case features != nil && chosen != "" && features.provider != chosen:
		return "", faultf(http.StatusBadRequest, "Flavor '%s' is not compatible with provider '%s'", v.text("flavor_id"), chosen)
	case features != nil:
		chosen = features.provider
	}
	chosen = orDefault(chosen, s.options.Provider)
	if _, ok := providers[chosen]; !ok {
		return "", faultf(http.StatusBadRequest, "Provider '%s' is not enabled.", chosen)
	}
	if chosen == ovn && (features != nil || zoneName != "") {
		return "", notImplemented(features != nil)
	}
	return chosen, nil
}

func (s *Service) catalogueRoutes(route func(method, path string, h handler)) {
	route("GET", "/providers", s.listProviders)
	route("GET", "/quotas", s.listQuotas)
	route("GET", "/quotas/{project}", s.showQuota)
	route("GET", "/quotas/{project}/default", s.showDefaultQuota)
	route("PUT", "/quotas/{project}", s.updateQuota)
	route("DELETE", "/quotas/{project}", s.deleteQuota)
	s.flavorRoutes(s.since(6, route))
	s.zoneRoutes(s.since(14, route))
}

// since makes routes that are there from an API version on.
func (s *Service) since(minor int, route func(method, path string, h handler)) func(method, path string, h handler) {
	return func(method, path string, h handler) {
		route(method, path, func(r *request) (answer, error) {
			if s.version() < minor {
				return answer{}, faultf(http.StatusNotFound, "The resource could not be found.")
			}
			return h(r)
		})
	}
}

func (s *Service) listProviders(r *request) (answer, error) {
	if err := r.mayRead(r.who.ProjectID); err != nil {
		return answer{}, err
	}
	names := sortedKeys(providers)
	return answer{http.StatusOK, s.document(r).many("providers", "", len(names), func(d *document, i int) {
		d.text("name", names[i])
		d.text("description", providers[names[i]].description)
	})}, nil
}
