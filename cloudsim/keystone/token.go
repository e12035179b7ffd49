// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package keystone

import (
	"net/http"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// token is an issued token. It describes its user and project as they were when it was issued.
type token struct {
	id                string
	methods           []string
	user              *user
	project           *project // nil when unscoped
	roles             []string
	credential        *credential // with which it was obtained, if any
	trust             *trust      // to which it is scoped, if any
	auditIDs          []string
	issuedAt, expires time.Time
}

// Authenticate returns the identity of a token's owner, and whether the token is valid: it has not
// expired, was not revoked, and its application credential or trust still exists.
func (s *Service) Authenticate(id string) (wire.Identity, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.valid(id)
	if t == nil {
		return wire.Identity{}, false
	}
	who := wire.Identity{UserID: t.user.id, Roles: slices.Clone(t.roles), Delegated: t.credential != nil || t.trust != nil}
	if t.project != nil {
		who.ProjectID = t.project.id
	}
	return who, true
}

func (s *Service) valid(id string) *token {
	t := s.tokens[id]
	if t == nil || !s.now().Before(t.expires) {
		delete(s.tokens, id)
		return nil
	}
	if t.credential != nil && !slices.Contains(s.credentials, t.credential) || t.trust != nil && t.trust.deleted ||
		t.user.disabled || t.project != nil && t.project.disabled {
		delete(s.tokens, id)
		return nil
	}
	return t
}

// known returns the token with the id, or the reason why there is none: it was never issued, or is
// not valid any more.
func (s *Service) known(id string) (*token, *problem) {
	if t := s.valid(id); t != nil {
		return t, nil
	}
	if len(id) < tokenLength {
		return nil, &problem{http.StatusNotFound, "Could not recognize Fernet token"}
	}
	return nil, unknownToken()
}

// hasRules reports whether access rules restrict the use of the token.
func (t *token) hasRules() bool { return t.credential != nil && t.credential.rules != nil }

// manyTokens is the number of tokens from which issuing another one also removes the expired ones.
const manyTokens = 10_000

// tokenLength is the length of Keystone's tokens.
const tokenLength = 182

func (s *Service) issue(t *token) {
	now := s.now()
	t.issuedAt = now
	if t.expires.IsZero() {
		t.expires = now.Add(s.lifetime)
	}
	// The length and the characters are those of Keystone's own (Fernet) tokens, because some
	// clients truncate long ones.
	t.id = newSecret(tokenLength)
	t.id = "gAAAAA" + t.id[:tokenLength-len("gAAAAA")]
	t.auditIDs = append([]string{newSecret(16)}, t.auditIDs...)
	if len(s.tokens) >= manyTokens {
		for id, old := range s.tokens {
			if !now.Before(old.expires) {
				delete(s.tokens, id)
			}
		}
	}
	s.tokens[t.id] = t
	s.noteToken(t.id)
}

// describe returns the body of an answer about a token.
func (s *Service) describe(t *token, catalog bool) map[string]any {
	domain := map[string]string{"id": DomainID, "name": DomainName}
	d := map[string]any{
		"methods": t.methods, "audit_ids": t.auditIDs, "issued_at": timestamp(t.issuedAt), "expires_at": timestamp(t.expires),
		"user": map[string]any{"id": t.user.id, "name": t.user.name, "domain": domain, "password_expires_at": nil},
	}
	if t.project != nil {
		d["project"] = map[string]any{"id": t.project.id, "name": t.project.name, "domain": domain}
		d["roles"] = s.tokenRoles(t)
		if t.trust == nil {
			d["is_domain"] = false
		}
		if catalog {
			d["catalog"] = s.catalog
		}
	}
	if c := t.credential; c != nil {
		shown := map[string]any{"id": c.id, "name": c.name, "restricted": !c.isUnrestricted()}
		if c.rules != nil {
			shown["access_rules"] = c.rules
		}
		d["application_credential"] = shown
	}
	if t.trust != nil {
		d["OS-TRUST:trust"] = map[string]any{
			"id": t.trust.id, "impersonation": t.trust.impersonation,
			"trustor_user": map[string]string{"id": t.trust.trustor.id}, "trustee_user": map[string]string{"id": t.trust.trustee.id},
		}
	}
	return map[string]any{"token": d}
}

// tokenRoles returns the roles as a token shows them: in full if it is scoped to a trust.
func (s *Service) tokenRoles(t *token) []any {
	roles := make([]any, 0, len(t.roles))
	for _, name := range t.roles {
		known := s.role(name)
		if t.trust == nil {
			roles = append(roles, known)
			continue
		}
		roles = append(roles, describeRole(known))
	}
	return roles
}

func (s *Service) postToken(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Auth *authRequest `json:"auth"`
	}
	if p := readBody(r, &body); p != nil {
		p.write(w, r)
		return
	}
	switch {
	case body.Auth == nil:
		malformed("Expecting to find auth in request body.").write(w, r)
		return
	case body.Auth.Identity == nil:
		invalid("'identity' is a required property").write(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, p := s.authenticate(body.Auth)
	if p != nil {
		p.write(w, r)
		return
	}
	s.issue(t)
	s.writeToken(w, r, http.StatusCreated, t)
}

func (s *Service) writeToken(w http.ResponseWriter, r *http.Request, status int, t *token) {
	w.Header().Set("X-Subject-Token", t.id)
	w.Header().Set("Vary", "X-Auth-Token")
	wire.JSON(w, status, s.describe(t, !r.URL.Query().Has("nocatalog")))
}

// subject finds the token that a request about a token names.
func (s *Service) subject(r *http.Request) (*token, *problem) {
	caller := s.valid(r.Header.Get("X-Auth-Token"))
	if caller == nil {
		return nil, denied()
	}
	id := r.Header.Get("X-Subject-Token")
	if id == "" {
		return nil, forbidden("identity:validate_token")
	}
	t, p := s.known(id)
	switch {
	case p != nil:
		return nil, p
	case t.user.id != caller.user.id && !slices.Contains(caller.roles, "admin"):
		return nil, forbidden(map[bool]string{true: "identity:revoke_token", false: "identity:validate_token"}[r.Method == http.MethodDelete])
	case t.hasRules() && r.Method != http.MethodDelete && r.Header.Get("OpenStack-Identity-Access-Rules") == "":
		// A service that does not know access rules must not treat the token as one without rules.
		return nil, unknownToken()
	}
	return t, nil
}

func (s *Service) getToken(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, p := s.subject(r)
	if p != nil {
		p.write(w, r)
		return
	}
	s.writeToken(w, r, http.StatusOK, t)
}

func (s *Service) deleteToken(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, p := s.subject(r)
	if p != nil {
		p.write(w, r)
		return
	}
	delete(s.tokens, t.id)
	w.WriteHeader(http.StatusNoContent)
}

func (s *Service) getCatalog(w http.ResponseWriter, r *http.Request) {
	if wire.Caller(r.Context()).ProjectID == "" {
		forbidden("").write(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	wire.JSON(w, http.StatusOK, map[string]any{"catalog": s.catalog, "links": map[string]string{"self": selfLink(r)}})
}
