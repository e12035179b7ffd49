// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

var (
	noon     = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	webOwner = lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "default", Name: "web", ServiceUID: "uid-1"}
)

// services adapts the Services of the tests.
var services = service.Kind{
	Policy: claim.Policy{ClusterName: "kubernetes", ClusterUID: "c-1", DefaultClass: true},
	Config: config.LoadBalancer{Method: "ROUND_ROBIN"},
}

// web is a Service with one port that has load balancer lb-1.
func web(edits ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-1", Annotations: map[string]string{annotation.LoadBalancerID: "lb-1"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}}},
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func annotated(key, value string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations[key] = value }
}

// publishing gives the Service an address.
func publishing(s *corev1.Service) {
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.7"}}
}

// factsOf returns the facts about a Service with these nodes and without a load balancer.
func factsOf(of *corev1.Service, nodes ...string) Facts {
	owner := services.Owner(of)
	in := desired.Input{Spec: owner.Spec, Config: services.Config, Owner: owner.Identity, Capabilities: lb.Capabilities{Provider: "amphora", APIVersion: lb.Version{Major: 2, Minor: 26}}}
	in.Networks.VIPSubnetID, in.Networks.MemberSubnetID, in.Networks.FloatingNetworkID = "subnet", "subnet", "public"
	for _, address := range nodes {
		in.Nodes = append(in.Nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: address},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}}})
	}
	f := Facts{Now: noon, Timing: timing.Default(), Owner: owner, Capabilities: in.Capabilities, RequestID: "req-9"}
	f.Record.Cloud.Known = true
	f.Desired.Input = in
	f.Desired.Wanted, f.Desired.Err = desired.Wanted(in)
	return f
}

// changed returns the facts after a change of the Service. Nothing is built for it yet.
func (f Facts) changed(to *corev1.Service) Facts {
	f.Owner = services.Owner(to)
	f.Desired.Input.Spec = f.Owner.Spec
	return f
}

// with adds the load balancer, with a floating IP.
func (f Facts) with(l lb.LoadBalancer) Facts {
	f.Record.Cloud = memory.Cloud{Known: true, Confirmed: true, Observed: lb.Observed{LoadBalancer: &l,
		FloatingIPs: []lb.FloatingIP{{ID: "f", Address: "203.0.113.7", PortID: l.VIP.PortID, Description: webOwner.FloatingIPDescription()}}}}
	f.Desired.Input.Found = &l
	if l.ProvisioningStatus == lb.Error {
		f.Desired.Input.Found = nil
	}
	f.Desired.Wanted, f.Desired.Err = desired.Wanted(f.Desired.Input)
	return f
}

// built returns a load balancer in the desired state.
func (f Facts) built(id string, tags ...string) lb.LoadBalancer {
	l := *diff.Clone(lb.Observed{LoadBalancer: f.Desired.Wanted.LoadBalancer}).LoadBalancer
	l.ID, l.ProvisioningStatus, l.VIP, l.Tags = id, lb.Active, lb.VIP{PortID: "port-" + id, SubnetID: "subnet", Address: "10.0.0.5"}, append(webOwner.Tags(), tags...)
	for i := range l.Listeners {
		l.Listeners[i].ID, l.Listeners[i].Pool.ID = "listener-"+id, "pool-"+id
	}
	return l
}

// kinds returns the kinds of the operations.
func kinds(ops []diff.Op) []string {
	all := []string{}
	for _, op := range ops {
		all = append(all, diff.Kind(op))
	}
	return all
}
