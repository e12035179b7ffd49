// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

const (
	classKey        = prefix + "class"
	subnetKey       = prefix + "subnet-id"
	networkKey      = prefix + "network-id"
	portKey         = prefix + "port-id"
	memberSubnetKey = prefix + "member-subnet-id"
	flavorKey       = prefix + "flavor-id"
	zoneKey         = prefix + "availability-zone"
	hostnameKey     = prefix + "hostname"
	floatingIPKey   = "kube-octavia.io/floating-ip"
)

// makeSubnet creates a subnet of one of the networks, with no room for more than size addresses.
func (s *stage) makeSubnet(as person, networkID, name string, prefix netip.Prefix, size int) (id string) {
	s.t.Helper()
	first, last := prefix.Addr().Next(), prefix.Addr()
	for range size {
		last = last.Next()
	}
	var answer struct{ Subnet struct{ ID string } }
	wish := map[string]any{"network_id": networkID, "name": name, "ip_version": 4, "cidr": prefix.String(), "gateway_ip": nil, "enable_dhcp": false,
		"allocation_pools": []any{map[string]any{"start": first.String(), "end": last.String()}}}
	if err := s.cloud.call(as, cloudsim.Network, http.MethodPost, "/v2.0/subnets", map[string]any{"subnet": wish}, &answer); err != nil {
		s.t.Fatal(err)
	}
	s.afterwards = append(s.afterwards, func() {
		if err := s.cloud.call(as, cloudsim.Network, http.MethodDelete, "/v2.0/subnets/"+answer.Subnet.ID, nil, nil); err != nil {
			s.t.Error(err)
		}
	})
	return answer.Subnet.ID
}

// makeFlavor creates a flavor of load balancers, as the cloud's administrator would.
func (s *stage) makeFlavor(name string) (id string) {
	s.t.Helper()
	return s.makeFlavorOf(name, `{"loadbalancer_topology": "SINGLE"}`)
}

// makeFlavorOf creates a flavor with these properties.
func (s *stage) makeFlavorOf(name, properties string) (id string) {
	s.t.Helper()
	profile := s.offer("flavorprofiles", "flavorprofile", map[string]any{"name": name, "provider_name": "amphora", "flavor_data": properties})
	return s.offer("flavors", "flavor", map[string]any{"name": name, "flavor_profile_id": profile, "enabled": true})
}

// offer creates an object of Octavia's administrator, which goes after those that were made later.
func (s *stage) offer(collection, kind string, wish map[string]any) (id string) {
	s.t.Helper()
	answer := map[string]struct{ ID string }{}
	if err := s.cloud.call(asAdmin, cloudsim.LoadBalancer, http.MethodPost, "/v2.0/lbaas/"+collection, map[string]any{kind: wish}, &answer); err != nil {
		s.t.Fatal(err)
	}
	path := "/v2.0/lbaas/" + collection + "/" + answer[kind].ID
	s.afterwards = slices.Insert(s.afterwards, 0, func() {
		if err := s.cloud.call(asAdmin, cloudsim.LoadBalancer, http.MethodDelete, path, nil, nil); err != nil {
			s.t.Error(err)
		}
	})
	return answer[kind].ID
}

func TestAnnotationOverridesTheFlavorAndAlgorithmOfAClass(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn has no flavors")
	skipOnRealOpenStack(t, "what a class says, annotations say too")
	s := newStage(t, settings{off: true})
	gold, silver := s.makeFlavor(s.namespace+"-gold"), s.makeFlavor(s.namespace+"-silver")
	s.settings.conf = []string{"flavor-id=" + silver, `[LoadBalancerClass "gold"]`, "flavor-id=" + gold, "lb-method=SOURCE_IP", "internal-lb=true"}
	s.writeFiles()
	s.start()
	plain, golden := s.service("plain", tcp(8080)), s.service("golden", tcp(8080), annotated(classKey, "gold"))
	both := s.service("both", tcp(8080), annotated(classKey, "gold"), annotated(flavorKey, silver), annotated(prefix+"lb-method", "ROUND_ROBIN"))
	for _, c := range []struct {
		web            *service
		flavor, method string
		internal       bool
	}{{plain, silver, "ROUND_ROBIN", false}, {golden, gold, "SOURCE_IP", true}, {both, silver, "ROUND_ROBIN", true}} {
		address, have := c.web.waitUntilProgrammed(), c.web.tree()
		if have.Flavor != c.flavor || have.Listeners[0].Pool.Algorithm != c.method || (address == have.VIP) != c.internal {
			t.Errorf("%s has flavor %s, method %s, address %s, VIP %s; want %+v", c.web.name, have.Flavor, have.Listeners[0].Pool.Algorithm, address, have.VIP, c)
		}
	}
	lost := s.service("lost", tcp(8080), annotated(classKey, "bronze"))
	if said := lost.waitForCondition(accepted, conditionFalse, "InvalidAnnotation").Message; !strings.Contains(said, "cloud.conf has gold") {
		t.Errorf("it says %q", said)
	}
}

func TestSettingsThatOctaviaCannotChangeAreRefusedAndOthersApply(t *testing.T) {
	skipOnRealOpenStack(t, "Octavia is not asked for it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080), annotated(networkKey, s.cloud.IDs().PrivateNetwork))
	visitor := s.visit(web.waitUntilProgrammed(), 8080)
	before := web.tree()
	for key, value := range map[string]string{
		subnetKey: "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04", networkKey: s.cloud.IDs().PublicNetwork, portKey: "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04",
	} {
		was := web.now().Annotations[key]
		web.change(annotated(key, value), tcp(8081))
		if said := web.waitForCondition(accepted, conditionFalse, "RequiresReplacement").Message; !strings.Contains(said, key) || !strings.Contains(said, value) {
			t.Errorf("%s: it says %q", key, said)
		}
		web.change(annotated(key, was), without(8081))
		web.waitForCondition(accepted, conditionTrue, "Accepted")
		web.waitUntilProgrammed()
	}
	s.addNode("c")
	web.waitForTree(func(have tree) error {
		if n := len(have.Listeners[0].Pool.Members); n != 3 {
			return fmt.Errorf("%d members", n)
		}
		return nil
	})
	if now := web.tree(); now.ID != before.ID || len(now.Listeners) != 1 || now.listener("TCP/8080").ID != before.listener("TCP/8080").ID {
		t.Errorf("the load balancer was %+v and is %+v", before, now)
	}
	s.requireNoFailedRequest(visitor)
}

func TestGivenPortBecomesTheVIPAndStays(t *testing.T) {
	skipOnRealOpenStack(t, "VIPs on given ports are in the contract")
	s := newStage(t, settings{})
	given := s.cloud.makePort()
	web := s.service("web", tcp(8080), annotated(portKey, given.ID))
	address := web.waitUntilProgrammed()
	if have := web.tree(); have.VIPPort != given.ID {
		t.Errorf("the VIP is port %s, given was %s", have.VIPPort, given.ID)
	}
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
	thief := s.service("thief", tcp(8080), annotated(portKey, given.ID))
	t.Log(thief.waitForCondition(programmed, conditionFalse, "NotOwned").Message)
	missing := s.service("missing", tcp(8080), annotated(portKey, "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"))
	t.Log(missing.waitForCondition(programmed, conditionFalse, "RejectedByCloud").Message)
	thief.delete()
	thief.waitUntilGone()
	web.delete()
	web.waitUntilGone()
	if now := s.cloud.ports(); len(now) == 0 || !strings.Contains(fmt.Sprint(now), given.ID) {
		t.Errorf("the port that was given is gone: %+v", now)
	}
	again := s.service("again", tcp(8080), annotated(portKey, given.ID), annotated(internalKey, "true"))
	if again.waitUntilProgrammed() != again.tree().VIP || again.tree().VIPPort != given.ID {
		t.Errorf("the VIP is %+v", again.tree())
	}
}

func TestMembersMoveToTheSubnetThatTheServiceNames(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn checks that members' addresses are in their subnet")
	skipOnRealOpenStack(t, "that members cannot move and that a listener gets another pool is in the contract")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080), udp(5300))
	visitor := s.visit(web.waitUntilProgrammed(), 8080)
	before := web.tree()
	other := s.makeSubnet(asUser, s.cloud.IDs().PrivateNetwork, s.namespace, netip.MustParsePrefix("198.18.77.0/24"), 20)
	in := func(subnet string) func(tree) error {
		return func(have tree) error {
			if len(have.Unused) > 0 {
				return fmt.Errorf("pools are left: %+v", have.Unused)
			}
			for _, l := range have.Listeners {
				for _, m := range l.Pool.Members {
					if m.Subnet != subnet {
						return fmt.Errorf("a member of %s is in subnet %s, want %s", l.key(), m.Subnet, subnet)
					}
				}
			}
			return nil
		}
	}
	web.waitForTree(in(before.Subnet))
	web.change(annotated(memberSubnetKey, other))
	web.waitForTree(in(other))
	web.waitUntilProgrammed()
	for _, key := range []string{"TCP/8080", "UDP/5300"} {
		if was, is := before.listener(key), web.tree().listener(key); was.ID != is.ID {
			t.Errorf("listener %s of %s was replaced by %s", was.ID, key, is.ID)
		}
	}
	web.change(annotated(memberSubnetKey, before.Subnet))
	web.waitForTree(in(before.Subnet))
	s.requireNoFailedRequest(visitor)
}

// Octavia checks the subnet of members only in a call for the members. In a create of everything the load balancer goes into
// ERROR, without a reason.
func TestAMemberSubnetThatDoesNotExistIsReportedAndTheLoadBalancerStays(t *testing.T) {
	onlyWithProvider(t, "amphora", "provider ovn does not look for the subnet either")
	simulatorOnly(t, "noop amphorae have no subnets")
	const nowhere = "8f5e2f7c-0000-4000-8000-000000000404"
	s := newStage(t, settings{program: impatient()})
	web := s.service("web", tcp(8080), annotated(memberSubnetKey, nowhere))
	c := web.waitForCondition(programmed, conditionFalse, "RejectedByCloud")
	if !strings.Contains(c.Message, "Subnet "+nowhere+" not found") {
		t.Errorf("the message does not name the subnet: %s", c.Message)
	}
	was := web.tree()
	for i := range 3 {
		s.waitForPassAfter(func() { web.change(touched(fmt.Sprint("time ", i))) })
	}
	web.change(notAnnotated(memberSubnetKey))
	web.waitUntilProgrammed()
	web.waitForTree(membersAt(s.addresses("a", "b")...))
	if now := web.tree(); now.ID != was.ID {
		t.Errorf("load balancer %s was replaced by %s", was.ID, now.ID)
	}
	if n := s.callCount(http.MethodPost, balancersRoute); n != 3 {
		t.Errorf("%d load balancers were created; want 3, the first two with their ports", n)
	}
}

func TestFloatingIPComesFromTheFirstSubnetWithAFreeAddress(t *testing.T) {
	onlyWithProvider(t, "amphora", "the way to the subnet does not matter here")
	skipOnRealOpenStack(t, "what a full subnet answers is in the contract")
	s := newStage(t, settings{})
	s.cloud.showPublicSubnets()
	base := fmt.Sprintf("127.%d.%d", 240+rand.IntN(14), rand.IntN(256))
	small, large := netip.MustParsePrefix(base+".0/29"), netip.MustParsePrefix(base+".64/26")
	s.makeSubnet(asAdmin, s.cloud.IDs().PublicNetwork, s.namespace+"-a", small, 1)
	s.makeSubnet(asAdmin, s.cloud.IDs().PublicNetwork, s.namespace+"-b", large, 20)
	from := annotated(prefix+"floating-subnet", "~^"+s.namespace+"-[ab]$")
	first := s.service("first", tcp(8080), from)
	if address := parseAddr(t, first.waitUntilProgrammed()); !small.Contains(address) {
		t.Errorf("the first is at %s, want one of %s", address, small)
	}
	second := s.service("second", tcp(8080), from)
	if address := parseAddr(t, second.waitUntilProgrammed()); !large.Contains(address) {
		t.Errorf("the second is at %s, want one of %s", address, large)
	}
	none := s.service("none", tcp(8080), annotated(prefix+"floating-subnet", s.namespace+"-c"))
	t.Log(none.waitForCondition(accepted, conditionFalse, "NoSubnet").Message)
	none.change(annotated(prefix+"floating-subnet", ""), annotated(prefix+"floating-subnet-tags", "!nowhere"))
	none.waitUntilProgrammed()
}

func TestHostnameIsPublishedInsteadOfTheAddress(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080), annotated(hostnameKey, "www.example.com"))
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	address := web.now().Annotations[addressKey]
	if got := web.now().Status.LoadBalancer.Ingress; len(got) != 1 || got[0].Hostname != "www.example.com" || got[0].IP != "" {
		t.Errorf("published is %+v", got)
	}
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
	s.resetCalls()
	web.change(notAnnotated(hostnameKey))
	if got := web.waitForOtherAddress(""); got != address {
		t.Errorf("published is %s, want %s", got, address)
	}
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("the cloud was written to: %v", writes)
	}
}
