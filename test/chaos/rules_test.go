// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// Annotations: internalKey makes a Service internal, the others set what its ports do.
const (
	internalKey = "service.beta.kubernetes.io/openstack-internal-load-balancer"
	limitKey    = "loadbalancer.openstack.org/connection-limit"
	timeoutKey  = "loadbalancer.openstack.org/timeout-client-data"
	methodKey   = "loadbalancer.openstack.org/lb-method"
	// proxyKey is for all TCP ports, protocolsKey for those that it names.
	proxyKey      = "loadbalancer.openstack.org/proxy-protocol"
	protocolsKey  = "kube-octavia.io/protocols"
	flavorKey     = "loadbalancer.openstack.org/flavor-id"
	replaceKey    = "loadbalancer.openstack.org/allow-replacement"
	targetTypeKey = "kube-octavia.io/target-type"
	secretKey     = "loadbalancer.openstack.org/tls-secret"
)

// resources are what the cloud has, or must have, for one Service.
type resources struct {
	Balancers int
	// Ports by PROTOCOL/port.
	Ports map[string]openPort
	// Floating is whether a floating IP leads to the VIP, and Unused how many pools have no
	// listener.
	Floating bool
	Unused   int
}

// openPort is one port of a Service.
type openPort struct {
	// Members are address:port, sorted.
	Members []string
	Sticky  bool
	Sources []string
	Status  string
	// Limit, ClientData and Method are those of the annotations, as text.
	Limit, ClientData, Method string
	// Protocols are those of listener and pool.
	Protocols string
}

// protocolsOf returns the protocols of a port of the Service, with the annotations that scenarios
// use.
func protocolsOf(v *corev1.Service, p corev1.ServicePort) string {
	switch {
	case v.Annotations[protocolsKey] == fmt.Sprintf("%d=HTTP", p.Port):
		return "HTTP HTTP"
	case v.Annotations[secretKey] != "" && v.Annotations[protocolsKey] != fmt.Sprintf("%d=TCP", p.Port):
		return "TERMINATED_HTTPS HTTP"
	case v.Annotations[proxyKey] == "true" && p.Protocol == corev1.ProtocolTCP:
		return "TCP PROXY"
	}
	return fmt.Sprintf("%s %s", p.Protocol, p.Protocol)
}

// backends are what may be members: addresses of nodes, and of Pods with their port.
type backends struct{ nodes, pods []string }

// requests reports whether the Service requests a load balancer.
func requests(v *corev1.Service) bool {
	return v.Spec.Type == corev1.ServiceTypeLoadBalancer || hasClusterIPMode(v)
}

// expected returns the resources that a Service requests with these backends. A Service that is nil
// or of another type requests nothing.
func expected(v *corev1.Service, from backends) resources {
	if v == nil || v.DeletionTimestamp != nil || !requests(v) {
		return resources{}
	}
	s := resources{Balancers: 1, Ports: map[string]openPort{}, Floating: v.Spec.Type == corev1.ServiceTypeLoadBalancer && v.Annotations[internalKey] != "true"}
	sources := slices.Sorted(slices.Values(v.Spec.LoadBalancerSourceRanges))
	if len(sources) == 0 {
		sources = []string{"0.0.0.0/0"}
	}
	for _, p := range v.Spec.Ports {
		var members []string
		for _, n := range from.nodes {
			members = append(members, fmt.Sprintf("%s:%d", n, p.NodePort))
		}
		if v.Annotations[targetTypeKey] == "pod" || hasClusterIPMode(v) {
			members = slices.Clone(from.pods)
		}
		slices.Sort(members)
		s.Ports[fmt.Sprintf("%s/%d", p.Protocol, p.Port)] = openPort{
			Members: members, Sticky: v.Spec.SessionAffinity == corev1.ServiceAffinityClientIP, Sources: sources, Status: "ACTIVE",
			Limit:      annotationOr(v, limitKey, "-1"),
			ClientData: annotationOr(v, timeoutKey, "50000"),
			Method:     annotationOr(v, methodKey, "ROUND_ROBIN"),
			Protocols:  protocolsOf(v, p),
		}
	}
	return s
}

// annotationOr returns what the annotation says, or otherwise.
func annotationOr(v *corev1.Service, key, otherwise string) string {
	if value, there := v.Annotations[key]; there {
		return value
	}
	return otherwise
}

// actual returns the resources that the cloud has for the Service with this uid.
func (s state) actual(uid string) resources {
	var have resources
	for _, b := range s.Balancers {
		if !slices.Contains(b.Tags, "kube-octavia.service="+uid) {
			continue
		}
		have.Balancers++
		if have.Ports == nil {
			have.Ports = map[string]openPort{}
		}
		maps.Copy(have.Ports, b.ports())
		have.Unused += len(b.Unused)
		for _, f := range s.FloatingIPs {
			have.Floating = have.Floating || f.Port == b.Port
		}
	}
	return have
}

// ports returns those that the load balancer has open.
func (b balancer) ports() map[string]openPort {
	open := map[string]openPort{}
	for _, l := range b.Listeners {
		o := openPort{Sources: slices.Sorted(slices.Values(l.Sources)), Status: l.Status, Limit: strconv.Itoa(l.Limit), ClientData: strconv.Itoa(l.ClientData)}
		if len(o.Sources) == 0 {
			o.Sources = []string{"0.0.0.0/0"}
		}
		if l.Pool != nil {
			o.Sticky, o.Method = l.Pool.Persistence != nil, l.Pool.Algorithm
			o.Protocols = l.Protocol + " " + l.Pool.Protocol
			for _, m := range l.Pool.Members {
				o.Members = append(o.Members, fmt.Sprintf("%s:%d", m.Address, m.Port))
			}
			slices.Sort(o.Members)
		}
		transport := l.Protocol
		if transport == "HTTP" || transport == "TERMINATED_HTTPS" {
			transport = "TCP"
		}
		open[fmt.Sprintf("%s/%d", transport, l.Port)] = o
	}
	return open
}

// checkServes returns an error if the cloud has less or more than the Service requests.
func (s state) checkServes(v *corev1.Service, from backends) error {
	if v == nil {
		return nil
	}
	want := expected(v, from)
	if d := cmp.Diff(want, s.actual(string(v.UID))); d != "" {
		return fmt.Errorf("the cloud does not have what Service %s requests (-want +have):\n%s", v.Name, d)
	}
	if err := s.checkFlavor(v); err != nil && want.Balancers > 0 {
		return err
	}
	if hasClusterIPMode(v) && want.Balancers > 0 && !s.leadsTo(v.Spec.ClusterIP, string(v.UID)) {
		return fmt.Errorf("the load balancer of Service %s is not at the ClusterIP %s", v.Name, v.Spec.ClusterIP)
	}
	if address := v.Spec.LoadBalancerIP; address != "" && want.Balancers > 0 && !s.leadsTo(address, string(v.UID)) {
		return fmt.Errorf("Service %s does not have the address %s that it requests", v.Name, address)
	}
	return nil
}

// checkFlavor returns an error if the Service's load balancer has another flavor than the
// Service requests.
func (s state) checkFlavor(v *corev1.Service) error {
	for _, b := range s.Balancers {
		if b.ID == v.Annotations[annotation.LoadBalancerID] && b.Flavor != v.Annotations[flavorKey] {
			return fmt.Errorf("load balancer %s has flavor %q, and Service %s requests %q", b.ID, b.Flavor, v.Name, v.Annotations[flavorKey])
		}
	}
	return nil
}

// leadsTo reports whether the Service's load balancer has the address.
func (s state) leadsTo(address, uid string) bool {
	for _, b := range s.Balancers {
		if !slices.Contains(b.Tags, "kube-octavia.service="+uid) {
			continue
		}
		if b.Address == address || slices.ContainsFunc(s.FloatingIPs, func(f floatingIP) bool { return f.Address == address && f.Port == b.Port }) {
			return true
		}
	}
	return false
}

// checkProgrammed returns an error if Programmed is True and the cloud does not have
// everything. Whether members are those of the present nodes, Programmed does not say.
func (s state) checkProgrammed(v *corev1.Service) error {
	if !meta.IsStatusConditionTrue(v.Status.Conditions, status.Programmed) {
		return nil
	}
	want, have := expected(v, backends{}), s.actual(string(v.UID))
	for _, ports := range []map[string]openPort{want.Ports, have.Ports} {
		for key, p := range ports {
			p.Members = nil
			ports[key] = p
		}
	}
	// Another load balancer that is not used yet, or not any more, does not make it wrong.
	have.Balancers = min(have.Balancers, want.Balancers)
	if d := cmp.Diff(want, have); d != "" {
		return fmt.Errorf("Service %s has Programmed=True, and is not (-want +have):\n%s", v.Name, d)
	}
	if err := s.checkFlavor(v); err != nil {
		return fmt.Errorf("Service %s has Programmed=True: %w", v.Name, err)
	}
	for _, b := range s.Balancers {
		if b.ID == v.Annotations[annotation.LoadBalancerID] && b.Status != "ACTIVE" {
			return fmt.Errorf("Service %s has Programmed=True while load balancer %s is in %s", v.Name, b.ID, b.Status)
		}
	}
	return nil
}

// checkUninterrupted returns an error if one of the ports has no listener or no members. If
// the load balancer itself was deleted, there are none.
func (s state) checkUninterrupted(uid string, keys []string) error {
	have := s.actual(uid)
	if have.Balancers == 0 {
		return nil
	}
	for _, key := range keys {
		switch p, open := have.Ports[key]; {
		case !open:
			return fmt.Errorf("port %s must stay open and is closed; open are %s", key, strings.Join(slices.Sorted(maps.Keys(have.Ports)), ", "))
		case len(p.Members) == 0:
			return fmt.Errorf("port %s must stay open and has no members", key)
		}
	}
	return nil
}
