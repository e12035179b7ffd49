// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/internal/settings/value"
)

// Spec is what an owner requests of its load balancer, as plain data. The adapter of each kind of owner makes it of the
// object in Kubernetes, once a pass; see package service for Services. A Spec is never changed after that.
type Spec struct {
	// Ports are the ports that clients connect to, and what is behind them on the nodes or in the Pods.
	Ports []corev1.ServicePort
	// Backend is the name of the Service whose EndpointSlices show what is behind the ports.
	Backend string
	// Families are the IP families that are requested: one, or both in the owner's order; none means IPv4.
	Families []corev1.IPFamily
	// RequireDualStack means that the owner is refused rather than served by one of two families.
	RequireDualStack bool
	// SourceRanges are the CIDRs that may connect, as the owner's spec has them. They may be invalid.
	SourceRanges []string
	// SessionAffinity means that the connections of a client go to one member. AffinityTimeoutSeconds is how long a
	// member is kept for a client that is idle; 0 leaves that to Octavia.
	SessionAffinity        bool
	AffinityTimeoutSeconds int
	// LoadBalancerIP is the requested address of the VIP or the floating IP, or "". It may be invalid.
	LoadBalancerIP string
	// ClusterIPs are the addresses in the cluster by family.
	ClusterIPs map[corev1.IPFamily]netip.Addr
	// LocalTraffic means that nodes without an endpoint drop the traffic. HealthCheckNodePort is the port on which nodes
	// then report whether they have an endpoint, or 0.
	LocalTraffic        bool
	HealthCheckNodePort int
	// Annotations are those of the owner, with the keys that the user typed. Options are what they request, over the
	// operator's settings. If there are Problems, the owner is refused because of them, and the options do not count.
	Annotations map[string]string
	Options     annotation.Options
	Problems    []annotation.Problem
}

// SpecOf returns a Spec with what the annotations of an owner request. The defaults are the operator's settings for the
// owner. The adapter adds the rest.
func SpecOf(annotations map[string]string, defaults config.LoadBalancer) *Spec {
	options, problems := annotation.Parse(annotations, defaults)
	return &Spec{Annotations: annotations, Options: options, Problems: problems}
}

// Invalid returns the *Invalid that names all wrong annotations, or nil.
func (s *Spec) Invalid() error {
	if len(s.Problems) == 0 {
		return nil
	}
	texts := make([]string, len(s.Problems))
	for i, p := range s.Problems {
		texts[i] = p.Error()
	}
	reason := ReasonInvalidAnnotation
	if !slices.ContainsFunc(s.Problems, func(p annotation.Problem) bool { return !p.Misspelt }) {
		reason = ReasonMisspeltAnnotation
	}
	return &Invalid{Reason: reason, Message: strings.Join(texts, "; ")}
}

// Selector selects the nodes that become members, whatever else is wrong with the annotations. The error is the
// annotation.Problem because of which it is unknown.
func (s *Spec) Selector() (value.NodeSelector, error) {
	return annotation.Selector(s.Options, s.Problems)
}

// KeepsFloatingIP reports whether the floating IP stays in the project when it is no longer used, whatever else is wrong
// with the annotations.
func (s *Spec) KeepsFloatingIP() bool {
	return annotation.KeepsFloatingIP(s.Annotations, s.Options, s.Problems)
}

// PodTargets reports whether the owner requests Pods as members.
func (s *Spec) PodTargets() bool { return s.Options.TargetType == config.PodTargets }

// RequestsCertificate reports whether the owner requests a certificate.
func (s *Spec) RequestsCertificate() bool {
	return s.Options.TLSContainer != "" || s.Options.TLSSecret != "" || len(s.Options.SNIContainers) > 0
}

// Key returns the key of an annotation as the user typed it, or else that of the table.
func (s *Spec) Key(key string) string { return annotation.TypedKey(s.Annotations, key) }

// NodePorts returns the ports of the owner on the nodes, whether it is served or not.
func (s *Spec) NodePorts() []securitygroup.PortKey {
	var all []securitygroup.PortKey
	for _, p := range s.Ports {
		if p.NodePort != 0 {
			all = append(all, securitygroup.PortKey{Transport: lb.Transport(p.Protocol), Port: int(p.NodePort)})
		}
	}
	if s.HealthCheckNodePort != 0 {
		all = append(all, securitygroup.PortKey{Transport: lb.TCP, Port: s.HealthCheckNodePort})
	}
	return all
}

// FamilyOf returns the IP family of an address.
func FamilyOf(address netip.Addr) corev1.IPFamily {
	if address.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}
