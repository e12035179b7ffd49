// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package keystone

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim/internal/apitest"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// house is a Keystone in its frame with two users and two projects.
type house struct {
	*Service
	frame                     http.Handler
	clock                     time.Time
	alice, bob, web, database string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	h.Service = New(Options{TokenLifetime: time.Minute, Now: func() time.Time { return h.clock }})
	h.alice, h.bob = h.AddUser("alice", "a-secret"), h.AddUser("bob", "b-secret")
	h.web, h.database = h.AddProject("web"), h.AddProject("database")
	h.Assign(h.alice, h.web, "member", "reader")
	h.Assign(h.bob, h.database, "admin")
	h.AddEndpoint("network", "neutron", "RegionOne", "http://127.0.0.1:9696")
	h.frame = wire.New(wire.Options{Service: "identity", Mux: h.Mux(), Authenticate: h.Authenticate, Public: Public, Unauthorized: Unauthorized})
	return h
}

// do makes a request and returns its answer's status, header and body.
func (h *house) do(t *testing.T, token, method, path, body string, header ...string) (int, http.Header, map[string]any) {
	t.Helper()
	header = append([]string{"X-Auth-Token", token}, header...)
	got := apitest.Do(t, h.frame, apitest.Request(method, "http://keystone.test"+path, body, header...))
	return got.Status, got.Header, got.Body
}

// login requests a token with the given identity and scope.
func (h *house) login(t *testing.T, identity, scope string) (status int, token string, body map[string]any) {
	t.Helper()
	request := `{"auth":{"identity":` + identity + `}}`
	if scope != "" {
		request = `{"auth":{"identity":` + identity + `,"scope":` + scope + `}}`
	}
	status, header, body := h.do(t, "", "POST", "/v3/auth/tokens", request)
	token = header.Get("X-Subject-Token")
	if (token != "") != (status == http.StatusCreated) {
		t.Fatalf("got %d with token %q", status, token)
	}
	if status == http.StatusCreated {
		body, _ = body["token"].(map[string]any)
	}
	return status, token, body
}

func password(id, secret string) string {
	return fmt.Sprintf(`{"methods":["password"],"password":{"user":{"id":%q,"password":%q}}}`, id, secret)
}

func projectScope(id string) string { return fmt.Sprintf(`{"project":{"id":%q}}`, id) }

// aliceToken returns a token of alice in web.
func (h *house) aliceToken(t *testing.T) string {
	t.Helper()
	status, token, body := h.login(t, password(h.alice, "a-secret"), projectScope(h.web))
	if status != http.StatusCreated {
		t.Fatalf("alice cannot log in: %d %v", status, body)
	}
	return token
}

func (h *house) bobToken(t *testing.T) string {
	t.Helper()
	_, token, _ := h.login(t, password(h.bob, "b-secret"), projectScope(h.database))
	return token
}

func TestPasswordAuthenticatesByIDAndByName(t *testing.T) {
	h := newHouse(t)
	byName := func(user, domain, secret string) string {
		return fmt.Sprintf(`{"methods":["password"],"password":{"user":{"name":%q,"domain":%s,"password":%q}}}`, user, domain, secret)
	}
	for name, tc := range map[string]struct {
		identity, scope string
		want            int
	}{
		"id":                    {password(h.alice, "a-secret"), projectScope(h.web), 201},
		"name and domain id":    {byName("alice", `{"id":"default"}`, "a-secret"), projectScope(h.web), 201},
		"name and domain name":  {byName("alice", `{"name":"Default"}`, "a-secret"), `{"project":{"name":"web","domain":{"name":"Default"}}}`, 201},
		"unscoped":              {password(h.alice, "a-secret"), `"unscoped"`, 201},
		"no scope":              {password(h.alice, "a-secret"), "", 201},
		"wrong password":        {password(h.alice, "b-secret"), projectScope(h.web), 401},
		"no password":           {password(h.alice, ""), projectScope(h.web), 401},
		"unknown user":          {password("unknown", "a-secret"), projectScope(h.web), 401},
		"wrong domain":          {byName("alice", `{"id":"other"}`, "a-secret"), projectScope(h.web), 401},
		"no domain":             {byName("alice", `null`, "a-secret"), projectScope(h.web), 400},
		"project of others":     {password(h.alice, "a-secret"), projectScope(h.database), 401},
		"unknown project":       {password(h.alice, "a-secret"), projectScope("nothing"), 401},
		"domain scope":          {password(h.alice, "a-secret"), `{"domain":{"id":"default"}}`, 401},
		"system scope":          {password(h.alice, "a-secret"), `{"system":{"all":true}}`, 401},
		"unknown method":        {`{"methods":["magic"]}`, projectScope(h.web), 400},
		"no method":             {`{"methods":[]}`, "", 401},
		"scope that is no JSON": {password(h.alice, "a-secret"), `"web"`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			if status, _, body := h.login(t, tc.identity, tc.scope); status != tc.want {
				t.Errorf("got %d, want %d: %v", status, tc.want, body)
			}
		})
	}
}

func TestErrorsHaveTheFormatOfKeystone(t *testing.T) {
	h := newHouse(t)
	status, header, body := h.do(t, "", "POST", "/v3/auth/tokens", `{"auth":{"identity":`+password(h.alice, "x")+`}}`)
	want := map[string]any{"error": map[string]any{"code": 401.0, "message": "The request you have made requires authentication.", "title": "Unauthorized"}}
	if diff := cmp.Diff(want, body); diff != "" || status != 401 || header.Get("WWW-Authenticate") == "" {
		t.Errorf("got %d %v (-want +got):\n%s", status, header, diff)
	}
	for name, bad := range map[string]string{
		"empty":                       "",
		"no credentials":              "{}",
		"not JSON":                    "no JSON",
		"number instead of an object": `{"auth":7}`,
	} {
		t.Run(name, func(t *testing.T) {
			if status, _, body := h.do(t, "", "POST", "/v3/auth/tokens", bad); status != 400 || body["error"] == nil {
				t.Errorf("%q: got %d %v", bad, status, body)
			}
		})
	}
}

func TestTokenHasUserProjectRolesAndCatalogue(t *testing.T) {
	h := newHouse(t)
	_, _, scoped := h.login(t, password(h.alice, "a-secret"), projectScope(h.web))
	for key, want := range map[string]any{
		"expires_at": "2026-01-02T03:05:05.000000Z", "issued_at": "2026-01-02T03:04:05.000000Z", "methods": []any{"password"}, "is_domain": false,
		"project": map[string]any{"id": h.web, "name": "web", "domain": map[string]any{"id": "default", "name": "Default"}},
	} {
		if diff := cmp.Diff(want, scoped[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
	if roles, _ := scoped["roles"].([]any); len(roles) != 2 {
		t.Errorf("roles: %v", scoped["roles"])
	}
	catalog, _ := scoped["catalog"].([]any)
	if len(catalog) != 1 || len(catalog[0].(map[string]any)["endpoints"].([]any)) != 3 {
		t.Errorf("catalog: %v", catalog)
	}
	_, _, unscoped := h.login(t, password(h.alice, "a-secret"), "")
	for _, key := range []string{"project", "roles", "catalog"} {
		if unscoped[key] != nil {
			t.Errorf("an unscoped token has %s: %v", key, unscoped[key])
		}
	}
}

func TestTokenExpires(t *testing.T) {
	h := newHouse(t)
	token := h.aliceToken(t)
	who, ok := h.Authenticate(token)
	if diff := cmp.Diff(wire.Identity{UserID: h.alice, ProjectID: h.web, Roles: []string{"member", "reader"}}, who); diff != "" || !ok {
		t.Error(ok, diff)
	}
	h.clock = h.clock.Add(59 * time.Second)
	if _, ok := h.Authenticate(token); !ok {
		t.Error("the token ended before its time")
	}
	h.clock = h.clock.Add(time.Second)
	if _, ok := h.Authenticate(token); ok {
		t.Error("the token outlived its time")
	}
	h.SetTokenLifetime(time.Hour)
	token = h.aliceToken(t)
	h.clock = h.clock.Add(59 * time.Minute)
	if _, ok := h.Authenticate(token); !ok {
		t.Error("the new lifetime does not count")
	}
	h.ExpireTokens()
	if _, ok := h.Authenticate(token); ok {
		t.Error("ExpireTokens left a token")
	}
}

func TestTokenIsValidatedAndRevoked(t *testing.T) {
	h := newHouse(t)
	alice, bob := h.aliceToken(t), h.bobToken(t)
	for name, tc := range map[string]struct {
		caller, method, subject string
		want                    int
	}{
		"own token":         {alice, "GET", alice, 200},
		"own, header only":  {alice, "HEAD", alice, 200},
		"as an admin":       {bob, "GET", alice, 200},
		"of another user":   {alice, "GET", bob, 403},
		"invalid":           {alice, "GET", "nonsense", 404},
		"without a token":   {"", "GET", alice, 401},
		"revoke of another": {alice, "DELETE", bob, 403},
	} {
		t.Run(name, func(t *testing.T) {
			if status, _, body := h.do(t, tc.caller, tc.method, "/v3/auth/tokens", "", "X-Subject-Token", tc.subject); status != tc.want {
				t.Errorf("got %d, want %d: %v", status, tc.want, body)
			}
		})
	}
	if status, _, _ := h.do(t, bob, "DELETE", "/v3/auth/tokens", "", "X-Subject-Token", alice); status != 204 {
		t.Errorf("revoke: got %d", status)
	}
	if _, ok := h.Authenticate(alice); ok {
		t.Error("a revoked token is valid")
	}
}

func TestTokenObtainedWithATokenExpiresAtTheSameTime(t *testing.T) {
	h := newHouse(t)
	_, unscoped, _ := h.login(t, password(h.alice, "a-secret"), "")
	h.clock = h.clock.Add(30 * time.Second)
	status, token, body := h.login(t, `{"methods":["token"],"token":{"id":"`+unscoped+`"}}`, projectScope(h.web))
	if status != 201 || body["expires_at"] != "2026-01-02T03:05:05.000000Z" || cmp.Diff([]any{"password", "token"}, body["methods"]) != "" {
		t.Errorf("got %d %v", status, body)
	}
	if who, _ := h.Authenticate(token); who.ProjectID != h.web {
		t.Errorf("scoped to %q", who.ProjectID)
	}
	if status, _, _ := h.login(t, `{"methods":["token"],"token":{"id":"nonsense"}}`, projectScope(h.web)); status != 404 {
		t.Errorf("a bad token got %d", status)
	}
}

func TestApplicationCredentialsAuthenticate(t *testing.T) {
	h := newHouse(t)
	token := h.aliceToken(t)
	path := "/v3/users/" + h.alice + "/application_credentials"
	status, _, body := h.do(t, token, "POST", path, `{"application_credential":{"name":"ci","roles":[{"name":"reader"}],"expires_at":"2026-01-02T04:00:00.000000","access_rules":[{"path":"/v2.0/networks","method":"GET","service":"network"}]}}`)
	if status != 201 {
		t.Fatalf("got %d %v", status, body)
	}
	made, _ := body["application_credential"].(map[string]any)
	id, _ := made["id"].(string)
	secret, _ := made["secret"].(string)
	if secret == "" || made["project_id"] != h.web || made["unrestricted"] != nil || len(made["access_rules"].([]any)) != 1 {
		t.Errorf("made %v", made)
	}
	_, _, body = h.do(t, token, "GET", path+"/"+id, "")
	if shown, _ := body["application_credential"].(map[string]any); shown["id"] != id || shown["secret"] != nil {
		t.Errorf("shown %v", shown)
	}
	byID := fmt.Sprintf(`{"methods":["application_credential"],"application_credential":{"id":%q,"secret":%q}}`, id, secret)
	byName := fmt.Sprintf(`{"methods":["application_credential"],"application_credential":{"name":"ci","user":{"name":"alice","domain":{"name":"Default"}},"secret":%q}}`, secret)
	for name, tc := range map[string]struct {
		identity, scope string
		want            int
	}{
		"by id":           {byID, "", 201},
		"by name":         {byName, "", 201},
		"its own project": {byID, projectScope(h.web), 401},
		"another project": {byID, projectScope(h.database), 401},
		"wrong secret":    {strings.Replace(byID, secret, "x", 1), "", 401},
		"unknown id":      {strings.Replace(byID, id, "x", 1), "", 404},
		"unknown name":    {strings.Replace(byName, `"ci"`, `"x"`, 1), "", 401},
	} {
		t.Run(name, func(t *testing.T) {
			status, got, body := h.login(t, tc.identity, tc.scope)
			if status != tc.want {
				t.Errorf("got %d, want %d: %v", status, tc.want, body)
			}
			if status == 201 {
				if who, _ := h.Authenticate(got); who.ProjectID != h.web || cmp.Diff([]string{"reader"}, who.Roles) != "" {
					t.Errorf("token of %+v", who)
				}
			}
		})
	}
	_, restricted, _ := h.login(t, byID, "")
	if status, _, _ := h.do(t, restricted, "POST", path, `{"application_credential":{"name":"more"}}`); status != 403 {
		t.Errorf("a restricted credential made another: %d", status)
	}
	h.Assign(h.alice, h.web, "member")
	if status, _, _ := h.login(t, byID, ""); status != 201 {
		t.Errorf("the credential does not work though member implies its role: %d", status)
	}
	h.Assign(h.alice, h.web, "creator")
	if status, _, _ := h.login(t, byID, ""); status != 401 {
		t.Errorf("the credential works though its owner lost the role: %d", status)
	}
	h.Assign(h.alice, h.web, "member", "reader")
	if status, _, _ := h.do(t, token, "DELETE", path+"/"+id, ""); status != 204 {
		t.Errorf("delete: got %d", status)
	}
	if status, _, _ := h.login(t, byID, ""); status != 404 {
		t.Errorf("a deleted credential got %d", status)
	}
	if _, ok := h.Authenticate(restricted); ok {
		t.Error("the token of a deleted credential is valid")
	}
}

func TestApplicationCredentialExpires(t *testing.T) {
	h := newHouse(t)
	_, _, body := h.do(t, h.aliceToken(t), "POST", "/v3/users/"+h.alice+"/application_credentials", `{"application_credential":{"name":"ci","secret":"s","expires_at":"2026-01-02T04:00:00"}}`)
	id := body["application_credential"].(map[string]any)["id"].(string)
	identity := fmt.Sprintf(`{"methods":["application_credential"],"application_credential":{"id":%q,"secret":"s"}}`, id)
	if status, _, _ := h.login(t, identity, ""); status != 201 {
		t.Errorf("before: %d", status)
	}
	h.clock = h.clock.Add(time.Hour)
	if status, _, _ := h.login(t, identity, ""); status != 401 {
		t.Errorf("after: %d", status)
	}
}

func TestInvalidApplicationCredentialIsRefused(t *testing.T) {
	h := newHouse(t)
	alice, bob := h.aliceToken(t), h.bobToken(t)
	path := "/v3/users/" + h.alice + "/application_credentials"
	if status, _, body := h.do(t, alice, "POST", path, `{"application_credential":{"name":"taken"}}`); status != 201 {
		t.Fatal(status, body)
	}
	_, unscoped, _ := h.login(t, password(h.alice, "a-secret"), "")
	for name, tc := range map[string]struct {
		token, body string
		want        int
	}{
		"name taken":       {alice, `{"application_credential":{"name":"taken"}}`, 409},
		"no name":          {alice, `{"application_credential":{}}`, 400},
		"no body":          {alice, `{}`, 400},
		"role not had":     {alice, `{"application_credential":{"name":"x","roles":[{"name":"admin"}]}}`, 400},
		"bad time":         {alice, `{"application_credential":{"name":"x","expires_at":"soon"}}`, 400},
		"for another user": {bob, `{"application_credential":{"name":"x"}}`, 403},
		"unscoped":         {unscoped, `{"application_credential":{"name":"x"}}`, 403},
	} {
		t.Run(name, func(t *testing.T) {
			if status, _, body := h.do(t, tc.token, "POST", path, tc.body); status != tc.want {
				t.Errorf("got %d, want %d: %v", status, tc.want, body)
			}
		})
	}
	_, _, body := h.do(t, alice, "GET", path+"?name=taken", "")
	if list, _ := body["application_credentials"].([]any); len(list) != 1 {
		t.Errorf("listed %v", body)
	}
}

func TestTrustLetsTheTrusteeActForTheTrustor(t *testing.T) {
	for name, impersonation := range map[string]bool{
		"with impersonation":    true,
		"without impersonation": false,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			status, _, body := h.do(t, h.aliceToken(t), "POST", "/v3/OS-TRUST/trusts", fmt.Sprintf(
				`{"trust":{"trustor_user_id":%q,"trustee_user_id":%q,"project_id":%q,"impersonation":%v,"roles":[{"name":"member"}]}}`, h.alice, h.bob, h.web, impersonation))
			if status != 201 {
				t.Fatal(status, body)
			}
			id := body["trust"].(map[string]any)["id"].(string)
			scope := `{"OS-TRUST:trust":{"id":"` + id + `"}}`
			status, token, described := h.login(t, password(h.bob, "b-secret"), scope)
			if status != 201 || described["OS-TRUST:trust"].(map[string]any)["id"] != id {
				t.Fatalf("got %d %v", status, described)
			}
			want := wire.Identity{UserID: h.bob, ProjectID: h.web, Roles: []string{"member", "reader"}, Delegated: true}
			if impersonation {
				want.UserID = h.alice
			}
			if who, _ := h.Authenticate(token); cmp.Diff(want, who) != "" {
				t.Errorf("impersonation %v: %+v", impersonation, who)
			}
			if status, _, _ := h.login(t, password(h.alice, "a-secret"), scope); status != 403 {
				t.Errorf("who is not the trustee got %d", status)
			}
			if status, _, _ := h.login(t, `{"methods":["token"],"token":{"id":"`+token+`"}}`, projectScope(h.web)); status != 403 {
				t.Errorf("a trust's token was rescoped: %d", status)
			}
			h.Assign(h.alice, h.web)
			if status, _, _ := h.login(t, password(h.bob, "b-secret"), scope); status != 403 {
				t.Errorf("the trust gives a role that its trustor lost: %d", status)
			}
			h.Assign(h.alice, h.web, "member")
			if status, _, _ := h.do(t, h.aliceToken(t), "DELETE", "/v3/OS-TRUST/trusts/"+id, ""); status != 204 {
				t.Errorf("delete: got %d", status)
			}
			if _, ok := h.Authenticate(token); ok {
				t.Error("the token of a deleted trust is valid")
			}
			if status, _, _ := h.login(t, password(h.bob, "b-secret"), scope); status != 401 {
				t.Errorf("a deleted trust got %d", status)
			}
		})
	}
}

func TestTrustWithLimitedUsesRunsOut(t *testing.T) {
	h := newHouse(t)
	_, _, body := h.do(t, h.aliceToken(t), "POST", "/v3/OS-TRUST/trusts", fmt.Sprintf(
		`{"trust":{"trustor_user_id":%q,"trustee_user_id":%q,"project_id":%q,"impersonation":true,"roles":[{"name":"member"}],"remaining_uses":1}}`, h.alice, h.bob, h.web))
	scope := `{"OS-TRUST:trust":{"id":"` + body["trust"].(map[string]any)["id"].(string) + `"}}`
	_, token, _ := h.login(t, password(h.bob, "b-secret"), scope)
	if _, ok := h.Authenticate(token); !ok {
		t.Error("the last token is not valid")
	}
	if status, _, _ := h.login(t, password(h.bob, "b-secret"), scope); status != 401 {
		t.Errorf("a trust that is used up got %d", status)
	}
}

func TestInvalidTrustIsRefused(t *testing.T) {
	h := newHouse(t)
	token := h.aliceToken(t)
	for name, tc := range map[string]struct {
		trustor, trustee, project, roles string
		want                             int
	}{
		"for another trustor": {h.bob, h.alice, h.web, `[{"name":"member"}]`, 403},
		"for another project": {h.alice, h.bob, h.database, `[{"name":"member"}]`, 404},
		"without roles":       {h.alice, h.bob, h.web, `[]`, 403},
		"role not had":        {h.alice, h.bob, h.web, `[{"name":"admin"}]`, 404},
		"unknown trustee":     {h.alice, "unknown", h.web, `[{"name":"member"}]`, 404},
		"no trustee":          {h.alice, "", h.web, `[{"name":"member"}]`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, body := h.do(t, token, "POST", "/v3/OS-TRUST/trusts", fmt.Sprintf(
				`{"trust":{"trustor_user_id":%q,"trustee_user_id":%q,"project_id":%q,"impersonation":true,"roles":%s}}`, tc.trustor, tc.trustee, tc.project, tc.roles))
			if status != tc.want {
				t.Errorf("got %d, want %d: %v", status, tc.want, body)
			}
		})
	}
}

func TestProjectsUsersAndRolesAreShownAccordingToTheRightsOfTheCaller(t *testing.T) {
	h := newHouse(t)
	alice, bob := h.aliceToken(t), h.bobToken(t)
	for _, tc := range []struct {
		name string

		token, path, key string
		status, n        int
	}{
		{"versions without a token", "", "/", "versions", 300, -1},
		{"version without a token", "", "/v3", "version", 200, -1},
		{"version with a slash without a token", "", "/v3/", "version", 200, -1},
		{"projects without a token", "", "/v3/projects", "error", 401, -1},
		{"own projects", alice, "/v3/auth/projects", "projects", 200, 1},
		{"the catalogue", alice, "/v3/auth/catalog", "catalog", 200, 1},
		{"a member lists all projects", alice, "/v3/projects", "error", 403, -1},
		{"an admin lists all projects", bob, "/v3/projects", "projects", 200, 2},
		{"projects by name", bob, "/v3/projects?name=web", "projects", 200, 1},
		{"projects by an unknown name", bob, "/v3/projects?name=x", "projects", 200, 0},
		{"own project", alice, "/v3/projects/" + h.web, "project", 200, -1},
		{"a project of others", alice, "/v3/projects/" + h.database, "error", 403, -1},
		{"an unknown project", bob, "/v3/projects/x", "error", 404, -1},
		{"oneself", alice, "/v3/users/" + h.alice, "user", 200, -1},
		{"another user", alice, "/v3/users/" + h.bob, "error", 403, -1},
		{"an unknown user", bob, "/v3/users/x", "error", 404, -1},
		{"own projects by user", alice, "/v3/users/" + h.alice + "/projects", "projects", 200, 1},
		{"an admin lists users", bob, "/v3/users", "users", 200, 2},
		{"a member lists users", alice, "/v3/users", "error", 403, -1},
		{"a role by name", bob, "/v3/roles?name=admin", "roles", 200, 1},
		{"the default domain", alice, "/v3/domains/default", "domain", 200, -1},
		{"all domains", bob, "/v3/domains", "domains", 200, 1},
		{"an unknown path", alice, "/v3/x", "error", 404, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, _, body := h.do(t, tc.token, "GET", tc.path, "")
			list, _ := body[tc.key].([]any)
			if status != tc.status || body[tc.key] == nil || tc.n >= 0 && len(list) != tc.n {
				t.Errorf("%s: got %d %v", tc.path, status, body)
			}
		})
	}
}

func TestErrorsRepeatTheRequestSince2025(t *testing.T) {
	const plain, shown = "'trustee_user_id' is a required property", "Invalid input for field/attribute trust. Value: {'impersonation': True, 'remaining_uses': 1}. "
	for r, want := range map[release.Release]string{release.Zed: plain, release.Epoxy: shown + plain} {
		t.Run(r.String(), func(t *testing.T) {
			h := newHouse(t)
			h.release = r
			for name, test := range map[string]struct{ body, want string }{
				"no trustee": {`{"trust": {"remaining_uses": 1, "impersonation": true}}`, want},
				"no trust":   {`{}`, "'trust' is a required property"},
			} {
				t.Run(name, func(t *testing.T) {
					status, _, answer := h.do(t, h.aliceToken(t), "POST", "/v3/OS-TRUST/trusts", test.body)
					if message := answer["error"].(map[string]any)["message"]; status != http.StatusBadRequest || message != test.want {
						t.Errorf("got %d %v", status, message)
					}
				})
			}
		})
	}
}
