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

	"github.com/kube-octavia/kube-octavia/internal/annotation"
)

// scenario is something that becomes of a Service. What is wanted at its end needs
// no words: it is what the Service asks for then, or nothing if it is gone.
type scenario struct {
	name string
	// start makes what is there before; it is served then. Nil starts from nothing.
	start func(*play) error
	// change is what happens.
	change func(*play) error
	// steady are the ports, as PROTOCOL/port, that serve all the while.
	steady []string
	// keeps is whether the floating IP stays the same, and leads somewhere at any moment.
	keeps bool
	// ends is whether the Service has nothing in the cloud when it is over.
	ends bool
	// inherits is whether openstack-cloud-controller-manager makes what is there.
	inherits bool
}

// scenarios are all that there are. A new feature adds what users do with it.
var scenarios = []scenario{
	{name: "create-external", change: create(tcp(80))},
	{name: "create-several-ports", change: create(tcp(80), tcp(443), udp(80))},
	{name: "create-internal", change: create(tcp(80), internal)},
	{name: "create-with-given-floating-ip", start: giveFloatingIP, change: func(p *play) error {
		return create(tcp(80), at(p.given.Address))(p)
	}},
	{name: "add-port", start: create(tcp(80)), change: edit(tcp(81)), steady: []string{"TCP/80"}},
	{name: "remove-port", start: create(tcp(80), tcp(81)), change: edit(without(81)), steady: []string{"TCP/80"}},
	{name: "change-protocol", start: create(tcp(80), tcp(53)), change: edit(without(53), udp(53)), steady: []string{"TCP/80"}},
	{name: "exchange-ports", start: create(tcp(80), tcp(81)), change: edit(without(80), tcp(82)), steady: []string{"TCP/81"}},
	{name: "change-affinity", start: create(tcp(80), tcp(81)), change: edit(sticky), steady: []string{"TCP/80", "TCP/81"}},
	{name: "change-source-ranges", start: create(tcp(80), tcp(81)), change: edit(openTo("192.0.2.0/24", "198.51.100.0/24")),
		steady: []string{"TCP/80", "TCP/81"}},
	{name: "change-settings", start: create(tcp(80), tcp(81)), change: edit(tuned), steady: []string{"TCP/80", "TCP/81"}},
	{name: "proxy-protocol-on", start: create(tcp(80), tcp(81), udp(80)), change: edit(annotated(proxyKey, "true")), steady: []string{"TCP/80", "TCP/81", "UDP/80"}},
	{name: "tcp-to-http", start: create(tcp(80), tcp(81)), change: edit(annotated(protocolsKey, "81=HTTP")), steady: []string{"TCP/80"}},
	{name: "create-with-certificate", start: newCertificate, change: create(encrypted...)},
	{name: "certificate-renewed", start: steps(newCertificate, create(encrypted...)), change: newCertificate, steady: []string{"TCP/80", "TCP/443"}},
	{name: "certificate-not-wanted-any-more", start: steps(newCertificate, create(encrypted...)), change: edit(inTheClear), steady: []string{"TCP/80"}},
	{name: "delete-with-certificate", start: steps(newCertificate, create(encrypted...)), change: remove, ends: true},
	{name: "node-joins", start: create(tcp(80), tcp(81)), change: nodeJoins, steady: []string{"TCP/80", "TCP/81"}},
	{name: "node-leaves", start: steps(nodeJoins, create(tcp(80), tcp(81))), change: nodeLeaves, steady: []string{"TCP/80", "TCP/81"}},
	{name: "external-to-internal", start: create(tcp(80)), change: edit(internal), steady: []string{"TCP/80"}},
	{name: "internal-to-external", start: create(tcp(80), internal), change: edit(external), steady: []string{"TCP/80"}},
	{name: "replace-flavor", start: create(tcp(80), tcp(81), annotated(replaceKey, "true")), change: toFlavor,
		steady: []string{"TCP/80", "TCP/81"}, keeps: true},
	{name: "replace-internal", start: create(tcp(80), internal, annotated(replaceKey, "true")), change: toFlavor, steady: []string{"TCP/80"}},
	{name: "delete", start: create(tcp(80), tcp(81)), change: remove, ends: true},
	{name: "delete-internal", start: create(tcp(80), internal), change: remove, ends: true},
	{name: "delete-keeping-a-given-floating-ip", start: func(p *play) error {
		return steps(giveFloatingIP, func(p *play) error { return create(tcp(80), at(p.given.Address))(p) })(p)
	}, change: remove, ends: true},
	{name: "delete-what-is-gone-already", start: create(tcp(80)), change: steps(deleteBalancer, remove), ends: true},
	{name: "to-cluster-ip", start: create(tcp(80)), change: edit(ofType(corev1.ServiceTypeClusterIP)), ends: true},
	{name: "to-load-balancer", start: create(tcp(80), ofType(corev1.ServiceTypeClusterIP)), change: edit(ofType(corev1.ServiceTypeLoadBalancer))},
	{name: "take-over", start: create(tcp(80), tcp(81), ofType(corev1.ServiceTypeClusterIP)), change: takeOver, inherits: true},
	{name: "change-floating-ip", start: create(tcp(80)), change: steps(giveFloatingIP, func(p *play) error { return edit(at(p.given.Address))(p) }),
		steady: []string{"TCP/80"}},
	{name: "to-cluster-ip-and-back", start: create(tcp(80)),
		change: steps(edit(ofType(corev1.ServiceTypeClusterIP)), edit(ofType(corev1.ServiceTypeLoadBalancer)))},
	{name: "same-name-again", start: create(tcp(80)), change: steps(remove, createWhenGone(tcp(80), tcp(81)))},
}

// steps does one after the other.
func steps(all ...func(*play) error) func(*play) error {
	return func(p *play) error {
		for _, step := range all {
			if err := step(p); err != nil {
				return err
			}
		}
		return nil
	}
}

// serviceName is the name of the Service of every case of the matrix.
const serviceName = "web"

// change is how a Service is to differ.
type change func(*corev1.Service)

// create makes the Service.
func create(changes ...change) func(*play) error {
	return func(p *play) error {
		v := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: p.name, Namespace: p.namespace},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "web"}}}
		for _, c := range changes {
			c(v)
		}
		_, err := p.services().Create(p.ctx, v, metav1.CreateOptions{})
		return err
	}
}

// createWhenGone makes the Service again as soon as its name is free.
func createWhenGone(changes ...change) func(*play) error {
	return func(p *play) error {
		p.later(func() error { return create(changes...)(p) })
		return nil
	}
}

// edit changes the Service, whoever else does so meanwhile.
func edit(changes ...change) func(*play) error {
	return func(p *play) error {
		return p.update(func(v *corev1.Service) {
			for _, c := range changes {
				c(v)
			}
		})
	}
}

// remove deletes the Service.
func remove(p *play) error { return p.services().Delete(p.ctx, p.name, metav1.DeleteOptions{}) }

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

// tuned changes what the Service's listeners and its pools are set to.
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

// joining is the node that comes and goes.
const joining, joiningAddress = "node-3", "10.250.0.13"

func nodeJoins(p *play) error { return p.world.addNode(joining, joiningAddress) }

func nodeLeaves(p *play) error {
	return p.world.client.CoreV1().Nodes().Delete(p.ctx, joining, metav1.DeleteOptions{})
}

// toFlavor asks for a load balancer of the cloud's flavor.
func toFlavor(p *play) error {
	flavor, err := p.world.cloud.flavor()
	if err != nil {
		return err
	}
	return edit(annotated(flavorKey, flavor))(p)
}

// giveFloatingIP makes a floating IP as a person would.
func giveFloatingIP(p *play) error {
	var answer struct{ FloatingIP floatingIP }
	err := p.world.cloud.neutron("POST", "floatingips", map[string]any{"floatingip": map[string]any{
		"floating_network_id": p.world.cloud.publicNetwork(), "description": "by hand",
	}}, &answer)
	p.given = answer.FloatingIP
	return err
}

// deleteBalancer deletes the Service's load balancer by hand.
func deleteBalancer(p *play) error {
	b, err := p.balancer()
	if err != nil {
		return err
	}
	return p.world.cloud.octavia("DELETE", "loadbalancers/"+b.ID+"?cascade=true", nil, nil)
}

// takeOver makes a load balancer and a floating IP as openstack-cloud-controller-manager made
// them long ago, and lets the Service have them: one port is right, one is missing, and one is
// too many.
func takeOver(p *play) error {
	cloud, name := p.world.cloud, "kube_service_kubernetes_"+p.namespace+"_"+p.name
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
		"description": "Kubernetes external service " + p.namespace + "/" + p.name + " from cluster kubernetes",
	}}, &made); err != nil {
		return err
	}
	b := made.LoadBalancer
	if err := p.poll(func() error {
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
		"description": "Floating IP for Kubernetes external service " + p.namespace + "/" + p.name + " from cluster kubernetes",
	}}, &attached); err != nil {
		return err
	}
	if err := edit(ofType(corev1.ServiceTypeLoadBalancer), annotated(annotation.LoadBalancerID, b.ID))(p); err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		v, err := p.services().Get(p.ctx, p.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		v.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: attached.FloatingIP.Address}}
		_, err = p.services().UpdateStatus(p.ctx, v, metav1.UpdateOptions{})
		return err
	})
}
