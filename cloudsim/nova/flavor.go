// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nova

import (
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func (s *Service) flavorByID(id string) (Flavor, bool) {
	for _, f := range s.flavors {
		if f.ID == id {
			return f, true
		}
	}
	return Flavor{}, false
}

// describeFlavorOf returns the flavor of a server: a reference up to microversion 2.46, a copy of
// the flavor since.
func (s *Service) describeFlavorOf(r *http.Request, server *Server, minor int) map[string]any {
	flavor := s.flavors[0]
	for _, f := range s.flavors {
		if f.Name == server.Flavor {
			flavor = f
		}
	}
	if minor < 47 {
		return map[string]any{"id": flavor.ID, "links": links(r, "flavors", flavor.ID)[1:]}
	}
	return map[string]any{
		"original_name": flavor.Name, "vcpus": flavor.VCPUs, "ram": flavor.RAM, "disk": flavor.Disk, "ephemeral": 0, "swap": 0,
		"extra_specs": map[string]string{},
	}
}

func describeFlavor(r *http.Request, f Flavor, minor int) map[string]any {
	d := map[string]any{
		"id": f.ID, "name": f.Name, "vcpus": f.VCPUs, "ram": f.RAM, "disk": f.Disk, "swap": "", "rxtx_factor": 1.0,
		"OS-FLV-EXT-DATA:ephemeral": 0, "OS-FLV-DISABLED:disabled": false, "os-flavor-access:is_public": true, "links": links(r, "flavors", f.ID),
	}
	if minor >= 55 {
		d["description"] = nil
	}
	if minor >= 61 {
		d["extra_specs"] = map[string]string{}
	}
	if minor >= 75 {
		d["swap"] = 0
	}
	return d
}

func (s *Service) listFlavors(detail bool) versioned {
	return func(w http.ResponseWriter, r *http.Request, minor int) {
		s.mu.RLock()
		defer s.mu.RUnlock()
		wire.Collection[Flavor]{
			Key: "flavors", ID: func(f Flavor) string { return f.ID }, MaxLimit: s.maxLimit, LinkStyle: wire.LinksNext,
			Filter: func(Flavor, string, []string) (match, known bool) { return true, true }, // all are public
			Render: func(f Flavor) any {
				if detail {
					return describeFlavor(r, f, minor)
				}
				d := map[string]any{"id": f.ID, "name": f.Name, "links": links(r, "flavors", f.ID)}
				if minor >= 55 {
					d["description"] = nil
				}
				return d
			},
			BadMarker: func(w http.ResponseWriter, marker string) { badRequest("marker [" + marker + "] not found").write(w) },
			BadQuery:  func(w http.ResponseWriter, message string) { badRequest(message).write(w) },
		}.Write(w, r, s.flavors)
	}
}

func (s *Service) showFlavor(w http.ResponseWriter, r *http.Request, minor int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f, ok := s.flavorByID(r.PathValue("id"))
	if !ok {
		notFound("Flavor", r.PathValue("id")).write(w)
		return
	}
	wire.JSON(w, http.StatusOK, map[string]any{"flavor": describeFlavor(r, f, minor)})
}

func (s *Service) showExtraSpecs(w http.ResponseWriter, r *http.Request, _ int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if _, ok := s.flavorByID(r.PathValue("id")); !ok {
		notFound("Flavor", r.PathValue("id")).write(w)
		return
	}
	wire.JSON(w, http.StatusOK, map[string]any{"extra_specs": map[string]string{}})
}
