// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/nova"
)

// serverChanges makes and changes servers: on a real cloud through its API, which
// the simulator does not have.
type serverChanges struct {
	// add creates a server that is ACTIVE, which is deleted when the test ends.
	add func(c *try, name string) (id string)
	// rename, setAccess, stop, start, resize and remove do what they say.
	rename                      func(c *try, id, name string)
	setAccess                   func(c *try, id, ipv4, ipv6 string)
	stop, start, resize, remove func(c *try, id string)
}

func simulatedServers(sim *cloudsim.Cloud) serverChanges {
	update := func(c *try, id string, change func(*nova.Server)) {
		c.Helper()
		if err := sim.Nova().Update(id, change); err != nil {
			c.Fatal(err)
		}
	}
	remove := func(c *try, id string) {
		c.Helper()
		if err := sim.RemoveServer(id); err != nil {
			c.Fatal(err)
		}
	}
	return serverChanges{
		add: func(c *try, name string) string {
			c.Helper()
			id, err := sim.AddServer(name)
			if err != nil {
				c.Fatal(err)
			}
			c.Cleanup(func() { _ = sim.RemoveServer(id) }) // the test may have removed it
			return id
		},
		rename: func(c *try, id, name string) { update(c, id, func(s *nova.Server) { s.Name = name }) },
		setAccess: func(c *try, id, ipv4, ipv6 string) {
			update(c, id, func(s *nova.Server) { s.AccessIPv4, s.AccessIPv6 = ipv4, ipv6 })
		},
		stop:   func(c *try, id string) { update(c, id, func(s *nova.Server) { s.Status = "SHUTOFF" }) },
		start:  func(c *try, id string) { update(c, id, func(s *nova.Server) { s.Status = "ACTIVE" }) },
		resize: func(c *try, id string) { update(c, id, func(s *nova.Server) { s.Flavor = "m1.large" }) },
		remove: remove,
	}
}

func simulatedTrunk(sim *cloudsim.Cloud) func(c *try, parent, sub string) string {
	return func(c *try, parent, sub string) string {
		c.Helper()
		id, err := sim.Neutron().AddTrunk(neutron.TrunkSpec{ProjectID: sim.IDs().Project, PortID: parent, SubPorts: map[int]string{101: sub}})
		if err != nil {
			c.Fatal(err)
		}
		c.Cleanup(func() {
			if err := sim.Neutron().DeleteTrunk(id); err != nil {
				c.Error(err)
			}
		})
		return id
	}
}

func realServers(largerFlavor string) serverChanges {
	act := func(c *try, id, status string, action object) {
		c.Helper()
		c.quietly(k8s).compute("POST", "/servers/"+id+"/action", action).is(http.StatusAccepted)
		c.serverIs(id, status)
	}
	update := func(c *try, id string, change object) {
		c.Helper()
		c.quietly(k8s).compute("PUT", "/servers/"+id, object{"server": change}).is(200)
	}
	remove := func(c *try, id string) {
		c.Helper()
		if c.quietly(k8s).compute("DELETE", "/servers/"+id, nil).Status == http.StatusNoContent {
			c.serverIs(id, "")
		}
	}
	const outsidePool = "10.0.0.40" // so that no load balancer of another case has it
	return serverChanges{
		add: func(c *try, name string) string {
			c.Helper()
			wish := object{"name": name, "imageRef": c.cloud.Image, "flavorRef": c.cloud.Flavor, "networks": list{object{"uuid": c.cloud.Network, "fixed_ip": outsidePool}}}
			id := c.quietly(k8s).compute("POST", "/servers", object{"server": wish}).is(http.StatusAccepted).text("server.id")
			c.Cleanup(func() { remove(c, id) })
			c.serverIs(id, "ACTIVE")
			return id
		},
		rename:    func(c *try, id, name string) { update(c, id, object{"name": name}) },
		setAccess: func(c *try, id, ipv4, ipv6 string) { update(c, id, object{"accessIPv4": ipv4, "accessIPv6": ipv6}) },
		stop:      func(c *try, id string) { act(c, id, "SHUTOFF", object{"os-stop": nil}) },
		start:     func(c *try, id string) { act(c, id, "ACTIVE", object{"os-start": nil}) },
		resize: func(c *try, id string) {
			c.Helper()
			act(c, id, "VERIFY_RESIZE", object{"resize": object{"flavorRef": largerFlavor}})
			c.quietly(k8s).compute("POST", "/servers/"+id+"/action", object{"confirmResize": nil}).is(http.StatusNoContent)
			c.serverIs(id, "ACTIVE")
		},
		remove: remove,
	}
}

func realTrunk(c *try, parent, sub string) string {
	c.Helper()
	sub1 := object{"port_id": sub, "segmentation_type": "vlan", "segmentation_id": 101}
	id := c.quietly(k8s).net("POST", "/trunks", object{"trunk": object{"port_id": parent, "sub_ports": list{sub1}}}).is(201).text("trunk.id")
	c.quietly(k8s).disposes("trunks", id)
	return id
}

// serverIs waits until a server has the status and nothing is done to it; "" is
// that of one that is gone.
func (c *try) serverIs(id, status string) {
	c.Helper()
	const deadline = 5 * time.Minute
	late := time.After(deadline)
	tick := time.NewTicker(c.cloud.pace())
	defer tick.Stop()
	for {
		a := c.quietly(k8s).compute("GET", "/servers/"+id, nil)
		if a.text("server.status") == status && a.at("server.OS-EXT-STS:task_state") == nil {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			c.Fatalf("waited %v until server %s is %q: %s", deadline, id, status, a.Text)
		}
	}
}

func TestServerChanges(t *testing.T) {
	t.Parallel()
	const nodes = "OpenStack-API-Version: compute 2.47"
	g := shared(t)
	name := g.newName()
	id := g.cloud.servers.add(g, name)
	path := "/servers/" + id
	portOf := func(c *try) answer {
		c.Helper()
		return c.quietly(k8s).net("GET", "/ports?device_id="+id+"&fields=id&fields=status&fields=fixed_ips", nil).is(200)
	}

	state(t, []statement{
		{"a new server is found by its name, is ACTIVE and has an ACTIVE port with the addresses that Nova shows", func(c *try) {
			a := c.as(k8s).compute("GET", "/servers/detail?name=^"+name+"$", nil, nodes).is(200)
			c.must(len(a.list("servers")) == 1 && a.text("servers.0.id") == id && a.text("servers.0.status") == "ACTIVE", "found %s", a.Text)
			port := portOf(c)
			c.must(port.text("ports.0.status") == "ACTIVE", "its port is %s", port.Text)
			c.must(sameSet(addressesOf(a, "servers.0"), port.texts("ports.0.fixed_ips", "ip_address")...), "the addresses are %v, those of the port %s", addressesOf(a, "servers.0"), port.Text)
		}},
		{"the newest server comes first", func(c *try) {
			a := c.quietly(k8s).compute("GET", "/servers/detail", nil, nodes).is(200)
			for i := range len(a.list("servers")) - 1 {
				// Nova shows seconds. Within one, the order is that of its database, which no id tells.
				one, next := a.texts("servers", "created")[i], a.texts("servers", "created")[i+1]
				c.must(one >= next, "a server of %s comes before one of %s", one, next)
			}
		}},
		{"a renamed server has the new name at once, and everything else as before", func(c *try) {
			before := c.quietly(k8s).compute("GET", path, nil, nodes).is(200)
			c.cloud.servers.rename(c, id, name+"-2")
			a := c.as(k8s).compute("GET", path, nil, nodes).is(200)
			c.must(a.text("server.name") == name+"-2" && a.text("server.hostId") == before.text("server.hostId"), "it is %s", a.Text)
			c.must(len(c.as(k8s).compute("GET", "/servers?name=^"+name+"$", nil).is(200).list("servers")) == 0, "it is found by the old name")
		}},
		{"a server shows the addresses that its user says it is reached by", func(c *try) {
			c.cloud.servers.setAccess(c, id, "192.0.2.1", "2001:db8::1")
			a := c.as(k8s).compute("GET", path, nil, nodes).is(200)
			c.must(a.text("server.accessIPv4") == "192.0.2.1" && a.text("server.accessIPv6") == "2001:db8::1", "it is %s", a.Text)
		}},
		{"a stopped server is SHUTOFF, keeps its host and zone, and its port", func(c *try) {
			before, port := c.quietly(k8s).compute("GET", path, nil, nodes).is(200), portOf(c).text("ports.0.id")
			c.cloud.servers.stop(c, id)
			a := c.as(k8s).compute("GET", path, nil, nodes).is(200)
			c.must(a.text("server.status") == "SHUTOFF" && a.text("server.OS-EXT-STS:vm_state") == "stopped", "it is %s", a.Text)
			for _, key := range []string{"hostId", "OS-EXT-AZ:availability_zone", "name"} {
				c.must(a.text("server."+key) == before.text("server."+key), "%s is %q and was %q", key, a.text("server."+key), before.text("server."+key))
			}
			c.must(portOf(c).text("ports.0.id") == port && len(addressesOf(a, "server")) > 0, "its port is %s", portOf(c).Text)
			c.cloud.servers.start(c, id)
			c.must(c.quietly(k8s).compute("GET", path, nil).is(200).text("server.status") == "ACTIVE", "it does not start")
		}},
		{"a resized server shows the name of its new flavor", func(c *try) {
			before := c.quietly(k8s).compute("GET", path, nil, nodes).is(200).text("server.flavor.original_name")
			c.cloud.servers.resize(c, id)
			a := c.as(k8s).compute("GET", path, nil, nodes).is(200)
			c.must(a.text("server.flavor.original_name") != before && a.text("server.status") == "ACTIVE", "it is %s", a.Text)
		}},
		{"a deleted server is not found and not listed, and its port is gone", func(c *try) {
			c.cloud.servers.remove(c, id)
			c.as(k8s).compute("GET", path, nil, nodes).is(404)
			c.must(len(c.as(k8s).compute("GET", "/servers/detail?name="+name, nil, nodes).is(200).list("servers")) == 0, "it is in the list")
			c.must(len(portOf(c).list("ports")) == 0, "its port is %s", portOf(c).Text)
		}},
	})
}
