// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package keystone

import (
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func describeProject(r *http.Request, p *project) map[string]any {
	return map[string]any{
		"id": p.id, "name": p.name, "domain_id": DomainID, "parent_id": DomainID, "description": p.description, "enabled": !p.disabled,
		"is_domain": false, "tags": []string{}, "options": map[string]any{}, "links": links(r, "projects", p.id),
	}
}

func describeUser(r *http.Request, u *user) map[string]any {
	d := map[string]any{
		"id": u.id, "name": u.name, "domain_id": DomainID, "enabled": !u.disabled, "password_expires_at": nil,
		"options": map[string]any{}, "links": links(r, "users", u.id),
	}
	if u.defaultProject != nil {
		d["default_project_id"] = u.defaultProject.id
	}
	return d
}

// describeRole returns a role in full. The roles of every Keystone are immutable.
func describeRole(known role) map[string]any {
	options := map[string]any{}
	if known.Name == "admin" || known.Name == "member" || known.Name == "reader" {
		options["immutable"] = true
	}
	return map[string]any{"id": known.ID, "name": known.Name, "domain_id": nil, "description": nil, "options": options}
}

func describeDomain(r *http.Request) map[string]any {
	return map[string]any{
		"id": DomainID, "name": DomainName, "description": "The default domain", "enabled": true,
		"tags": []string{}, "options": map[string]any{}, "links": links(r, "domains", DomainID),
	}
}

// projectsOf returns the projects in which the user has a role; for "", all projects.
func (s *Service) projectsOf(r *http.Request, userID string) []any {
	described := []any{}
	u := s.userByID(userID)
	name := r.URL.Query().Get("name")
	domain := r.URL.Query().Get("domain_id")
	for _, p := range s.projects {
		if u != nil && len(u.roles[p.id]) == 0 || name != "" && name != p.name || domain != "" && domain != DomainID {
			continue
		}
		described = append(described, describeProject(r, p))
	}
	return described
}

func (s *Service) listProjects(w http.ResponseWriter, r *http.Request) {
	if !wire.Caller(r.Context()).Admin() {
		forbidden("identity:list_projects").write(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	writeList(w, r, "projects", s.projectsOf(r, ""))
}

func (s *Service) listOwnProjects(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	writeList(w, r, "projects", s.projectsOf(r, wire.Caller(r.Context()).UserID))
}

func (s *Service) listUserProjects(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, id := wire.Caller(r.Context()), r.PathValue("id")
	switch {
	case who.UserID != id && !who.Admin():
		forbidden("identity:list_user_projects").write(w, r)
	case s.userByID(id) == nil:
		notFound("user", id).write(w, r)
	default:
		writeList(w, r, "projects", s.projectsOf(r, id))
	}
}

func (s *Service) showProject(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, id := wire.Caller(r.Context()), r.PathValue("id")
	p := s.projectByID(id)
	switch {
	case who.ProjectID != id && !who.Admin():
		forbidden("identity:get_project").write(w, r)
	case p == nil:
		notFound("project", id).write(w, r)
	default:
		wire.JSON(w, http.StatusOK, map[string]any{"project": describeProject(r, p)})
	}
}

func (s *Service) listUsers(w http.ResponseWriter, r *http.Request) {
	if !wire.Caller(r.Context()).Admin() {
		forbidden("identity:list_users").write(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	described := []any{}
	for _, u := range s.users {
		if name := r.URL.Query().Get("name"); name == "" || name == u.name {
			described = append(described, describeUser(r, u))
		}
	}
	writeList(w, r, "users", described)
}

func (s *Service) showUser(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, id := wire.Caller(r.Context()), r.PathValue("id")
	u := s.userByID(id)
	switch {
	case who.UserID != id && !who.Admin():
		forbidden("identity:get_user").write(w, r)
	case u == nil:
		notFound("user", id).write(w, r)
	default:
		wire.JSON(w, http.StatusOK, map[string]any{"user": describeUser(r, u)})
	}
}

func (s *Service) listRoles(w http.ResponseWriter, r *http.Request) {
	if !wire.Caller(r.Context()).Admin() {
		forbidden("identity:list_roles").write(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	described := []any{}
	for _, known := range s.roles {
		if name := r.URL.Query().Get("name"); name == "" || name == known.Name {
			d := describeRole(known)
			d["links"] = links(r, "roles", known.ID)
			described = append(described, d)
		}
	}
	writeList(w, r, "roles", described)
}

func (s *Service) listDomains(w http.ResponseWriter, r *http.Request) {
	if !wire.Caller(r.Context()).Admin() {
		forbidden("identity:list_domains").write(w, r)
		return
	}
	described := []any{}
	if name := r.URL.Query().Get("name"); name == "" || name == DomainName {
		described = append(described, describeDomain(r))
	}
	writeList(w, r, "domains", described)
}

func (s *Service) showDomain(w http.ResponseWriter, r *http.Request) {
	if id := r.PathValue("id"); id != DomainID {
		notFound("domain", id).write(w, r)
		return
	}
	wire.JSON(w, http.StatusOK, map[string]any{"domain": describeDomain(r)})
}
