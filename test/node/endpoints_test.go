// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// endpoint is ready unless changed.
func endpoint(addr, node string, change ...func(*discoveryv1.EndpointConditions)) discoveryv1.Endpoint {
	e := discoveryv1.Endpoint{Addresses: []string{addr}, NodeName: &node}
	e.Conditions = discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)}
	for _, c := range change {
		c(&e.Conditions)
	}
	return e
}

func unready(c *discoveryv1.EndpointConditions) { c.Ready, c.Serving = new(false), new(false) }
func leaving(c *discoveryv1.EndpointConditions) { c.Ready, c.Terminating = new(false), new(true) }
func silent(c *discoveryv1.EndpointConditions)  { *c = discoveryv1.EndpointConditions{} }

func slice(name string, port int32, es ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port, Protocol: new(corev1.ProtocolTCP)}},
		Endpoints:   es,
	}
}

func TestEndpointsOfAPort(t *testing.T) {
	six := slice("http", 8080, endpoint("fd00::1", "a"))
	six.AddressType = discoveryv1.AddressTypeIPv6
	nameless := slice("http", 8080, endpoint("10.240.0.1", "a"))
	nameless.Ports = []discoveryv1.EndpointPort{{Port: new(int32(80))}}
	cases := map[string]struct {
		slices []*discoveryv1.EndpointSlice
		port   string
		local  bool
		want   []string
	}{
		"all that are ready":              {[]*discoveryv1.EndpointSlice{slice("http", 8080, endpoint("10.240.0.1", "a"), endpoint("10.240.0.2", "b"), endpoint("10.240.0.3", "b", unready))}, "http", false, []string{"127.240.0.1:8080", "127.240.0.2:8080"}},
		"said nothing is ready":           {[]*discoveryv1.EndpointSlice{slice("http", 8080, endpoint("10.240.0.1", "a", silent))}, "http", false, []string{"127.240.0.1:8080"}},
		"only those on the node":          {[]*discoveryv1.EndpointSlice{slice("http", 8080, endpoint("10.240.0.1", "a"), endpoint("10.240.0.2", "b"))}, "http", true, []string{"127.240.0.1:8080"}},
		"terminating not beside ready":    {[]*discoveryv1.EndpointSlice{slice("http", 8080, endpoint("10.240.0.1", "a"), endpoint("10.240.0.2", "b", leaving))}, "http", false, []string{"127.240.0.1:8080"}},
		"terminating when there is none":  {[]*discoveryv1.EndpointSlice{slice("http", 8080, endpoint("10.240.0.1", "a", unready), endpoint("10.240.0.2", "b", leaving))}, "http", false, []string{"127.240.0.2:8080"}},
		"in two slices":                   {[]*discoveryv1.EndpointSlice{slice("http", 8080, endpoint("10.240.0.1", "a")), slice("http", 8080, endpoint("10.240.0.1", "a"))}, "http", false, []string{"127.240.0.1:8080"}},
		"another port":                    {[]*discoveryv1.EndpointSlice{slice("metrics", 9090, endpoint("10.240.0.1", "a"))}, "http", false, nil},
		"another family":                  {[]*discoveryv1.EndpointSlice{six}, "http", false, nil},
		"a port without a name":           {[]*discoveryv1.EndpointSlice{nameless}, "", false, []string{"127.240.0.1:80"}},
		"not of the pod network":          {[]*discoveryv1.EndpointSlice{slice("http", 8080, endpoint("192.0.2.1", "a"))}, "http", false, nil},
		"an endpoint without any address": {[]*discoveryv1.EndpointSlice{slice("http", 8080, discoveryv1.Endpoint{})}, "http", false, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, m := range endpoints(c.slices, corev1.ServicePort{Name: c.port, Protocol: corev1.ProtocolTCP}, c.local, "a", podNetwork{}) {
				got = append(got, netip.AddrPortFrom(m.Address, uint16(m.Port)).String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAddressesOfThePodNetworkLeadToLoopback(t *testing.T) {
	for in, want := range map[string]string{"10.240.1.2": "127.240.1.2", "10.255.255.254": "127.255.255.254"} {
		if got, ok := (podNetwork{}).reachedAt(netip.MustParseAddr(in)); !ok || got.String() != want {
			t.Errorf("%s leads to %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{"10.1.2.3", "192.0.2.1", "::1", "127.240.0.1"} {
		t.Run(in, func(t *testing.T) {
			if got, ok := (podNetwork{}).reachedAt(netip.MustParseAddr(in)); ok {
				t.Errorf("it leads to %s", got)
			}
		})
	}
}

func TestAddressesOfThePodNetworkLeadToThemselvesInANamespace(t *testing.T) {
	pods := podNetwork{namespace: "pods"}
	inside, outside := netip.MustParseAddr("10.240.1.2"), netip.MustParseAddr("10.1.2.3")
	if got, ok := pods.reachedAt(inside); !ok || got != inside {
		t.Errorf("%s leads to %s", inside, got)
	}
	if got, ok := pods.reachedAt(outside); ok {
		t.Errorf("%s leads to %s", outside, got)
	}
}
