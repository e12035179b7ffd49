// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// podEndpoint is the ready endpoint of a Pod.
func podEndpoint(pod, address string, changes ...func(*discoveryv1.Endpoint)) discoveryv1.Endpoint {
	e := discoveryv1.Endpoint{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false)},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Name: pod},
	}
	for _, change := range changes {
		change(&e)
	}
	return e
}

func conditions(ready, serving, terminating *bool) func(*discoveryv1.Endpoint) {
	return func(e *discoveryv1.Endpoint) {
		e.Conditions = discoveryv1.EndpointConditions{Ready: ready, Serving: serving, Terminating: terminating}
	}
}

var (
	unready  = conditions(ptr.To(false), ptr.To(false), ptr.To(false))
	draining = conditions(ptr.To(false), ptr.To(true), ptr.To(true))
	ended    = conditions(ptr.To(false), ptr.To(false), ptr.To(true))
	unset    = conditions(nil, nil, nil)
	byHand   = func(e *discoveryv1.Endpoint) { e.TargetRef = nil }
)

// endpointSlice has a port of this name; "" means none.
func endpointSlice(name string, port int32, endpoints ...discoveryv1.Endpoint) discoveryv1.EndpointSlice {
	p := discoveryv1.EndpointPort{Port: &port, Protocol: ptr.To(corev1.ProtocolTCP)}
	if name != "" {
		p.Name = &name
	}
	return discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{p}, Endpoints: endpoints}
}

// at is the address of a Pod that counts as ready.
func at(pod, address string) map[string][]netip.Addr {
	return map[string][]netip.Addr{pod: {netip.MustParseAddr(address)}}
}

func endpointTexts(all []Endpoint) []string {
	texts := []string{}
	for _, e := range all {
		text := fmt.Sprintf("%s %s", e.Key(), e.Pod)
		if e.Draining {
			text += " draining"
		}
		texts = append(texts, strings.TrimSpace(text))
	}
	return texts
}

func TestEndpointsThatServeTakeTraffic(t *testing.T) {
	http := corev1.ServicePort{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}
	for name, c := range map[string]struct {
		slices []discoveryv1.EndpointSlice
		port   corev1.ServicePort
		gated  map[string][]netip.Addr
		want   []string
	}{
		"ready ones, sorted": {
			slices: []discoveryv1.EndpointSlice{endpointSlice("http", 8080, podEndpoint("b", "10.1.0.2"), podEndpoint("a", "10.1.0.1"))},
			want:   []string{"10.1.0.1:8080 a", "10.1.0.2:8080 b"},
		},
		"a named port has another number in each slice": {
			slices: []discoveryv1.EndpointSlice{endpointSlice("http", 8080, podEndpoint("a", "10.1.0.1")), endpointSlice("http", 9090, podEndpoint("b", "10.1.0.2"))},
			want:   []string{"10.1.0.1:8080 a", "10.1.0.2:9090 b"},
		},
		"not those of another port": {
			slices: []discoveryv1.EndpointSlice{endpointSlice("metrics", 8080, podEndpoint("a", "10.1.0.1")), endpointSlice("", 8080, podEndpoint("b", "10.1.0.2"))},
			want:   []string{},
		},
		"not those of another protocol": {
			slices: []discoveryv1.EndpointSlice{endpointSlice("http", 8080, podEndpoint("a", "10.1.0.1"))},
			port:   corev1.ServicePort{Name: "http", Protocol: corev1.ProtocolUDP}, want: []string{},
		},
		"a port without a name": {
			slices: []discoveryv1.EndpointSlice{endpointSlice("", 8080, podEndpoint("a", "10.1.0.1"))},
			port:   corev1.ServicePort{Port: 80}, want: []string{"10.1.0.1:8080 a"},
		},
		"unset conditions mean ready": {
			slices: []discoveryv1.EndpointSlice{endpointSlice("http", 8080, podEndpoint("a", "10.1.0.1", unset, byHand))},
			want:   []string{"10.1.0.1:8080"},
		},
		"those that end get no new connections": {
			slices: []discoveryv1.EndpointSlice{endpointSlice("http", 8080, podEndpoint("a", "10.1.0.1", draining), podEndpoint("b", "10.1.0.2"), podEndpoint("c", "10.1.0.3", ended))},
			want:   []string{"10.1.0.1:8080 a draining", "10.1.0.2:8080 b"},
		},
		"one that ends without a word whether it serves does serve": {
			slices: []discoveryv1.EndpointSlice{endpointSlice("http", 8080, podEndpoint("a", "10.1.0.1", conditions(ptr.To(false), nil, ptr.To(true))), podEndpoint("b", "10.1.0.2"))},
			want:   []string{"10.1.0.1:8080 a draining", "10.1.0.2:8080 b"},
		},
		"but one that is not ready and does not end does not": {
			slices: []discoveryv1.EndpointSlice{endpointSlice("http", 8080, podEndpoint("a", "10.1.0.1", conditions(ptr.To(false), nil, nil)))},
			want:   []string{},
		},
		"unless all end": {
			slices: []discoveryv1.EndpointSlice{endpointSlice("http", 8080, podEndpoint("a", "10.1.0.1", draining), podEndpoint("b", "10.1.0.2", unready))},
			want:   []string{"10.1.0.1:8080 a"},
		},
		"Pods that wait for a readiness gate": {
			slices: []discoveryv1.EndpointSlice{endpointSlice("http", 8080, podEndpoint("a", "10.1.0.1", unready), podEndpoint("b", "10.1.0.2", unready))},
			gated:  at("b", "10.1.0.2"), want: []string{"10.1.0.2:8080 b"},
		},
		"but not at the address of a Pod that has their name now": {
			slices: []discoveryv1.EndpointSlice{endpointSlice("http", 8080, podEndpoint("b", "10.1.0.3", unready))},
			gated:  at("b", "10.1.0.2"), want: []string{},
		},
		"or when they end": {
			slices: []discoveryv1.EndpointSlice{endpointSlice("http", 8080, podEndpoint("a", "10.1.0.1", ended))},
			gated:  at("a", "10.1.0.1"), want: []string{},
		},
		"once, while an endpoint moves from slice to slice": {
			slices: []discoveryv1.EndpointSlice{endpointSlice("http", 8080, podEndpoint("a", "10.1.0.1", draining), podEndpoint("b", "10.1.0.2")), endpointSlice("http", 8080, podEndpoint("a", "10.1.0.1"))},
			want:   []string{"10.1.0.1:8080 a", "10.1.0.2:8080 b"},
		},
		"no unusable addresses": {
			slices: []discoveryv1.EndpointSlice{endpointSlice("http", 8080,
				podEndpoint("a", "0.0.0.0"), podEndpoint("b", "224.0.0.1"), podEndpoint("c", "fe80::1%eth0"), podEndpoint("d", "x"), podEndpoint("e", "::ffff:10.1.0.1"))},
			want: []string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.port == (corev1.ServicePort{}) {
				c.port = http
			}
			if diff := cmp.Diff(c.want, endpointTexts(Endpoints(c.slices, c.port, c.gated))); diff != "" {
				t.Errorf("endpoints (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzEndpoints reads slices with endpoints of any form: a line for each slice, its words the addresses.
func FuzzEndpoints(f *testing.F) {
	f.Add("10.0.0.1 10.0.0.2\n10.0.0.1", uint16(8080), uint8(0))
	f.Add("2001:db8::1 x", uint16(1), uint8(7))
	f.Add("::ffff:10.0.0.1\nfe80::1%eth0 0.0.0.0", uint16(0), uint8(3))
	f.Fuzz(func(t *testing.T, text string, port uint16, state uint8) {
		bit := func(n uint8) *bool { return ptr.To(state&n != 0) }
		var all []discoveryv1.EndpointSlice
		for _, line := range strings.SplitN(text, "\n", 10) {
			s := endpointSlice("", int32(port))
			for i, word := range strings.Split(line, " ") {
				s.Endpoints = append(s.Endpoints, podEndpoint(fmt.Sprint("p", i), word, conditions(bit(1), bit(2), bit(4))))
			}
			all = append(all, s)
		}
		gated := map[string][]netip.Addr{}
		if state&8 != 0 {
			gated = at("p0", "10.0.0.1")
		}
		got := Endpoints(all, corev1.ServicePort{Port: 80}, gated)
		seen := map[netip.AddrPort]bool{}
		for _, e := range got {
			if seen[e.Key()] || !e.Address.Is4() || e.Address.IsUnspecified() || e.Port != int(port) || e.Draining {
				t.Errorf("%+v of %q", e, text)
			}
			seen[e.Key()] = true
		}
		slices.Reverse(all)
		if again := Endpoints(all, corev1.ServicePort{Port: 80}, gated); len(again) != len(got) {
			t.Errorf("%v, and in another order %v", got, again)
		}
	})
}
