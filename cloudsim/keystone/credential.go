// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package keystone

import (
	"net/http"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// credential is an application credential.
type credential struct {
	id, name, description, secret string
	user                          *user
	project                       *project
	roles                         []string
	unrestricted                  *bool     // nil: not given, which means false
	expires                       time.Time // zero: never
	rules                         []*accessRule
}

func (c *credential) isUnrestricted() bool { return c.unrestricted != nil && *c.unrestricted }

func (c *credential) expired(now time.Time) bool {
	return !c.expires.IsZero() && !now.Before(c.expires)
}

func (s *Service) describeCredential(r *http.Request, c *credential) map[string]any {
	roles := make([]any, 0, len(c.roles))
	for _, name := range c.roles {
		roles = append(roles, describeRole(s.role(name)))
	}
	d := map[string]any{
		"id": c.id, "name": c.name, "description": nil, "project_id": c.project.id, "user_id": c.user.id, "system": nil,
		"roles": roles, "unrestricted": c.unrestricted, "expires_at": nil,
		"links": links(r, "application_credentials", c.id),
	}
	if c.description != "" {
		d["description"] = c.description
	}
	if !c.expires.IsZero() {
		d["expires_at"] = timestamp(c.expires)
	}
	if c.rules != nil {
		d["access_rules"] = c.rules
	}
	return d
}

type credentialRequest struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	Secret       string          `json:"secret"`
	ExpiresAt    string          `json:"expires_at"`
	Roles        []roleReference `json:"roles"`
	Unrestricted *bool           `json:"unrestricted"`
	AccessRules  []*accessRule   `json:"access_rules"`
}

type roleReference struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// postCredential creates an application credential for the caller in the project of its token. Only
// this answer contains the secret.
func (s *Service) postCredential(w http.ResponseWriter, r *http.Request) {
	var req *credentialRequest
	asSent, p := readObject(r, "application_credential", &req)
	if p != nil {
		p.write(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, p := s.newCredential(r, req, asSent)
	if p != nil {
		p.write(w, r)
		return
	}
	s.credentials = append(s.credentials, c)
	s.credentialSecrets = append(s.credentialSecrets, c.secret)
	d := s.describeCredential(r, c)
	d["secret"] = c.secret
	wire.JSON(w, http.StatusCreated, map[string]any{"application_credential": d})
}

func (s *Service) newCredential(r *http.Request, req *credentialRequest, asSent any) (*credential, *problem) {
	t := s.valid(r.Header.Get("X-Auth-Token"))
	switch {
	case t == nil:
		return nil, denied()
	case t.user.id != r.PathValue("id") || t.project == nil:
		return nil, forbidden("identity:create_application_credential")
	case req == nil || req.Name == "":
		return nil, s.lacks("application_credential", asSent, "name")
	case t.credential != nil && !t.credential.isUnrestricted():
		return nil, restricted()
	}
	for _, other := range s.credentials {
		if other.user == t.user && other.name == req.Name {
			return nil, conflict("application_credential", "name "+req.Name)
		}
	}
	c := &credential{
		id: newID(), name: req.Name, description: req.Description, secret: req.Secret, user: t.user, project: t.project,
		unrestricted: req.Unrestricted,
	}
	if c.secret == "" {
		c.secret = newSecret(64)
	}
	var p *problem
	c.expires, p = parseTime(req.ExpiresAt)
	if p != nil {
		return nil, p
	}
	c.roles, p = s.delegate(t, req.Roles)
	if p != nil {
		return nil, p
	}
	c.rules, p = s.rulesOf(t.user, req.AccessRules)
	return c, p
}

// restricted returns the refusal of an action that only unrestricted application credentials may
// perform.
func restricted() *problem {
	return forbidden("Using method 'application_credential' is not allowed for managing additional application credentials.")
}

// delegate returns the names of the wanted roles, or all roles of the token if none is wanted. The
// token must have them.
func (s *Service) delegate(t *token, wanted []roleReference) ([]string, *problem) {
	if len(wanted) == 0 {
		return slices.Clone(t.roles), nil
	}
	var names []string
	for _, ref := range wanted {
		at := slices.IndexFunc(t.roles, func(name string) bool {
			return ref.Name == name || ref.ID != "" && s.role(name).ID == ref.ID
		})
		if at < 0 {
			return nil, invalid("Invalid application credential: Cannot create an application credential with unassigned role")
		}
		names = append(names, t.roles[at])
	}
	return names, nil
}

// parseTime parses a time in the format of clients; "" is the zero time.
func parseTime(text string) (time.Time, *problem) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, malformed("Timestamp not in expected format.")
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// ownCredentials returns the application credentials of the user in the path, if the caller may
// perform the action.
func (s *Service) ownCredentials(r *http.Request, action string) ([]*credential, *problem) {
	caller := wire.Caller(r.Context())
	if caller.UserID != r.PathValue("id") && !caller.Admin() {
		return nil, forbidden("identity:" + action)
	}
	var own []*credential
	for _, c := range s.credentials {
		if c.user.id == r.PathValue("id") {
			own = append(own, c)
		}
	}
	return own, nil
}

func (s *Service) listCredentials(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, p := s.ownCredentials(r, "list_application_credentials")
	if p != nil {
		p.write(w, r)
		return
	}
	described := []any{}
	for _, c := range own {
		if name := r.URL.Query().Get("name"); name == "" || name == c.name {
			described = append(described, s.describeCredential(r, c))
		}
	}
	writeList(w, r, "application_credentials", described)
}

func (s *Service) pathCredential(r *http.Request, action string) (*credential, *problem) {
	own, p := s.ownCredentials(r, action)
	if p != nil {
		return nil, p
	}
	for _, c := range own {
		if c.id == r.PathValue("cred") {
			return c, nil
		}
	}
	return nil, notFound("Application Credential", r.PathValue("cred"))
}

func (s *Service) showCredential(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, p := s.pathCredential(r, "get_application_credential")
	if p != nil {
		p.write(w, r)
		return
	}
	wire.JSON(w, http.StatusOK, map[string]any{"application_credential": s.describeCredential(r, c)})
}

func (s *Service) deleteCredential(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, p := s.pathCredential(r, "delete_application_credential")
	if p == nil {
		if t := s.valid(r.Header.Get("X-Auth-Token")); t != nil && t.credential != nil && !t.credential.isUnrestricted() {
			p = restricted()
		}
	}
	if p != nil {
		p.write(w, r)
		return
	}
	s.credentials = slices.DeleteFunc(s.credentials, func(other *credential) bool { return other == c })
	w.WriteHeader(http.StatusNoContent)
}
