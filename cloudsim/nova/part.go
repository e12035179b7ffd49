// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nova

import (
	"maps"
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// part answers with the result of show for the server in the path, or with its problem.
func (s *Service) part(w http.ResponseWriter, r *http.Request, show func(server *Server) (any, *problem)) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	server, p := s.find(r)
	var answer any
	if p == nil {
		answer, p = show(server)
	}
	if p != nil {
		p.write(w)
		return
	}
	wire.JSON(w, http.StatusOK, answer)
}

// plainAddresses returns the addresses by the name of the network, without their type.
func plainAddresses(server *Server) map[string][]map[string]any {
	plain := map[string][]map[string]any{}
	for network, addresses := range addresses(server) {
		for _, a := range addresses {
			plain[network] = append(plain[network], map[string]any{"addr": a.Address, "version": a.Version})
		}
	}
	return plain
}

func (s *Service) showAddresses(w http.ResponseWriter, r *http.Request, _ int) {
	s.part(w, r, func(server *Server) (any, *problem) { return map[string]any{"addresses": plainAddresses(server)}, nil })
}

// showAddressesOf shows the addresses on one network.
func (s *Service) showAddressesOf(w http.ResponseWriter, r *http.Request, _ int) {
	s.part(w, r, func(server *Server) (any, *problem) {
		network := r.PathValue("network")
		addresses, ok := plainAddresses(server)[network]
		if !ok {
			return nil, &problem{http.StatusNotFound, "itemNotFound", "Instance is not a member of specified network"}
		}
		return map[string]any{network: addresses}, nil
	})
}

func (s *Service) showMetadata(w http.ResponseWriter, r *http.Request, _ int) {
	s.part(w, r, func(server *Server) (any, *problem) {
		metadata := map[string]string{}
		maps.Copy(metadata, server.Metadata)
		return map[string]any{"metadata": metadata}, nil
	})
}

// showMetadatum shows one item of the metadata.
func (s *Service) showMetadatum(w http.ResponseWriter, r *http.Request, _ int) {
	s.part(w, r, func(server *Server) (any, *problem) {
		key := r.PathValue("key")
		value, ok := server.Metadata[key]
		if !ok {
			return nil, &problem{http.StatusNotFound, "itemNotFound", "Metadata item was not found"}
		}
		return map[string]any{"meta": map[string]string{key: value}}, nil
	})
}

// showTags shows the tags, which came with microversion 2.26.
func (s *Service) showTags(w http.ResponseWriter, r *http.Request, minor int) {
	s.part(w, r, func(server *Server) (any, *problem) {
		if minor < 26 {
			return nil, &problem{http.StatusNotFound, "itemNotFound", "The resource could not be found."}
		}
		return map[string]any{"tags": append([]string{}, server.Tags...)}, nil
	})
}

// groupsOf returns the security groups of the server's ports.
func (s *Service) groupsOf(server *Server) []SecurityGroup {
	var ports []string
	for _, nic := range server.Interfaces {
		ports = append(ports, nic.PortID)
	}
	return s.groups(ports...)
}

// listSecurityGroups lists the groups without their rules, which only Neutron has.
func (s *Service) listSecurityGroups(w http.ResponseWriter, r *http.Request, _ int) {
	s.part(w, r, func(server *Server) (any, *problem) {
		described := []any{}
		for _, group := range s.groupsOf(server) {
			described = append(described, map[string]any{
				"id": group.ID, "name": group.Name, "description": group.Description, "tenant_id": group.ProjectID, "rules": []any{},
			})
		}
		return map[string]any{"security_groups": described}, nil
	})
}
