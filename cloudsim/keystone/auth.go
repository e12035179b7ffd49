// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package keystone

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// authRequest is the body of POST /v3/auth/tokens.
type authRequest struct {
	Identity *struct {
		Methods  []string `json:"methods"`
		Password *struct {
			User userReference `json:"user"`
		} `json:"password"`
		Token *struct {
			ID string `json:"id"`
		} `json:"token"`
		ApplicationCredential *struct {
			ID     string         `json:"id"`
			Name   string         `json:"name"`
			Secret string         `json:"secret"`
			User   *userReference `json:"user"`
		} `json:"application_credential"`
	} `json:"identity"`
	Scope json.RawMessage `json:"scope"`
}

type userReference struct {
	ID       string           `json:"id"`
	Name     string           `json:"name"`
	Domain   *domainReference `json:"domain"`
	Password string           `json:"password"`
}

type domainReference struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (d *domainReference) ours() bool {
	return d != nil && (d.ID == DomainID || d.ID == "" && d.Name == DomainName)
}

type scopeRequest struct {
	Project *struct {
		ID     string           `json:"id"`
		Name   string           `json:"name"`
		Domain *domainReference `json:"domain"`
	} `json:"project"`
	Domain *domainReference `json:"domain"`
	System *struct {
		All bool `json:"all"`
	} `json:"system"`
	Trust *struct {
		ID string `json:"id"`
	} `json:"OS-TRUST:trust"`
}

// check refuses a request that lacks a required part.
func (a *authRequest) check() *problem {
	given := map[string]bool{
		"password": a.Identity.Password != nil, "token": a.Identity.Token != nil, "application_credential": a.Identity.ApplicationCredential != nil,
	}
	if a.Identity.Methods == nil {
		return invalid("Invalid input for field 'identity': 'methods' is a required property")
	}
	for _, method := range a.Identity.Methods {
		if !given[method] {
			return malformed("Expecting to find " + method + " in identity.")
		}
	}
	if len(a.Identity.Methods) == 0 {
		return denied()
	}
	if a.Identity.Password != nil && a.Identity.Password.User.incomplete() {
		return malformed("Expecting to find domain in user.")
	}
	return nil
}

// incomplete reports whether a user is given by name, without a domain.
func (u *userReference) incomplete() bool { return u.ID == "" && u.Domain == nil }

// authenticate checks the credentials and the scope of a request, and returns a token that is not
// issued yet.
func (s *Service) authenticate(a *authRequest) (*token, *problem) {
	if p := a.check(); p != nil {
		return nil, p
	}
	t := &token{}
	var old *token
	for _, method := range a.Identity.Methods {
		var p *problem
		switch method {
		case "password":
			t.user, p = s.byPassword(a)
		case "token":
			old, p = s.byToken(a)
			if p == nil {
				t.user, t.methods, t.auditIDs = old.user, slices.Clone(old.methods), old.auditIDs[len(old.auditIDs)-1:]
				// A token that was obtained with another token expires with that one.
				t.expires = old.expires
			}
		case "application_credential":
			t.credential, p = s.byCredential(a)
			if p == nil {
				t.user = t.credential.user
			}
		default:
			p = denied()
		}
		if p != nil {
			return nil, p
		}
		if !slices.Contains(t.methods, method) {
			t.methods = append(t.methods, method)
		}
	}
	if old != nil && old.trust != nil {
		return nil, forbidden("Using trust-scoped token to create another token. Create a new trust-scoped token instead")
	}
	if old != nil && old.credential != nil {
		return nil, forbidden("Using a delegated token to create another token is not allowed.")
	}
	return t, s.scope(t, a.Scope)
}

func (s *Service) byPassword(a *authRequest) (*user, *problem) {
	u := s.find(&a.Identity.Password.User)
	if u == nil || u.disabled || !same(u.password, a.Identity.Password.User.Password) {
		return nil, denied()
	}
	return u, nil
}

func (s *Service) byToken(a *authRequest) (*token, *problem) {
	t, p := s.known(a.Identity.Token.ID)
	if p == nil && t.hasRules() {
		p = unknownToken()
	}
	return t, p
}

func (s *Service) byCredential(a *authRequest) (*credential, *problem) {
	want := a.Identity.ApplicationCredential
	var owner *user
	if want.ID == "" {
		owner = s.find(want.User)
		if owner == nil {
			return nil, denied()
		}
	}
	for _, c := range s.credentials {
		if want.ID != "" && c.id != want.ID || want.ID == "" && (c.name != want.Name || c.user != owner) {
			continue
		}
		if !same(c.secret, want.Secret) || c.expired(s.now()) || c.user.disabled {
			return nil, denied()
		}
		return c, nil
	}
	if want.ID != "" {
		return nil, notFound("Application Credential", want.ID)
	}
	return nil, denied()
}

// find returns the user of a reference, or nil.
func (s *Service) find(ref *userReference) *user {
	if ref == nil {
		return nil
	}
	if ref.ID != "" {
		return s.userByID(ref.ID)
	}
	for _, u := range s.users {
		if u.name == ref.Name && ref.Domain.ours() {
			return u
		}
	}
	return nil
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// scope sets the token's project and roles.
func (s *Service) scope(t *token, raw json.RawMessage) *problem {
	var want scopeRequest
	raw = bytes.TrimSpace(raw)
	unscoped := len(raw) == 0 || string(raw) == "null" || string(raw) == `"unscoped"`
	if !unscoped {
		if err := json.Unmarshal(raw, &want); err != nil {
			return malformed("The scope is not what it should be: " + err.Error() + ".")
		}
	}
	switch {
	case want.Trust != nil:
		return s.scopeToTrust(t, want.Trust.ID)
	case t.credential != nil:
		return s.scopeToCredential(t, want)
	case unscoped:
		if home := t.user.defaultProject; len(raw) == 0 && home != nil && len(t.user.roles[home.id]) > 0 && !home.disabled {
			return s.scopeToProject(t, home)
		}
		return nil
	case want.Project != nil && want.Project.ID == "" && want.Project.Domain == nil:
		return malformed("Expecting to find domain in project.")
	case want.Project != nil:
		return s.scopeToProject(t, s.wantedProject(want))
	default:
		return denied() // no user has a role on the domain or the system
	}
}

func (s *Service) wantedProject(want scopeRequest) *project {
	if want.Project.ID != "" {
		return s.projectByID(want.Project.ID)
	}
	for _, p := range s.projects {
		if p.name == want.Project.Name && want.Project.Domain.ours() {
			return p
		}
	}
	return nil
}

func (s *Service) scopeToProject(t *token, p *project) *problem {
	if p == nil || p.disabled || len(t.user.roles[p.id]) == 0 {
		return denied()
	}
	t.project, t.roles = p, withImplied(t.user.roles[p.id])
	return nil
}

// scopeToCredential gives the token the project and the roles of its
// application credential, as far as the user still has them.
func (s *Service) scopeToCredential(t *token, want scopeRequest) *problem {
	c := t.credential
	if t.methods[0] == "application_credential" && (want.Project != nil || want.Domain != nil || want.System != nil) {
		return &problem{http.StatusUnauthorized, "Error authenticating with application credential: Application credentials cannot request a scope."}
	}
	if want.Project != nil && s.wantedProject(want) != c.project || want.Domain != nil || want.System != nil {
		return denied()
	}
	if !c.expires.IsZero() && t.expires.IsZero() {
		t.expires = earlier(c.expires, s.now().Add(s.lifetime))
	}
	t.project = c.project
	t.roles = intersect(c.roles, withImplied(c.user.roles[c.project.id]))
	if s.credentialsGiveImpliedRoles() {
		t.roles = withImplied(t.roles)
	}
	if len(t.roles) == 0 || c.project.disabled {
		return denied()
	}
	return nil
}

// credentialsGiveImpliedRoles reports whether an application credential also gives the roles that its roles imply: it
// does in 2025.1, but not in 2022.2.
func (s *Service) credentialsGiveImpliedRoles() bool { return s.release >= release.Epoxy }

func (s *Service) scopeToTrust(t *token, id string) *problem {
	tr := s.trustByID(id)
	switch {
	case tr == nil:
		return denied()
	case t.user != tr.trustee || t.credential != nil || tr.trustor.disabled:
		return forbidden("")
	}
	held := withImplied(tr.trustor.roles[tr.project.id])
	if len(intersect(tr.roles, held)) < len(tr.roles) || tr.project.disabled {
		return forbidden("")
	}
	t.roles = withImplied(tr.roles)
	if tr.remainingUses != nil {
		if *tr.remainingUses--; *tr.remainingUses <= 0 {
			// The last use: the trust cannot be used any more, but this token stays valid.
			tr.usedUp = true
		}
	}
	t.project, t.trust = tr.project, tr
	if tr.impersonation {
		t.user = tr.trustor
	}
	if !tr.expires.IsZero() && (t.expires.IsZero() || tr.expires.Before(t.expires)) {
		t.expires = earlier(tr.expires, s.now().Add(s.lifetime))
	}
	return nil
}

func intersect(a, b []string) []string {
	var both []string
	for _, e := range a {
		if slices.Contains(b, e) {
			both = append(both, e)
		}
	}
	return both
}
