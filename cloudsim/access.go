// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsim

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/barbican"
	"github.com/kube-octavia/kube-octavia/cloudsim/keystone"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/nova"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// Credentials are what a user authenticates with.
type Credentials struct {
	AuthURL, Region                   string
	Username, UserID, Password        string
	ProjectName, ProjectID            string
	UserDomainName, ProjectDomainName string
}

// The users. Each has a project of the same name, except the reader, whose only role is reader in
// the project k8s.
const (
	UserK8s    = "k8s"
	UserOther  = "other"
	UserAdmin  = "admin"
	UserReader = "k8s-reader"
)

func (c *Cloud) addPeople() {
	password := c.options.Password
	if password == "" {
		password = rand.Text()
	}
	projects := map[string]string{}
	for _, name := range []string{UserK8s, UserOther, UserAdmin} {
		projects[name] = c.keystone.AddProject(name)
	}
	for _, u := range []struct {
		name, project string
		roles         []string
	}{
		{UserK8s, UserK8s, []string{"member", "reader", "load-balancer_member", "creator"}},
		{UserOther, UserOther, []string{"member", "reader", "load-balancer_member", "creator"}},
		{UserAdmin, UserAdmin, []string{"admin", "member", "reader", "load-balancer_admin"}},
		{UserReader, UserK8s, []string{"reader"}},
	} {
		user := c.keystone.AddUser(u.name, password)
		c.keystone.SetDefaultProject(user, projects[u.project])
		c.keystone.Assign(user, projects[u.project], u.roles...)
		c.credentials[u.name] = Credentials{
			AuthURL: c.AuthURL(), Region: Region, Username: u.name, UserID: user, Password: password, ProjectName: u.project, ProjectID: projects[u.project],
			UserDomainName: keystone.DomainName, ProjectDomainName: keystone.DomainName,
		}
	}
	service := c.keystone.AddProject("service")
	c.octaviaUser = c.keystone.AddUser("octavia", rand.Text())
	c.keystone.Assign(c.octaviaUser, service, "admin")
	k8s, other, admin := c.credentials[UserK8s], c.credentials[UserOther], c.credentials[UserAdmin]
	c.ids.Project, c.ids.User = k8s.ProjectID, k8s.UserID
	c.ids.OtherProject, c.ids.OtherUser = other.ProjectID, other.UserID
	c.ids.AdminProject, c.ids.AdminUser = admin.ProjectID, admin.UserID
}

func (c *Cloud) addCatalog() {
	for service, name := range map[string]string{Identity: "keystone", Network: "neutron", Compute: "nova", LoadBalancer: "octavia", KeyManager: "barbican", Image: "glance"} {
		c.keystone.AddEndpoint(service, name, Region, c.Endpoint(service))
	}
}

// AuthURL returns the URL of Keystone, without a version.
func (c *Cloud) AuthURL() string { return c.servers[Identity].url() }

// Endpoint returns a service's URL in the catalogue; service is one of Identity, Network, Compute,
// LoadBalancer, KeyManager and Image. For any other service it returns an empty string.
func (c *Cloud) Endpoint(service string) string {
	s := c.servers[service]
	switch {
	case s == nil || service == "admin":
		return ""
	case service == Identity:
		return s.url() + "/v3"
	case service == Compute:
		return s.url() + "/v2.1"
	}
	return s.url()
}

// AdminURL returns the URL of the admin API.
func (c *Cloud) AdminURL() string { return c.servers["admin"].url() }

// Credentials returns the credentials of the user k8s.
func (c *Cloud) Credentials() Credentials { return c.credentials[UserK8s] }

// CredentialsOf returns the credentials of a user: UserK8s, UserOther, UserAdmin or UserReader.
func (c *Cloud) CredentialsOf(user string) Credentials { return c.credentials[user] }

// IDs returns the ids of the objects that the cloud was started with.
func (c *Cloud) IDs() IDs { return c.ids }

// Recorder returns the recorder of the calls to all services.
func (c *Cloud) Recorder() *wire.Recorder { return &c.recorder }

// Faults returns the faults that are injected into calls.
func (c *Cloud) Faults() *wire.Faults { return &c.faults }

// Latency returns the latencies of operations.
func (c *Cloud) Latency() *wire.Latency { return &c.latency }

// Keystone returns the identity service.
func (c *Cloud) Keystone() *keystone.Service { return c.keystone }

// Nova returns the compute service.
func (c *Cloud) Nova() *nova.Service { return c.nova }

// Barbican returns the key manager.
func (c *Cloud) Barbican() *barbican.Service { return c.barbican }

// Neutron returns the network service.
func (c *Cloud) Neutron() *neutron.Service { return c.neutron }

// Octavia returns the load balancer service.
func (c *Cloud) Octavia() *octavia.Service { return c.octavia }

// Secrets returns everything that must never appear in a client's output: see
// keystone.Service.Secrets.
func (c *Cloud) Secrets() []string { return c.keystone.Secrets() }

// ExpireTokens makes all tokens invalid, so that every client has to authenticate again.
func (c *Cloud) ExpireTokens() { c.keystone.ExpireTokens() }

// CloudConf returns a cloud.conf for the user k8s, as cloud providers of Kubernetes read it.
func (c *Cloud) CloudConf() string {
	k8s := c.Credentials()
	return fmt.Sprintf(`[Global]
auth-url="%s/v3"
username="%s"
password="%s"
tenant-id="%s"
domain-name="%s"
region="%s"

[LoadBalancer]
floating-network-id="%s"
subnet-id="%s"
`, k8s.AuthURL, k8s.Username, k8s.Password, k8s.ProjectID, k8s.UserDomainName, k8s.Region, c.ids.PublicNetwork, c.ids.PrivateSubnet)
}

// CloudsYAML returns a clouds.yaml with the clouds cloudsim, cloudsim-other and cloudsim-admin, for
// the users k8s, other and admin.
func (c *Cloud) CloudsYAML() string {
	var b strings.Builder
	b.WriteString("clouds:\n")
	for _, cloud := range []struct{ name, user string }{{"cloudsim", UserK8s}, {"cloudsim-other", UserOther}, {"cloudsim-admin", UserAdmin}} {
		u := c.credentials[cloud.user]
		fmt.Fprintf(&b, `  %s:
    auth:
      auth_url: %s/v3
      username: %s
      password: %s
      project_name: %s
      user_domain_name: %s
      project_domain_name: %s
    region_name: %s
    interface: public
    identity_api_version: 3
`, cloud.name, u.AuthURL, u.Username, u.Password, u.ProjectName, u.UserDomainName, u.ProjectDomainName, u.Region)
	}
	return b.String()
}

// WriteFile writes text, which may hold a password, to a file that only its
// owner can read. Missing directories are created.
func WriteFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
