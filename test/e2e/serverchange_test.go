// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/nova"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// Servers are added and changed through Nova's API on a real cloud, and by calls of Go in the simulator, whose Nova has no
// such requests. The contract shows that the result is the same.

// addServer adds a server in the private network, and returns its id. On a real cloud it is deleted when the test ends.
func (s *stage) addServer(name string) (id string) {
	s.t.Helper()
	if c, is := s.cloud.backend.(simulated); is {
		id, err := c.AddServer(name)
		if err != nil {
			s.t.Fatal(err)
		}
		return id
	}
	c := s.cloud.backend.(*real)
	if c.provider() == "ovn" {
		s.t.Skip("with noop amphorae only: with OVN the port of a new server is ACTIVE only once it is plugged in")
	}
	var answer struct{ Server struct{ ID string } }
	s.nova(asUser, http.MethodPost, "servers", map[string]any{"server": map[string]any{
		"name": name, "imageRef": c.Image, "flavorRef": c.Flavor, "networks": []any{map[string]any{"uuid": c.Network}},
	}}, &answer)
	id = answer.Server.ID
	s.t.Cleanup(func() {
		if err := s.deleteServer(id); err != nil {
			s.t.Error(err)
		}
	})
	s.waitForServer(id, "ACTIVE")
	return id
}

// nova makes a request to a real Nova that must succeed.
func (s *stage) nova(as person, method, path string, body, answer any) {
	s.t.Helper()
	if err := s.cloud.call(as, cloudsim.Compute, method, "/v2.1/"+path, body, answer); err != nil {
		s.t.Fatal(err)
	}
}

// waitForServer waits until a server of a real cloud has the status, and Nova changes nothing of it.
func (s *stage) waitForServer(id, status string) {
	s.t.Helper()
	s.eventually(func() error {
		var answer struct {
			Server struct {
				Status string
				Task   string `json:"OS-EXT-STS:task_state"`
			}
		}
		s.nova(asUser, http.MethodGet, "servers/"+id, nil, &answer)
		if answer.Server.Status != status || answer.Server.Task != "" {
			return fmt.Errorf("server %s is %s with the task %q, not %s", id, answer.Server.Status, answer.Server.Task, status)
		}
		return nil
	})
}

// step is an action of Nova, and the status of the server after it.
type step struct {
	action string
	with   any
	status string
}

// changeServer changes a server: on the simulator by change, and on a real cloud by the actions.
func (s *stage) changeServer(id string, change func(*nova.Server), steps ...step) {
	s.t.Helper()
	if c, is := s.cloud.backend.(simulated); is {
		if err := c.Nova().Update(id, change); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	for _, next := range steps {
		s.nova(asUser, http.MethodPost, "servers/"+id+"/action", map[string]any{next.action: next.with}, nil)
		s.waitForServer(id, next.status)
	}
}

// stopServer stops a server, and waits until Nova says so.
func (s *stage) stopServer(id string) {
	s.t.Helper()
	s.changeServer(id, func(server *nova.Server) { server.Status = "SHUTOFF" }, step{"os-stop", nil, "SHUTOFF"})
}

// startServer starts a server that was stopped, and waits until Nova says so.
func (s *stage) startServer(id string) {
	s.t.Helper()
	s.changeServer(id, func(server *nova.Server) { server.Status = "ACTIVE" }, step{"os-start", nil, "ACTIVE"})
}

// resizeServer gives a server another flavor, and confirms that.
func (s *stage) resizeServer(id string, to flavor) {
	s.t.Helper()
	s.changeServer(id, func(server *nova.Server) { server.Flavor = to.name },
		step{"resize", map[string]any{"flavorRef": to.id}, "VERIFY_RESIZE"}, step{"confirmResize", nil, "ACTIVE"})
}

// renameServer gives a server another name.
func (s *stage) renameServer(id, name string) {
	s.t.Helper()
	if _, is := s.cloud.backend.(simulated); is {
		s.changeServer(id, func(server *nova.Server) { server.Name = name })
		return
	}
	s.nova(asUser, http.MethodPut, "servers/"+id, map[string]any{"server": map[string]any{"name": name}}, nil)
}

// removeServer deletes a server and its port.
func (s *stage) removeServer(id string) {
	s.t.Helper()
	if err := s.deleteServer(id); err != nil {
		s.t.Fatal(err)
	}
}

// deleteServer returns when the server is gone. The test may have deleted it before.
func (s *stage) deleteServer(id string) error {
	if c, is := s.cloud.backend.(simulated); is {
		return c.RemoveServer(id)
	}
	gone := func(method string) error {
		err := s.cloud.call(asUser, cloudsim.Compute, method, "/v2.1/servers/"+id, nil, nil)
		if failed := new(openstack.StatusError); errors.As(err, &failed) && failed.Status == http.StatusNotFound {
			return nil
		}
		return errors.Join(err, fmt.Errorf("server %s exists", id))
	}
	if gone(http.MethodDelete) == nil {
		return nil
	}
	return s.poll(func() error { return gone(http.MethodGet) })
}

// flavor is a flavor of Nova.
type flavor struct{ id, name string }

// flavors returns the flavor of new servers, and a larger one.
func (s *stage) flavors() (usual, larger flavor) {
	if c, is := s.cloud.backend.(*real); is {
		return flavor{c.Flavor, c.Flavor}, flavor{c.LargerFlavor, c.LargerFlavor} // the bring-up gives them names as ids
	}
	return flavor{"2", "m1.small"}, flavor{"4", "m1.large"}
}

// makeServerFlavor creates a flavor. On a real cloud it is deleted when the test ends.
func (s *stage) makeServerFlavor(f flavor) {
	s.t.Helper()
	if c, is := s.cloud.backend.(simulated); is {
		c.Nova().AddFlavor(nova.Flavor{ID: f.id, Name: f.name, VCPUs: 8, RAM: 16384, Disk: 80})
		return
	}
	s.nova(asAdmin, http.MethodPost, "flavors", map[string]any{"flavor": map[string]any{"id": f.id, "name": f.name, "vcpus": 1, "ram": 128, "disk": 1}}, nil)
	s.t.Cleanup(func() { s.nova(asAdmin, http.MethodDelete, "flavors/"+f.id, nil, nil) })
}

// serverAddresses returns the addresses of the server's port.
func (s *stage) serverAddresses(id string) (all []string) {
	s.t.Helper()
	var answer struct {
		Ports []struct {
			IPs []struct {
				Address string `json:"ip_address"`
			} `json:"fixed_ips"`
		}
	}
	s.cloud.neutron(http.MethodGet, "ports?device_id="+id, nil, &answer)
	for _, p := range answer.Ports {
		for _, ip := range p.IPs {
			all = append(all, ip.Address)
		}
	}
	return all
}

// serverAddress returns the IPv4 address of the server.
func (s *stage) serverAddress(id string) string {
	s.t.Helper()
	for _, address := range s.serverAddresses(id) {
		if parseAddr(s.t, address).Is4() {
			return address
		}
	}
	s.t.Fatalf("server %s has no IPv4 address", id)
	return ""
}

// waitForUpdates waits until the controller has read all servers, and updated all Nodes, after what was changed before. The
// Nodes must exist all the time.
func (s *stage) waitForUpdates(nodes ...string) {
	s.t.Helper()
	s.waitUntilTried("/v2.1/servers/detail", nodes...)
}
