// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

// SecurityGroupInfo describes a security group to Go callers.
type SecurityGroupInfo struct{ ID, Name, Description, ProjectID string }

// SecurityGroupsOf returns the security groups of the ports, without duplicates.
func (s *Service) SecurityGroupsOf(portIDs ...string) []SecurityGroupInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	var groups []SecurityGroupInfo
	seen := map[string]bool{}
	for _, id := range portIDs {
		p := s.ports[id]
		if p == nil {
			continue
		}
		for _, g := range p.groups {
			if group := s.groups[g]; group != nil && !seen[g] {
				seen[g] = true
				groups = append(groups, SecurityGroupInfo{group.id, group.name, group.description, group.project})
			}
		}
	}
	return groups
}
