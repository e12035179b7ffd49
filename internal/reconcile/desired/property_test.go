// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// anyInput draws Services that the API server accepts, nodes, and clouds. With odd, many cannot be served.
func anyInput(t *rapid.T, odd bool) Input {
	oneOf := func(label string, usual, unusual []string) string {
		if odd {
			usual = append(usual[:len(usual):len(usual)], unusual...)
		}
		return rapid.SampledFrom(usual).Draw(t, label)
	}
	minors, nodePorts, protocols := []int{16, 26, 29, 30}, []int32{30001, 30002, 30003}, []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP}
	if odd {
		minors, nodePorts, protocols = append(minors, 0, 4, 5, 11, 12, 13, 15), append(nodePorts, 0), append(protocols, corev1.ProtocolSCTP)
	}
	in := input(apiVersion(rapid.SampledFrom(minors).Draw(t, "minor")), provider(oneOf("provider", []string{"amphora", lb.ProviderOVN}, nil)))
	spec := in.Spec
	spec.Ports = rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) corev1.ServicePort {
		p := port(rapid.SampledFrom(protocols).Draw(t, "protocol"), rapid.Int32Range(1, 6).Draw(t, "port"), rapid.SampledFrom(nodePorts).Draw(t, "nodePort"))
		p.AppProtocol = rapid.SampledFrom([]*string{nil, ptr.To("http")}).Draw(t, "appProtocol")
		return p
	}), 0, 6, func(p corev1.ServicePort) string { return fmt.Sprint(p.Protocol, p.Port) }).Draw(t, "ports")
	spec.Families = rapid.SampledFrom([][]corev1.IPFamily{nil, {corev1.IPv4Protocol}, {corev1.IPv6Protocol}, {corev1.IPv4Protocol, corev1.IPv6Protocol}}).Draw(t, "families")
	spec.LoadBalancerIP = oneOf("address", []string{""}, []string{"203.0.113.5", "2001:db8::5", "x"})
	if rapid.Bool().Draw(t, "local") {
		local(&in)
		spec.HealthCheckNodePort = rapid.SampledFrom([]int{0, 32000}).Draw(t, "healthCheckNodePort")
	}
	if rapid.Bool().Draw(t, "affinity") {
		affinity(rapid.SampledFrom([]int{0, 60}).Draw(t, "timeout"))(&in)
	}
	in.Spec.Annotations[keyInside] = oneOf("internal", []string{"", "true", "false"}, []string{"x"})
	in.Spec.Annotations[keyMonitor] = oneOf("monitor", []string{"true", "false"}, []string{"x"})
	if in.Capabilities.Provider != lb.ProviderOVN || odd {
		v2 := []string{"v2", "80=HTTP"}
		in.Spec.Annotations[annotation.ProxyProtocol] = oneOf("proxy", []string{"", "false", "true", "v1"}, v2)
		in.Spec.Annotations[annotation.TLSContainer] = oneOf("certificate", []string{"", refA}, []string{"x"})
		in.Spec.Annotations[annotation.ProtocolsKey] = oneOf("protocols", []string{"", "appProtocol"}, []string{"1=HTTP", "2=PROXY,3=TERMINATED_HTTPS", "4=UDP", "x"})
		if odd || in.Spec.Annotations[annotation.ProxyProtocol] == "" {
			in.Spec.Annotations[annotation.XForwardedFor] = oneOf("forwarded", []string{"", "true"}, nil)
		}
	}
	supported, unsupported := "SOURCE_IP", "SOURCE_IP_PORT"
	if in.Capabilities.Provider == lb.ProviderOVN {
		supported, unsupported = unsupported, supported
	}
	in.Spec.Annotations[keyMethod] = oneOf("method", []string{"", supported}, []string{"x", unsupported})
	in.Spec.Annotations[annotation.ConnectionLimit] = oneOf("limit", []string{"", "-1", "10"}, []string{"x"})
	in.Spec.Annotations[annotation.TimeoutPrefix+"member-data"] = oneOf("timeout", []string{"", "0", "60000"}, []string{"x"})
	in.Spec.Annotations["loadbalancer.openstack.org/health-monitor-delay"] = oneOf("delay", []string{"", "3", "60"}, []string{"2", "0"})
	sources := []string{"0.0.0.0/0", "::/0", "10.0.0.0/8", "2001:db8::/32"}
	if in.Capabilities.Provider == lb.ProviderOVN {
		sources = nil
	}
	if odd || sources != nil {
		both := []string{"10.0.0.0/8,2001:db8::/32", "0.0.0.0/0,::/0", ""}
		in.Spec.Annotations[keySources] = oneOf("sources", both, append(sources, "x"))
		spec.SourceRanges = strings.Split(oneOf("ranges", both, append(sources, "x")), ",")
	}
	in.Spec.Annotations[annotation.MetricsPort] = oneOf("metrics", []string{"", "7"}, []string{"3", "x"})
	in.Spec.Annotations[annotation.MetricsAllowedCIDRs] = oneOf("readers", []string{"0.0.0.0/0,::/0", "10.0.0.0/8,2001:db8::/32"}, []string{"", "10.0.0.0/8", "x"})
	in.Spec.Annotations[annotation.ListenerTags] = oneOf("tags", []string{"", "a,b"}, []string{",", "kube-octavia.share=*"})
	in.Nodes = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) corev1.Node {
		return node(rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "node"),
			rapid.SliceOfN(rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "2001:db8::1", "2001:DB8::1", "x"}), 0, 2).Draw(t, "addresses")...)
	}), 0, 4).Draw(t, "nodes")
	for _, n := range in.Nodes {
		in.Slices = append(in.Slices, discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{NodeName: &n.Name}}})
	}
	return withOptions(in)
}

// asText returns everything that is in the Spec.
func asText(t *rapid.T, s *Spec) string {
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheWantedLoadBalancerIsAlwaysComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyInput(t, rapid.Bool().Draw(t, "odd"))
		before := asText(t, in.Spec)
		wanted, err := Wanted(in)
		if diff := cmp.Diff(before, asText(t, in.Spec)); diff != "" {
			t.Fatalf("the Spec was changed:\n%s", diff)
		}
		if err != nil {
			if invalid := (*Invalid)(nil); !errors.As(err, &invalid) || invalid.Reason == "" || invalid.Message == "" {
				t.Fatalf("error %#v, want an *Invalid with reason and message", err)
			}
			return
		}
		again, _ := Wanted(in)
		if diff := cmp.Diff(wanted, again); diff != "" {
			t.Fatalf("built twice (-first +second):\n%s", diff)
		}
		ports := slices.DeleteFunc(slices.Clone(wanted.LoadBalancer.Listeners), func(l lb.Listener) bool { return l.Protocol == lb.ListenerPrometheus })
		if metrics := len(wanted.LoadBalancer.Listeners) - len(ports); len(ports) != len(in.Spec.Ports) || metrics > 1 {
			t.Fatalf("%d listeners for %d ports, and %d for metrics", len(ports), len(in.Spec.Ports), metrics)
		}
		whole(t, in, wanted)
	})
}

func whole(t *rapid.T, in Input, wanted lb.Wanted) {
	names, keys := map[string]bool{}, map[lb.ListenerKey]bool{}
	once := func(name string) {
		if name == "" || names[name] {
			t.Fatalf("the name %q is empty or used twice", name)
		}
		names[name] = true
	}
	for _, l := range wanted.LoadBalancer.Listeners {
		if keys[l.Key()] {
			t.Fatalf("two listeners for %v", l.Key())
		}
		keys[l.Key()] = true
		once(l.Name)
		if l.Protocol == lb.ListenerPrometheus {
			readers := strings.Split(in.Spec.Annotations[annotation.MetricsAllowedCIDRs], ",")
			if l.Pool != nil || len(l.AllowedCIDRs) == 0 && restricts(readers, in.Families()) {
				t.Fatalf("for metrics there is %+v", l)
			}
			continue
		}
		if l.Pool == nil {
			t.Fatalf("listener %s has no pool", l.Name)
		}
		once(l.Pool.Name)
		members := map[lb.MemberKey]bool{}
		for _, m := range l.Pool.Members {
			if members[m.Key()] || m.Port == 0 || m.Weight != 1 {
				t.Fatalf("member %+v of %s is there twice, or not one like any other", m, l.Pool.Name)
			}
			members[m.Key()] = true
		}
		if ends := l.Protocol == lb.ListenerTerminatedHTTPS; ends != (l.TLS != nil) || len(l.InsertHeaders) > 0 && !ends && l.Protocol != lb.ListenerHTTP {
			t.Fatalf("a %s listener with headers %v and TLS %v", l.Protocol, l.InsertHeaders, l.TLS)
		}
		if in.Capabilities.Provider == lb.ProviderOVN && (lb.Transport(l.Protocol) != l.Protocol.Transport() || string(l.Protocol) != string(l.Pool.Protocol)) {
			t.Fatalf("a %s listener with a %s pool on ovn", l.Protocol, l.Pool.Protocol)
		}
		if m := l.Pool.Monitor; m != nil {
			once(m.Name)
			if m.Type == lb.MonitorHTTP && in.Capabilities.Provider == lb.ProviderOVN {
				t.Fatal("an HTTP monitor on ovn")
			}
		}
		if len(l.AllowedCIDRs) > 0 && !in.Capabilities.Has(lb.FeatureAllowedCIDRs) {
			t.Fatalf("source ranges %v on a cloud without them", l.AllowedCIDRs)
		}
		asked := in.Spec.SourceRanges
		if strings.Join(asked, "") == "" {
			asked = strings.Split(in.Spec.Annotations[keySources], ",")
		}
		both := len(wanted.LoadBalancer.AdditionalVIPs) > 0
		restricted := asked[0] != "" && restricts(asked, in.Families())
		if both && (len(l.AllowedCIDRs) > 0) != restricted || both && restricted && !in.Capabilities.Has(lb.FeatureDualStackSourceRanges) {
			t.Fatalf("source ranges %v with VIPs of both families, of %v that are asked for", l.AllowedCIDRs, asked)
		} else if !both && asked[0] != "" && len(l.AllowedCIDRs) == 0 && in.Capabilities.Has(lb.FeatureAllowedCIDRs) {
			t.Fatal("source ranges got lost")
		}
	}
	if wanted.FloatingIP != nil && in.Family() == corev1.IPv6Protocol && len(wanted.LoadBalancer.AdditionalVIPs) == 0 {
		t.Fatal("a floating IP for IPv6")
	}
}

func TestARefusedServiceNeverLosesAListenerOrAnAddress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, err := Wanted(anyInput(t, false))
		if err != nil {
			t.Fatal(err)
		}
		l := before.LoadBalancer
		l.ID, l.VIP.PortID, l.ProvisioningStatus = "lb-1", "port-1", lb.Active
		for i := range l.Listeners {
			l.Listeners[i].ID = fmt.Sprint("listener-", i)
			if l.Listeners[i].Pool != nil {
				l.Listeners[i].Pool.ID = fmt.Sprint("pool-", i)
			}
		}
		have := lb.Observed{LoadBalancer: l}
		now := anyInput(t, rapid.Bool().Draw(t, "odd"))
		kept := MembersOnly(now, have)
		if diff := cmp.Diff(l, kept.LoadBalancer, cmpopts.IgnoreFields(lb.Pool{}, "Members"), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("more than members changes (-before +after):\n%s", diff)
		}
		for _, op := range diff.New(kept, have, now.Owner).Ops {
			if _, ok := op.(diff.SetMembers); !ok {
				t.Fatalf("op %T: %v", op, op)
			}
		}
	})
}
