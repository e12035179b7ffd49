// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package keystone

import (
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// admitted carries out the request of an admin with do. Other callers are refused. If do succeeds,
// the answer has the status, and do's result as its body.
func (s *Service) admitted(w http.ResponseWriter, r *http.Request, action string, status int, do func() (any, *problem)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !wire.Caller(r.Context()).Admin() {
		forbidden("identity:"+action).write(w, r)
		return
	}
	answer, p := do()
	switch {
	case p != nil:
		p.write(w, r)
	case answer == nil:
		w.WriteHeader(status)
	default:
		wire.JSON(w, status, answer)
	}
}

// change is a requested change of a user or a project.
type change struct {
	Name             *string `json:"name"`
	Description      *string `json:"description"`
	Password         *string `json:"password"`
	Enabled          *bool   `json:"enabled"`
	DefaultProjectID *string `json:"default_project_id"`
}

// readChange reads the change under a key of the request's body.
func readChange(r *http.Request, key string) (*change, *problem) {
	var body map[string]*change
	if p := readBody(r, &body); p != nil {
		return nil, p
	}
	if body[key] == nil {
		return nil, invalid("'" + key + "' is a required property")
	}
	return body[key], nil
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

func (c *change) ofProject(p *project) {
	set(&p.name, c.Name)
	set(&p.description, c.Description)
	if c.Enabled != nil {
		p.disabled = !*c.Enabled
	}
}

func (c *change) ofUser(s *Service, u *user) {
	set(&u.name, c.Name)
	set(&u.password, c.Password)
	if c.Enabled != nil {
		u.disabled = !*c.Enabled
	}
	if c.DefaultProjectID != nil {
		u.defaultProject = s.projectByID(*c.DefaultProjectID)
	}
}

func (s *Service) postProject(w http.ResponseWriter, r *http.Request) {
	s.admitted(w, r, "create_project", http.StatusCreated, func() (any, *problem) {
		c, p := readChange(r, "project")
		switch {
		case p != nil:
			return nil, p
		case c.Name == nil || *c.Name == "":
			return nil, invalid("'name' is a required property")
		case slices.ContainsFunc(s.projects, func(other *project) bool { return other.name == *c.Name }):
			return nil, &problem{http.StatusConflict, "Conflict occurred attempting to store project - it is not permitted to have two projects with " +
				"either the same name or same id in the same domain: name is " + *c.Name + ", project id " + newID() + "."}
		}
		made := &project{id: newID()}
		c.ofProject(made)
		s.projects = append(s.projects, made)
		return map[string]any{"project": describeProject(r, made)}, nil
	})
}

// pathProject returns the project in the path.
func (s *Service) pathProject(r *http.Request) (*project, *problem) {
	if p := s.projectByID(r.PathValue("id")); p != nil {
		return p, nil
	}
	return nil, notFound("project", r.PathValue("id"))
}

func (s *Service) patchProject(w http.ResponseWriter, r *http.Request) {
	s.admitted(w, r, "update_project", http.StatusOK, func() (any, *problem) {
		p, refusal := s.pathProject(r)
		if refusal != nil {
			return nil, refusal
		}
		c, refusal := readChange(r, "project")
		if refusal != nil {
			return nil, refusal
		}
		c.ofProject(p)
		d := describeProject(r, p)
		d["extra"] = map[string]any{} // only here
		return map[string]any{"project": d}, nil
	})
}

func (s *Service) deleteProject(w http.ResponseWriter, r *http.Request) {
	s.admitted(w, r, "delete_project", http.StatusNoContent, func() (any, *problem) {
		p, refusal := s.pathProject(r)
		if refusal != nil {
			return nil, refusal
		}
		p.disabled = true // for tokens that were issued before
		s.projects = slices.DeleteFunc(s.projects, func(other *project) bool { return other == p })
		s.credentials = slices.DeleteFunc(s.credentials, func(c *credential) bool { return c.project == p })
		for _, u := range s.users {
			delete(u.roles, p.id)
		}
		return nil, nil
	})
}

func (s *Service) postUser(w http.ResponseWriter, r *http.Request) {
	s.admitted(w, r, "create_user", http.StatusCreated, func() (any, *problem) {
		c, p := readChange(r, "user")
		switch {
		case p != nil:
			return nil, p
		case c.Name == nil || *c.Name == "":
			return nil, invalid("'name' is a required property")
		case slices.ContainsFunc(s.users, func(other *user) bool { return other.name == *c.Name }):
			return nil, conflict("user", "name "+*c.Name+" at domain ID "+DomainID)
		}
		made := &user{id: newID(), roles: map[string][]string{}}
		c.ofUser(s, made)
		s.users = append(s.users, made)
		return map[string]any{"user": describeUser(r, made)}, nil
	})
}

// pathUser returns the user in the path.
func (s *Service) pathUser(r *http.Request, name string) (*user, *problem) {
	if u := s.userByID(r.PathValue(name)); u != nil {
		return u, nil
	}
	return nil, notFound("user", r.PathValue(name))
}

func (s *Service) patchUser(w http.ResponseWriter, r *http.Request) {
	s.admitted(w, r, "update_user", http.StatusOK, func() (any, *problem) {
		u, p := s.pathUser(r, "id")
		if p != nil {
			return nil, p
		}
		c, p := readChange(r, "user")
		if p != nil {
			return nil, p
		}
		c.ofUser(s, u)
		d := describeUser(r, u)
		d["extra"] = map[string]any{} // only here
		return map[string]any{"user": d}, nil
	})
}

func (s *Service) deleteUser(w http.ResponseWriter, r *http.Request) {
	s.admitted(w, r, "delete_user", http.StatusNoContent, func() (any, *problem) {
		u, p := s.pathUser(r, "id")
		if p != nil {
			return nil, p
		}
		u.disabled = true // for tokens that were issued before
		s.users = slices.DeleteFunc(s.users, func(other *user) bool { return other == u })
		s.credentials = slices.DeleteFunc(s.credentials, func(c *credential) bool { return c.user == u })
		s.rules = slices.DeleteFunc(s.rules, func(rule *ownedRule) bool { return rule.user == u })
		for _, t := range s.trusts {
			t.deleted = t.deleted || t.trustor == u || t.trustee == u
		}
		return nil, nil
	})
}
