// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"slices"
	"testing"
)

func TestServiceBecomesInternalAndExternalAgain(t *testing.T) {
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	floating := web.waitUntilProgrammed()
	vip := web.tree().VIP
	visitor := s.visit(vip, 8080)

	web.change(annotated(internalKey, "true"))
	if got := web.waitForOtherAddress(floating); got != vip {
		t.Errorf("the internal Service is at %s, its VIP is %s", got, vip)
	}
	s.waitUntilSilent(floating, 8080)
	if f := s.cloud.floatingIPs(); len(f) > 0 {
		t.Errorf("floating IPs are left: %+v", f)
	}

	web.change(annotated(internalKey, "false"))
	again := web.waitForOtherAddress(vip)
	s.waitForAnswersThrough(again, 8080, s.addresses("a", "b")...)
	if web.tree().VIP != vip {
		t.Errorf("the VIP changed from %s to %s", vip, web.tree().VIP)
	}
	if got := web.now().Annotations[addressKey]; got != again {
		t.Errorf("annotation %s is %s, the address is %s", addressKey, got, again)
	}
	s.requireNoFailedRequest(visitor)
}

func TestAllServicesAreInternalIfConfigured(t *testing.T) {
	skipOnRealOpenStack(t, "TestServiceBecomesInternalAndExternalAgain has an internal Service, too")
	s := newStage(t, settings{conf: []string{"internal-lb=true"}})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	if vip := web.tree().VIP; address != vip {
		t.Errorf("the Service is at %s, its VIP is %s", address, vip)
	}
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
}

func TestInternalServiceGetsTheRequestedVIP(t *testing.T) {
	skipOnRealOpenStack(t, "a VIP with a given address is in the contract")
	s := newStage(t, settings{})
	wish := parseAddr(t, s.address("b"))
	for range 20 {
		wish = wish.Next()
	}
	web := s.service("web", tcp(8080), annotated(internalKey, "true"), at(wish.String()))
	if got := web.waitUntilProgrammed(); got != wish.String() {
		t.Errorf("the Service asked for %s and is at %s", wish, got)
	}
}

func TestGivenFloatingIPIsAdoptedAndKept(t *testing.T) {
	s := newStage(t, settings{})
	one, two := s.cloud.makeFloatingIP(""), s.cloud.makeFloatingIP("")
	s.given = []string{one.Address, two.Address}
	web := s.service("web", tcp(8080), at(one.Address))
	if got := web.waitUntilProgrammed(); got != one.Address {
		t.Errorf("the Service asked for %s and is at %s", one.Address, got)
	}
	s.answers(one.Address, 8080)

	web.change(at(two.Address))
	if got := web.waitForOtherAddress(one.Address); got != two.Address {
		t.Errorf("the Service asked for %s and is at %s", two.Address, got)
	}
	s.answers(two.Address, 8080)
	s.waitUntilSilent(one.Address, 8080)
	for _, f := range []floatingIP{one, two} {
		if have := s.cloud.floatingIP(f.Address); have.ID != f.ID || have.Description != "by hand" {
			t.Errorf("floating IP %s was %+v and is %+v", f.Address, f, have)
		}
	}

	web.delete()
	web.waitUntilGone()
	for _, f := range []floatingIP{one, two} {
		if have := s.cloud.floatingIP(f.Address); have.ID != f.ID || have.PortID != "" {
			t.Errorf("given floating IP %+v is %+v after the Service was deleted", f, have)
		}
	}
}

func TestFloatingIPThatIsInUseIsRefusedUntilItIsFree(t *testing.T) {
	skipOnRealOpenStack(t, "what a floating IP leads to is in the contract")
	s := newStage(t, settings{})
	other := s.cloud.makeFloatingIP(s.cloud.makePort().ID)
	s.given = []string{other.Address}
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()

	web.change(at(other.Address))
	c := web.waitForCondition(accepted, conditionFalse, "FloatingIPInUse")
	t.Log(c.Message)
	s.answers(address, 8080)
	if have := s.cloud.floatingIP(other.Address); have.PortID != other.PortID {
		t.Fatalf("the floating IP was taken away: %+v", have)
	}

	s.cloud.neutron("PUT", "floatingips/"+other.ID, map[string]any{"floatingip": map[string]any{"port_id": nil}}, nil)
	web.change(touched("again"))
	web.waitForOtherAddress(address)
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	if got := web.address(); got != other.Address {
		t.Errorf("the Service is at %s", got)
	}
	s.answers(other.Address, 8080)
	if f := s.cloud.floatingIP(address); f.ID != "" {
		t.Errorf("the Service's first floating IP is left: %+v", f)
	}
}

func TestFloatingIPIsKeptIfTheServiceRequestsIt(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a floating IP that is taken off a port")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080), annotated(keepKey, "true"))
	address := web.waitUntilProgrammed()
	s.given = []string{address}
	made := s.cloud.floatingIP(address)

	web.change(annotated(internalKey, "true"))
	web.waitForOtherAddress(address)
	if have := s.cloud.floatingIP(address); have.ID != made.ID || have.PortID != "" {
		t.Errorf("the floating IP of a Service that became internal is %+v", have)
	}

	web.change(annotated(internalKey, "false"), at(address))
	web.waitForOtherAddress(web.tree().VIP)
	web.delete()
	web.waitUntilGone()
	if have := s.cloud.floatingIP(address); have.ID != made.ID || have.PortID != "" {
		t.Errorf("the floating IP of a deleted Service is %+v", have)
	}

	second := s.service("second", tcp(8080), at(address), annotated(keepKey, "true"))
	if got := second.waitUntilProgrammed(); got != address {
		t.Errorf("the Service asked for the kept %s and is at %s", address, got)
	}
}

func TestFloatingIPIsChosenByAnnotationAndChangedLive(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud these are floating IPs that come and go")
	s := newStage(t, settings{})
	first, second := s.cloud.makeFloatingIP(""), s.cloud.makeFloatingIP("")
	s.given = append(s.given, first.Address, second.Address)
	web := s.service("web", tcp(8080), annotated(floatingIPKey, first.ID))
	if got := web.waitUntilProgrammed(); got != first.Address {
		t.Errorf("the Service is at %s, asked for was %s", got, first.Address)
	}
	vip := s.visit(web.tree().VIP, 8080)
	taker := s.service("taker", tcp(8080), annotated(floatingIPKey, first.Address))
	t.Log(taker.waitForCondition(accepted, conditionFalse, "FloatingIPInUse").Message)

	web.change(annotated(floatingIPKey, second.Address))
	if got := web.waitForOtherAddress(first.Address); got != second.Address {
		t.Errorf("the Service moved to %s, asked for was %s", got, second.Address)
	}
	s.waitForAnswersThrough(second.Address, 8080, s.addresses("a", "b")...)
	if f := s.cloud.floatingIP(first.Address); f.ID != first.ID {
		t.Errorf("the first one is %+v", f)
	}
	web.change(annotated(floatingIPKey, "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"))
	t.Log(web.waitForCondition(accepted, conditionFalse, "InvalidAddress").Message)
	s.waitForAnswersThrough(second.Address, 8080, s.addresses("a", "b")...)
	s.requireNoFailedRequest(vip)
}

func TestStatusHasTheRequestedAddresses(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080), annotated("kube-octavia.io/status-addresses", "both"))
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	floating, vip := web.now().Annotations[addressKey], web.tree().VIP
	for _, c := range []struct {
		value string
		want  []string
	}{{"both", []string{floating, vip}}, {"vip", []string{vip}}, {"floating", []string{floating}}} {
		web.change(annotated("kube-octavia.io/status-addresses", c.value))
		web.eventually(func() error {
			var got []string
			for _, i := range web.now().Status.LoadBalancer.Ingress {
				got = append(got, i.IP)
			}
			if !slices.Equal(got, c.want) {
				return fmt.Errorf("with %s there are %v, want %v", c.value, got, c.want)
			}
			return nil
		})
		if now := web.now().Annotations[addressKey]; now != floating || floating == vip {
			t.Errorf("annotation %s is %s, was %s", addressKey, now, floating)
		}
	}
}
