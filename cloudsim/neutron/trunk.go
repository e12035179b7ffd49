// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// trunkDetails is the extension with which a port shows its trunk.
const trunkDetails = "trunk-details"

// trunk connects one interface of a server to the networks of several ports. Clients can only read
// trunks: Go callers add and delete them.
type trunk struct {
	standard
	port  string // the parent
	ports []subPort
}

type subPort struct {
	PortID           string `json:"port_id"`
	SegmentationType string `json:"segmentation_type"`
	SegmentationID   int    `json:"segmentation_id"`
	// MACAddress is set when the parent is shown, and since the newest release also when ports are listed.
	MACAddress string `json:"mac_address,omitempty"`
}

// TrunkSpec describes a trunk to add.
type TrunkSpec struct {
	Name, ProjectID string
	// PortID is the parent port, which belongs to a server.
	PortID string
	// SubPorts are ports of other networks, by their VLAN on the parent.
	SubPorts map[int]string
}

// AddTrunk adds a trunk and returns its id. It fails if a port does not exist or already belongs to
// a trunk.
func (s *Service) AddTrunk(spec TrunkSpec) (id string, err error) {
	err = s.change(func() error {
		t := &trunk{standard: s.newStandard("", spec.ProjectID, spec.Name, "", nil), port: spec.PortID, ports: []subPort{}}
		joined := []string{t.port}
		for vlan, portID := range spec.SubPorts {
			t.ports = append(t.ports, subPort{PortID: portID, SegmentationType: "vlan", SegmentationID: vlan})
			joined = append(joined, portID)
		}
		slices.SortFunc(t.ports, func(a, b subPort) int { return a.SegmentationID - b.SegmentationID })
		for i, portID := range joined {
			switch {
			case s.ports[portID] == nil:
				return portMissing(portID)
			case s.trunkOf[portID] != nil || slices.Contains(joined[:i], portID):
				return conflict("TrunkPortInUse", "Port %s is in use by another trunk.", portID)
			}
		}
		for _, portID := range joined {
			s.trunkOf[portID] = t
		}
		s.trunks[t.id] = t
		id = t.id
		return nil
	})
	return id, err
}

// DeleteTrunk deletes a trunk; its ports stay. It fails with ErrNotFound if there
// is no such trunk.
func (s *Service) DeleteTrunk(id string) error {
	return s.change(func() error {
		t := s.trunks[id]
		if t == nil {
			return trunkMissing(id)
		}
		delete(s.trunkOf, t.port)
		for _, sub := range t.ports {
			delete(s.trunkOf, sub.PortID)
		}
		delete(s.trunks, id)
		return nil
	})
}

func trunkMissing(id string) *apiError {
	return notFound("TrunkNotFound", "Trunk %s could not be found.", id)
}

// freeOfTrunk refuses to delete a port that belongs to a trunk.
func (s *Service) freeOfTrunk(portID string) error {
	switch t := s.trunkOf[portID]; {
	case t == nil:
		return nil
	case t.port == portID:
		return conflict("PortInUseAsTrunkParent", "Port %s is currently a parent port for trunk %s.", portID, t.id)
	default:
		return conflict("PortInUseAsSubPort", "Port %s is currently a subport for trunk %s.", portID, t.id)
	}
}

// trunkDetailsView is what a parent port shows of its trunk.
type trunkDetailsView struct {
	TrunkID  string    `json:"trunk_id"`
	SubPorts []subPort `json:"sub_ports"`
}

// trunkDetailsOf returns nil if the port is not the parent of a trunk.
func (s *Service) trunkDetailsOf(portID string, withMACs bool) *trunkDetailsView {
	t := s.trunkOf[portID]
	if t == nil || t.port != portID || !s.has(trunkDetails) {
		return nil
	}
	v := &trunkDetailsView{TrunkID: t.id, SubPorts: slices.Clone(t.ports)}
	if withMACs {
		for i, sub := range v.SubPorts {
			v.SubPorts[i].MACAddress = s.ports[sub.PortID].mac
		}
	}
	return v
}

type trunkView struct {
	standardView
	Name         string    `json:"name"`
	Tags         []string  `json:"tags"`
	AdminStateUp bool      `json:"admin_state_up"`
	Status       string    `json:"status"`
	PortID       string    `json:"port_id"`
	SubPorts     []subPort `json:"sub_ports"`
}

func viewTrunk(t *trunk) *trunkView {
	return &trunkView{standardView: t.view(), Name: t.name, Tags: t.tags, AdminStateUp: true, Status: "DOWN", PortID: t.port, SubPorts: t.ports}
}

// routeTrunks adds the routes with which trunks are read.
func (s *Service) routeTrunks(mux *http.ServeMux) {
	res := &resource{one: "trunk", many: "trunks", path: "trunks", missing: trunkMissing, attributes: withStandard(attributes{
		"name": {filter: true, sort: true}, "port_id": {filter: true, sort: true}, "status": {filter: true, sort: true},
		"admin_state_up": {filter: true, sort: true, check: isBool}, "sub_ports": {},
	})}
	res.find = func(c wire.Identity, id string) (object, bool) {
		if t := s.trunks[id]; t != nil && owns(c, t.project) {
			return t, true
		}
		return nil, false
	}
	res.show = func(_ wire.Identity, id string) any { return viewTrunk(s.trunks[id]) }
	res.list = func(c wire.Identity, r *http.Request) func(http.ResponseWriter) {
		var views []*trunkView
		for _, t := range s.trunks {
			if owns(c, t.project) {
				views = append(views, viewTrunk(t))
			}
		}
		return writeList(res, s.options.MaxPage, r, views, nil)
	}
	mux.HandleFunc("GET /v2.0/trunks", s.listing(res))
	mux.HandleFunc("GET /v2.0/trunks/{id}", s.showing(res))
	mux.HandleFunc("GET /v2.0/trunks/{id}/get_subports", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		o, _ := res.find(wire.Caller(r.Context()), r.PathValue("id"))
		if o == nil {
			writeError(w, trunkMissing(r.PathValue("id")))
			return
		}
		wire.JSON(w, http.StatusOK, map[string]any{"sub_ports": o.(*trunk).ports})
	})
}
