// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// protocol is that of a port: towards clients, and towards members.
type protocol struct {
	listener lb.ListenerProtocol
	pool     lb.PoolProtocol
	headers  []string
	tls      *lb.TLS
}

// protocols returns the protocol of each port of the Service. What the cloud does not support is an error: without
// TLS termination a port would be open in clear text, and without the PROXY header, or with an unexpected one,
// members would misread requests.
func (in Input) protocols(o annotation.Options) ([]protocol, error) {
	named, err := in.namedPorts(o.Protocols)
	if err != nil {
		return nil, err
	}
	ports := in.Spec.Ports
	all := make([]protocol, len(ports))
	terminates := false
	for i, port := range ports {
		if named[i] != "" {
			all[i] = byName(named[i], tlsOf(o))
		} else {
			all[i] = byService(port, o)
		}
		terminates = terminates || all[i].listener == lb.ListenerTerminatedHTTPS
		if err := in.checkProtocol(port, all[i]); err != nil {
			return nil, err
		}
	}
	if len(o.SNIContainers) > 0 && !terminates {
		return nil, invalid(ReasonInvalidAnnotation,
			"annotation %s lists certificates but no port terminates TLS; set a port to %s in annotation %s, set annotation %s, or remove this one",
			in.key(annotation.SNIContainers), annotation.PortTerminatedHTTPS, in.key(annotation.ProtocolsKey), in.key(annotation.TLSContainer))
	}
	if err := in.checkHSTS(o, terminates); err != nil {
		return nil, err
	}
	return all, nil
}

// checkHSTS refuses annotations about header Strict-Transport-Security that have no effect together: no client would
// get the header.
func (in Input) checkHSTS(o annotation.Options, terminates bool) error {
	switch {
	case o.HSTS.MaxAge == annotation.NoHSTS && (o.HSTS.IncludeSubdomains || o.HSTS.Preload):
		return invalid(ReasonInvalidAnnotation, "annotation %s extends the header of annotation %s, which is not set; set that, or remove this one",
			strings.Join(in.annotated(annotation.HSTSIncludeSubdomains, annotation.HSTSPreload), " and "), annotation.HSTSMaxAge)
	case o.HSTS.MaxAge != annotation.NoHSTS && !terminates:
		return invalid(ReasonInvalidAnnotation,
			"annotation %s is for ports that terminate TLS, and no port does; set a port to %s in annotation %s, set annotation %s, or remove this one",
			in.key(annotation.HSTSMaxAge), annotation.PortTerminatedHTTPS, in.key(annotation.ProtocolsKey), in.key(annotation.TLSSecret))
	}
	return nil
}

// namedPorts returns the protocol that the annotation sets for each port of the Service, or "". An entry applies to
// all ports of its number or name with the right transport.
func (in Input) namedPorts(asked annotation.Protocols) ([]annotation.PortProtocol, error) {
	ports := in.Spec.Ports
	named := make([]annotation.PortProtocol, len(ports))
	refuse := func(entry annotation.NamedPort, format string, args ...any) error {
		return invalid(ReasonInvalidAnnotation, "annotation %s: %s: %s", in.key(annotation.ProtocolsKey), entry, fmt.Sprintf(format, args...))
	}
	for _, entry := range asked.Ports {
		found := portsCalled(ports, entry.Port)
		if len(found) == 0 {
			return nil, refuse(entry, "the Service has no port %s; it has %s", entry.Port, portNames(ports))
		}
		fits := slices.DeleteFunc(slices.Clone(found), func(i int) bool { return lb.Transport(ports[i].Protocol) != entry.Protocol.Transport() })
		if len(fits) == 0 {
			return nil, refuse(entry, "port %s of the Service uses %s, but protocol %s needs a %s port", entry.Port, ports[found[0]].Protocol, entry.Protocol, entry.Protocol.Transport())
		}
		for _, i := range fits {
			if named[i] != "" {
				return nil, refuse(entry, "the port is already set to %s", named[i])
			}
			named[i] = entry.Protocol
		}
	}
	return named, nil
}

// portsCalled returns the indices of the ports with the number or, if there are none, with the name.
func portsCalled(ports []corev1.ServicePort, called string) []int {
	var numbered, named []int
	for i, p := range ports {
		if strconv.Itoa(int(p.Port)) == called {
			numbered = append(numbered, i)
		}
		if p.Name == called {
			named = append(named, i)
		}
	}
	if len(numbered) > 0 {
		return numbered
	}
	return named
}

func portNames(ports []corev1.ServicePort) string {
	texts := make([]string, len(ports))
	for i, p := range ports {
		texts[i] = strconv.Itoa(int(p.Port))
		if p.Name != "" {
			texts[i] += " (" + p.Name + ")"
		}
	}
	return strings.Join(texts, ", ")
}

// byName returns the protocol for an entry of annotation protocols.
func byName(p annotation.PortProtocol, tls *lb.TLS) protocol {
	switch p {
	case annotation.PortHTTP:
		return protocol{listener: lb.ListenerHTTP, pool: lb.PoolHTTP, headers: []string{lb.HeaderForwardedFor}}
	case annotation.PortTerminatedHTTPS:
		// Members get HTTP and must know that the client uses HTTPS.
		return protocol{listener: lb.ListenerTerminatedHTTPS, pool: lb.PoolHTTP, tls: tls,
			headers: []string{lb.HeaderForwardedFor, lb.HeaderForwardedProto}}
	case annotation.PortProxy:
		return protocol{listener: lb.ListenerTCP, pool: lb.PoolProxy}
	case annotation.PortProxyV2:
		return protocol{listener: lb.ListenerTCP, pool: lb.PoolProxyV2}
	}
	return plain(p.Transport())
}

// plain returns the protocol that forwards traffic unchanged.
func plain(t lb.Transport) protocol {
	return protocol{listener: lb.ListenerProtocol(t), pool: lb.PoolProtocol(t)}
}

// byService returns the protocol of a port from the annotations for the whole Service or, without any and if the
// Service allows that, from its appProtocol. The annotations combine as in openstack-cloud-controller-manager,
// except that UDP and SCTP ports stay plain.
func byService(port corev1.ServicePort, o annotation.Options) protocol {
	p := plain(lb.Transport(port.Protocol))
	if port.Protocol != corev1.ProtocolTCP {
		return p
	}
	if o.XForwardedFor {
		p = byName(annotation.PortHTTP, nil)
	}
	if o.TLSContainer != "" {
		p.listener, p.pool, p.tls = lb.ListenerTerminatedHTTPS, lb.PoolHTTP, tlsOf(o)
	}
	if o.ProxyProtocol != "" {
		p.pool = o.ProxyProtocol
	}
	if p.listener == lb.ListenerTCP && p.pool == lb.PoolTCP && o.Protocols.AppProtocol && speaksHTTP(port.AppProtocol) {
		return byName(annotation.PortHTTP, nil)
	}
	return p
}

// StaysPlain says to which ports the annotations for the whole Service do not apply, because load balancers support
// these features only for TCP. It returns "" if there are no such ports. Features that only the operator's settings
// request are not named, because no user requested them for these ports.
func StaysPlain(s *Spec) string {
	if s == nil {
		return ""
	}
	o := s.Options
	hasCertificate := o.TLSSecret != "" || annotation.Value(s.Annotations, annotation.TLSContainer) != ""
	var lacking []string
	for _, one := range []struct {
		on   bool
		what string
	}{{o.ProxyProtocol != "", "the PROXY protocol"}, {o.XForwardedFor, "header X-Forwarded-For"}, {hasCertificate, "TLS"}} {
		if one.on {
			lacking = append(lacking, one.what)
		}
	}
	named := map[int]bool{}
	for _, n := range o.Protocols.Ports {
		for _, i := range portsCalled(s.Ports, n.Port) {
			named[i] = true
		}
	}
	var plain []corev1.ServicePort
	for i, p := range s.Ports {
		if p.Protocol != corev1.ProtocolTCP && p.Protocol != "" && !named[i] {
			plain = append(plain, p)
		}
	}
	if len(lacking) == 0 || len(plain) == 0 {
		return ""
	}
	return fmt.Sprintf("without %s, which load balancers have only for TCP: ports %s", strings.Join(lacking, " and "), portNames(plain))
}

// speaksHTTP reports whether a listener of protocol HTTP supports the appProtocol. It supports neither those over
// TLS nor HTTP/2 without TLS.
func speaksHTTP(appProtocol *string) bool {
	return appProtocol != nil && (*appProtocol == "http" || *appProtocol == "kubernetes.io/ws")
}

// ThroughLoadBalancer reports whether traffic from Pods and nodes of the cluster to the Service's address must pass
// through the load balancer, because the servers expect a PROXY header, or the clients expect TLS that ends there.
// As in openstack-cloud-controller-manager, it is false for a Service whose TLS certificate is a reference.
func ThroughLoadBalancer(wanted lb.Wanted, options annotation.Options) bool {
	return wanted.LoadBalancer != nil && slices.ContainsFunc(wanted.LoadBalancer.Listeners, func(l lb.Listener) bool {
		return options.TLSSecret != "" && l.TLS != nil || l.Pool != nil && l.Pool.Protocol.Proxy()
	}) || slices.ContainsFunc(options.Protocols.Ports, func(n annotation.NamedPort) bool { return n.Protocol == annotation.PortTerminatedHTTPS })
}

// tlsOf returns nil without a certificate.
func tlsOf(o annotation.Options) *lb.TLS {
	if o.TLSContainer == "" && len(o.SNIContainers) == 0 {
		return nil
	}
	return &lb.TLS{Certificate: o.TLSContainer, SNI: o.SNIContainers}
}

// checkProtocol refuses what the cloud does not support.
func (in Input) checkProtocol(port corev1.ServicePort, p protocol) error {
	needs := []struct {
		wanted  bool
		what    string
		feature lb.Feature
	}{
		{p.listener == lb.ListenerTerminatedHTTPS, "TLS termination at the load balancer", lb.FeatureTLS},
		{p.listener == lb.ListenerHTTP, "HTTP with header " + lb.HeaderForwardedFor, lb.FeatureHTTP},
		{p.pool == lb.PoolProxy, "the PROXY protocol", lb.FeatureProxy},
		{p.pool == lb.PoolProxyV2, "the PROXY protocol, version 2,", lb.FeatureProxyV2},
		{p.listener == lb.ListenerSCTP, "SCTP", lb.FeatureSCTP},
	}
	for _, n := range needs {
		if n.wanted && !in.Capabilities.Has(n.feature) {
			return invalid(ReasonUnsupported, "port %d: %s needs %s", port.Port, n.what, in.needs(n.feature))
		}
	}
	if p.listener == lb.ListenerTerminatedHTTPS && p.tls == nil {
		return invalid(ReasonInvalidAnnotation, "annotation %s: port %d terminates TLS but has no certificate; name one in annotation %s or %s",
			in.key(annotation.ProtocolsKey), port.Port, in.key(annotation.TLSSecret), in.key(annotation.TLSContainer))
	}
	return nil
}
