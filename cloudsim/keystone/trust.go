// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package keystone

import (
	"net/http"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// trust lets one user, the trustee, act with roles of another, the trustor, in
// a project.
type trust struct {
	id               string
	trustor, trustee *user
	project          *project
	roles            []string
	impersonation    bool
	expires          time.Time // zero: never
	remainingUses    *int      // nil: unlimited
	usedUp           bool
}

func (s *Service) trustByID(id string) *trust {
	for _, t := range s.trusts {
		if t.id == id && !t.usedUp && (t.expires.IsZero() || s.now().Before(t.expires)) {
			return t
		}
	}
	return nil
}

func (s *Service) describeTrust(r *http.Request, t *trust) map[string]any {
	d := map[string]any{
		"id": t.id, "trustor_user_id": t.trustor.id, "trustee_user_id": t.trustee.id, "project_id": t.project.id,
		"impersonation": t.impersonation, "expires_at": nil, "deleted_at": nil, "remaining_uses": t.remainingUses,
		"redelegation_count": 0, "roles": s.trustRoles(r, t), "links": links(r, "OS-TRUST/trusts", t.id),
		"roles_links": map[string]any{"self": links(r, "OS-TRUST/trusts", t.id, "roles")["self"], "previous": nil, "next": nil},
	}
	if !t.expires.IsZero() {
		d["expires_at"] = timestamp(t.expires)
	}
	return d
}

func (s *Service) trustRoles(r *http.Request, t *trust) []any {
	roles := make([]any, 0, len(t.roles))
	for _, name := range t.roles {
		known := s.role(name)
		roles = append(roles, map[string]any{"id": known.ID, "name": known.Name, "domain_id": nil, "links": links(r, "roles", known.ID)})
	}
	return roles
}

type trustRequest struct {
	TrustorUserID string          `json:"trustor_user_id"`
	TrusteeUserID string          `json:"trustee_user_id"`
	ProjectID     string          `json:"project_id"`
	Impersonation *bool           `json:"impersonation"`
	Roles         []roleReference `json:"roles"`
	ExpiresAt     string          `json:"expires_at"`
	RemainingUses *int            `json:"remaining_uses"`
}

func (s *Service) postTrust(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Trust *trustRequest `json:"trust"`
	}
	if p := readBody(r, &body); p != nil {
		p.write(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, p := s.newTrust(r, body.Trust)
	if p != nil {
		p.write(w, r)
		return
	}
	s.trusts = append(s.trusts, t)
	wire.JSON(w, http.StatusCreated, map[string]any{"trust": s.describeTrust(r, t)})
}

func (s *Service) newTrust(r *http.Request, req *trustRequest) (*trust, *problem) {
	caller := s.valid(r.Header.Get("X-Auth-Token"))
	switch {
	case caller == nil:
		return nil, denied()
	case req == nil || req.Impersonation == nil || req.TrusteeUserID == "":
		return nil, malformed("A trust needs trustee_user_id, trustor_user_id and impersonation.")
	case req.TrustorUserID != caller.user.id || caller.trust != nil || caller.credential != nil && !caller.credential.unrestricted:
		return nil, forbidden("identity:create_trust")
	case caller.project == nil || req.ProjectID != caller.project.id:
		return nil, forbidden("identity:create_trust")
	case req.RemainingUses != nil && *req.RemainingUses < 1:
		return nil, malformed("remaining_uses must be a positive integer or null.")
	case len(req.Roles) == 0:
		return nil, forbidden("At least one role should be specified")
	}
	trustee := s.userByID(req.TrusteeUserID)
	if trustee == nil {
		return nil, notFound("user", req.TrusteeUserID)
	}
	roles, p := s.delegate(caller, req.Roles)
	if p != nil {
		return nil, p
	}
	t := &trust{
		id: newID(), trustor: caller.user, trustee: trustee, project: caller.project, roles: roles,
		impersonation: *req.Impersonation, remainingUses: req.RemainingUses,
	}
	t.expires, p = parseTime(req.ExpiresAt)
	return t, p
}

// visibleTrust returns the trust in the path, if the caller has a part in it.
func (s *Service) visibleTrust(r *http.Request) (*trust, *problem) {
	t := s.trustByID(r.PathValue("id"))
	if t == nil {
		return nil, notFound("trust", r.PathValue("id"))
	}
	if who := wire.Caller(r.Context()); who.UserID != t.trustor.id && who.UserID != t.trustee.id && !who.Admin() {
		return nil, forbidden("identity:get_trust")
	}
	return t, nil
}

func (s *Service) listTrusts(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := wire.Caller(r.Context())
	trustor, trustee := r.URL.Query().Get("trustor_user_id"), r.URL.Query().Get("trustee_user_id")
	if trustor != who.UserID && trustee != who.UserID && !who.Admin() {
		forbidden("identity:list_trusts").write(w, r)
		return
	}
	described := []any{}
	for _, t := range s.trusts {
		if (trustor == "" || trustor == t.trustor.id) && (trustee == "" || trustee == t.trustee.id) && s.trustByID(t.id) != nil {
			described = append(described, s.describeTrust(r, t))
		}
	}
	writeList(w, r, "trusts", described)
}

func (s *Service) showTrust(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, p := s.visibleTrust(r)
	if p != nil {
		p.write(w, r)
		return
	}
	wire.JSON(w, http.StatusOK, map[string]any{"trust": s.describeTrust(r, t)})
}

func (s *Service) listTrustRoles(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, p := s.visibleTrust(r)
	if p != nil {
		p.write(w, r)
		return
	}
	writeList(w, r, "roles", s.trustRoles(r, t))
}

func (s *Service) deleteTrust(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, p := s.visibleTrust(r)
	if p == nil && t.trustor.id != wire.Caller(r.Context()).UserID && !wire.Caller(r.Context()).Admin() {
		p = forbidden("identity:delete_trust")
	}
	if p != nil {
		p.write(w, r)
		return
	}
	s.trusts = slices.DeleteFunc(s.trusts, func(other *trust) bool { return other == t })
	w.WriteHeader(http.StatusNoContent)
}
