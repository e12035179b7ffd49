// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// PortProtocol is the protocol of a single port.
type PortProtocol string

// The protocols of ports. HTTPS is passed through as TCP.
const (
	PortHTTP            PortProtocol = "HTTP"
	PortTerminatedHTTPS PortProtocol = "TERMINATED_HTTPS"
	PortHTTPS           PortProtocol = "HTTPS"
	PortProxy           PortProtocol = "PROXY"
	PortProxyV2         PortProtocol = "PROXYV2"
	PortTCP             PortProtocol = "TCP"
	PortUDP             PortProtocol = "UDP"
	PortSCTP            PortProtocol = "SCTP"
)

var portProtocols = []PortProtocol{PortHTTP, PortTerminatedHTTPS, PortHTTPS, PortProxy, PortProxyV2, PortTCP, PortUDP, PortSCTP}

// Transport returns the transport protocol that a port of the Service must have for this protocol.
func (p PortProtocol) Transport() lb.Transport {
	if p == PortUDP || p == PortSCTP {
		return lb.Transport(p)
	}
	return lb.TCP
}

// Protocols are the protocols of single ports.
type Protocols struct {
	// Ports are in the order in which they were written.
	Ports []NamedPort
	// AppProtocol means that spec.ports[].appProtocol applies to ports without another setting.
	AppProtocol bool
}

// NamedPort is a port of the Service, by number or name, and its protocol.
type NamedPort struct {
	Port     string
	Protocol PortProtocol
}

// String returns the entry as users write it: "443=TERMINATED_HTTPS".
func (n NamedPort) String() string { return n.Port + "=" + string(n.Protocol) }

// appProtocolEntry is the entry that enables appProtocol.
const appProtocolEntry = "appProtocol"

// protocolEntry matches that entry, or a port, =, and its protocol.
var protocolEntry = regexp.MustCompile(`^(appProtocol|([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)[ \t]*=[ \t]*(` + strings.ReplaceAll(list(portProtocols), ", ", "|") + `))$`)

var mustBeProtocols = "must be " + appProtocolEntry + ", or a port number or name, =, and one of " + list(portProtocols) + "; several are separated by commas"

var protocols = valueType[Protocols]{
	values: "80=HTTP,443=TERMINATED_HTTPS,sql=PROXYV2,53=UDP, or appProtocol",
	rule:   Rule{Kind: "protocols", Right: mustBeProtocols, Part: "p.matches(" + strconv.Quote(protocolEntry.String()) + ")"},
	parse: func(text string) (Protocols, error) {
		var all Protocols
		for _, entry := range strings.Split(text, ",") {
			entry = strings.TrimSpace(entry)
			m := protocolEntry.FindStringSubmatch(entry)
			switch {
			case entry == "":
			case m == nil:
				return Protocols{}, errors.New(mustBeProtocols)
			case entry == appProtocolEntry:
				all.AppProtocol = true
			default:
				all.Ports = append(all.Ports, NamedPort{m[2], PortProtocol(m[4])})
			}
		}
		return all, nil
	},
}

func list[T ~string](words []T) string {
	var all []string
	for _, w := range words {
		all = append(all, string(w))
	}
	return strings.Join(all, ", ")
}

// proxyProtocol is the version of the PROXY protocol with which members learn the client's address,
// or "".
var proxyProtocol = valueType[lb.PoolProtocol]{
	values: "true, v1, v2 or false",
	rule:   Rule{Kind: "proxy protocol", Right: mustBeProxy, Value: `v in ["true", "v1", "v2", "false"]`},
	parse: func(text string) (lb.PoolProtocol, error) {
		switch text {
		case "true", "v1":
			return lb.PoolProxy, nil
		case "v2":
			return lb.PoolProxyV2, nil
		case "false":
			return "", nil
		}
		return "", errors.New(mustBeProxy)
	},
}

const mustBeProxy = "must be true or v1 for version 1, v2 for version 2, or false"

// secretRef is a reference to a certificate with its key. An empty value overrides the operator's.
// The form depends on the operator's container-store.
var secretRef = valueType[string]{
	values: "reference to a Barbican container or secret", emptyCounts: true,
	rule: name.rule, parse: name.parse,
}

var secretName = valueType[string]{
	values: "name of a Secret",
	rule:   Rule{Kind: "Secret", Right: mustBeSecretName, Value: `v.size() <= 253 && v.matches("^` + subdomain + `$")`},
	parse: func(text string) (string, error) {
		if len(validation.IsDNS1123Subdomain(text)) > 0 {
			return "", errors.New(mustBeSecretName)
		}
		return text, nil
	},
}

const mustBeSecretName = "must be the name of a Secret in the Service's namespace, such as web-tls"

var secretRefs = valueType[[]string]{
	values: "references to Barbican containers or secrets, separated by commas",
	rule:   Rule{Kind: "references", Right: mustBeShort, Part: fmt.Sprintf("bytes(p).size() <= %d", longestName)},
	parse: func(text string) ([]string, error) {
		var refs []string
		for _, ref := range strings.Split(text, ",") {
			ref = strings.TrimSpace(ref)
			if len(ref) > longestName {
				return nil, errors.New(mustBeShort)
			}
			if ref != "" && !slices.Contains(refs, ref) {
				refs = append(refs, ref)
			}
		}
		return refs, nil
	},
}

// protocolProblems returns the problems of annotations whose values are valid, but contradict each
// other or the operator's container-store.
func protocolProblems(raw, annotations map[string]string, o Options, operator config.LoadBalancer) []Problem {
	var problems []Problem
	add := func(key, text string) {
		problems = append(problems, Problem{Key: key, Value: annotations[key], Text: text})
	}
	if o.XForwardedFor && o.ProxyProtocol != "" {
		add(XForwardedFor, eitherProxyOrHeader(TypedKey(raw, ProxyProtocol)))
	}
	if operator.ExternalContainers() {
		return problems
	}
	for _, r := range []struct {
		key  string
		refs []string
	}{{TLSContainer, []string{o.TLSContainer}}, {SNIContainers, o.SNIContainers}} {
		_, set := annotations[r.key]
		for _, ref := range r.refs {
			if _, ok := lb.ParseSecretRef(ref); set && ref != "" && !ok {
				add(r.key, fmt.Sprintf("%q must be the address of a container or secret in Barbican, such as https://barbican.example.com/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04", ref))
				break
			}
		}
	}
	return problems
}

// eitherProxyOrHeader returns the text of the problem of two contradicting settings of all ports; proxyKey
// is the key of the other one.
func eitherProxyOrHeader(proxyKey string) string {
	return "cannot be combined with annotation " + proxyKey + "; remove one of them, or set the protocol of each port in " + ProtocolsKey
}

// protocolLines are about the protocols of ports.
var protocolLines = []Annotation{
	set(protocols, func(o *Options) *Protocols { return &o.Protocols }, Annotation{
		Key:      ProtocolsKey,
		Protects: RestrictsAccess,
		Default:  "the next four annotations, or else the transport protocol of each port",
		Doc: "The protocol of individual ports; see [protocols](../service-authors.md#protocols). For these ports it takes precedence over proxy-protocol, x-forwarded-for, default-tls-container-ref and tls-secret. " +
			"With appProtocol in the list, spec.ports[].appProtocol applies to ports that nothing else sets. " +
			"HTTP, TERMINATED_HTTPS, PROXY and PROXYV2 need a provider other than ovn; otherwise the Service is refused.",
	}),
	set(proxyProtocol, func(o *Options) *lb.PoolProtocol { return &o.ProxyProtocol }, Annotation{
		Key:      ProxyProtocol,
		Protects: RestrictsAccess,
		Default:  "false",
		Doc:      "All TCP ports send the client's address to the nodes by the PROXY protocol: true or v1 for version 1, v2 for version 2 (Octavia API version 2.22). The Pods must expect it. UDP and SCTP ports are not affected.",
		Needs:    []lb.Feature{lb.FeatureProxy},
	}),
	set(boolean, func(o *Options) *bool { return &o.XForwardedFor }, Annotation{
		Key:      XForwardedFor,
		Protects: RestrictsAccess,
		Default:  "false",
		Doc:      "All TCP ports use HTTP and add header X-Forwarded-For. Cannot be combined with proxy-protocol. UDP and SCTP ports are not affected.",
		Needs:    []lb.Feature{lb.FeatureHTTP},
	}),
	set(secretRef, func(o *Options) *string { return &o.TLSContainer }, Annotation{
		Key:      TLSContainer,
		Protects: RestrictsAccess,
		Default:  "[LoadBalancer] default-tls-container-ref",
		Doc:      "All TCP ports terminate TLS with this certificate and use HTTP to the nodes. An empty value disables that. UDP and SCTP ports are not affected.",
		Needs:    []lb.Feature{lb.FeatureTLS},
	}),
	set(secretName, func(o *Options) *string { return &o.TLSSecret }, Annotation{
		Key:      TLSSecret,
		Protects: RestrictsAccess,
		Default:  "none",
		Doc: "All TCP ports terminate TLS with the certificate of this Secret of type kubernetes.io/tls in the Service's namespace. kube-octavia stores it in Barbican and updates it when the Secret changes; see [certificates](../service-authors.md#certificates). " +
			"It takes precedence over default-tls-container-ref.",
		Needs: []lb.Feature{lb.FeatureTLS},
	}),
	set(secretRefs, func(o *Options) *[]string { return &o.SNIContainers }, Annotation{
		Key:      SNIContainers,
		Protects: RestrictsAccess,
		Default:  "none",
		Doc:      "Additional certificates for ports that terminate TLS, selected by the host name that the client requests (SNI).",
		Needs:    []lb.Feature{lb.FeatureTLS},
	}),
	set(hstsAge, func(o *Options) *int { return &o.HSTS.MaxAge }, Annotation{
		Key:       HSTSMaxAge,
		Default:   "none, no header",
		Doc:       "Ports that terminate TLS add header Strict-Transport-Security to each answer, so that browsers use only TLS for the host, for this time ([HSTS](../service-authors.md#hsts)). 0: browsers forget it. Other ports are not affected; a Service without a port that terminates TLS is refused.",
		Needs:     []lb.Feature{lb.FeatureHSTS},
		WithoutIt: true,
	}),
	set(boolean, func(o *Options) *bool { return &o.HSTS.IncludeSubdomains }, Annotation{
		Key:       HSTSIncludeSubdomains,
		Default:   "false",
		Doc:       "true: the header of hsts-max-age is for all subdomains of the host, too.",
		Needs:     []lb.Feature{lb.FeatureHSTS},
		WithoutIt: true,
	}),
	set(boolean, func(o *Options) *bool { return &o.HSTS.Preload }, Annotation{
		Key:       HSTSPreload,
		Default:   "false",
		Doc:       "true: the header of hsts-max-age allows browser vendors to add the host to their built-in list.",
		Needs:     []lb.Feature{lb.FeatureHSTS},
		WithoutIt: true,
	}),
}
