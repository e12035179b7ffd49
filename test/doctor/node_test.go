// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
)

// withNodes runs the controllers of Nodes, too.
func withNodes(edit func(*setup)) func(*setup) {
	return func(s *setup) {
		s.args = []string{"--controllers=service,node,node-lifecycle"}
		edit(s)
	}
}

// node registers a Node.
func (s *setup) node(name string, edit func(*corev1.Node)) {
	s.t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if edit != nil {
		edit(n)
	}
	_, err := s.kube.CoreV1().Nodes().Create(s.ctx(), n, metav1.CreateOptions{})
	s.must(err)
}

// unmatched is a check that a Node without a port concerns, too.
var unmatched = []doctor.Check{doctor.SecurityGroups}

var ofNodes = []situation{
	{name: "The server of a Node is gone", arise: withNodes(func(s *setup) {
		s.node("gone", func(n *corev1.Node) { n.Spec.ProviderID = "openstack:///" + unusedID })
	}), check: doctor.Nodes, status: doctor.Warning, what: "no server with the provider id of Node gone", do: "openstack server show ID", also: unmatched},
	{name: "A Node has the name of no server", arise: withNodes(func(s *setup) {
		s.node("nobody", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider, Effect: corev1.TaintEffectNoSchedule}}
		})
	}), check: doctor.Nodes, status: doctor.Error, what: "no server of the project has the name of Node nobody", do: "openstack server list", also: unmatched},
	{name: "The provider id of a Node has a wrong form", arise: withNodes(func(s *setup) {
		s.node("odd", func(n *corev1.Node) { n.Spec.ProviderID = "openstack:///node/1" })
	}), check: doctor.Nodes, status: doctor.Error, what: "Node odd", do: "Correct --provider-id of kubelet", also: unmatched},
	{name: "The policy of Nova does not let the project list servers", arise: withNodes(func(s *setup) {
		s.fails(cloudsim.Compute, "/v2.1/servers/detail", http.StatusForbidden, `{"forbidden": {"code": 403, "message": "Policy doesn't allow os_compute_api:servers:detail to be performed."}}`)
	}), check: doctor.Nodes, status: doctor.Error, what: "403", do: "assign a role that may", lie: "--with=nodes"},
	{name: "Access rules do not let the controllers of Nodes list servers", arise: withNodes(rules(read...)),
		check: doctor.Nodes, status: doctor.Error, what: "list servers: 401", do: "credential create --with=nodes`", also: []doctor.Check{doctor.Credentials}},
	{name: "The controller of routes has no router", arise: func(s *setup) { s.args = []string{"--controllers=service,route", "--cluster-cidr=10.244.0.0/16"} },
		check: doctor.Routes, status: doctor.Error, what: "router-id is not set", do: "openstack router list"},
	{name: "The router of the routes does not exist", arise: func(s *setup) {
		s.args = []string{"--controllers=service,route", "--cluster-cidr=10.244.0.0/16"}
		s.balancing("[Route]", "router-id = "+unusedID)
	}, check: doctor.Routes, status: doctor.Error, what: "the project sees no such router", do: "openstack router list"},
}
