// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	openstacktest "github.com/kube-octavia/kube-octavia/test/openstack"
)

// openReal makes in the real cloud with its state in a directory what the simulator has from the start: two projects with their
// users, and in one of them networks and two servers. All of it is deleted at the end of the test.
func openReal(t testing.TB, stateDir string) *cloud {
	t.Helper()
	state, err := openstacktest.Load(stateDir)
	if err != nil {
		t.Fatal(err)
	}
	if state.Provider != amphora {
		t.Skipf("the load balancers of the situations are of provider %s, and this cloud makes those of provider %s", amphora, state.Provider)
	}
	c := &cloud{real: state, publicNetwork: state.PublicNetwork, uids: uuid.New()}
	s := &setup{t: t, cloud: c}
	c.admin = s.connect(state.LoginAsAdmin())
	c.other, _ = s.makeProject()
	c.login, c.userID = s.makeProject()
	c.project = c.login.ProjectID
	c.client = s.connect(c.login)
	s.makeNetwork()
	s.makeServers()
	s.makeProxy()
	s.finally(func() {
		if c.balancer != "" {
			s.deleteBalancer(c.balancer)
		}
	})
	return c
}

// makeProject creates a project and its user.
func (s *setup) makeProject() (login openstacktest.Login, userID string) {
	s.t.Helper()
	name, state := "doctor-"+uuid.NewString()[:8], s.cloud.real
	login = openstacktest.Login{AuthURL: state.AuthURL, User: name, Password: uuid.NewString(), Region: state.Region}
	login.ProjectID = s.make(s.cloud.admin, cloudsim.Identity, "/v3/projects", "project", map[string]any{"name": name, "domain_id": "default"})
	s.finally(func() { s.deleteSecurityGroups(login.ProjectID) })
	userID = s.addUser(name, login.Password)
	s.assign(userID, login.ProjectID, "member", "load-balancer_member", "creator")
	return login, userID
}

// makeNetwork creates the network with two subnets, and the router to the public one.
func (s *setup) makeNetwork() {
	s.t.Helper()
	c := s.cloud
	c.network = s.make(c.client, cloudsim.Network, "/v2.0/networks", "network", map[string]any{"name": "private"})
	c.subnet = s.addSubnet("private-subnet", "10.98.0.0/24", 4)
	c.subnetV6 = s.addSubnet("private-subnet-v6", "fd98::/64", 6)
	router := s.make(c.client, cloudsim.Network, "/v2.0/routers", "router", map[string]any{"name": "router", "external_gateway_info": map[string]any{"network_id": c.publicNetwork}})
	for _, subnet := range []string{c.subnet, c.subnetV6} {
		do := func(what string) {
			s.do(cloudsim.Network, http.MethodPut, "/v2.0/routers/"+router+"/"+what+"_router_interface", map[string]any{"subnet_id": subnet}, nil)
		}
		do("add")
		s.finally(func() { do("remove") })
	}
}

// deleteSecurityGroups deletes those of a project. Neutron creates one for each project.
func (s *setup) deleteSecurityGroups(project string) {
	s.t.Helper()
	var found struct {
		Groups []struct{ ID string } `json:"security_groups"`
	}
	path := "/v2.0/security-groups"
	s.as(s.cloud.admin, cloudsim.Network, http.MethodGet, path+"?project_id="+project, nil, &found)
	for _, g := range found.Groups {
		s.as(s.cloud.admin, cloudsim.Network, http.MethodDelete, path+"/"+g.ID, nil, nil)
	}
}

// makeServers creates the servers of the nodes.
func (s *setup) makeServers() {
	s.t.Helper()
	const path = "/v2.1/servers"
	for i, name := range []string{"doctor-1", "doctor-2"} {
		var made struct{ Server struct{ ID string } }
		s.do(cloudsim.Compute, http.MethodPost, path, map[string]any{"server": map[string]any{"name": name, "imageRef": s.cloud.real.Image, "flavorRef": s.cloud.real.Flavor,
			"networks": []any{map[string]any{"uuid": s.cloud.network, "fixed_ip": fmt.Sprintf("10.98.0.%d", 11+i)}}}}, &made)
		id := made.Server.ID
		s.cloud.servers = append(s.cloud.servers, instance{id, name})
		s.finally(func() {
			s.do(cloudsim.Compute, http.MethodDelete, path+"/"+id, nil, nil)
			s.await("delete server "+name, func() bool { return s.gone(cloudsim.Compute, path+"/"+id) })
		})
	}
	for _, one := range s.cloud.servers {
		s.await("build server "+one.name, func() bool {
			var now struct{ Server struct{ Status string } }
			s.do(cloudsim.Compute, http.MethodGet, path+"/"+one.id, nil, &now)
			if now.Server.Status == "ERROR" {
				s.t.Fatalf("Nova could not build server %s", one.name)
			}
			return now.Server.Status == "ACTIVE"
		})
	}
}

// makeProxy puts a proxy in front of the cloud, for faults in the requests of doctor.
func (s *setup) makeProxy() {
	s.t.Helper()
	proxy, err := openstacktest.StartProxy(s.cloud.real.AuthURL, s.cloud.client.Endpoints())
	s.must(err)
	s.finally(func() { s.must(proxy.Close()) })
	s.cloud.authURL, s.cloud.faults = proxy.AuthURL(), proxy.Faults()
}
