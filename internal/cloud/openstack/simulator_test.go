// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/trusts"

	"github.com/kube-octavia/kube-octavia/cloudsim/keystone"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// simulator is the simulated Keystone, with services that accept its tokens.
type simulator struct {
	*keystone.Service
	url                                 string
	project, trustor, trustee           string
	credentialID, credentialName, trust string
}

func newSimulator(t *testing.T) *simulator {
	t.Helper()
	s := &simulator{Service: keystone.New(keystone.Options{TokenLifetime: time.Hour})}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.url = server.URL + "/v3"
	mux.Handle("/", wire.New(wire.Options{
		Service: "identity", Mux: s.Mux(), Authenticate: s.Authenticate, Public: keystone.Public, Unauthorized: keystone.Unauthorized,
	}))
	resources := http.NewServeMux()
	resources.HandleFunc("GET /v2.0/", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, "{}") })
	for kind, path := range map[string]string{"network": "/network", "load-balancer": "/load-balancer"} {
		s.AddEndpoint(kind, kind, "RegionOne", server.URL+path)
		mux.Handle(path+"/", http.StripPrefix(path, wire.New(wire.Options{
			Service: kind, Mux: resources, Authenticate: s.Authenticate, Public: func(string) bool { return false },
			Allowed: s.Allowed, Unauthorized: keystone.Unauthorized,
		})))
	}
	s.project = s.AddProject("k8s")
	s.trustor, s.trustee = s.AddUser("k8s", password), s.AddUser("heat", password)
	s.Assign(s.trustor, s.project, "member")
	s.delegate(t)
	return s
}

// delegate creates an application credential and a trust.
func (s *simulator) delegate(t *testing.T) {
	t.Helper()
	session, err := Connect(context.Background(), Options{Config: s.byPassword()})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	identity := &gophercloud.ServiceClient{ProviderClient: session.provider, Endpoint: s.url + "/", Type: "identity"}
	credential, err := applicationcredentials.Create(context.Background(), identity, s.trustor,
		applicationcredentials.CreateOpts{Name: "kube", Secret: password}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	s.credentialID, s.credentialName = credential.ID, credential.Name
	trust, err := trusts.Create(context.Background(), identity, trusts.CreateOpts{
		Impersonation: true, TrustorUserID: s.trustor, TrusteeUserID: s.trustee, ProjectID: s.project, Roles: []trusts.Role{{Name: "member"}},
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	s.trust = trust.ID
}

func (s *simulator) byPassword() config.Global {
	return config.Global{AuthURL: s.url, Username: "k8s", Password: password, DomainName: "Default", TenantName: "k8s"}
}

func TestEachFormOfCredentialsOpensASessionThatOutlivesItsToken(t *testing.T) {
	s := newSimulator(t)
	for name, g := range map[string]config.Global{
		"password":                  s.byPassword(),
		"password by ids":           {UserID: s.trustor, Password: password, TenantID: s.project},
		"application credential":    {ApplicationCredentialID: s.credentialID, ApplicationCredentialSecret: password},
		"named credential":          {ApplicationCredentialName: s.credentialName, ApplicationCredentialSecret: password, UserID: s.trustor},
		"named credential and user": {ApplicationCredentialName: s.credentialName, ApplicationCredentialSecret: password, Username: "k8s", DomainID: "default"},
		"trust":                     {TrustID: s.trust, TrusteeID: s.trustee, TrusteePassword: password},
		"trust of a named user":     {TrustID: s.trust, Username: "heat", UserDomainID: "default", Password: password},
	} {
		t.Run(name, func(t *testing.T) {
			g.AuthURL = s.url
			session, err := Connect(context.Background(), Options{Config: g})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if session.ProjectID() != s.project {
				t.Errorf("the session is in project %q", session.ProjectID())
			}
			for _, when := range []string{"with the first token", "after it expired"} {
				if err := get(context.Background(), session, "things"); err != nil {
					t.Errorf("%s: %v", when, err)
				}
				s.ExpireTokens()
			}
		})
	}
}

func TestATokenOfTheSimulatorWorksUntilItExpires(t *testing.T) {
	s := newSimulator(t)
	first, err := Connect(context.Background(), Options{Config: s.byPassword()})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := Connect(context.Background(), Options{Config: config.Global{AuthURL: s.url, Token: config.Secret(first.provider.Token())}})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := get(context.Background(), second, "things"); err != nil {
		t.Error(err)
	}
	s.ExpireTokens()
	if err := get(context.Background(), second, "things"); Classify(err) != Unauthorized {
		t.Errorf("class %s: %v", Classify(err), err)
	}
}
