// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
)

// key sets a key of [LoadBalancer].
func key(of func(*cloud) string) func(*setup) {
	return func(s *setup) { s.balancing(of(s.cloud)) }
}

// closeNodes removes the rule that lets load balancers reach the nodes.
func closeNodes(s *setup) {
	s.do(cloudsim.Network, http.MethodDelete, "/v2.0/security-group-rules/"+s.cloud.rule, nil, nil)
	s.cloud.rule = ""
}

var ofNetworks = []situation{
	{name: "subnet-id is that of nothing", arise: key(func(*cloud) string { return "subnet-id = " + unusedID }),
		check: doctor.Networks, status: doctor.Error, what: "the project sees no such subnet", do: "openstack subnet list", also: []doctor.Check{doctor.SecurityGroups}},
	{name: "subnet-id is in another network", arise: key(func(c *cloud) string { return "network-id = " + c.publicNetwork }),
		check: doctor.Networks, status: doctor.Error, what: "and not in network-id", do: "Remove one of the keys"},
	{name: "network-id is that of a subnet", arise: key(func(c *cloud) string { return "network-id = " + c.subnet }),
		check: doctor.Networks, status: doctor.Error, what: "the project sees no such network", do: "This is the id of a subnet"},
	{name: "floating-network-id is not external", arise: key(func(c *cloud) string { return "floating-network-id = " + c.network }),
		check: doctor.Networks, status: doctor.Error, what: "is not external", do: "openstack network list --external"},
	{name: "floating-subnet-id is in another network", arise: key(func(c *cloud) string { return "floating-subnet-id = " + c.subnet }),
		check: doctor.Networks, status: doctor.Error, what: "is not a subnet of the external network", do: "openstack network show"},
	{name: "additional-subnet-id has the same IP family", arise: key(func(c *cloud) string { return "additional-subnet-id = " + c.subnet }),
		check: doctor.Networks, status: doctor.Error, what: "additional-subnet-id has IPv4", do: "openstack subnet list --network"},
	{name: "member-subnet-id has another IP family than the nodes", arise: key(func(c *cloud) string { return "member-subnet-id = " + c.subnetV6 }),
		check: doctor.Networks, status: doctor.Error, what: "no node has such an address", do: "kubectl get nodes -o wide"},
	{name: "A class has a network that does not exist", arise: key(func(*cloud) string { return "[LoadBalancerClass \"gold\"]\nfloating-network-id = " + unusedID }),
		check: doctor.Networks, status: doctor.Error, what: `[LoadBalancerClass "gold"] floating-network-id`, do: "openstack network list"},
	{name: "No router leads from the subnet to the external network", arise: func(s *setup) { s.balancing("subnet-id = " + s.addSubnet("apart", "10.99.0.0/24", 4)) },
		check: doctor.Networks, status: doctor.Warning, what: "sees no router between subnet", do: "openstack router add subnet"},
	{name: "The subnet of VIPs is full", arise: func(s *setup) {
		s.allocateFrom("10.98.0.240", "10.98.0.240")
		s.addPort(nil)
	}, check: doctor.Addresses, status: doctor.Error, what: "0 free addresses", do: "openstack subnet set --allocation-pool"},
	{name: "The quota of load balancers is used up", arise: func(s *setup) {
		s.limit(cloudsim.LoadBalancer, "/v2.0/lbaas/quotas/", map[string]any{"load_balancer": 1, "listener": -1, "pool": -1, "member": -1, "health_monitor": -1})
		s.create("api", nil)
	}, check: doctor.Quotas, status: doctor.Error, what: "1 of 1 load balancers, and the Services without a load balancer need 1", do: "openstack loadbalancer quota set --loadbalancer"},
	{name: "The quota of floating IPs is 0", arise: func(s *setup) { s.limit(cloudsim.Network, "/v2.0/quotas/", map[string]any{"floatingip": 0}) },
		check: doctor.Quotas, status: doctor.Error, what: "of 0 floating IPs", do: "openstack quota set --floating-ips"},
	{name: "One NodePort is closed", arise: closeNodes,
		check: doctor.SecurityGroups, status: doctor.Error, what: "do not admit NodePort", do: "--protocol tcp --dst-port 3"},
	{name: "Twelve NodePorts are closed", arise: func(s *setup) {
		closeNodes(s)
		s.change(s.web, func(web *corev1.Service) {
			for i := range 11 {
				web.Spec.Ports = append(web.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", i), Port: int32(8000 + i), Protocol: corev1.ProtocolTCP})
			}
		})
	}, check: doctor.SecurityGroups, status: doctor.Error, what: "and 11 more (tcp)", do: "--dst-port 30000:32767"},
	{name: "NodePorts are closed, and there is no Service yet", arise: func(s *setup) {
		closeNodes(s)
		s.must(s.kube.CoreV1().Services(s.web.Namespace).Delete(s.ctx(), s.web.Name, metav1.DeleteOptions{}))
		s.deleteBalancer(s.balancer)
	}, check: doctor.SecurityGroups, status: doctor.Warning, what: "do not admit the NodePorts 30000-32767", do: "--dst-port 30000:32767"},
	{name: "A node is no server of the project", arise: func(s *setup) {
		node, err := s.kube.CoreV1().Nodes().Create(s.ctx(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}}, metav1.CreateOptions{})
		s.must(err)
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}}
		_, err = s.kube.CoreV1().Nodes().UpdateStatus(s.ctx(), node, metav1.UpdateOptions{})
		s.must(err)
	}, check: doctor.SecurityGroups, status: doctor.Unknown, what: "no port with the address of node elsewhere", do: "the project of cloud.conf with that of the servers"},
}
