// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	openstacktest "github.com/kube-octavia/kube-octavia/test/openstack"
)

// cloud is a project in an OpenStack. On the simulator, each situation has a cloud of its own. The project in a real cloud
// serves all situations, one after the other: each takes back what it changed.
type cloud struct {
	// simulator is nil on a real cloud, and real is nil on the simulator.
	simulator *cloudsim.Cloud
	real      *openstacktest.Cloud
	// authURL is where doctor finds Keystone.
	authURL string
	// login is the user in the project, with id userID; other is a user of another project.
	login, other    openstacktest.Login
	project, userID string
	// client and admin make requests of the user and of the administrator. No fault applies to these on a real cloud.
	client, admin *openstacktest.Client
	// faults affect the requests of doctor.
	faults                                   *wire.Faults
	network, subnet, subnetV6, publicNetwork string
	servers                                  []instance

	// uids is the namespace of the uids in Kubernetes.
	uids uuid.UUID
	// credential is of the right setup, balancer the load balancer of Service default/web, and rule lets load balancers reach the
	// nodes. What is empty is made when the next setup needs it.
	credential     credential
	balancer, rule string
}

// instance is a server of Nova.
type instance struct{ id, name string }

// credential is an application credential.
type credential struct{ ID, Secret string }

// amphora is the default provider of the clouds.
const amphora = "amphora"

// simulated starts a simulated cloud, which ends with the test.
func simulated(t testing.TB) *cloud {
	t.Helper()
	s := &setup{t: t}
	sim, err := cloudsim.Start(cloudsim.Options{
		PrivateCIDR: "10.98.0.0/24", PublicCIDR: "203.0.113.0/24", PrivateIPv6CIDR: "fd98::/64", Nodes: []cloudsim.Node{{Name: "node-1"}, {Name: "node-2"}},
	})
	s.must(err)
	t.Cleanup(func() { _ = sim.Close() })
	ids := sim.IDs()
	c := &cloud{
		simulator: sim, authURL: sim.AuthURL() + "/v3", login: loginOf(sim, cloudsim.UserK8s), other: loginOf(sim, cloudsim.UserOther), project: ids.Project, userID: ids.User,
		faults: sim.Faults(), network: ids.PrivateNetwork, subnet: ids.PrivateSubnet, subnetV6: ids.PrivateSubnetV6, publicNetwork: ids.PublicNetwork, uids: uuid.New(),
	}
	for _, one := range sim.Nova().Servers() {
		c.servers = append(c.servers, instance{one.ID, one.Name})
	}
	c.client, c.admin = s.connect(c.login), s.connect(loginOf(sim, cloudsim.UserAdmin))
	return c
}

func loginOf(sim *cloudsim.Cloud, user string) openstacktest.Login {
	c := sim.CredentialsOf(user)
	return openstacktest.Login{AuthURL: c.AuthURL + "/v3", User: c.Username, Password: c.Password, ProjectID: c.ProjectID, Region: c.Region}
}

// connect logs in.
func (s *setup) connect(login openstacktest.Login) *openstacktest.Client {
	s.t.Helper()
	client, err := openstacktest.Connect(s.ctx(), login)
	s.must(err)
	return client
}

// conf returns a cloud.conf with user and password.
func (c *cloud) conf() string {
	return (&openstacktest.Cloud{User: c.login.User, Password: c.login.Password, Project: c.project, Region: c.login.Region, PublicNetwork: c.publicNetwork, Subnet: c.subnet, Provider: amphora}).CloudConf(c.authURL)
}

// rightConf returns a cloud.conf with the application credential of the right setup.
func (c *cloud) rightConf(s *setup) string {
	s.t.Helper()
	if c.credential.ID == "" {
		c.credential = s.makeApplicationCredential(map[string]any{})
	}
	return withCredential(c.conf(), c.credential.ID, c.credential.Secret)
}

// uid returns the uid of an object in Kubernetes: the same one in each situation, for the tags of the load balancer
// have it.
func (c *cloud) uid(kind, namespace, name string) types.UID {
	return types.UID(uuid.NewSHA1(c.uids, []byte(kind+"/"+namespace+"/"+name)).String())
}

// failBalancer sets a load balancer to ERROR.
func (c *cloud) failBalancer(s *setup, id string) {
	s.t.Helper()
	if c.simulator != nil {
		c.simulator.Octavia().SetError(id)
		return
	}
	s.must(c.real.SQL(s.ctx(), "octavia", fmt.Sprintf("UPDATE load_balancer SET provisioning_status = 'ERROR', operating_status = 'ERROR' WHERE id = '%s'", id)))
}

// failListener lets a change of a listener end in ERROR.
func (c *cloud) failListener(s *setup, id string) {
	s.t.Helper()
	if c.simulator != nil {
		c.faults.Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodPut, Kind: wire.FaultErrorChildren, Times: 1})
		s.do(cloudsim.LoadBalancer, http.MethodPut, "/v2.0/lbaas/listeners/"+id, map[string]any{"listener": map[string]any{"connection_limit": 5}}, nil)
		return
	}
	s.must(c.real.SQL(s.ctx(), "octavia", fmt.Sprintf("UPDATE listener SET provisioning_status = 'ERROR' WHERE id = '%s'", id)))
}

// failMember lets the health checks of a member fail, the only one of its load balancer.
func (c *cloud) failMember(s *setup, id string) {
	s.t.Helper()
	if c.simulator != nil {
		c.simulator.Octavia().SetMemberStatus(id, "ERROR")
		return
	}
	s.must(c.real.SQL(s.ctx(), "octavia", fmt.Sprintf(`
		UPDATE member SET operating_status = 'ERROR' WHERE id = '%[1]s';
		UPDATE pool SET operating_status = 'ERROR' WHERE id = (SELECT pool_id FROM member WHERE id = '%[1]s');
		UPDATE load_balancer SET operating_status = 'ERROR' WHERE id = (SELECT load_balancer_id FROM pool JOIN member ON pool.id = pool_id WHERE member.id = '%[1]s')`, id)))
}
