// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// scenario is a change of a Service. What is expected at its end is not written down: it is
// what the Service requests then, or nothing if it is gone.
type scenario struct {
	name string
	// start creates what exists before. Nil starts with nothing.
	start func(*run) error
	// change makes the change.
	change func(*run) error
	// unchanged are the ports, as PROTOCOL/port, that must not be interrupted.
	unchanged []string
	// keepsFloatingIP is whether the floating IP stays the same, and leads to the Service at
	// any moment.
	keepsFloatingIP bool
	// leavesNothing is whether the Service has nothing in the cloud at the end.
	leavesNothing bool
	// fromOCCM is whether the load balancer is one of openstack-cloud-controller-manager.
	fromOCCM bool
}

// scenarios are all scenarios. A new feature adds its own.
var scenarios = []scenario{
	{name: "create-external", change: create(tcp(80))},
	{name: "create-several-ports", change: create(tcp(80), tcp(443), udp(80))},
	{name: "create-internal", change: create(tcp(80), internal)},
	{name: "create-with-given-floating-ip", start: giveFloatingIP, change: func(r *run) error {
		return create(tcp(80), at(r.given.Address))(r)
	}},
	{name: "add-port", start: create(tcp(80)), change: edit(tcp(81)), unchanged: []string{"TCP/80"}},
	{name: "remove-port", start: create(tcp(80), tcp(81)), change: edit(without(81)), unchanged: []string{"TCP/80"}},
	{name: "change-protocol", start: create(tcp(80), tcp(53)), change: edit(without(53), udp(53)), unchanged: []string{"TCP/80"}},
	{name: "exchange-ports", start: create(tcp(80), tcp(81)), change: edit(without(80), tcp(82)), unchanged: []string{"TCP/81"}},
	{name: "change-affinity", start: create(tcp(80), tcp(81)), change: edit(sticky), unchanged: []string{"TCP/80", "TCP/81"}},
	{name: "change-source-ranges", start: create(tcp(80), tcp(81)), change: edit(openTo("192.0.2.0/24", "198.51.100.0/24")),
		unchanged: []string{"TCP/80", "TCP/81"}},
	{name: "change-settings", start: create(tcp(80), tcp(81)), change: edit(tuned), unchanged: []string{"TCP/80", "TCP/81"}},
	{name: "proxy-protocol-on", start: create(tcp(80), tcp(81), udp(80)), change: edit(annotated(proxyKey, "true")), unchanged: []string{"TCP/80", "TCP/81", "UDP/80"}},
	{name: "tcp-to-http", start: create(tcp(80), tcp(81)), change: edit(annotated(protocolsKey, "81=HTTP")), unchanged: []string{"TCP/80"}},
	{name: "create-with-certificate", start: newCertificate, change: create(tlsPorts...)},
	{name: "certificate-renewed", start: steps(newCertificate, create(tlsPorts...)), change: newCertificate, unchanged: []string{"TCP/80", "TCP/443"}},
	{name: "certificate-not-wanted-any-more", start: steps(newCertificate, create(tlsPorts...)), change: edit(withoutTLS), unchanged: []string{"TCP/80"}},
	{name: "delete-with-certificate", start: steps(newCertificate, create(tlsPorts...)), change: remove, leavesNothing: true},
	{name: "node-joins", start: create(tcp(80), tcp(81)), change: nodeJoins, unchanged: []string{"TCP/80", "TCP/81"}},
	{name: "node-leaves", start: steps(nodeJoins, create(tcp(80), tcp(81))), change: nodeLeaves, unchanged: []string{"TCP/80", "TCP/81"}},
	{name: "pods-replaced", start: steps(podsAre("10.244.0.1", "10.244.0.2"), create(tcp(80), tcp(81), toPods)),
		change: steps(podsAre("10.244.0.2", "10.244.0.3"), podsAre("10.244.0.3", "10.244.0.4")), unchanged: []string{"TCP/80", "TCP/81"}},
	{name: "nodes-to-pods", start: steps(podsAre("10.244.0.1", "10.244.0.2"), create(tcp(80), tcp(81))), change: edit(toPods), unchanged: []string{"TCP/80", "TCP/81"}},
	{name: "pods-to-nodes", start: steps(podsAre("10.244.0.1", "10.244.0.2"), create(tcp(80), tcp(81), toPods)),
		change: edit(annotated(targetTypeKey, "node")), unchanged: []string{"TCP/80", "TCP/81"}},
	{name: "delete-with-pods", start: steps(podsAre("10.244.0.1"), create(tcp(80), toPods)), change: remove, leavesNothing: true},
	{name: "create-with-gated-pods", start: gatedPods("10.244.0.1", "10.244.0.2"), change: create(tcp(80), tcp(81), toPods)},
	{name: "create-at-cluster-ip", start: podsAre("10.244.0.1", "10.244.0.2"), change: create(tcp(80), tcp(81), atClusterIP)},
	{name: "pods-replaced-at-cluster-ip", start: steps(podsAre("10.244.0.1", "10.244.0.2"), create(tcp(80), tcp(81), atClusterIP)),
		change: steps(podsAre("10.244.0.2", "10.244.0.3"), podsAre("10.244.0.3", "10.244.0.4")), unchanged: []string{"TCP/80", "TCP/81"}},
	{name: "delete-at-cluster-ip", start: steps(podsAre("10.244.0.1"), create(tcp(80), atClusterIP)), change: remove, leavesNothing: true},
	{name: "at-cluster-ip-becomes-external", start: steps(podsAre("10.244.0.1", "10.244.0.2"), create(tcp(80), atClusterIP)),
		change: edit(ofType(corev1.ServiceTypeLoadBalancer)), unchanged: []string{"TCP/80"}},
	{name: "no-longer-at-cluster-ip", start: steps(podsAre("10.244.0.1"), create(tcp(80), atClusterIP)), change: edit(notSelected), leavesNothing: true},
	{name: "external-to-internal", start: create(tcp(80)), change: edit(internal), unchanged: []string{"TCP/80"}},
	{name: "internal-to-external", start: create(tcp(80), internal), change: edit(external), unchanged: []string{"TCP/80"}},
	{name: "replace-flavor", start: create(tcp(80), tcp(81), annotated(replaceKey, "true")), change: requestFlavor,
		unchanged: []string{"TCP/80", "TCP/81"}, keepsFloatingIP: true},
	{name: "replace-internal", start: create(tcp(80), internal, annotated(replaceKey, "true")), change: requestFlavor, unchanged: []string{"TCP/80"}},
	{name: "delete", start: create(tcp(80), tcp(81)), change: remove, leavesNothing: true},
	{name: "delete-internal", start: create(tcp(80), internal), change: remove, leavesNothing: true},
	{name: "delete-keeping-a-given-floating-ip", start: func(r *run) error {
		return steps(giveFloatingIP, func(r *run) error { return create(tcp(80), at(r.given.Address))(r) })(r)
	}, change: remove, leavesNothing: true},
	{name: "delete-what-is-gone-already", start: create(tcp(80)), change: steps(deleteBalancer, remove), leavesNothing: true},
	{name: "to-cluster-ip", start: create(tcp(80)), change: edit(ofType(corev1.ServiceTypeClusterIP)), leavesNothing: true},
	{name: "to-load-balancer", start: create(tcp(80), ofType(corev1.ServiceTypeClusterIP)), change: edit(ofType(corev1.ServiceTypeLoadBalancer))},
	{name: "take-over", start: create(tcp(80), tcp(81), ofType(corev1.ServiceTypeClusterIP)), change: takeOver, fromOCCM: true},
	{name: "change-floating-ip", start: create(tcp(80)), change: steps(giveFloatingIP, func(r *run) error { return edit(at(r.given.Address))(r) }),
		unchanged: []string{"TCP/80"}},
	{name: "to-cluster-ip-and-back", start: create(tcp(80)),
		change: steps(edit(ofType(corev1.ServiceTypeClusterIP)), edit(ofType(corev1.ServiceTypeLoadBalancer)))},
	{name: "same-name-again", start: create(tcp(80)), change: steps(remove, createWhenGone(tcp(80), tcp(81)))},
}

// steps calls the functions one after the other.
func steps(all ...func(*run) error) func(*run) error {
	return func(r *run) error {
		for _, step := range all {
			if err := step(r); err != nil {
				return err
			}
		}
		return nil
	}
}

// serviceName is the name of the Service of every case of the matrix.
const serviceName = "web"

// change changes a field of a Service.
type change func(*corev1.Service)

// create creates the Service.
func create(changes ...change) func(*run) error {
	return func(r *run) error {
		v := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: r.name, Namespace: r.namespace},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "web"}}}
		for _, c := range changes {
			c(v)
		}
		_, err := r.services().Create(r.ctx, v, metav1.CreateOptions{})
		return err
	}
}

// createWhenGone creates the Service again as soon as its name is free.
func createWhenGone(changes ...change) func(*run) error {
	return func(r *run) error {
		r.keepTrying(func() error { return create(changes...)(r) })
		return nil
	}
}

// edit changes the Service, and repeats it after a conflict.
func edit(changes ...change) func(*run) error {
	return func(r *run) error {
		return r.update(func(v *corev1.Service) {
			for _, c := range changes {
				c(v)
			}
		})
	}
}

// remove deletes the Service, or whatever the owner is.
func remove(r *run) error {
	if r.ofAnotherKind {
		return r.configMaps().Delete(r.ctx, r.name, metav1.DeleteOptions{})
	}
	return r.services().Delete(r.ctx, r.name, metav1.DeleteOptions{})
}

func tcp(port int32) change { return open(corev1.ProtocolTCP, port) }
func udp(port int32) change { return open(corev1.ProtocolUDP, port) }

func open(protocol corev1.Protocol, port int32) change {
	return func(v *corev1.Service) {
		v.Spec.Ports = append(v.Spec.Ports, corev1.ServicePort{
			Name: fmt.Sprintf("%s-%d", strings.ToLower(string(protocol)), port), Protocol: protocol, Port: port, TargetPort: intstr.FromInt32(port),
		})
	}
}

func without(port int32) change {
	return func(v *corev1.Service) {
		v.Spec.Ports = slices.DeleteFunc(v.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port })
	}
}

func internal(v *corev1.Service) { metav1.SetMetaDataAnnotation(&v.ObjectMeta, internalKey, "true") }
func external(v *corev1.Service) { delete(v.Annotations, internalKey) }
func sticky(v *corev1.Service)   { v.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }

// tuned changes the settings of listeners and pools.
func tuned(v *corev1.Service) {
	for key, value := range map[string]string{limitKey: "1000", timeoutKey: "600000", methodKey: "LEAST_CONNECTIONS"} {
		metav1.SetMetaDataAnnotation(&v.ObjectMeta, key, value)
	}
}

func annotated(key, value string) change {
	return func(v *corev1.Service) { metav1.SetMetaDataAnnotation(&v.ObjectMeta, key, value) }
}

func at(address string) change { return func(v *corev1.Service) { v.Spec.LoadBalancerIP = address } }

func openTo(cidrs ...string) change {
	return func(v *corev1.Service) { v.Spec.LoadBalancerSourceRanges = cidrs }
}

func ofType(t corev1.ServiceType) change {
	return func(v *corev1.Service) {
		v.Spec.Type = t
		if t == corev1.ServiceTypeClusterIP {
			for i := range v.Spec.Ports {
				v.Spec.Ports[i].NodePort = 0
			}
		}
	}
}

// joiningNode is the node that joins and leaves.
const joiningNode, joiningAddress = "node-3", "10.250.0.13"

func nodeJoins(r *run) error { return r.env.addNode(joiningNode, joiningAddress) }

func nodeLeaves(r *run) error {
	return r.env.client.CoreV1().Nodes().Delete(r.ctx, joiningNode, metav1.DeleteOptions{})
}

// requestFlavor requests a load balancer of the cloud's flavor.
func requestFlavor(r *run) error {
	flavor, err := r.env.cloud.flavor()
	if err != nil {
		return err
	}
	return edit(annotated(flavorKey, flavor))(r)
}

// giveFloatingIP creates a floating IP by hand.
func giveFloatingIP(r *run) error {
	var answer struct{ FloatingIP floatingIP }
	err := r.env.cloud.neutron("POST", "floatingips", map[string]any{"floatingip": map[string]any{
		"floating_network_id": r.env.cloud.publicNetwork(), "description": "by hand",
	}}, &answer)
	r.given = answer.FloatingIP
	return err
}

// deleteBalancer deletes the Service's load balancer by hand.
func deleteBalancer(r *run) error {
	b, err := r.balancer()
	if err != nil {
		return err
	}
	return r.env.cloud.octavia("DELETE", "loadbalancers/"+b.ID+"?cascade=true", nil, nil)
}

// takeOver creates a load balancer and a floating IP as openstack-cloud-controller-manager
// does, and names them in the Service: one port is right, one is missing, and one is too many.
func takeOver(r *run) error {
	cloud, name := r.env.cloud, "kube_service_kubernetes_"+r.namespace+"_"+r.name
	listeners := []map[string]any{}
	for i, port := range []int{80, 82} {
		listeners = append(listeners, map[string]any{
			"name": fmt.Sprintf("listener_%d_%s", i, name), "protocol": "TCP", "protocol_port": port, "tags": []string{name},
			"default_pool": map[string]any{"name": fmt.Sprintf("pool_%d_%s", i, name), "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"},
		})
	}
	var made struct{ LoadBalancer balancer }
	if err := cloud.octavia("POST", "loadbalancers", map[string]any{"loadbalancer": map[string]any{
		"name": name, "vip_subnet_id": cloud.subnet(), "tags": []string{name}, "listeners": listeners,
		"description": "Kubernetes external service " + r.namespace + "/" + r.name + " from cluster kubernetes",
	}}, &made); err != nil {
		return err
	}
	b := made.LoadBalancer
	if err := r.poll(func() error {
		var now struct{ LoadBalancer balancer }
		if err := cloud.octavia("GET", "loadbalancers/"+b.ID, nil, &now); err != nil || now.LoadBalancer.Status != "ACTIVE" {
			return fmt.Errorf("load balancer %s is %s: %w", b.ID, now.LoadBalancer.Status, err)
		}
		return nil
	}); err != nil {
		return err
	}
	var attached struct{ FloatingIP floatingIP }
	if err := cloud.neutron("POST", "floatingips", map[string]any{"floatingip": map[string]any{
		"floating_network_id": cloud.publicNetwork(), "port_id": b.Port,
		"description": "Floating IP for Kubernetes external service " + r.namespace + "/" + r.name + " from cluster kubernetes",
	}}, &attached); err != nil {
		return err
	}
	if err := edit(ofType(corev1.ServiceTypeLoadBalancer), annotated(annotation.LoadBalancerID, b.ID))(r); err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		v, err := r.services().Get(r.ctx, r.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		v.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: attached.FloatingIP.Address}}
		_, err = r.services().UpdateStatus(r.ctx, v, metav1.UpdateOptions{})
		return err
	})
}
