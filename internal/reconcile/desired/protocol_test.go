// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

const (
	refA = "https://barbican.example.com/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	refB = "https://barbican.example.com/v1/secrets/4a1c2b90-0c5d-4e8e-9d43-7b1c2a6f5e04"
)

var (
	proxyV1     = annotate(annotation.ProxyProtocol, "true")
	proxyV2     = annotate(annotation.ProxyProtocol, "v2")
	forwarded   = annotate(annotation.XForwardedFor, "true")
	certificate = annotate(annotation.TLSContainer, refA)
	hosts       = annotate(annotation.SNIContainers, refB)
	secret      = annotate(annotation.TLSSecret, "web-tls")
	hsts        = annotate(annotation.HSTSMaxAge, "31536000")
	subdomains  = annotate(annotation.HSTSIncludeSubdomains, "true")
	preload     = annotate(annotation.HSTSPreload, "true")
)

// stored is the reference to the certificate of the Secret.
func stored(in *Input) { in.Certificate.Certificate = lb.Certificate{Name: "name-of-it", Ref: refB} }

func asked(value string) change { return annotate(annotation.ProtocolsKey, value) }

func called(name string, p corev1.ServicePort) corev1.ServicePort {
	p.Name = name
	return p
}

func speaking(appProtocol string, p corev1.ServicePort) corev1.ServicePort {
	p.AppProtocol = ptr.To(appProtocol)
	return p
}

// Each case is a sentence and a golden file that shows what it means.
func TestProtocolsOfPorts(t *testing.T) {
	tcp, udp, sctp := corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP
	quic := ports(port(tcp, 443, 30443), port(udp, 443, 30444), port(sctp, 36412, 30412))
	for name, in := range map[string]Input{
		"proxy_protocol_is_for_tcp_ports_only":               input(quic, proxyV1),
		"proxy_protocol_version_2":                           input(quic, proxyV2),
		"x_forwarded_for_is_for_tcp_ports_only":              input(quic, forwarded),
		"a_certificate_is_for_tcp_ports_only":                input(quic, certificate),
		"a_certificate_with_x_forwarded_for":                 input(certificate, forwarded),
		"a_certificate_with_proxy_protocol":                  input(certificate, proxyV1),
		"certificates_for_hosts":                             input(certificate, hosts),
		"hsts_is_for_ports_that_terminate_tls":               input(asked("80=HTTP,443=TERMINATED_HTTPS"), certificate, ports(port(tcp, 80, 30080), port(tcp, 443, 30443), port(udp, 443, 30444)), hsts, subdomains, preload, apiVersion(27)),
		"an_hsts_age_of_0_is_sent":                           input(certificate, annotate(annotation.HSTSMaxAge, "0"), apiVersion(27)),
		"no_hsts_before_2_27":                                input(certificate, hsts, preload, apiVersion(26)),
		"the_certificate_of_cloud_conf":                      input(func(in *Input) { in.Config.TLSContainer = refA }),
		"the_certificate_of_a_secret":                        input(secret, certificate, stored),
		"the_certificate_of_a_secret_that_is_not_stored_yet": input(secret, asked("443=TERMINATED_HTTPS,80=TCP"), hosts, quic, ports(port(tcp, 443, 30443), port(tcp, 80, 30080)), func(in *Input) { in.Certificate.Name = "name-of-it" }),
		"an_empty_reference_overrules_cloud_conf":            input(annotate(annotation.TLSContainer, ""), func(in *Input) { in.Config.TLSContainer = refA }),
		"ports_by_number_and_name":                           input(asked("80=HTTP, sql=PROXYV2,443=TERMINATED_HTTPS,443=UDP, 8443=HTTPS,8081=PROXY,8082=TCP"), certificate, ports(port(tcp, 80, 30080), called("sql", port(tcp, 5432, 30432)), port(tcp, 443, 30443), port(udp, 443, 30444), port(tcp, 8443, 30445), port(tcp, 8081, 30081), port(tcp, 8082, 30082))),
		"a_named_port_wins_over_what_is_said_of_all":         input(asked("80=HTTP"), proxyV1, ports(port(tcp, 80, 30080), port(tcp, 81, 30081))),
		"certificates_for_hosts_are_enough_for_a_named_one":  input(asked("80=TERMINATED_HTTPS"), hosts),
		"app_protocol_counts_when_asked_for": input(asked("appProtocol,81=TCP"), ports(speaking("http", port(tcp, 80, 30080)), speaking("http", port(tcp, 81, 30081)), speaking("kubernetes.io/ws", port(tcp, 82, 30082)),
			speaking("https", port(tcp, 83, 30083)), speaking("kubernetes.io/h2c", port(tcp, 84, 30084)), speaking("http", port(udp, 85, 30085)), port(tcp, 86, 30086))),
		"app_protocol_yields_to_what_is_said_of_all":                   input(asked("appProtocol"), proxyV1, ports(speaking("http", port(tcp, 80, 30080)))),
		"app_protocol_does_not_count_unless_asked_for":                 input(ports(speaking("http", port(tcp, 80, 30080)))),
		"sctp_ports_have_monitors_of_their_own":                        input(quic, annotate(keyMonitor, "true"), affinity(600)),
		"local_sctp_ports_with_a_monitor_ask_each_node_for_its_health": input(quic, local, annotate(keyMonitor, "true")),
		"monitors_of_proxy_ports_look_at_the_node_ports":               input(proxyV1, annotate(keyMonitor, "true")),
		"sctp_ports_of_ovn_have_no_monitors":                           input(quic, annotate(keyMonitor, "true"), provider(lb.ProviderOVN)),
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := Wanted(in)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name, wanted)
		})
	}
}

// openstack-cloud-controller-manager requests the PROXY protocol for UDP ports, too, which makes Octavia reject the
// whole Service.
func TestUDPPortsOfAProxyProtocolServiceStayPlain(t *testing.T) {
	for _, all := range []change{proxyV1, proxyV2, forwarded, certificate} {
		wanted, err := Wanted(input(all, ports(port(corev1.ProtocolTCP, 443, 30443), port(corev1.ProtocolUDP, 443, 30444), port(corev1.ProtocolSCTP, 443, 30445))))
		if err != nil {
			t.Fatal(err)
		}
		for i, plain := range []lb.Transport{lb.UDP, lb.SCTP} {
			l := wanted.LoadBalancer.Listeners[i+1]
			if l.Protocol != lb.ListenerProtocol(plain) || l.Pool.Protocol != lb.PoolProtocol(plain) || l.TLS != nil || l.InsertHeaders != nil {
				t.Errorf("%s/443 is %+v with pool %+v", plain, l, l.Pool)
			}
		}
		if wanted.LoadBalancer.Listeners[0].Pool.Protocol == lb.PoolTCP {
			t.Error("TCP/443 is as it would be without the annotation")
		}
	}
}

func TestPortsWithAnUnsupportedProtocolAreRefused(t *testing.T) {
	tcp, udp := corev1.ProtocolTCP, corev1.ProtocolUDP
	both := ports(called("web", port(tcp, 80, 30080)), port(udp, 53, 30053))
	ovn := provider(lb.ProviderOVN)
	for name, c := range map[string]struct {
		in     Input
		reason string
		text   []string
	}{
		"a port that is not there":           {input(asked("81=HTTP"), both), ReasonInvalidAnnotation, []string{annotation.ProtocolsKey, "81=HTTP", "no port 81", "80 (web), 53"}},
		"HTTP over UDP":                      {input(asked("53=HTTP"), both), ReasonInvalidAnnotation, []string{"53=HTTP", "uses UDP", "needs a TCP port"}},
		"UDP over TCP":                       {input(asked("web=UDP"), both), ReasonInvalidAnnotation, []string{"web=UDP", "uses TCP", "needs a UDP port"}},
		"a port named twice":                 {input(asked("80=HTTP,web=PROXY"), both), ReasonInvalidAnnotation, []string{"web=PROXY", "already set to HTTP"}},
		"a port that ends TLS without":       {input(asked("80=TERMINATED_HTTPS")), ReasonInvalidAnnotation, []string{"port 80", "no certificate", annotation.TLSContainer}},
		"certificates that no port presents": {input(hosts), ReasonInvalidAnnotation, []string{annotation.SNIContainers, "no port terminates TLS"}},
		"HSTS without TLS":                   {input(hsts, apiVersion(27)), ReasonInvalidAnnotation, []string{annotation.HSTSMaxAge, "no port does", annotation.TLSSecret}},
		"HSTS of subdomains without an age":  {input(certificate, subdomains, preload, apiVersion(27)), ReasonInvalidAnnotation, []string{annotation.HSTSIncludeSubdomains, annotation.HSTSPreload, annotation.HSTSMaxAge, "not set"}},
		"both ways to tell of the client":    {input(forwarded, proxyV1), ReasonInvalidAnnotation, []string{annotation.XForwardedFor, annotation.ProxyProtocol}},
		"a reference to nothing in Barbican": {input(annotate(annotation.TLSContainer, "my-certificate")), ReasonInvalidAnnotation, []string{"my-certificate", "/v1/containers/"}},
		"PROXY version 2 below 2.22":         {input(proxyV2, apiVersion(21)), ReasonUnsupported, []string{"port 80", "2.22", "2.21"}},
		"PROXY with ovn":                     {input(proxyV1, ovn), ReasonUnsupported, []string{"PROXY", "ovn"}},
		"PROXY of one port with ovn":         {input(asked("80=PROXY"), ovn), ReasonUnsupported, []string{"port 80", "PROXY", "ovn"}},
		"PROXY version 2 with ovn":           {input(proxyV2, ovn), ReasonUnsupported, []string{"PROXY", "version 2", "ovn"}},
		"HTTP with ovn":                      {input(forwarded, ovn), ReasonUnsupported, []string{"HTTP", "X-Forwarded-For", "ovn"}},
		"appProtocol with ovn":               {input(asked("appProtocol"), ports(speaking("http", port(tcp, 80, 30080))), ovn), ReasonUnsupported, []string{"HTTP", "ovn"}},
		"a Secret that was not read":         {input(secret), ReasonCertificateUnusable, []string{"web-tls", "not read"}},
		"TLS of a Secret with ovn":           {input(secret, stored, ovn), ReasonUnsupported, []string{"TLS", "ovn"}},
		"TLS with ovn":                       {input(certificate, ovn), ReasonUnsupported, []string{"TLS", "ovn"}},
		"TLS of cloud.conf with ovn":         {input(ovn, func(in *Input) { in.Config.TLSContainer = refA }), ReasonUnsupported, []string{"TLS", "ovn"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Wanted(c.in)
			var invalid *Invalid
			if !errors.As(err, &invalid) || invalid.Reason != c.reason {
				t.Fatalf("error %#v, want an *Invalid with reason %s", err, c.reason)
			}
			for _, part := range c.text {
				if !strings.Contains(invalid.Message, part) {
					t.Errorf("%q does not say %q", invalid.Message, part)
				}
			}
		})
	}
}

func TestReferencesToOtherStoresAreNotChanged(t *testing.T) {
	wanted, err := Wanted(input(annotate(annotation.TLSContainer, "my-certificate"), func(in *Input) { in.Config.ContainerStore = "external" }))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&lb.TLS{Certificate: "my-certificate"}, wanted.LoadBalancer.Listeners[0].TLS); diff != "" {
		t.Errorf("TLS (-want +got):\n%s", diff)
	}
}

func TestOnlyTrafficThatServersWouldMisreadMustPassTheLoadBalancer(t *testing.T) {
	for name, c := range map[string]struct {
		in   Input
		want bool
	}{
		"nothing special":           {input(), false},
		"PROXY":                     {input(proxyV2), true},
		"PROXY of one port":         {input(asked("80=PROXY")), true},
		"HTTP":                      {input(forwarded), false},
		"TLS of the whole Service":  {input(certificate), false},
		"TLS by a Secret":           {input(secret, stored), true},
		"a Secret and no TLS":       {input(secret, stored, asked("80=TCP")), false},
		"TLS of one port":           {input(certificate, asked("80=TERMINATED_HTTPS")), true},
		"PROXY that is not for UDP": {input(proxyV1, ports(port(corev1.ProtocolUDP, 53, 30053))), false},
	} {
		wanted, err := Wanted(c.in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := ThroughLoadBalancer(wanted, c.in.Spec.Options); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPortsThatStayPlainAreNamed(t *testing.T) {
	named := func(p corev1.ServicePort, name string) corev1.ServicePort { p.Name = name; return p }
	both := ports(port(corev1.ProtocolTCP, 80, 30080), named(port(corev1.ProtocolUDP, 53, 30053), "dns"))
	operators := func(in *Input) { in.Config.TLSContainer = someRef }
	for name, c := range map[string]struct {
		changes []change
		want    string
	}{
		"PROXY with UDP":                      {[]change{both, annotate(annotation.ProxyProtocol, "v1")}, "without the PROXY protocol, which load balancers have only for TCP: ports 53 (dns)"},
		"X-Forwarded-For with UDP":            {[]change{both, annotate(annotation.XForwardedFor, "true")}, "without header X-Forwarded-For, which load balancers have only for TCP: ports 53 (dns)"},
		"PROXY with TCP only":                 {[]change{annotate(annotation.ProxyProtocol, "true")}, ""},
		"a certificate with UDP":              {[]change{both, annotate(annotation.TLSContainer, someRef)}, "without TLS, which load balancers have only for TCP: ports 53 (dns)"},
		"a Secret under the other prefix":     {[]change{both, annotate("kube-octavia.io/tls-secret", "web")}, "without TLS, which load balancers have only for TCP: ports 53 (dns)"},
		"the operator's certificate":          {[]change{both, operators}, ""},
		"that, and the Service wants none":    {[]change{both, operators, annotate(annotation.TLSContainer, "")}, ""},
		"UDP without anything":                {[]change{both}, ""},
		"UDP that an annotation names itself": {[]change{both, annotate(annotation.ProxyProtocol, "true"), annotate(annotation.ProtocolsKey, "53=UDP")}, ""},
	} {
		in := input(c.changes...)
		if got := StaysPlain(in.Spec); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
