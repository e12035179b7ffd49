// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsim_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/trusts"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"go.uber.org/goleak"
	"sigs.k8s.io/yaml"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a cloud that ends with the test.
func start(t testing.TB, o cloudsim.Options) *cloudsim.Cloud {
	t.Helper()
	c, err := cloudsim.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// passwordOf returns options to log in as a user in its own project.
func passwordOf(c *cloudsim.Cloud, user string) gophercloud.AuthOptions {
	u := c.CredentialsOf(user)
	return gophercloud.AuthOptions{
		IdentityEndpoint: u.AuthURL + "/v3", Username: u.Username, Password: u.Password, DomainName: u.UserDomainName,
		Scope: &gophercloud.AuthScope{ProjectName: u.ProjectName, DomainName: u.ProjectDomainName},
	}
}

// login authenticates, with its own connections, which are closed at the end of the test.
func login(t testing.TB, o gophercloud.AuthOptions) (*gophercloud.ProviderClient, error) {
	t.Helper()
	p, err := openstack.NewClient(o.IdentityEndpoint)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	p.HTTPClient = http.Client{Transport: transport}
	return p, openstack.Authenticate(t.Context(), p, o)
}

func mustLogin(t testing.TB, o gophercloud.AuthOptions) *gophercloud.ProviderClient {
	t.Helper()
	p, err := login(t, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// client makes a client of one service.
func client(t testing.TB, p *gophercloud.ProviderClient, make func(*gophercloud.ProviderClient, gophercloud.EndpointOpts) (*gophercloud.ServiceClient, error)) *gophercloud.ServiceClient {
	t.Helper()
	c, err := make(p, gophercloud.EndpointOpts{Region: cloudsim.Region})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func serverNames(ctx context.Context, compute *gophercloud.ServiceClient) (string, error) {
	pages, err := servers.List(compute, servers.ListOpts{}).AllPages(ctx)
	if err != nil {
		return "", err
	}
	all, err := servers.ExtractServers(pages)
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return strings.Join(names, " "), err
}

// wantServers checks that the session sees the servers.
func wantServers(t *testing.T, p *gophercloud.ProviderClient, want string) {
	t.Helper()
	if got, err := serverNames(t.Context(), client(t, p, openstack.NewComputeV2)); err != nil || got != want {
		t.Errorf("got servers %q %v, want %q", got, err, want)
	}
}

func oneNode(t *testing.T) *cloudsim.Cloud {
	t.Helper()
	return start(t, cloudsim.Options{Nodes: []cloudsim.Node{{Name: "node-1"}}})
}

func TestPasswordAuthenticatesByNameAndByID(t *testing.T) {
	c := oneNode(t)
	u := c.Credentials()
	wantServers(t, mustLogin(t, passwordOf(c, cloudsim.UserK8s)), "node-1")
	wantServers(t, mustLogin(t, gophercloud.AuthOptions{IdentityEndpoint: c.AuthURL(), UserID: u.UserID, Password: u.Password, Scope: &gophercloud.AuthScope{ProjectID: u.ProjectID}}), "node-1")
	wantServers(t, mustLogin(t, passwordOf(c, cloudsim.UserOther)), "")
	wantServers(t, mustLogin(t, passwordOf(c, cloudsim.UserAdmin)), "")
	wantServers(t, mustLogin(t, passwordOf(c, cloudsim.UserReader)), "node-1")

	wrong := passwordOf(c, cloudsim.UserK8s)
	wrong.Password = "wrong"
	if _, err := login(t, wrong); !gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) {
		t.Errorf("a wrong password got %v", err)
	}
}

func TestApplicationCredentialAuthenticates(t *testing.T) {
	c := oneNode(t)
	identity := client(t, mustLogin(t, passwordOf(c, cloudsim.UserK8s)), openstack.NewIdentityV3)
	made, err := applicationcredentials.Create(t.Context(), identity, c.IDs().User, applicationcredentials.CreateOpts{Name: "controller"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	wantServers(t, mustLogin(t, gophercloud.AuthOptions{IdentityEndpoint: c.AuthURL(), ApplicationCredentialID: made.ID, ApplicationCredentialSecret: made.Secret}), "node-1")
	wantServers(t, mustLogin(t, gophercloud.AuthOptions{
		IdentityEndpoint: c.AuthURL(), ApplicationCredentialName: "controller", ApplicationCredentialSecret: made.Secret, Username: "k8s", DomainName: "Default",
	}), "node-1")
}

func TestApplicationCredentialIsLimitedToItsAccessRules(t *testing.T) {
	c := oneNode(t)
	identity := client(t, mustLogin(t, passwordOf(c, cloudsim.UserK8s)), openstack.NewIdentityV3)
	made, err := applicationcredentials.Create(t.Context(), identity, c.IDs().User, applicationcredentials.CreateOpts{
		Name: "networks", AccessRules: []applicationcredentials.AccessRule{{Service: "network", Method: "GET", Path: "/v2.0/networks/*"}},
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	p := mustLogin(t, gophercloud.AuthOptions{IdentityEndpoint: c.AuthURL(), ApplicationCredentialID: made.ID, ApplicationCredentialSecret: made.Secret})
	network := client(t, p, openstack.NewNetworkV2)
	if _, err := networks.Get(t.Context(), network, c.IDs().PrivateNetwork).Extract(); err != nil {
		t.Error(err)
	}
	if err := networks.Delete(t.Context(), network, c.IDs().PrivateNetwork).ExtractErr(); !gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) {
		t.Errorf("another method: %v", err)
	}
	if _, err := serverNames(t.Context(), client(t, p, openstack.NewComputeV2)); !gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) {
		t.Errorf("another service: %v", err)
	}
}

func TestKeystoneEnforcesAccessRulesOnItselfSince2025(t *testing.T) {
	for r, want := range map[release.Release]int{release.Zed: http.StatusOK, release.Epoxy: http.StatusUnauthorized, release.Newest: http.StatusUnauthorized} {
		t.Run(r.String(), func(t *testing.T) {
			c := start(t, cloudsim.Options{Release: r})
			identity := client(t, mustLogin(t, passwordOf(c, cloudsim.UserK8s)), openstack.NewIdentityV3)
			made, err := applicationcredentials.Create(t.Context(), identity, c.IDs().User, applicationcredentials.CreateOpts{
				Name: "networks", AccessRules: []applicationcredentials.AccessRule{{Service: "network", Method: "GET", Path: "/v2.0/networks/*"}},
			}).Extract()
			if err != nil {
				t.Fatal(err)
			}
			p := mustLogin(t, gophercloud.AuthOptions{IdentityEndpoint: c.AuthURL(), ApplicationCredentialID: made.ID, ApplicationCredentialSecret: made.Secret})
			err = applicationcredentials.Get(t.Context(), client(t, p, openstack.NewIdentityV3), c.IDs().User, made.ID).Err
			if got := err == nil; got != (want == http.StatusOK) || !got && !gophercloud.ResponseCodeIs(err, want) {
				t.Errorf("%v, want %d", err, want)
			}
		})
	}
}

func TestTokenAuthenticates(t *testing.T) {
	c := oneNode(t)
	token := mustLogin(t, passwordOf(c, cloudsim.UserK8s)).Token()
	wantServers(t, mustLogin(t, gophercloud.AuthOptions{IdentityEndpoint: c.AuthURL(), TokenID: token}), "node-1")
	wantServers(t, mustLogin(t, gophercloud.AuthOptions{IdentityEndpoint: c.AuthURL(), TokenID: token, Scope: &gophercloud.AuthScope{ProjectID: c.IDs().Project}}), "node-1")
}

func TestTrustAuthenticates(t *testing.T) {
	c := oneNode(t)
	ids := c.IDs()
	identity := client(t, mustLogin(t, passwordOf(c, cloudsim.UserK8s)), openstack.NewIdentityV3)
	made, err := trusts.Create(t.Context(), identity, trusts.CreateOpts{
		TrustorUserID: ids.User, TrusteeUserID: ids.OtherUser, ProjectID: ids.Project, Impersonation: true, Roles: []trusts.Role{{Name: "member"}},
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	trustee := passwordOf(c, cloudsim.UserOther)
	trustee.Scope = &gophercloud.AuthScope{TrustID: made.ID}
	wantServers(t, mustLogin(t, trustee), "node-1")
}

func TestClientAuthenticatesAgainWhenItsTokenHasExpired(t *testing.T) {
	c := oneNode(t)
	o := passwordOf(c, cloudsim.UserK8s)
	o.AllowReauth = true
	p := mustLogin(t, o)
	compute := client(t, p, openstack.NewComputeV2)
	before := p.Token()
	c.Recorder().Reset()
	c.ExpireTokens()
	for range 2 {
		if got, err := serverNames(t.Context(), compute); err != nil || got != "node-1" {
			t.Errorf("got %q %v", got, err)
		}
	}
	counts := c.Recorder().Counts()
	if p.Token() == before || counts["POST /v3/auth/tokens"] != 1 || counts["GET /v2.1/servers/detail"] != 3 {
		t.Errorf("want one new token and one list in vain: %v", counts)
	}

	o.AllowReauth = false
	p = mustLogin(t, o)
	c.ExpireTokens()
	if _, err := serverNames(t.Context(), client(t, p, openstack.NewComputeV2)); !gophercloud.ResponseCodeIs(err, http.StatusUnauthorized) {
		t.Errorf("without re-authentication: %v", err)
	}
}

func TestCloudsYAMLLogsIn(t *testing.T) {
	c := oneNode(t)
	var file struct {
		Clouds map[string]struct {
			Auth struct {
				AuthURL     string `json:"auth_url"`
				Username    string `json:"username"`
				Password    string `json:"password"`
				ProjectName string `json:"project_name"`
				Domain      string `json:"user_domain_name"`
			} `json:"auth"`
			Region string `json:"region_name"`
		} `json:"clouds"`
	}
	if err := yaml.Unmarshal([]byte(c.CloudsYAML()), &file); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"cloudsim": "node-1", "cloudsim-other": "", "cloudsim-admin": ""} {
		t.Run(name, func(t *testing.T) {
			cloud := file.Clouds[name]
			if cloud.Region != cloudsim.Region {
				t.Errorf("region %q", cloud.Region)
			}
			wantServers(t, mustLogin(t, gophercloud.AuthOptions{
				IdentityEndpoint: cloud.Auth.AuthURL, Username: cloud.Auth.Username, Password: cloud.Auth.Password, DomainName: cloud.Auth.Domain,
				Scope: &gophercloud.AuthScope{ProjectName: cloud.Auth.ProjectName, DomainName: cloud.Auth.Domain},
			}), want)
		})
	}
}
