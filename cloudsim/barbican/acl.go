// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"net/http"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// acl lists who may read an object besides its creator.
type acl struct {
	users            []string
	projectAccess    bool
	created, updated time.Time
}

// kind is Barbican's name of the object whose ACL is requested.
type kind struct{ name, collection string }

// ofObject handles a request for an object's ACL.
type ofObject func(w http.ResponseWriter, r *http.Request, k kind, o *object) error

func (s *Service) ofSecret(handle ofObject) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		x, err := s.findSecret(r)
		if err != nil {
			return err
		}
		return handle(w, r, kind{"Secret", "secrets"}, &x.object)
	}
}

func (s *Service) ofContainer(handle ofObject) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		x, err := s.findContainer(r)
		if err != nil {
			return err
		}
		return handle(w, r, kind{"Container", "containers"}, &x.object)
	}
}

func (s *Service) getACL(w http.ResponseWriter, r *http.Request, k kind, o *object) error {
	if !s.policy.mayReadACL(o, wire.Caller(r.Context())) {
		return notAllowed(k.name + "ACL(s) retrieval")
	}
	read := map[string]any{"project-access": true}
	if o.acl != nil {
		read["project-access"], read["users"] = o.acl.projectAccess, append([]string{}, o.acl.users...)
		read["created"], read["updated"] = timestamp(o.acl.created), timestamp(o.acl.updated)
	}
	wire.JSON(w, http.StatusOK, map[string]any{"read": read})
	return nil
}

// changeACL replaces the ACL (PUT), or the parts of it that are given (PATCH).
func (s *Service) changeACL(w http.ResponseWriter, r *http.Request, k kind, o *object) error {
	if !s.policy.mayChange(o, wire.Caller(r.Context())) {
		return notAllowed(k.name + "ACL(s) Update")
	}
	body, err := readBody(r)
	if err != nil {
		return err
	}
	if err := checkACL(body); err != nil {
		return err
	}
	read, given := body["read"].(map[string]any)
	now := s.now()
	next := &acl{projectAccess: true, created: now, updated: now}
	if o.acl != nil {
		next.created = o.acl.created
		if r.Method == http.MethodPatch {
			next.users, next.projectAccess = o.acl.users, o.acl.projectAccess
		}
	}
	if access, ok := read["project-access"].(bool); ok {
		next.projectAccess = access
	}
	if users, ok := read["users"].([]any); ok {
		next.users = nil
		for _, user := range users {
			name, _ := user.(string)
			next.users = append(next.users, name)
		}
	}
	switch {
	case given && len(read) > 0:
		o.acl = next
	case r.Method == http.MethodPut:
		o.acl = nil
	}
	wire.JSON(w, http.StatusOK, map[string]string{"acl_ref": ref(r, k.collection, o.id) + "/acl"})
	return nil
}

func checkACL(body map[string]any) error {
	for key := range body {
		if key != "read" {
			return unfit("ACL", "None", "Additional properties are not allowed ('%s' was unexpected)", key)
		}
	}
	read, isObject := body["read"].(map[string]any)
	if body["read"] != nil && !isObject {
		return unfit("ACL", "read", "%s is not of type 'object'", python(body["read"]))
	}
	for key, value := range read {
		switch key {
		case "users":
			if _, ok := value.([]any); !ok {
				return unfit("ACL", "read", "%s is not of type 'array'", python(value))
			}
		case "project-access":
			if _, ok := value.(bool); !ok {
				return unfit("ACL", "read", "%s is not of type 'boolean'", python(value))
			}
		default:
			return unfit("ACL", "read", "Additional properties are not allowed ('%s' was unexpected)", key)
		}
	}
	return nil
}

func (s *Service) deleteACL(w http.ResponseWriter, r *http.Request, k kind, o *object) error {
	if !s.policy.mayChange(o, wire.Caller(r.Context())) {
		return notAllowed(k.name + "ACL(s) deletion")
	}
	o.acl = nil
	wire.JSON(w, http.StatusOK, nil)
	return nil
}

// grant lets a user read the object, if the caller may change its ACL. It takes two requests in the caller's name: the
// ACL is read, and changed unless it contains the user.
func (s *Service) grant(caller wire.Identity, o *object, userID string) error {
	list := "/v1/" + s.collectionOf(o) + "/" + o.id + "/acl"
	if !s.policy.mayReadACL(o, caller) || !caller.May("key-manager", http.MethodGet, list) {
		return notAllowed("ACL(s) retrieval")
	}
	if o.acl != nil && slices.Contains(o.acl.users, userID) {
		return nil
	}
	if !s.policy.mayChange(o, caller) || !caller.May("key-manager", http.MethodPut, list) {
		return notAllowed("ACL(s) Update")
	}
	if o.acl == nil {
		o.acl = &acl{projectAccess: true, created: s.now()}
	}
	o.acl.users, o.acl.updated = append(slices.Clone(o.acl.users), userID), s.now()
	return nil
}

// collectionOf returns the name of the collection that contains the object.
func (s *Service) collectionOf(o *object) string {
	if s.container(o.id) != nil {
		return "containers"
	}
	return "secrets"
}
