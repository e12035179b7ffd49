// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

// legacy is one load balancer as openstack-cloud-controller-manager makes it, for one
// feature.
type legacy struct {
	// name is the Service's.
	name string
	// with creates the Service, and says what of the load balancer is not as usual.
	with func(*occmService)
	// amphora is set for what provider ovn cannot do.
	amphora bool
	// short is set for what a real cloud is not spared in a short run: what it makes of the
	// others it makes of one of these, too.
	short bool
}

// plain returns the edits of a Service and nothing else.
func plain(edits ...edit) func(*occmService) {
	return func(o *occmService) { o.edits = edits }
}

// corpus is all of them.
var corpus = []legacy{
	{name: "tcp", short: true, with: plain(tcp(8080))},
	{name: "several-ports", with: plain(tcp(8080, 8081, 8082))},
	{name: "udp", with: plain(udp(5300))},
	{name: "tcp-and-udp-on-one-port", with: plain(tcp(8080), udp(8080))},
	{name: "internal", with: func(o *occmService) {
		o.edits, o.internal = []edit{tcp(8080), annotated(internalKey, "true")}, true
	}},
	{name: "internal-address", with: func(o *occmService) {
		held := o.cloud.portIn(o.cloud.IDs().PrivateSubnet)
		wish := held.Addresses[0].Address
		o.edits, o.internal = []edit{tcp(8080), annotated(internalKey, "true"), at(wish)}, true
		o.differs(func(balancer fields) {
			// No other port takes the address in between.
			o.cloud.neutron(http.MethodDelete, "ports/"+held.ID, nil, nil)
			balancer["vip_address"] = wish
		})
	}},
	{name: "given-floating-ip", short: true, with: func(o *occmService) {
		f := o.cloud.makeFloatingIP("")
		o.stage.given = append(o.stage.given, f.Address)
		o.edits, o.given = []edit{tcp(8080), at(f.Address)}, f.ID
	}},
	{name: "kept-floating-ip", with: plain(tcp(8080), annotated(keepKey, "true"))},
	{name: "monitor", amphora: true, with: func(o *occmService) {
		o.edits = []edit{tcp(8080, 8081), annotated(monitorKey, "true")}
		o.monitored(nil)
	}},
	{name: "monitor-settings", amphora: true, with: func(o *occmService) {
		o.edits = []edit{tcp(8080), annotated(monitorKey, "true"), annotated(prefix+"health-monitor-delay", "20"),
			annotated(prefix+"health-monitor-timeout", "10"), annotated(prefix+"health-monitor-max-retries", "4"), annotated(prefix+"health-monitor-max-retries-down", "5")}
		o.monitored(fields{"delay": 20, "timeout": 10, "max_retries": 4, "max_retries_down": 5})
	}},
	{name: "monitor-udp-connect", amphora: true, with: func(o *occmService) {
		o.edits = []edit{udp(5300), annotated(monitorKey, "true")}
		o.monitored(nil)
	}},
	{name: "local-with-monitor", short: true, amphora: true, with: func(o *occmService) {
		o.edits = []edit{tcp(8080), udp(5300), local, annotated(monitorKey, "true")}
		o.checked()
	}},
	// A Pod runs on each node.
	{name: "local-without-monitor", with: plain(tcp(8080), local)},
	{name: "session-affinity", amphora: true, with: func(o *occmService) {
		o.edits = []edit{tcp(8080), udp(5300), func(v *corev1.Service) { v.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }}
		o.sets(poolsOf, fields{"session_persistence": fields{"type": "SOURCE_IP"}})
	}},
	{name: "source-ranges", amphora: true, with: func(o *occmService) {
		o.edits = []edit{tcp(8080), openTo("203.0.113.0/24", "192.0.2.0/24")}
		o.sets(listenersOf, fields{"allowed_cidrs": []string{"203.0.113.0/24", "192.0.2.0/24"}})
	}},
	{name: "source-ranges-by-annotation", amphora: true, with: func(o *occmService) {
		o.edits = []edit{tcp(8080), annotated(sourcesKey, "203.0.113.0/24,192.0.2.0/24")}
		o.sets(listenersOf, fields{"allowed_cidrs": []string{"203.0.113.0/24", "192.0.2.0/24"}})
	}},
	{name: "timeouts", amphora: true, with: func(o *occmService) {
		o.edits = []edit{tcp(8080), annotated(prefix+"timeout-client-data", "600000"), annotated(prefix+"timeout-member-connect", "1000"),
			annotated(prefix+"timeout-member-data", "70000"), annotated(prefix+"timeout-tcp-inspect", "5")}
		o.sets(listenersOf, fields{"timeout_client_data": 600000, "timeout_member_connect": 1000, "timeout_member_data": 70000, "timeout_tcp_inspect": 5})
	}},
	{name: "connection-limit", amphora: true, with: func(o *occmService) {
		o.edits = []edit{tcp(8080), annotated(limitKey, "1000")}
		o.sets(listenersOf, fields{"connection_limit": 1000})
	}},
	{name: "method", amphora: true, with: func(o *occmService) {
		o.edits = []edit{tcp(8080), annotated(methodKey, "LEAST_CONNECTIONS")}
		o.sets(poolsOf, fields{"lb_algorithm": "LEAST_CONNECTIONS"})
	}},
	{name: "node-selector", with: func(o *occmService) {
		o.changeNode("a", func(n *corev1.Node) { n.Labels["adoption"] = "yes" })
		o.edits = []edit{tcp(8080), annotated(prefix+"node-selector", "adoption=yes")}
		o.differs(func(balancer fields) {
			for _, p := range poolsOf(balancer) {
				p["members"] = p["members"].([]fields)[:1]
			}
		})
	}},
	{name: "flavor", amphora: true, with: func(o *occmService) {
		flavor, _ := o.offer()
		o.edits = []edit{tcp(8080), annotated(prefix+"flavor-id", flavor)}
		o.sets(itself, fields{"flavor_id": flavor})
	}},
	{name: "availability-zone", amphora: true, with: func(o *occmService) {
		_, zone := o.offer()
		o.edits = []edit{tcp(8080), annotated(prefix+"availability-zone", zone)}
		o.sets(itself, fields{"availability_zone": zone})
	}},
	{name: "hostname", with: func(o *occmService) {
		o.edits, o.hostname = []edit{tcp(8080), annotated(prefix+"hostname", "shop.example.com")}, "shop.example.com"
	}},
	{name: "subnet", with: func(o *occmService) { plain(tcp(8080), annotated(prefix+"subnet-id", o.cloud.IDs().PrivateSubnet))(o) }},
	{name: "network", with: func(o *occmService) {
		network := o.cloud.IDs().PrivateNetwork
		o.edits = []edit{tcp(8080), annotated(prefix+"network-id", network)}
		o.sets(itself, fields{"vip_network_id": network})
	}},
	{name: "port", with: func(o *occmService) {
		port := o.cloud.makePortIn(o.cloud.IDs().PrivateSubnet)
		o.edits = []edit{tcp(8080), annotated(prefix+"port-id", port)}
		o.differs(func(balancer fields) {
			delete(balancer, "vip_subnet_id")
			balancer["vip_port_id"] = port
		})
	}},
	{name: "member-subnet", with: func(o *occmService) {
		plain(tcp(8080), annotated(prefix+"member-subnet-id", o.cloud.IDs().PrivateSubnet))(o)
	}},
	{name: "class", with: func(o *occmService) {
		o.edits, o.placed = []edit{tcp(8080), annotated(prefix+"class", "shop")}, fields{"subnet_id": o.cloud.IDs().PublicSubnet}
	}},
	{name: "floating-network-and-subnet", with: func(o *occmService) {
		ids := o.cloud.IDs()
		o.edits = []edit{tcp(8080), annotated(prefix+"floating-network-id", ids.PublicNetwork), annotated(prefix+"floating-subnet-id", ids.PublicSubnet)}
		o.placed = fields{"subnet_id": ids.PublicSubnet}
	}},
	{name: "floating-subnet-by-name", with: plain(tcp(8080), annotated(prefix+"floating-subnet", "!no-such-*"))},

	// What was made by other versions, and what became of it.
	{name: "port-prepended-later", short: true, with: func(o *occmService) {
		o.edits, o.serial = []edit{tcp(8079, 8080)}, true // the first one came later
		o.differs(func(balancer fields) { renumber(o, balancer, 0, 0) })
	}},
	{name: "port-removed-earlier", with: func(o *occmService) {
		o.edits = []edit{tcp(8080, 8082)}
		o.differs(func(balancer fields) { renumber(o, balancer, 3, 1) })
	}},
	{name: "listeners-without-tags", with: func(o *occmService) {
		o.edits = []edit{tcp(8080, 8081)}
		o.differs(withoutTags)
	}},
	{name: "no-tags-at-all", with: func(o *occmService) {
		o.edits = []edit{tcp(8080)}
		o.differs(withoutTags)
		o.differs(func(balancer fields) { delete(balancer, "tags") })
	}},
	{name: "tags-of-people", with: func(o *occmService) {
		o.edits = []edit{tcp(8080)}
		o.sets(itself, fields{"tags": []string{o.balancerName(), "billing=shop"}})
		o.sets(listenersOf, fields{"tags": []string{o.balancerName(), "billing=shop"}})
	}},
	{name: "serial", with: func(o *occmService) {
		o.edits, o.serial = []edit{tcp(8080)}, true
		o.differs(serialMembers(o))
	}},
	{name: "members-without-subnet", with: func(o *occmService) {
		o.edits = []edit{tcp(8080)}
		o.differs(func(balancer fields) {
			for _, m := range membersOf(balancer) {
				delete(m, "subnet_id")
			}
		})
	}},
	{name: "pools-of-1-22", with: func(o *occmService) {
		o.edits = []edit{tcp(8080)}
		o.sets(poolsOf, fields{"name": "TCP_8080_pool"})
	}},
	{name: "name-of-old", with: func(o *occmService) {
		o.edits = []edit{tcp(8080, 8081)}
		o.differs(func(balancer fields) {
			// The Service's tag came with a later version.
			balancer["name"] = o.legacyName()
			nameOfOld(o, balancer)
		})
	}},
	{name: "all-of-old", short: true, with: func(o *occmService) {
		o.edits, o.untold = []edit{tcp(8080)}, true
		o.differs(func(balancer fields) {
			balancer["name"] = o.legacyName()
			balancer["description"] = "Kubernetes external service " + o.legacyName()
			delete(balancer, "tags")
			nameOfOld(o, balancer)
		})
	}},

	{name: "shared-first", with: func(o *occmService) { o.edits = []edit{tcp(8080)} }},
	{name: "shared-second", with: func(o *occmService) {
		o.edits, o.host = []edit{tcp(8081)}, "shared-first"
	}},
	{name: "x-forwarded-for", amphora: true, with: func(o *occmService) {
		o.edits = []edit{tcp(8080), annotated(prefix+"x-forwarded-for", "true")}
		o.sets(listenersOf, fields{"protocol": "HTTP", "insert_headers": fields{"X-Forwarded-For": "true"}})
		o.sets(poolsOf, fields{"protocol": "HTTP"})
	}},
	{name: "proxy-protocol-v1", amphora: true, with: func(o *occmService) {
		o.edits, o.mode = []edit{tcp(8080), annotated(prefix+"proxy-protocol", "true")}, corev1.LoadBalancerIPModeProxy
		o.sets(poolsOf, fields{"protocol": "PROXY"})
	}},
	{name: "proxy-protocol-v2", amphora: true, with: func(o *occmService) {
		o.edits, o.mode = []edit{tcp(8080), annotated(prefix+"proxy-protocol", "v2")}, corev1.LoadBalancerIPModeProxy
		o.sets(poolsOf, fields{"protocol": "PROXYV2"})
	}},
	{name: "tls", short: true, amphora: true, with: func(o *occmService) {
		ref := o.bundle()
		o.edits = []edit{tcp(8443), annotated(tlsKey, ref)}
		o.sets(listenersOf, fields{"protocol": "TERMINATED_HTTPS", "default_tls_container_ref": ref})
		o.sets(poolsOf, fields{"protocol": "HTTP"})
	}},
}

// corpusConf returns what cloud.conf has for the corpus.
func corpusConf(s *stage) []string {
	return []string{`[LoadBalancerClass "shop"]`, "floating-subnet-id=" + s.cloud.IDs().PublicSubnet}
}

// renumber names listeners and pools as if they had been made for these places in
// spec.ports.
func renumber(o *occmService, balancer fields, places ...int) {
	for i, l := range listenersOf(balancer) {
		l["name"] = cut255(numbered("listener", places[i], o))
		l["default_pool"].(fields)["name"] = cut255(numbered("pool", places[i], o))
	}
}

// numbered is the name that openstack-cloud-controller-manager gives the listener, pool or monitor of a port.
func numbered(kind string, place int, o *occmService) string {
	return kind + "_" + strconv.Itoa(place) + "_" + o.balancerName()
}

// withoutTags takes the tags off listeners, as before Octavia had any.
func withoutTags(balancer fields) {
	for _, l := range listenersOf(balancer) {
		delete(l, "tags")
	}
}

// nameOfOld names listeners, pools and members as long ago.
func nameOfOld(o *occmService, balancer fields) {
	withoutTags(balancer)
	for i, l := range listenersOf(balancer) {
		place := "_" + o.legacyName() + "_" + strconv.Itoa(i)
		pool := l["default_pool"].(fields)
		l["name"], pool["name"] = "listener"+place, "pool"+place
		for _, m := range pool["members"].([]fields) {
			m["name"] = "member" + place + "_" + m["name"].(string)
		}
	}
}

// serialMembers returns those that are made one by one: they say what they are in their names, and
// name no subnet.
func serialMembers(o *occmService) func(fields) {
	return func(balancer fields) {
		for i, p := range poolsOf(balancer) {
			port := o.now().Spec.Ports[i].NodePort
			for _, m := range p["members"].([]fields) {
				m["name"] = cut255("member_" + m["name"].(string) + "_" + m["address"].(string) + "_" + strconv.Itoa(int(port)))
				delete(m, "subnet_id")
			}
		}
	}
}

// offer returns a flavor and an availability zone of the cloud, which are made where there are
// none.
func (o *occmService) offer() (flavorID, zone string) {
	o.t.Helper()
	const name = "test"
	var flavors struct{ Flavors []struct{ ID, Name string } }
	o.cloud.octavia(http.MethodGet, "flavors?name="+name, nil, &flavors)
	if len(flavors.Flavors) > 0 {
		return flavors.Flavors[0].ID, name
	}
	make := func(path, kind string, document fields) string {
		var answer map[string]struct {
			ID string `json:"id"`
		}
		if err := o.cloud.call(asAdmin, cloudsim.LoadBalancer, http.MethodPost, "/v2.0/lbaas/"+path, fields{kind: document}, &answer); err != nil {
			o.t.Fatal(err)
		}
		return answer[kind].ID
	}
	profile := make("flavorprofiles", "flavorprofile", fields{"name": name, "provider_name": "amphora", "flavor_data": `{"loadbalancer_topology": "SINGLE"}`})
	zoneProfile := make("availabilityzoneprofiles", "availability_zone_profile", fields{"name": name, "provider_name": "amphora", "availability_zone_data": `{"compute_zone": "nova"}`})
	make("availabilityzones", "availability_zone", fields{"name": name, "availability_zone_profile_id": zoneProfile})
	return make("flavors", "flavor", fields{"name": name, "flavor_profile_id": profile}), name
}

// makePortIn creates a port of a subnet as a user would.
func (c *cloud) makePortIn(subnet string) (id string) {
	c.t.Helper()
	made := c.portIn(subnet)
	c.made = append(c.made, "ports/"+made.ID)
	return made.ID
}

// addressedPort is a port as its maker sees it.
type addressedPort struct {
	ID        string
	Addresses []struct {
		Address string `json:"ip_address"`
	} `json:"fixed_ips"`
}

// portIn creates a port with an address in the subnet.
func (c *cloud) portIn(subnet string) addressedPort {
	c.t.Helper()
	var answer struct{ Port addressedPort }
	c.neutron(http.MethodPost, "ports", fields{"port": fields{"network_id": c.IDs().PrivateNetwork, "fixed_ips": []fields{{"subnet_id": subnet}}}}, &answer)
	return answer.Port
}
