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

// The users. Each has a project of the same name, but for the reader, who has
// the role reader in the project k8s and no other.
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

// AuthURL is where to authenticate, without a version.
func (c *Cloud) AuthURL() string { return c.servers[Identity].url() }

// Endpoint is a service's URL in the catalogue; service is one of Identity,
// Network, Compute, LoadBalancer, KeyManager and Image. It is empty for others.
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

// AdminURL is where the admin API is served.
func (c *Cloud) AdminURL() string { return c.servers["admin"].url() }

// Credentials are those of the user k8s.
func (c *Cloud) Credentials() Credentials { return c.credentials[UserK8s] }

// CredentialsOf are those of a user: UserK8s, UserOther, UserAdmin or UserReader.
func (c *Cloud) CredentialsOf(user string) Credentials { return c.credentials[user] }

// IDs are the ids of what the cloud had from the start.
func (c *Cloud) IDs() IDs { return c.ids }

// Recorder has the calls made to all services.
func (c *Cloud) Recorder() *wire.Recorder { return &c.recorder }

// Faults are what goes wrong.
func (c *Cloud) Faults() *wire.Faults { return &c.faults }

// Latency is how long operations take.
func (c *Cloud) Latency() *wire.Latency { return &c.latency }

// Keystone is the identity service.
func (c *Cloud) Keystone() *keystone.Service { return c.keystone }

// Nova is the compute service.
func (c *Cloud) Nova() *nova.Service { return c.nova }

// Barbican is the key manager.
func (c *Cloud) Barbican() *barbican.Service { return c.barbican }

// Neutron is the network service.
func (c *Cloud) Neutron() *neutron.Service { return c.neutron }

// Octavia is the load balancer service.
func (c *Cloud) Octavia() *octavia.Service { return c.octavia }

// Secrets is everything that nobody may see who looks at a client's output: see
// keystone.Service.Secrets.
func (c *Cloud) Secrets() []string { return c.keystone.Secrets() }

// ExpireTokens ends the life of all tokens, so that every client has to
// authenticate again.
func (c *Cloud) ExpireTokens() { c.keystone.ExpireTokens() }

// CloudConf is a cloud.conf, as cloud providers of Kubernetes read it, for the
// user k8s.
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

// CloudsYAML is a clouds.yaml with the clouds cloudsim, cloudsim-other and
// cloudsim-admin, for the users k8s, other and admin.
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
// owner can read. Directories are made as needed.
func WriteFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o600)
}
