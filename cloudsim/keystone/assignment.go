// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package keystone

import (
	"net/http"
	"slices"
)

// assignment is a role of a user in a project, from the path of a request.
type assignment struct {
	user    *user
	project *project
	role    role
}

func (s *Service) pathAssignment(r *http.Request) (a assignment, p *problem) {
	a.project, p = s.pathProject(r)
	if p != nil {
		return a, p
	}
	a.user, p = s.pathUser(r, "user")
	if p != nil {
		return a, p
	}
	var known bool
	a.role, known = s.roleByID(r.PathValue("role"))
	if !known {
		return a, notFound("role", r.PathValue("role"))
	}
	return a, nil
}

func (a assignment) held() bool { return slices.Contains(a.user.roles[a.project.id], a.role.Name) }

// missing returns the refusal of an assignment that does not exist.
func (a assignment) missing() *problem {
	return &problem{http.StatusNotFound, "Could not find role assignment with role: " + a.role.ID + ", user or group: " + a.user.id +
		", project, domain, or system: " + a.project.id + "."}
}

func (s *Service) assignRole(w http.ResponseWriter, r *http.Request) {
	s.admitted(w, r, "create_grant", http.StatusNoContent, func() (any, *problem) {
		a, p := s.pathAssignment(r)
		if p == nil && !a.held() {
			a.user.roles[a.project.id] = append(slices.Clone(a.user.roles[a.project.id]), a.role.Name)
		}
		return nil, p
	})
}

func (s *Service) hasRole(w http.ResponseWriter, r *http.Request) {
	s.admitted(w, r, "check_grant", http.StatusNoContent, func() (any, *problem) {
		a, p := s.pathAssignment(r)
		if p == nil && !a.held() {
			p = a.missing()
		}
		return nil, p
	})
}

func (s *Service) unassignRole(w http.ResponseWriter, r *http.Request) {
	s.admitted(w, r, "revoke_grant", http.StatusNoContent, func() (any, *problem) {
		a, p := s.pathAssignment(r)
		if p == nil && !a.held() {
			p = a.missing()
		}
		if p != nil {
			return nil, p
		}
		a.user.roles[a.project.id] = slices.DeleteFunc(slices.Clone(a.user.roles[a.project.id]), func(name string) bool { return name == a.role.Name })
		return nil, nil
	})
}

// listAssigned lists the roles of a user in a project.
func (s *Service) listAssigned(w http.ResponseWriter, r *http.Request) {
	s.admitted(w, r, "list_grants", http.StatusOK, func() (any, *problem) {
		project, p := s.pathProject(r)
		if p != nil {
			return nil, p
		}
		u, p := s.pathUser(r, "user")
		if p != nil {
			return nil, p
		}
		roles := []any{}
		for _, name := range u.roles[project.id] {
			d := describeRole(s.role(name))
			d["links"] = links(r, "roles", s.role(name).ID)
			roles = append(roles, d)
		}
		return listed(r, "roles", roles), nil
	})
}

// listAssignments lists the role assignments: all, or those of the user and the project that the
// query names.
func (s *Service) listAssignments(w http.ResponseWriter, r *http.Request) {
	s.admitted(w, r, "list_role_assignments", http.StatusOK, func() (any, *problem) {
		query := r.URL.Query()
		all := []any{}
		for _, u := range s.users {
			for _, project := range s.projects {
				for _, name := range u.roles[project.id] {
					if id := query.Get("user.id"); id != "" && id != u.id {
						continue
					}
					if id := query.Get("scope.project.id"); id != "" && id != project.id {
						continue
					}
					known := s.role(name)
					all = append(all, map[string]any{
						"role": map[string]string{"id": known.ID}, "user": map[string]string{"id": u.id},
						"scope": map[string]any{"project": map[string]string{"id": project.id}},
						"links": map[string]string{"assignment": links(r, "projects", project.id, "users", u.id, "roles", known.ID)["self"]},
					})
				}
			}
		}
		return listed(r, "role_assignments", all), nil
	})
}
