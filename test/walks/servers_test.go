// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim/nova"
)

// manageGroups is the line of cloud.conf by which the controller manages the security groups of the nodes. From the first time
// that an operator sets it to true, the nodes of the stage are servers with ports.
const manageGroups = "manage-security-groups"

// groupMode is the line of cloud.conf that gives each Service a security group of its own.
const groupMode = "security-group-mode"

// server is the server of a node.
type server struct{ id, node, port string }

// byHand is the name of a security group that a user made. The port of each server has it.
const byHand = "by-hand"

// groupOfOthers is the name of the security group of the nodes of the other cluster.
const groupOfOthers = "kube-octavia-nodes-8f5e2f7c-0000-4000-8000-00000000beef-kube-octavia.io/octavia"

// startServers makes the nodes servers, whose ports have security groups of a person. It does so once.
func (s *stage) startServers() error {
	if s.hasServers {
		return nil
	}
	s.hasServers = true
	if err := s.makeGroupsOfOthers(); err != nil {
		return err
	}
	nodes, err := s.client.CoreV1().Nodes().List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, n := range nodes.Items {
		if err := s.identify(n.Name); err != nil {
			return err
		}
	}
	return nil
}

// identify creates the server of a node unless it exists, and writes its id into the Node, as a cloud controller
// manager does.
func (s *stage) identify(node string) error {
	id, err := s.serverOf(node)
	if err != nil {
		return err
	}
	for {
		n, err := s.client.CoreV1().Nodes().Get(s.ctx, node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		n.Spec.ProviderID = providerID(id)
		if _, err = s.client.CoreV1().Nodes().Update(s.ctx, n, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			return err
		}
	}
}

func providerID(server string) string { return "openstack:///" + server }

// serverOf returns the id of the server of a node, and makes it unless it exists.
func (s *stage) serverOf(node string) (id string, _ error) {
	if i := s.serverIndex(node); i >= 0 {
		return s.servers[i].id, nil
	}
	made, err := s.makeServer(node, nodeAddresses[node], s.group("default"), s.group(byHand))
	if err == nil {
		s.servers = append(s.servers, made)
	}
	return made.id, err
}

func (s *stage) serverIndex(node string) int {
	return slices.IndexFunc(s.servers, func(one server) bool { return one.node == node })
}

// makeServer creates a server whose port has the addresses, which are the words of a text, and these security
// groups.
func (s *stage) makeServer(name, addresses string, groups ...string) (made server, err error) {
	made.node = name
	var all []netip.Addr
	for _, address := range strings.Fields(addresses) {
		all = append(all, netip.MustParseAddr(address))
	}
	if made.id, err = s.cloud.AddServer(name, all...); err != nil {
		return made, err
	}
	var answer struct{ Ports []struct{ ID string } }
	if err := s.neutron(http.MethodGet, "ports?device_id="+made.id, nil, &answer); err != nil {
		return made, err
	}
	made.port = answer.Ports[0].ID
	return made, s.setGroups(made.port, groups)
}

// nodeServers returns the ids of the servers of Nodes.
func (s *stage) nodeServers() (ids []string, _ error) {
	nodes, err := s.client.CoreV1().Nodes().List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, n := range nodes.Items {
		ids = append(ids, strings.TrimPrefix(n.Spec.ProviderID, providerID("")))
	}
	return ids, nil
}

// setGroups sets the security groups of a port.
func (s *stage) setGroups(port string, groups []string) error {
	return s.neutron(http.MethodPut, "ports/"+port, map[string]any{"port": map[string]any{"security_groups": groups}}, nil)
}

// group returns the id of a security group that is not of the controller.
func (s *stage) group(name string) (id string) {
	for id, named := range s.groupNames {
		if named == name {
			return id
		}
	}
	return ""
}

// makeGroupsOfOthers creates the security groups of others: one of a user, and those of another cluster with its
// servers.
func (s *stage) makeGroupsOfOthers() error {
	s.groupNames = map[string]string{}
	for _, one := range []struct{ name, description string }{
		{byHand, ""},
		{groupOfOthers,
			"NodePorts of load balancers of Kubernetes cluster kubernetes (" + otherCluster + " kube-octavia.class=kube-octavia.io/octavia)"},
		{"lb-sg-8f5e2f7c-0000-4000-8000-00000000cafe-shop-web", "Security Group for shop/web Service LoadBalancer in cluster other"},
	} {
		var made struct {
			Group struct{ ID string } `json:"security_group"`
		}
		if err := s.neutron(http.MethodPost, "security-groups", map[string]any{"security_group": map[string]any{"name": one.name, "description": one.description}}, &made); err != nil {
			return err
		}
		if err := s.addRule(made.Group.ID, 22); err != nil {
			return err
		}
		s.groupNames[made.Group.ID] = one.name
	}
	groups, err := s.securityGroups()
	if err != nil {
		return err
	}
	for _, g := range groups {
		if g.Name == "default" {
			s.groupNames[g.ID] = g.Name
		}
		s.others["security-groups/"+g.ID] = ""
	}
	stranger, err := s.makeServer("of-others", "10.20.0.98", slices.Sorted(maps.Keys(s.groupNames))...)
	if err != nil {
		return err
	}
	s.others["ports/"+stranger.port] = ""
	s.others, err = s.othersNow()
	return err
}

// addRule admits TCP to a port from everywhere.
func (s *stage) addRule(group string, port int) error {
	return s.neutron(http.MethodPost, "security-group-rules", map[string]any{"security_group_rule": map[string]any{
		"security_group_id": group, "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "port_range_min": port, "port_range_max": port}}, nil)
}

// changeServer does something to the server of a node, as a user who uses Nova.
func (s *stage) changeServer(a action) error {
	i := s.serverIndex(a.On)
	exists, creates := i >= 0, a.Value == "create"
	if !s.hasServers || exists == creates {
		return errNotPossible
	}
	if creates {
		// The Node, if it is still there, has the id of the server that was deleted.
		_, err := s.serverOf(a.On)
		return err
	}
	id := s.servers[i].id
	switch a.Value {
	case "stop":
		return s.cloud.Nova().Update(id, func(v *nova.Server) { v.Status = "SHUTOFF" })
	case "start":
		return s.cloud.Nova().Update(id, func(v *nova.Server) { v.Status = "ACTIVE" })
	}
	if err := s.cloud.RemoveServer(id); err != nil {
		return err
	}
	s.servers = slices.Delete(s.servers, i, i+1)
	if a.Value == "delete" {
		return nil
	}
	// replace: a new server takes its place, with the same name and address, and registers itself again.
	err := s.client.CoreV1().Nodes().Delete(s.ctx, a.On, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return s.addNode(a.On)
}

// takeServers creates the servers of the nodes of another stage, and returns the Nodes with the ids of
// those.
func (s *stage) takeServers(servers []server, nodes []corev1.Node) ([]corev1.Node, error) {
	ids := map[string]string{}
	for _, one := range servers {
		id, err := s.serverOf(one.node)
		if err != nil {
			return nil, err
		}
		ids[providerID(one.id)] = providerID(id)
	}
	taken := slices.Clone(nodes) // the requests may be made on another stage, too
	for i := range taken {
		if id, known := ids[taken[i].Spec.ProviderID]; known {
			taken[i].Spec.ProviderID = id
		}
	}
	return taken, nil
}

// securityGroup is one as a user sees it.
type securityGroup struct {
	ID, Name, Description string
	Rules                 []anything `json:"security_group_rules"`
}

func (s *stage) securityGroups() ([]securityGroup, error) {
	var answer struct {
		Groups []securityGroup `json:"security_groups"`
	}
	err := s.neutron(http.MethodGet, "security-groups", nil, &answer)
	return answer.Groups, err
}

// ownGroups returns the security groups that are not those of others.
func (s *stage) ownGroups() ([]securityGroup, error) {
	groups, err := s.securityGroups()
	return slices.DeleteFunc(groups, func(g securityGroup) bool { _, other := s.others["security-groups/"+g.ID]; return other }), err
}

// groupedPort is the port of a server.
type groupedPort struct {
	ID     string
	Server string   `json:"device_id"`
	Groups []string `json:"security_groups"`
}

// portsWith returns the ports of the nodes' servers that have the group.
func (s *stage) portsWith(group string) (ports []groupedPort, _ error) {
	for _, one := range s.servers {
		var answer struct{ Port groupedPort }
		if err := s.neutron(http.MethodGet, "ports/"+one.port, nil, &answer); err != nil {
			return nil, err
		}
		if slices.Contains(answer.Port.Groups, group) {
			ports = append(ports, answer.Port)
		}
	}
	return ports, nil
}

// takeOff takes the group off a port.
func (s *stage) takeOff(p groupedPort, group string) error {
	return s.setGroups(p.ID, slices.DeleteFunc(slices.Clone(p.Groups), func(id string) bool { return id == group }))
}

// groupTamperings are what other clients do to a security group of the cluster.
var groupTamperings = map[string]func(*stage, securityGroup) error{
	"group-deleted": func(s *stage, g securityGroup) error {
		ports, err := s.portsWith(g.ID)
		if err != nil {
			return err
		}
		for _, p := range ports {
			if err := s.takeOff(p, g.ID); err != nil {
				return err
			}
		}
		return s.neutron(http.MethodDelete, "security-groups/"+g.ID, nil, nil)
	},
	"group-detached": func(s *stage, g securityGroup) error {
		ports, err := s.portsWith(g.ID)
		if err != nil {
			return err
		}
		if len(ports) == 0 {
			return errNotPossible
		}
		return s.takeOff(ports[0], g.ID)
	},
	"group-renamed": func(s *stage, g securityGroup) error {
		if !strings.HasPrefix(g.Name, "kube-octavia-nodes-") {
			return errNotPossible // only its name shows of which Service it is
		}
		return s.neutron(http.MethodPut, "security-groups/"+g.ID, map[string]any{"security_group": map[string]any{"name": "by hand"}}, nil)
	},
	"group-duplicated": func(s *stage, g securityGroup) error {
		if s.process.running() {
			return errNotPossible // it looks for groups that it does not know when it starts
		}
		return s.neutron(http.MethodPost, "security-groups", map[string]any{"security_group": map[string]any{"name": g.Name, "description": g.Description}}, nil)
	},
	"rule-deleted": func(s *stage, g securityGroup) error {
		if len(g.Rules) == 0 {
			return errNotPossible
		}
		return s.neutron(http.MethodDelete, "security-group-rules/"+fmt.Sprint(g.Rules[0]["id"]), nil, nil)
	},
	"rule-added": func(s *stage, g securityGroup) error { return s.addRule(g.ID, 22) },
	"rule-of-any-form-added": func(s *stage, g securityGroup) error {
		return s.neutron(http.MethodPost, "security-group-rules", map[string]any{"security_group_rule": map[string]any{
			"security_group_id": g.ID, "direction": "egress", "ethertype": "IPv6", "remote_group_id": g.ID}}, nil)
	},
}

// tamperGroup changes the first security group of the cluster, as another client does.
func (s *stage) tamperGroup(a action) error {
	if !s.hasServers {
		return errNotPossible
	}
	groups, err := s.ownGroups()
	if err != nil {
		return err
	}
	do := groupTamperings[a.Value]
	if do == nil || len(groups) == 0 {
		return errNotPossible
	}
	return do(s, groups[0])
}
