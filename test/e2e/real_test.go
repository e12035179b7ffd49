// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/test/node"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// real is a real OpenStack that was brought up on this machine, behind a proxy of
// the test's own.
type real struct {
	*openstack.Proxy
	*openstack.Cloud
	t testing.TB
	// people make the test's own requests, past the proxy.
	people map[person]*openstack.Client
	taken  map[string]bool // names of servers
}

// newReal connects to the OpenStack of -openstack, and puts a proxy before it that counts and disturbs calls.
func newReal(t testing.TB) *real {
	t.Helper()
	c := &real{t: t, people: map[person]*openstack.Client{}, taken: map[string]bool{}}
	var err error
	if c.Cloud, err = openstack.Load(*stateDir); err != nil {
		t.Fatal(err)
	}
	for who, login := range map[person]openstack.Login{asUser: c.LoginAsUser(), asAdmin: c.LoginAsAdmin()} {
		if c.people[who], err = openstack.Connect(t.Context(), login); err != nil {
			t.Fatal(err)
		}
	}
	if c.Proxy, err = openstack.StartProxy(c.Cloud.AuthURL, c.people[asUser].Endpoints()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// AuthURL returns the proxy's.
func (c *real) AuthURL() string { return c.Proxy.AuthURL() }

// CloudConf is the cloud.conf of a controller that uses the proxy.
func (c *real) CloudConf() string { return c.Cloud.CloudConf(c.AuthURL()) }

// PasswordConf returns the same: the controller has the user's password.
func (c *real) PasswordConf() string { return c.CloudConf() }

// Credentials are those of the user of the project, whom the controller uses.
func (c *real) Credentials() cloudsim.Credentials {
	return cloudsim.Credentials{AuthURL: c.AuthURL(), Region: c.Region, Username: c.User, UserDomainName: "Default", Password: c.Password, ProjectID: c.Project}
}

// Reader returns the user k8s-reader.
func (c *real) Reader() cloudsim.Credentials {
	return cloudsim.Credentials{Username: "k8s-reader", Password: c.ReaderPassword}
}

// Secrets are all passwords, and the tokens that were issued so far.
func (c *real) Secrets() []string {
	return append(c.Tokens(), c.Password, c.AdminPassword, c.OtherPassword, c.ReaderPassword)
}

// IDs are those that were noted when the cloud was brought up.
func (c *real) IDs() cloudsim.IDs {
	return cloudsim.IDs{
		Project: c.Project, AdminProject: c.people[asAdmin].Project(), PublicNetwork: c.PublicNetwork, PublicSubnet: c.PublicSubnets[0],
		PrivateNetwork: c.Network, PrivateSubnet: c.Subnet, PrivateSubnetV6: c.SubnetV6, Router: c.Router,
	}
}

// requester sends requests without the proxy, so they are not counted.
func (c *real) requester(as person) openstack.Requester { return c.people[as] }

// server takes one of the servers that the cloud has. A name of the cluster's
// does not matter to Nova.
func (c *real) server(name string) (node.Node, error) {
	for _, of := range slices.Sorted(maps.Keys(c.Nodes)) {
		if c.taken[of] {
			continue
		}
		c.taken[of] = true
		s := c.Nodes[of]
		nd := node.Node{Name: name, ServerID: s.ID, Address: s.Addresses[0]}
		if c.DataPlane == nil {
			nd.Unserved = true
		} else {
			nd.Namespace = c.DataPlane.NodeNamespaces[of]
		}
		return nd, nil
	}
	return node.Node{}, fmt.Errorf("all %d servers of the cloud are nodes already: bring it up with more", len(c.Nodes))
}

// provider is the one with which the cloud was brought up.
func (c *real) provider() string { return c.Provider }

// finishes, as OVN's provider, or with the patch.
func (c *real) finishes() bool { return c.Patched || c.Provider != "amphora" }

// packets flow where OVN carries them.
func (c *real) packets() bool { return c.DataPlane != nil }

// podNetwork returns where any address can be bound.
func (c *real) podNetwork() string {
	if c.DataPlane == nil {
		return ""
	}
	return c.DataPlane.PodsNamespace
}

// podPorts are ports of the cloud for Pods. Only a cloud with OVN has them.
func (c *real) podPorts() (all []node.PodPort) {
	if c.DataPlane != nil {
		for _, p := range c.DataPlane.Pods {
			all = append(all, node.PodPort(p))
		}
	}
	return all
}

// podNetworkID is the id of the network of these ports.
func (c *real) podNetworkID() string { return c.PodNetwork }

// outside is in the namespace of the public network.
func (c *real) outside() client {
	if c.DataPlane == nil {
		return client{}
	}
	return client{namespace: c.DataPlane.OutsideNamespace, address: c.DataPlane.OutsideAddresses[0].String()}
}

// internet is in the same namespace, with an address that is not one of the public network.
func (c *real) internet() client {
	if c.DataPlane == nil {
		return client{}
	}
	return client{namespace: c.DataPlane.OutsideNamespace, address: c.DataPlane.InternetAddress.String()}
}

// inside is in a namespace on the network of the nodes.
func (c *real) inside() client {
	if c.DataPlane == nil {
		return client{}
	}
	return client{namespace: c.DataPlane.ClientNamespace}
}

// hold keeps the worker of Octavia from ending what it does; see openstack.Cloud.Hold.
func (c *real) hold() (release func()) {
	c.t.Helper()
	letGo, err := c.Hold(context.WithoutCancel(c.t.Context()))
	if err != nil {
		c.t.Fatal(err)
	}
	return func() {
		if err := letGo(); err != nil {
			c.t.Error(err)
		}
	}
}

// fail goes to the database: no API makes Octavia fail.
func (c *real) fail(id string) { c.state(id, "ERROR") }

// repair goes to the database: a failover is for amphorae.
func (c *real) repair(id string) { c.state(id, "ACTIVE") }

// state writes the provisioning status of a load balancer to the database of Octavia.
func (c *real) state(id, status string) {
	c.t.Helper()
	err := c.SQL(c.t.Context(), "octavia",
		fmt.Sprintf("UPDATE load_balancer SET provisioning_status = '%s', updated_at = UTC_TIMESTAMP() WHERE id = '%s'", status, id))
	if err != nil {
		c.t.Fatal(err)
	}
}

// miscarry lets the database turn the end of the create.
func (c *real) miscarry(name string) {
	c.t.Helper()
	err := c.SQL(c.t.Context(), "octavia", fmt.Sprintf(`
DELIMITER //
CREATE OR REPLACE TABLE miscarriage (name VARCHAR(255) PRIMARY KEY) //
INSERT INTO miscarriage VALUES ('%s') //
CREATE OR REPLACE TRIGGER miscarry BEFORE UPDATE ON load_balancer FOR EACH ROW
IF NEW.provisioning_status = 'ACTIVE' AND OLD.provisioning_status = 'PENDING_CREATE' AND NEW.name IN (SELECT name FROM miscarriage) THEN
  SET NEW.provisioning_status = 'ERROR';
  DELETE FROM miscarriage;
END IF //`, name))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := c.SQL(context.Background(), "octavia", "DROP TRIGGER miscarry; DROP TABLE miscarriage"); err != nil {
			c.t.Error(err)
		}
	})
}
