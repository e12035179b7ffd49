// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSocketsAreOpenedByTheFunctionsOfTheLoadBalancer(t *testing.T) {
	for protocol, c := range map[string]struct {
		start func(*testing.T) Member
		ask   func(t *testing.T, at string) string
	}{
		"TCP": {
			func(t *testing.T) Member { return startBackend(t, "a").member() },
			func(t *testing.T, at string) string { return who(t, netip.Addr{}, at) },
		},
		"UDP": {
			func(t *testing.T) Member { return startUDP(t, "a") },
			func(t *testing.T, at string) string {
				answer, _ := ask(t, udpClient(t, randomAddr()), at, long)
				return answer
			},
		},
	} {
		t.Run(protocol, func(t *testing.T) {
			p, _ := newPlane(t)
			lb := simple(protocol, c.start(t))
			opened := make(chan string, 10)
			place := func(name string) Place {
				return func(open func() error) error {
					opened <- name
					return open()
				}
			}
			lb.Front, lb.Back = place("front"), place("back")
			set(t, p, lb)
			if got := c.ask(t, vip(lb)); !strings.HasPrefix(got, "a") {
				t.Errorf("answered by %q", got)
			}
			if d := cmp.Diff([]string{"front", "back"}, []string{<-opened, <-opened}); d != "" {
				t.Errorf("sockets were opened elsewhere (-want +is): %s", d)
			}
		})
	}
}

func TestAddressesInOtherNamespacesMayBeOutsideOfLoopback(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", Member{ID: "far", Address: netip.MustParseAddr("192.0.2.1"), Port: 80, Weight: 1, AdminUp: true})
	lb.Back = func(open func() error) error { return open() }
	if err := p.Set(lb); err != nil {
		t.Errorf("a member elsewhere: %v", err)
	}
	lb.Addresses = slices.Concat(lb.Addresses, []netip.Addr{netip.MustParseAddr("192.0.2.2")})
	var asked int
	lb.Front = func(func() error) error { asked++; return nil }
	lb.Listeners = nil
	if err := p.Set(lb); err != nil {
		t.Errorf("an address elsewhere: %v", err)
	}
	if asked != 0 {
		t.Errorf("%d sockets were opened for no listeners", asked)
	}
}
