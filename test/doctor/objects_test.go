// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"maps"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	openstacktest "github.com/kube-octavia/kube-octavia/test/openstack"
)

// finally takes back a change of a real cloud at the end of the situation, or at the end of all if the cloud itself is made.
// A simulator ends with its situation.
func (s *setup) finally(undo func()) {
	if s.cloud.simulator == nil {
		s.t.Cleanup(undo)
	}
}

// make creates an object in the cloud, and deletes it at the end.
func (s *setup) make(client *openstacktest.Client, service, path, kind string, wish map[string]any) (id string) {
	s.t.Helper()
	var made map[string]struct{ ID string }
	s.as(client, service, http.MethodPost, path, map[string]any{kind: wish}, &made)
	id = made[kind].ID
	s.finally(func() { s.as(client, service, http.MethodDelete, path+"/"+id, nil, nil) })
	return id
}

// The time that a real cloud may take for a load balancer or a server, and between two looks.
const (
	patience = 2 * time.Minute
	pause    = 100 * time.Millisecond
)

// await asks until done reports true. The simulator is done at once, or nearly.
func (s *setup) await(what string, done func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(pause) {
		if time.Now().After(end) {
			s.t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// gone reports whether an object is answered with 404.
func (s *setup) gone(service, path string) bool {
	s.t.Helper()
	err := openstacktest.Call(s.ctx(), s.cloud.client, service, http.MethodGet, path, nil, nil)
	var failed *openstacktest.StatusError
	if errors.As(err, &failed) && failed.Status == http.StatusNotFound {
		return true
	}
	s.must(err)
	return false
}

// makeBalancer creates a load balancer with a port and a member.
func (s *setup) makeBalancer(name, description string, tags []string) (id string) {
	s.t.Helper()
	var made struct{ LoadBalancer struct{ ID string } }
	s.do(cloudsim.LoadBalancer, http.MethodPost, listBalancers, map[string]any{"loadbalancer": map[string]any{
		"name": name, "description": description, "tags": tags, "vip_subnet_id": s.cloud.subnet,
		"listeners": []any{map[string]any{"name": "listener", "protocol": "TCP", "protocol_port": 80, "default_pool": map[string]any{
			"name": "pool", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "healthmonitor": map[string]any{"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 3},
			"members": []any{map[string]any{"address": "10.98.0.200", "protocol_port": 30080}}}}},
	}}, &made)
	id = made.LoadBalancer.ID
	s.await("create load balancer "+id, func() bool {
		var now struct {
			LoadBalancer struct {
				Status string `json:"provisioning_status"`
			}
		}
		s.do(cloudsim.LoadBalancer, http.MethodGet, listBalancers+"/"+id, nil, &now)
		return now.LoadBalancer.Status == "ACTIVE"
	})
	return id
}

// deleteBalancer deletes a load balancer. If it is that of Service default/web, the next situation makes another one.
func (s *setup) deleteBalancer(id string) {
	s.t.Helper()
	if id == s.cloud.balancer {
		s.cloud.balancer = ""
	}
	s.do(cloudsim.LoadBalancer, http.MethodDelete, listBalancers+"/"+id+"?cascade=true", nil, nil)
	s.await("delete load balancer "+id, func() bool { return s.gone(cloudsim.LoadBalancer, listBalancers+"/"+id) })
}

// anotherBalancer creates a load balancer for the situation.
func (s *setup) anotherBalancer(name, description string, tags []string) {
	s.t.Helper()
	id := s.makeBalancer(name, description, tags)
	s.finally(func() { s.deleteBalancer(id) })
}

// spoilBalancer says that no other situation can use the load balancer.
func (s *setup) spoilBalancer() {
	id := s.balancer
	s.finally(func() { s.deleteBalancer(id) })
}

// makeApplicationCredential creates an application credential. It is deleted with its user at the
// latest.
func (s *setup) makeApplicationCredential(wish map[string]any) credential {
	s.t.Helper()
	wish["name"] = "doctor-" + uuid.NewString()
	var made struct {
		Credential credential `json:"application_credential"`
	}
	s.do(cloudsim.Identity, http.MethodPost, s.credentials(), map[string]any{"application_credential": wish}, &made)
	return made.Credential
}

// credentials returns the path of the application credentials.
func (s *setup) credentials() string {
	return "/v3/users/" + s.cloud.userID + "/application_credentials"
}

func (s *setup) deleteApplicationCredential(id string) {
	s.t.Helper()
	s.do(cloudsim.Identity, http.MethodDelete, s.credentials()+"/"+id, nil, nil)
}

// withApplicationCredential creates an application credential for the situation and returns the cloud.conf with
// it.
func (s *setup) withApplicationCredential(wish map[string]any) string {
	s.t.Helper()
	made := s.makeApplicationCredential(wish)
	s.finally(func() { s.deleteApplicationCredential(made.ID) })
	return withCredential(s.cloud.conf(), made.ID, made.Secret)
}

// addUser creates a user.
func (s *setup) addUser(name, password string) (id string) {
	s.t.Helper()
	return s.make(s.cloud.admin, cloudsim.Identity, "/v3/users", "user", map[string]any{"name": name, "password": password, "domain_id": "default"})
}

// assign gives a user roles in a project.
func (s *setup) assign(user, project string, roles ...string) {
	s.t.Helper()
	var all struct{ Roles []struct{ ID, Name string } }
	s.as(s.cloud.admin, cloudsim.Identity, http.MethodGet, "/v3/roles", nil, &all)
	ids := map[string]string{}
	for _, role := range all.Roles {
		ids[role.Name] = role.ID
	}
	for _, role := range roles {
		s.as(s.cloud.admin, cloudsim.Identity, http.MethodPut, "/v3/projects/"+project+"/users/"+user+"/roles/"+ids[role], nil, nil)
	}
}

// addSubnet creates a subnet in the private network, without a router.
func (s *setup) addSubnet(name, cidr string, version int) (id string) {
	s.t.Helper()
	return s.make(s.cloud.client, cloudsim.Network, "/v2.0/subnets", "subnet", map[string]any{"network_id": s.cloud.network, "name": name, "cidr": cidr, "ip_version": version})
}

// addPort creates a port in the subnet.
func (s *setup) addPort(more map[string]any) {
	s.t.Helper()
	wish := map[string]any{"network_id": s.cloud.network, "fixed_ips": []any{map[string]any{"subnet_id": s.cloud.subnet}}}
	maps.Copy(wish, more)
	s.make(s.cloud.client, cloudsim.Network, "/v2.0/ports", "port", wish)
}

// allocateFrom makes the allocation pool of the subnet one from the first address to the last.
func (s *setup) allocateFrom(first, last string) {
	s.t.Helper()
	path := "/v2.0/subnets/" + s.cloud.subnet
	var subnet struct {
		Subnet struct {
			Pools []map[string]any `json:"allocation_pools"`
		}
	}
	s.do(cloudsim.Network, http.MethodGet, path, nil, &subnet)
	set := func(pools []map[string]any) {
		s.do(cloudsim.Network, http.MethodPut, path, map[string]any{"subnet": map[string]any{"allocation_pools": pools}}, nil)
	}
	s.finally(func() { set(subnet.Subnet.Pools) })
	set([]map[string]any{{"start": first, "end": last}})
}

// limit sets quotas of the project.
func (s *setup) limit(service, path string, quota map[string]any) {
	s.t.Helper()
	path += s.cloud.project
	s.finally(func() { s.as(s.cloud.admin, service, http.MethodDelete, path, nil, nil) })
	s.as(s.cloud.admin, service, http.MethodPut, path, map[string]any{"quota": quota}, nil)
}

// disabledFlavor creates a flavor of load balancers.
func (s *setup) disabledFlavor() (id string) {
	s.t.Helper()
	profile := s.make(s.cloud.admin, cloudsim.LoadBalancer, "/v2.0/lbaas/flavorprofiles", "flavorprofile", map[string]any{"name": "doctor", "provider_name": amphora, "flavor_data": "{}"})
	return s.make(s.cloud.admin, cloudsim.LoadBalancer, "/v2.0/lbaas/flavors", "flavor", map[string]any{"name": "small", "flavor_profile_id": profile, "enabled": false})
}
