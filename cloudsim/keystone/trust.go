// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package keystone

import (
	"net/http"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// trust lets one user, the trustee, act in a project with roles of another user, the trustor.
type trust struct {
	id               string
	trustor, trustee *user
	project          *project
	roles            []string
	impersonation    bool
	expires          time.Time // zero: never
	remainingUses    *int      // nil: unlimited
	// usedUp and deleted trusts are kept, because another trust between the same users with the
	// same expiry is refused.
	usedUp, deleted bool
}

func (s *Service) trustByID(id string) *trust {
	for _, t := range s.trusts {
		if t.id == id && !t.usedUp && !t.deleted && (t.expires.IsZero() || s.now().Before(t.expires)) {
			return t
		}
	}
	return nil
}

// describeTrust returns the trust as in a list, without its roles.
func (s *Service) describeTrust(r *http.Request, t *trust) map[string]any {
	d := map[string]any{
		"id": t.id, "trustor_user_id": t.trustor.id, "trustee_user_id": t.trustee.id, "project_id": t.project.id,
		"impersonation": t.impersonation, "expires_at": nil, "deleted_at": nil, "remaining_uses": t.remainingUses,
		"redelegated_trust_id": nil, "redelegation_count": 0, "links": links(r, "OS-TRUST/trusts", t.id),
	}
	if !t.expires.IsZero() {
		d["expires_at"] = timestamp(t.expires)
	}
	return d
}

// showTrustInFull returns the trust with its roles. As in Keystone, the link to the roles leads
// nowhere.
func (s *Service) showTrustInFull(r *http.Request, t *trust) map[string]any {
	d := s.describeTrust(r, t)
	d["roles"] = s.trustRoles(r, t)
	d["roles_links"] = map[string]any{"self": links(r, t.id, "roles")["self"], "previous": nil, "next": nil}
	return d
}

func (s *Service) trustRoles(r *http.Request, t *trust) []any {
	roles := make([]any, 0, len(t.roles))
	for _, name := range t.roles {
		d := describeRole(s.role(name))
		d["links"] = links(r, "roles", s.role(name).ID)
		roles = append(roles, d)
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
	var req *trustRequest
	asSent, p := readObject(r, "trust", &req)
	if p != nil {
		p.write(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, p := s.newTrust(r, req, asSent)
	if p != nil {
		p.write(w, r)
		return
	}
	s.trusts = append(s.trusts, t)
	wire.JSON(w, http.StatusCreated, map[string]any{"trust": s.showTrustInFull(r, t)})
}

func (s *Service) newTrust(r *http.Request, req *trustRequest, asSent any) (*trust, *problem) {
	caller := s.valid(r.Header.Get("X-Auth-Token"))
	switch {
	case caller == nil:
		return nil, denied()
	case req == nil:
		return nil, invalid("'trust' is a required property")
	case req.TrusteeUserID == "":
		return nil, s.lacks("trust", asSent, "trustee_user_id")
	case req.Impersonation == nil:
		return nil, s.lacks("trust", asSent, "impersonation")
	case caller.trust != nil:
		return nil, forbidden("")
	case caller.credential != nil && !caller.credential.isUnrestricted():
		return nil, forbidden("Delegated tokens cannot manage trusts.")
	case req.TrustorUserID != caller.user.id:
		return nil, forbidden("identity:create_trust")
	case req.RemainingUses != nil && *req.RemainingUses < 1:
		return nil, invalid("remaining_uses must be a positive integer or null.")
	case len(req.Roles) == 0:
		return nil, forbidden("At least one role should be specified")
	}
	trustee, p := s.userByID(req.TrusteeUserID), s.projectByID(req.ProjectID)
	switch {
	case trustee == nil:
		return nil, notFound("user", req.TrusteeUserID)
	case p == nil:
		return nil, notFound("project", req.ProjectID)
	}
	roles, refusal := s.trustedRoles(caller, p, req.Roles)
	if refusal != nil {
		return nil, refusal
	}
	t := &trust{
		id: newID(), trustor: caller.user, trustee: trustee, project: p, roles: roles,
		impersonation: *req.Impersonation, remainingUses: req.RemainingUses,
	}
	t.expires, refusal = parseTime(req.ExpiresAt)
	if refusal == nil && !t.expires.IsZero() {
		refusal = s.checkExpiry(t)
	}
	return t, refusal
}

// trustedRoles returns the names of the roles of the trust, all of which the
// trustor must have in the project.
func (s *Service) trustedRoles(caller *token, p *project, wanted []roleReference) ([]string, *problem) {
	held := withImplied(caller.user.roles[p.id])
	var names []string
	for _, ref := range wanted {
		known, ok := s.roleByID(ref.ID)
		if ref.ID == "" {
			at := slices.IndexFunc(s.roles, func(r role) bool { return r.Name == ref.Name })
			ok = at >= 0
			if ok {
				known = s.roles[at]
			}
		}
		switch {
		case !ok:
			return nil, notFound("role", ref.ID+ref.Name)
		case !slices.Contains(held, known.Name):
			return nil, notFound("role", known.ID)
		}
		names = append(names, known.Name)
	}
	return names, nil
}

// checkExpiry refuses a trust that has already expired, and one with the same expiry as another
// trust between the two users.
func (s *Service) checkExpiry(t *trust) *problem {
	if !s.now().Before(t.expires) {
		return malformed("The 'expires_at' must not be before now.")
	}
	for _, o := range s.trusts {
		if o.trustor == t.trustor && o.trustee == t.trustee && o.project == t.project && o.impersonation == t.impersonation && o.expires.Equal(t.expires) {
			return conflict("trust", "ID "+t.id)
		}
	}
	return nil
}

// visibleTrust returns the trust in the path, if the caller may see it.
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
		action := "identity:list_trusts"
		switch {
		case trustor != "":
			action += "_for_trustor"
		case trustee != "":
			action += "_for_trustee"
		}
		forbidden(action).write(w, r)
		return
	}
	described := []any{}
	for _, t := range s.trusts {
		if (trustor == "" || trustor == t.trustor.id) && (trustee == "" || trustee == t.trustee.id) && !t.deleted {
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
	wire.JSON(w, http.StatusOK, map[string]any{"trust": s.showTrustInFull(r, t)})
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
	t.deleted = true
	w.WriteHeader(http.StatusNoContent)
}
