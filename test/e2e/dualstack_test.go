// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

const (
	prefersBoth  = corev1.IPFamilyPolicyPreferDualStack
	requiresBoth = corev1.IPFamilyPolicyRequireDualStack
)

// stack sets the policy and, for a new Service, the families.
func stack(policy corev1.IPFamilyPolicy, families ...corev1.IPFamily) edit {
	return func(v *corev1.Service) {
		v.Spec.IPFamilyPolicy = &policy
		if len(families) > 0 {
			v.Spec.IPFamilies = families
		}
	}
}

// waitForAddresses waits until the Service's status has the addresses that want returns.
func (v *service) waitForAddresses(want func(tree) []string) []string {
	v.t.Helper()
	var have []string
	v.eventually(func() error {
		have = nil
		for _, i := range v.now().Status.LoadBalancer.Ingress {
			have = append(have, i.IP)
		}
		if want := want(v.tree()); !slices.Equal(have, want) {
			return fmt.Errorf("Service %s is at %v, want %v", v.name, have, want)
		}
		return nil
	})
	return have
}

// floatingIPOf returns the address that leads to the load balancer's VIP.
func (s *stage) floatingIPOf(t tree) string {
	for _, f := range s.cloud.floatingIPs() {
		if f.PortID == t.VIPPort {
			return f.Address
		}
	}
	return "none"
}

// gainIPv6 gives nodes an IPv6 address beside the IPv4 one.
func (s *stage) gainIPv6(suffixes ...string) {
	s.t.Helper()
	for _, suffix := range suffixes {
		s.changeNodeStatus(suffix, func(n *corev1.Node) {
			n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "fd00::" + suffix})
		})
	}
}

// behind checks the members of the pool of one port: each as "address subnet".
func behind(key string, want ...string) func(tree) error {
	return func(t tree) error {
		var have []string
		if p := t.listener(key).Pool; p != nil {
			for _, m := range p.Members {
				have = append(have, m.Address+" "+m.Subnet)
			}
		}
		slices.Sort(have)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			return fmt.Errorf("behind %s are %v, want %v", key, have, want)
		}
		return nil
	}
}

func TestDualStackServiceHasOneLoadBalancerWithAddressesOfBothFamilies(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn has no VIPs of both families")
	s := newStage(t, settings{})
	ids := s.cloud.IDs()
	s.gainIPv6("a")
	web := s.service("web", tcp(8080), udp(5300), stack(prefersBoth))
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	four := func(suffix string) string { return s.address(suffix) + " " + ids.PrivateSubnet }
	six := func(suffix string) string { return "fd00::" + suffix + " " + ids.PrivateSubnetV6 }
	have := web.waitForTree(all(ports("TCP/8080", "UDP/5300"), sources(),
		behind("TCP/8080", four("a"), four("b")), behind("UDP/5300", four("a"), four("b"), six("a"))))
	if len(have.Additional) != 1 || !parseAddr(t, have.VIP).Is4() || have.Additional[0].Subnet != ids.PrivateSubnetV6 {
		t.Fatalf("the VIPs are %s and %+v", have.VIP, have.Additional)
	}
	addresses := web.waitForAddresses(func(t tree) []string { return []string{s.floatingIPOf(t), t.Additional[0].Address} })
	if now := web.now().Annotations[addressKey]; now != addresses[0] {
		t.Errorf("annotation %s is %s, published are %v", addressKey, now, addresses)
	}

	s.gainIPv6("b")
	web.waitForTree(all(behind("TCP/8080", four("a"), four("b")), behind("UDP/5300", four("a"), four("b"), six("a"), six("b"))))
	s.waitForAnswersThrough(addresses[0], 8080, s.addresses("a", "b")...)

	web.change(stack(corev1.IPFamilyPolicySingleStack))
	if said := web.waitForCondition(accepted, conditionFalse, "AdditionalVIPKept").Message; !strings.Contains(said, have.Additional[0].Address) {
		t.Errorf("it says %q", said)
	}
	web.waitForAddresses(func(tree) []string { return addresses[:1] })
	web.waitForTree(behind("UDP/5300", four("a"), four("b")))
	web.change(stack(prefersBoth))
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	web.waitForAddresses(func(tree) []string { return addresses })
	if now := web.tree(); now.ID != have.ID {
		t.Errorf("load balancer %s took the place of %s", now.ID, have.ID)
	}
}

func TestDualStackServiceWithIPv6FirstHasAFloatingIPForItsIPv4Address(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn has no VIPs of both families")
	skipOnRealOpenStack(t, "TestDualStackServiceHasOneLoadBalancerWithAddressesOfBothFamilies makes one there")
	s := newStage(t, settings{})
	s.gainIPv6("a")
	web := s.service("web", tcp(8080), stack(requiresBoth, corev1.IPv6Protocol, corev1.IPv4Protocol))
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	ids := s.cloud.IDs()
	have := web.waitForTree(behind("TCP/8080", "fd00::a "+ids.PrivateSubnetV6, s.address("b")+" "+ids.PrivateSubnet))
	if len(have.Additional) != 1 || !parseAddr(t, have.VIP).Is6() || have.Additional[0].Subnet != ids.PrivateSubnet {
		t.Fatalf("the VIPs are %s and %+v", have.VIP, have.Additional)
	}
	web.waitForAddresses(func(t tree) []string { return []string{t.VIP, s.floatingIPOf(t)} })
	web.change(annotated(internalKey, "true"))
	web.waitForAddresses(func(t tree) []string { return []string{t.VIP, t.Additional[0].Address} })
	web.waitForCondition(programmed, conditionTrue, "Programmed") // an address is withdrawn before it is released
	if f := s.cloud.floatingIPs(); len(f) > 0 {
		t.Errorf("floating IPs are left: %+v", f)
	}
}

func TestPreferDualStackFallsBackToTheFirstFamilyAndReportsIt(t *testing.T) {
	simulatorOnly(t, "no real cloud has so old an API, and with provider ovn the tests are about packets")
	for name, cloud := range map[string]settings{
		"before 2.26":       {cloud: cloudsim.Options{Release: release.Zed, APIVersion: "2.25"}},
		"with provider ovn": {cloud: cloudsim.Options{Provider: "ovn"}, conf: []string{"lb-provider=ovn"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, cloud)
			web := s.service("web", tcp(8080), stack(prefersBoth))
			t.Log(web.waitForCondition(accepted, conditionFalse, "DualStackUnsupported").Message)
			web.waitForAddresses(func(t tree) []string { return []string{s.floatingIPOf(t)} })
			web.waitForTree(all(ports("TCP/8080"), membersAt(s.addresses("a", "b")...)))
			web.change(stack(corev1.IPFamilyPolicySingleStack))
			web.waitUntilProgrammed()
		})
	}
}

func TestLoadBalancerOfOneFamilyIsUnchangedWhenTheServiceRequestsBoth(t *testing.T) {
	skipOnRealOpenStack(t, "it is not asked")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	s.resetCalls()
	web.change(stack(prefersBoth))
	t.Log(web.waitForCondition(accepted, conditionFalse, "SingleStackLoadBalancer").Message)
	web.change(stack(requiresBoth))
	t.Log(web.waitForCondition(accepted, conditionFalse, "RequiresReplacement").Message)
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("it was written to: %v", writes)
	}
	s.addNode("c")
	web.waitForTree(membersAt(s.addresses("a", "b", "c")...))
	if now := web.address(); now != address {
		t.Errorf("the Service was at %s and is at %s", address, now)
	}
	web.change(stack(corev1.IPFamilyPolicySingleStack))
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	web.waitUntilProgrammed()
}

func TestLoadBalancerOfOneFamilyIsReplacedByOneOfBothIfAllowed(t *testing.T) {
	skipOnRealOpenStack(t, "another replacement and another load balancer of both families are made there")
	s := newStage(t, settings{program: impatient()})
	web := s.service("web", tcp(8080), annotated(replaceKey, "true"))
	address := web.waitUntilProgrammed()
	old := web.tree()
	visitor := s.visit(address, 8080)
	web.change(stack(requiresBoth))
	web.waitForTree(func(have tree) error {
		if have.ID == old.ID || len(have.Additional) != 1 {
			return fmt.Errorf("load balancer %s has VIPs %s and %+v", have.ID, have.VIP, have.Additional)
		}
		return nil
	})
	web.waitForAddresses(func(have tree) []string { return []string{address, have.Additional[0].Address} })
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	s.requireNoFailedRequest(visitor)
	web.requireOneLoadBalancer()
}

func TestSourceRangesAreEnforcedOrADualStackServiceIsRefused(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn has no source ranges")
	skipOnRealOpenStack(t, "what becomes of ranges with VIPs of both families is in the contract")
	s := newStage(t, settings{cloud: cloudsim.Options{Release: release.Zed}})
	required := s.service("required", tcp(8080), openTo("192.0.2.0/24"), stack(requiresBoth))
	t.Log(required.waitForCondition(accepted, conditionFalse, "DualStackUnsupported").Message)
	preferred := s.service("preferred", tcp(8080), openTo("192.0.2.0/24"), stack(prefersBoth))
	t.Log(preferred.waitForCondition(accepted, conditionFalse, "DualStackUnsupported").Message)
	if have := preferred.waitForTree(sources("192.0.2.0/24")); len(have.Additional) > 0 {
		t.Errorf("it has VIPs %+v", have.Additional)
	}
	if made := s.cloud.balancers(required.lbName()); len(made) > 0 {
		t.Errorf("a load balancer was made for a Service that is refused: %+v", made)
	}
	required.change(openTo("0.0.0.0/0", "::/0"))
	required.waitForCondition(programmed, conditionTrue, "Programmed")
	before := required.waitForTree(sources())
	required.change(openTo("192.0.2.0/24"))
	t.Log(required.waitForCondition(accepted, conditionFalse, "Unsupported").Message)
	if now := required.tree(); now.Status != "ACTIVE" || now.ID != before.ID || len(now.Listeners[0].Sources) > 0 {
		t.Errorf("the load balancer is %+v", now)
	}
}

func TestADualStackServiceHasSourceRangesOfBothFamilies(t *testing.T) {
	skipOnRealOpenStack(t, "source ranges of two families are in the contract")
	onlyWithProvider(t, "amphora", "ovn has no source ranges")
	s := newStage(t, settings{cloud: cloudsim.Options{Release: release.Epoxy}})
	s.needsOctavia("2.30")
	web := s.service("web", tcp(8080), openTo("192.0.2.0/24", "2001:db8::/32"), stack(requiresBoth))
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	if have := web.waitForTree(sources("192.0.2.0/24", "2001:db8::/32")); len(have.Additional) != 1 {
		t.Errorf("it has additional VIPs %+v", have.Additional)
	}
	for _, c := range []struct{ ranges, want []string }{
		{[]string{"198.51.100.0/24"}, []string{"198.51.100.0/24"}},
		{[]string{"0.0.0.0/0", "::/0"}, nil},
		{[]string{"198.51.100.0/24", "::/0"}, []string{"198.51.100.0/24", "::/0"}}, // all addresses of one family only
		{[]string{"2001:db8::/32"}, []string{"2001:db8::/32"}},
	} {
		web.change(openTo(c.ranges...))
		web.waitForTree(sources(c.want...))
		web.waitForCondition(programmed, conditionTrue, "Programmed")
	}
	if now := web.tree(); now.Status != "ACTIVE" {
		t.Errorf("the load balancer is %s", now.Status)
	}
}
