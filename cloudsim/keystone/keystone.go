// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package keystone simulates OpenStack's identity service, Keystone v3: tokens for passwords,
// application credentials, tokens and trusts, scoped to a project or unscoped, with a catalogue and
// an expiry. There is one domain, Default. It imports only packages release and wire.
package keystone

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// The one domain.
const (
	DomainID   = "default"
	DomainName = "Default"
)

// Options configure a Service.
type Options struct {
	// Release is the release of OpenStack that is simulated.
	Release release.Release
	// TokenLifetime is how long a token is valid; 0 means one hour.
	TokenLifetime time.Duration
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// Service is Keystone. It is safe for concurrent use.
type Service struct {
	release release.Release
	now     func() time.Time

	mu          sync.Mutex
	lifetime    time.Duration
	projects    []*project
	users       []*user
	roles       []role
	catalog     []catalogEntry
	tokens      map[string]*token
	credentials []*credential
	rules       []*ownedRule
	trusts      []*trust
	// credentialSecrets and issued are for Secrets.
	credentialSecrets, issued []string
}

type project struct {
	id, name, description string
	disabled              bool
}

type user struct {
	id, name, password string
	disabled           bool
	defaultProject     *project            // the scope of a login without a scope; nil: none
	roles              map[string][]string // project id -> names of roles
}

type role struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type catalogEntry struct {
	Endpoints []endpoint `json:"endpoints"`
	ID        string     `json:"id"`
	Type      string     `json:"type"`
	Name      string     `json:"name"`
}

type endpoint struct {
	ID        string `json:"id"`
	Interface string `json:"interface"`
	RegionID  string `json:"region_id"`
	URL       string `json:"url"`
	Region    string `json:"region"`
}

// New returns a Keystone without users.
func New(o Options) *Service {
	s := &Service{release: o.Release, now: o.Now, tokens: map[string]*token{}}
	if s.now == nil {
		s.now = time.Now
	}
	s.SetTokenLifetime(o.TokenLifetime)
	return s
}

// AddProject creates a project and returns its id.
func (s *Service) AddProject(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &project{id: newID(), name: name}
	s.projects = append(s.projects, p)
	return p.id
}

// AddUser creates a user with a password and returns its id.
func (s *Service) AddUser(name, password string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := &user{id: newID(), name: name, password: password, roles: map[string][]string{}}
	s.users = append(s.users, u)
	return u.id
}

// SetDefaultProject sets the project of the user's logins without a scope.
func (s *Service) SetDefaultProject(userID, projectID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.userByID(userID); u != nil {
		u.defaultProject = s.projectByID(projectID)
	}
}

// SetPassword changes a user's password. Its tokens stay valid.
func (s *Service) SetPassword(userID, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.userByID(userID); u != nil {
		u.password = password
	}
}

// Assign replaces a user's roles in a project; without roles it removes the user's access. Roles
// that do not exist are created. Tokens that were issued before keep their roles.
func (s *Service) Assign(userID, projectID string, roles ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.userByID(userID)
	if u == nil {
		return
	}
	delete(u.roles, projectID)
	for _, name := range roles {
		s.role(name)
		u.roles[projectID] = append(u.roles[projectID], name)
	}
}

// AddEndpoint adds a service to the catalogue, with one URL for the interfaces public, internal and
// admin of a region. Entries of the same type belong to one service.
func (s *Service) AddEndpoint(serviceType, name, region, url string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var endpoints []endpoint
	for _, iface := range []string{"admin", "internal", "public"} {
		endpoints = append(endpoints, endpoint{ID: newID(), Interface: iface, RegionID: region, Region: region, URL: url})
	}
	for i := range s.catalog {
		if s.catalog[i].Type == serviceType {
			s.catalog[i].Endpoints = append(s.catalog[i].Endpoints, endpoints...)
			return
		}
	}
	s.catalog = append(s.catalog, catalogEntry{Endpoints: endpoints, ID: newID(), Type: serviceType, Name: name})
}

// SetTokenLifetime sets the lifetime of tokens that are issued from now on; 0 means one hour.
func (s *Service) SetTokenLifetime(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d <= 0 {
		d = time.Hour
	}
	s.lifetime = d
}

// ExpireTokens makes all tokens invalid at once, so that every client has to authenticate again.
func (s *Service) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Counts returns the number of objects of each kind.
func (s *Service) Counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]int{
		"projects": len(s.projects), "users": len(s.users), "tokens": len(s.tokens),
		"application_credentials": len(s.credentials), "trusts": len(s.trusts),
	}
}

// Mux returns Keystone's routes.
func (s *Service) Mux() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /{$}":                                    s.listVersions,
		"GET /v3":                                     s.showVersion,
		"GET /v3/{$}":                                 s.showVersion,
		"POST /v3/auth/tokens":                        s.postToken,
		"GET /v3/auth/tokens":                         s.getToken,
		"DELETE /v3/auth/tokens":                      s.deleteToken,
		"HEAD /v3/auth/tokens":                        s.getToken,
		"GET /v3/auth/catalog":                        s.getCatalog,
		"GET /v3/auth/projects":                       s.listOwnProjects,
		"GET /v3/projects":                            s.listProjects,
		"GET /v3/projects/{id}":                       s.showProject,
		"GET /v3/users":                               s.listUsers,
		"GET /v3/users/{id}":                          s.showUser,
		"GET /v3/users/{id}/projects":                 s.listUserProjects,
		"GET /v3/roles":                               s.listRoles,
		"GET /v3/domains":                             s.listDomains,
		"GET /v3/domains/{id}":                        s.showDomain,
		"GET /v3/users/{id}/application_credentials":  s.listCredentials,
		"POST /v3/users/{id}/application_credentials": s.postCredential,
		"GET /v3/users/{id}/application_credentials/{cred}":    s.showCredential,
		"DELETE /v3/users/{id}/application_credentials/{cred}": s.deleteCredential,
		"GET /v3/users/{id}/access_rules":                      s.listAccessRules,
		"GET /v3/users/{id}/access_rules/{rule}":               s.showAccessRule,
		"DELETE /v3/users/{id}/access_rules/{rule}":            s.deleteAccessRule,
		"POST /v3/projects":                                    s.postProject,
		"PATCH /v3/projects/{id}":                              s.patchProject,
		"DELETE /v3/projects/{id}":                             s.deleteProject,
		"POST /v3/users":                                       s.postUser,
		"PATCH /v3/users/{id}":                                 s.patchUser,
		"DELETE /v3/users/{id}":                                s.deleteUser,
		"GET /v3/role_assignments":                             s.listAssignments,
		"GET /v3/projects/{id}/users/{user}/roles":             s.listAssigned,
		"PUT /v3/projects/{id}/users/{user}/roles/{role}":      s.assignRole,
		"HEAD /v3/projects/{id}/users/{user}/roles/{role}":     s.hasRole,
		"DELETE /v3/projects/{id}/users/{user}/roles/{role}":   s.unassignRole,
		"GET /v3/OS-TRUST/trusts":                              s.listTrusts,
		"POST /v3/OS-TRUST/trusts":                             s.postTrust,
		"GET /v3/OS-TRUST/trusts/{id}":                         s.showTrust,
		"DELETE /v3/OS-TRUST/trusts/{id}":                      s.deleteTrust,
		"GET /v3/OS-TRUST/trusts/{id}/roles":                   s.listTrustRoles,
	} {
		mux.HandleFunc(pattern, handler)
	}
	return mux
}

// Public reports whether the frame must admit requests of a route without a token: those for
// version documents, and those for tokens, whose handlers check the caller's token themselves if
// they need one.
func Public(route string) bool {
	return route == "/" || route == "/v3" || route == "/v3/" || route == "/v3/auth/tokens"
}

func (s *Service) userByID(id string) *user {
	for _, u := range s.users {
		if u.id == id {
			return u
		}
	}
	return nil
}

func (s *Service) projectByID(id string) *project {
	for _, p := range s.projects {
		if p.id == id {
			return p
		}
	}
	return nil
}

func (s *Service) roleByID(id string) (role, bool) {
	i := slices.IndexFunc(s.roles, func(r role) bool { return r.ID == id })
	if i < 0 {
		return role{}, false
	}
	return s.roles[i], true
}

// implied maps a role to the role that it implies, as in every Keystone.
var implied = map[string]string{"admin": "member", "member": "reader"}

// withImplied adds the implied roles.
func withImplied(roles []string) []string {
	all := slices.Clone(roles)
	for i := 0; i < len(all); i++ {
		if also := implied[all[i]]; also != "" && !slices.Contains(all, also) {
			all = append(all, also)
		}
	}
	return all
}

// role returns the role with that name, which is created if it does not exist.
func (s *Service) role(name string) role {
	for _, r := range s.roles {
		if r.Name == name {
			return r
		}
	}
	r := role{ID: newID(), Name: name}
	s.roles = append(s.roles, r)
	return r
}

// newID returns an id in Keystone's format: a UUID without dashes.
func newID() string { return strings.ReplaceAll(uuid.NewString(), "-", "") }

// newSecret returns a random string made of the given number of random bytes.
func newSecret(bytes int) string {
	random := make([]byte, bytes)
	_, _ = rand.Read(random) // never fails, as documented
	return base64.RawURLEncoding.EncodeToString(random)
}
