// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package keystone

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// accessRule is one kind of request for which an application credential may be used.
type accessRule struct {
	ID      string `json:"id"`
	Service string `json:"service"`
	Method  string `json:"method"`
	// Path may contain * and {name} for one segment, and ** for any number.
	Path string `json:"path"`
}

// ownedRule is an access rule of a user. It remains when the application credentials that have it
// are deleted.
type ownedRule struct {
	accessRule
	user *user
}

var wildcard = regexp.MustCompile(`\*\*|\*|{[^}]*}|[^*{]+|{`)

func (a *accessRule) matches(service, method, path string) bool {
	if a.Service != service || a.Method != method {
		return false
	}
	pattern := wildcard.ReplaceAllStringFunc(a.Path, func(part string) string {
		switch {
		case part == "**":
			return ".*"
		case part == "*" || len(part) > 1 && part[0] == '{':
			return "[^/]+"
		}
		return regexp.QuoteMeta(part)
	})
	re, err := regexp.Compile("^" + pattern + "$")
	return err == nil && re.MatchString(path)
}

// Allowed reports whether a valid token may be used for a request to a service. If the token was
// issued for an application credential with access rules, one of them must match. Keystone's own
// requests are checked since 2025.1.
func (s *Service) Allowed(token, service, method, path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.valid(token)
	if t == nil {
		return false
	}
	return t.credential == nil || len(t.credential.rules) == 0 ||
		slices.ContainsFunc(t.credential.rules, func(a *accessRule) bool { return a.matches(service, method, path) })
}

// rulesOf returns the wanted access rules of the user. Missing ones are created, existing ones
// reused. Nil stays nil: without rules everything is allowed.
func (s *Service) rulesOf(u *user, wanted []*accessRule) ([]*accessRule, *problem) {
	if wanted == nil {
		return nil, nil
	}
	rules := []*accessRule{}
	for _, want := range wanted {
		at := slices.IndexFunc(s.rules, func(r *ownedRule) bool {
			return r.user == u && (want.ID != "" && r.ID == want.ID || r.Service == want.Service && r.Method == want.Method && r.Path == want.Path)
		})
		if at < 0 {
			if want.ID != "" {
				return nil, notFound("Access Rule", want.ID)
			}
			made := *want
			made.ID = newID()
			s.rules = append(s.rules, &ownedRule{made, u})
			at = len(s.rules) - 1
		}
		rules = append(rules, &s.rules[at].accessRule)
	}
	return rules, nil
}

// ownRules returns the access rules of the user in the path, if the caller may perform the action.
func (s *Service) ownRules(r *http.Request, action string) ([]*ownedRule, *problem) {
	if caller := wire.Caller(r.Context()); caller.UserID != r.PathValue("id") && !caller.Admin() {
		return nil, forbidden("identity:" + action)
	}
	var own []*ownedRule
	for _, rule := range s.rules {
		if rule.user.id == r.PathValue("id") {
			own = append(own, rule)
		}
	}
	return own, nil
}

func (s *Service) pathRule(r *http.Request, action string) (*ownedRule, *problem) {
	own, p := s.ownRules(r, action)
	if p != nil {
		return nil, p
	}
	for _, rule := range own {
		if rule.ID == r.PathValue("rule") {
			return rule, nil
		}
	}
	return nil, notFound("Access Rule", r.PathValue("rule"))
}

func describeRule(r *http.Request, a *ownedRule) map[string]any {
	return map[string]any{"id": a.ID, "service": a.Service, "method": a.Method, "path": a.Path, "links": links(r, "access_rules", a.ID)}
}

func (s *Service) listAccessRules(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, p := s.ownRules(r, "list_access_rules")
	if p != nil {
		p.write(w, r)
		return
	}
	rules := []any{}
	for _, rule := range own {
		rules = append(rules, describeRule(r, rule))
	}
	writeList(w, r, "access_rules", rules)
}

func (s *Service) showAccessRule(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rule, p := s.pathRule(r, "get_access_rule")
	if p != nil {
		p.write(w, r)
		return
	}
	wire.JSON(w, http.StatusOK, map[string]any{"access_rule": describeRule(r, rule)})
}

// deleteAccessRule deletes a rule, unless an application credential has it.
func (s *Service) deleteAccessRule(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rule, p := s.pathRule(r, "delete_access_rule")
	if p == nil && slices.ContainsFunc(s.credentials, func(c *credential) bool { return slices.Contains(c.rules, &rule.accessRule) }) {
		p = &problem{http.StatusForbidden, "May not delete access rule in use"}
	}
	if p != nil {
		p.write(w, r)
		return
	}
	s.rules = slices.DeleteFunc(s.rules, func(other *ownedRule) bool { return other == rule })
	w.WriteHeader(http.StatusNoContent)
}
