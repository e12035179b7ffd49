// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// The NodePorts and the ClusterIPs that are chosen.
const (
	firstNodePort, lastNodePort = 30000, 32767
	serviceRange                = "10.96.0.0/16"
	serviceRangeV6              = "fd00:10:96::/112"
)

// completeService sets the defaults of a Service, checks it, and chooses NodePorts and addresses. Before is nil for a new
// one. It is called with the lock.
func (a *API) completeService(o, before object) error {
	var s, old corev1.Service
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, &s); err != nil {
		return err
	}
	if before != nil {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(before, &old); err != nil {
			return err
		}
		dropWithType(&s, &old)
	}
	setDefaults(&s)
	if why := setFamilies(&s, &old); why != "" {
		return invalid("Service", s.Name, "spec", why)
	}
	if why := checkService(&s, &old, before != nil); why != "" {
		return invalid("Service", s.Name, "spec", why)
	}
	if before != nil {
		a.release(&old)
	}
	if why := a.allocate(&s); why != "" {
		if before != nil {
			a.take(&old)
		}
		return invalid("Service", s.Name, "spec", why)
	}
	a.take(&s)
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&s)
	if err != nil {
		return err
	}
	o["spec"] = spec["spec"]
	if before == nil {
		o["status"] = object{"loadBalancer": object{}}
	}
	return nil
}

// dropWithType drops what the new type does not have, unless the request changes it, as kube-apiserver does.
func dropWithType(s, old *corev1.Service) {
	hadPorts, hasPorts := nodePorts(old), nodePorts(s)
	if hadPorts && !hasPorts {
		for i := range s.Spec.Ports {
			s.Spec.Ports[i].NodePort = 0
		}
	}
	if wasLocal, isLocal := local(old), local(s); wasLocal && !isLocal && s.Spec.HealthCheckNodePort == old.Spec.HealthCheckNodePort {
		s.Spec.HealthCheckNodePort = 0
	}
	if old.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		s.Spec.AllocateLoadBalancerNodePorts, s.Spec.LoadBalancerClass = nil, nil
	}
	if hadPorts && !hasPorts && s.Spec.ExternalTrafficPolicy == old.Spec.ExternalTrafficPolicy {
		s.Spec.ExternalTrafficPolicy = ""
	}
	// The NodePort of a port that stays is kept if the request names none.
	for i, p := range s.Spec.Ports {
		for _, o := range old.Spec.Ports {
			if hasPorts && p.NodePort == 0 && p.Port == o.Port && p.Protocol == o.Protocol {
				s.Spec.Ports[i].NodePort = o.NodePort
			}
		}
	}
}

func nodePorts(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeNodePort || s.Spec.Type == corev1.ServiceTypeLoadBalancer
}

func local(s *corev1.Service) bool {
	return s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

func setDefaults(s *corev1.Service) {
	spec := &s.Spec
	if spec.Type == "" {
		spec.Type = corev1.ServiceTypeClusterIP
	}
	if spec.SessionAffinity == "" {
		spec.SessionAffinity = corev1.ServiceAffinityNone
	}
	if spec.SessionAffinity == corev1.ServiceAffinityNone {
		spec.SessionAffinityConfig = nil
	} else if spec.SessionAffinityConfig == nil {
		spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr.To[int32](10800)}}
	}
	if spec.InternalTrafficPolicy == nil {
		spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyCluster)
	}
	if nodePorts(s) && spec.ExternalTrafficPolicy == "" {
		spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
	}
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer && spec.AllocateLoadBalancerNodePorts == nil {
		spec.AllocateLoadBalancerNodePorts = ptr.To(true)
	}
	for i := range spec.Ports {
		p := &spec.Ports[i]
		if p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
		if p.TargetPort == (intstr.IntOrString{}) {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
}

// checkService says what is wrong; "" for nothing.
func checkService(s, old *corev1.Service, update bool) string {
	spec := s.Spec
	names, ports := map[string]bool{}, map[string]bool{}
	for _, p := range spec.Ports {
		number := fmt.Sprintf("%s/%d", p.Protocol, p.Port)
		switch {
		case p.Port < 1 || p.Port > 65535:
			return "ports: must be between 1 and 65535"
		case ports[number] || names[p.Name] && p.Name != "":
			return "ports: Duplicate value"
		case p.Name == "" && len(spec.Ports) > 1:
			return "ports.name: Required value"
		}
		names[p.Name], ports[number] = true, true
	}
	balancer := spec.Type == corev1.ServiceTypeLoadBalancer
	switch {
	case len(spec.Ports) == 0:
		return "ports: Required value"
	case len(spec.LoadBalancerSourceRanges) > 0 && !balancer:
		return "LoadBalancerSourceRanges: may only be used when `type` is 'LoadBalancer'"
	case spec.LoadBalancerClass != nil && !balancer:
		return "loadBalancerClass: may only be used when `type` is 'LoadBalancer'"
	case spec.AllocateLoadBalancerNodePorts != nil && !balancer:
		return "allocateLoadBalancerNodePorts: may only be used when `type` is 'LoadBalancer'"
	case spec.ExternalTrafficPolicy != "" && !nodePorts(s):
		return "externalTrafficPolicy: may only be set for externally-accessible services"
	case spec.HealthCheckNodePort != 0 && !local(s):
		return "healthCheckNodePort: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
	case update && old.Spec.Type == corev1.ServiceTypeLoadBalancer && balancer && ptr.Deref(old.Spec.LoadBalancerClass, "") != ptr.Deref(spec.LoadBalancerClass, ""):
		return "loadBalancerClass: may not change once set"
	}
	return ""
}

// allocate chooses NodePorts and addresses that the Service lacks; it says what is taken.
func (a *API) allocate(s *corev1.Service) string {
	spec := &s.Spec
	if nodePorts(s) && (s.Spec.Type == corev1.ServiceTypeNodePort || *spec.AllocateLoadBalancerNodePorts) {
		own := map[int64]bool{}
		for i := range spec.Ports {
			p := &spec.Ports[i]
			if p.NodePort == 0 {
				p.NodePort = int32(a.freeNodePort(own))
			}
			if a.nodePorts[int64(p.NodePort)] {
				return "ports.nodePort: provided port is already allocated"
			}
			own[int64(p.NodePort)] = true
		}
		if local(s) && spec.HealthCheckNodePort == 0 {
			spec.HealthCheckNodePort = int32(a.freeNodePort(own))
		}
	}
	for i, family := range spec.IPFamilies {
		if i < len(spec.ClusterIPs) {
			continue
		}
		of := serviceRange
		if family == corev1.IPv6Protocol {
			of = serviceRangeV6
		}
		ip := netip.MustParsePrefix(of).Addr().Next()
		for a.addresses[ip.String()] {
			ip = ip.Next()
		}
		a.addresses[ip.String()] = true
		spec.ClusterIPs = append(spec.ClusterIPs, ip.String())
	}
	spec.ClusterIP = spec.ClusterIPs[0]
	return ""
}

func (a *API) freeNodePort(own map[int64]bool) int64 {
	for p := int64(firstNodePort); p <= lastNodePort; p++ {
		if !a.nodePorts[p] && !own[p] {
			own[p] = true
			return p
		}
	}
	return 0
}

func (a *API) take(s *corev1.Service)    { a.allot(s, true) }
func (a *API) release(s *corev1.Service) { a.allot(s, false) }

// allot marks what the Service has as taken or as free.
func (a *API) allot(s *corev1.Service, taken bool) {
	for _, p := range s.Spec.Ports {
		if p.NodePort != 0 {
			a.nodePorts[int64(p.NodePort)] = taken
		}
	}
	if s.Spec.HealthCheckNodePort != 0 {
		a.nodePorts[int64(s.Spec.HealthCheckNodePort)] = taken
	}
	for _, ip := range s.Spec.ClusterIPs {
		a.addresses[ip] = taken
	}
}

func (a *API) releaseService(k key, o object) {
	if k.resource.Resource != "services" {
		return
	}
	var s corev1.Service
	if runtime.DefaultUnstructuredConverter.FromUnstructured(o, &s) == nil {
		a.release(&s)
	}
}
