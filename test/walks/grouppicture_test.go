// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
)

// The text of a picture about the security group of the cluster, and about rules for a NodePort that no Service has.
const (
	groupOfNodes   = "security group of the nodes"
	groupOfService = "security group lb-sg-"
	ofNoService    = "of no Service"
)

// withoutNode is the text of a line about the port of a server whose Node is gone.
const withoutNode = "its Node is gone"

// securityGroups adds the security groups of the cluster, their rules, and the groups of the ports of the nodes' servers.
func (ph *photographer) securityGroups(services []corev1.Service) error {
	s := ph.s
	groups, err := s.ownGroups()
	if err != nil {
		return err
	}
	labels, emptied := map[string]string{}, false
	for _, g := range groups {
		name := ph.groupName(g)
		switch {
		case (name == groupOfNodes || strings.HasPrefix(name, groupOfService)) && s.conf[manageGroups] != "true":
			// Who switches managed groups off keeps the group, and its ports keep it: docs/how-to.md.
			labels[g.ID] = ""
			continue
		case strings.HasPrefix(name, groupOfService) && !strings.Contains(name, "<"):
			proven, err := s.provenByPorts(g.ID)
			if err != nil {
				return err
			}
			if !proven {
				// Its Service was deleted while groups were switched off: docs/how-it-works.md, Orphans.
				labels[g.ID] = ""
				continue
			}
		case name == groupOfNodes && len(g.Rules) == 0 && !emptied:
			// The group of the cluster outlives the Services: docs/reliability.md. There is none where there was no Service.
			labels[g.ID], emptied = "", true
			continue
		}
		labels[g.ID] = ph.add(name, ph.replaced(g.Description))
		for _, rule := range g.Rules {
			ph.rule(labels[g.ID], rule, services)
		}
	}
	stay, err := s.groupsStay()
	if err != nil {
		return err
	}
	nodes, err := s.nodeServers()
	if err != nil {
		return err
	}
	for _, one := range s.servers {
		var answer struct{ Port groupedPort }
		if err := s.neutron(http.MethodGet, "ports/"+one.port, nil, &answer); err != nil {
			return err
		}
		var names []string
		for _, id := range answer.Port.Groups {
			label, ours := labels[id]
			switch {
			case !ours:
				names = append(names, s.groupNames[id])
			case label != "" && !stay:
				text := ""
				if !slices.Contains(nodes, one.id) {
					text = withoutNode
				}
				ph.add(label+", port of the server of "+one.node, text)
			}
		}
		if slices.Sort(names); slices.Equal(names, []string{byHand, "default"}) {
			continue // what it has since the beginning
		}
		ph.add("port of the server of "+one.node, strings.Join(names, ", "))
	}
	return nil
}

// provenByPorts reports whether the ports of a group show that it belongs to this cluster: it has some, and all are of nodes.
func (s *stage) provenByPorts(group string) (bool, error) {
	ports, err := s.portsWith(group)
	if err != nil {
		return false, err
	}
	nodes, err := s.nodeServers()
	if err != nil {
		return false, err
	}
	return len(ports) > 0 && !slices.ContainsFunc(ports, func(p groupedPort) bool { return !slices.Contains(nodes, p.Server) }), nil
}

// withoutEmptied returns a picture without the group of the cluster if it shows none of its rules: those that it has
// are for Services that the picture leaves out.
func (p picture) withoutEmptied() picture {
	for line := range p {
		if strings.HasPrefix(line, groupOfNodes+", rule ") {
			return p
		}
	}
	kept := maps.Clone(p)
	maps.DeleteFunc(kept, func(line, _ string) bool { return line == groupOfNodes || strings.HasPrefix(line, groupOfNodes+", ") })
	return kept
}

// groupName returns what a security group is. Its description shows it, whatever its name is.
func (ph *photographer) groupName(g securityGroup) string {
	if strings.HasPrefix(g.Name, "kube-octavia-nodes-") || strings.Contains(ph.replaced(g.Description), "(kube-octavia.cluster=<cluster> ") {
		return groupOfNodes
	}
	return "security group " + ph.replaced(g.Name)
}

// rule adds a rule of a security group.
func (ph *photographer) rule(group string, rule anything, services []corev1.Service) {
	for _, field := range []string{"security_group_id", "standard_attr_id", "normalized_cidr"} {
		delete(rule, field)
	}
	if strings.HasPrefix(group, groupOfService) && slices.ContainsFunc(services, func(v corev1.Service) bool {
		return rule["protocol"] == "tcp" && fmt.Sprint(rule["port_range_min"]) == fmt.Sprint(v.Spec.HealthCheckNodePort)
	}) {
		return // it stays when nothing needs it any more: docs/how-it-works.md
	}
	of := ofNoService
	for _, v := range services {
		// A Service that is refused may still use a NodePort that it closed, and that another one has since.
		if hasFamily(&v, fmt.Sprint(rule["ethertype"])) && hasNodePort(&v, fmt.Sprint(rule["protocol"]), fmt.Sprint(rule["port_range_min"])) {
			of = "of <" + v.Namespace + "/" + v.Name + ">"
		}
	}
	if !ph.placed["load balancer "+of] && rule["remote_ip_prefix"] == secondSubnet {
		// The load balancer stays where it is. Where it was in both subnets, two rules are one here.
		rule["remote_ip_prefix"] = firstSubnet
	}
	if id, ok := rule["remote_group_id"].(string); ok {
		rule["remote_group_id"] = "$group " + ph.s.groupNames[id]
	}
	line := fmt.Sprintf("%s, rule %v %v %v-%v from %v %s", group, rule["direction"], rule["protocol"], rule["port_range_min"], rule["port_range_max"], rule["remote_ip_prefix"], of)
	ph.p[line] = ph.text(rule)
}

// hasFamily reports whether a Service has the IP family.
func hasFamily(v *corev1.Service, ethertype string) bool {
	return slices.Contains(v.Spec.IPFamilies, corev1.IPFamily(ethertype))
}

// hasNodePort reports whether a Service has the port on the nodes.
func hasNodePort(v *corev1.Service, protocol, port string) bool {
	if protocol == "tcp" && port == fmt.Sprint(v.Spec.HealthCheckNodePort) {
		return true
	}
	return slices.ContainsFunc(v.Spec.Ports, func(p corev1.ServicePort) bool {
		return strings.EqualFold(string(p.Protocol), protocol) && port == fmt.Sprint(p.NodePort)
	})
}

// groupsStay reports whether no node takes traffic, as when the only one has address 0.0.0.0. Then ports keep the group that they
// have, whatever node they belonged to: it is more likely that all Nodes are gone by mistake.
func (s *stage) groupsStay() (bool, error) {
	nodes, err := s.client.CoreV1().Nodes().List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return false, err
	}
	for _, family := range []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol} {
		if targets, _ := member.Nodes(nodes.Items, member.Choice{Family: family}); len(targets) > 0 {
			return false, nil
		}
	}
	return true, nil
}
