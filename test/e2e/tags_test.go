// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const (
	balancerTagsKey = prefix + "load-balancer-tags"
	listenerTagsKey = prefix + "listener-tags"
	poolTagsKey     = prefix + "pool-tags"
	floatingTagsKey = "kube-octavia.io/floating-ip-tags"
)

// plainTags returns those without a meaning to controllers, sorted.
func plainTags(tags []string) []string {
	return slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(tags), func(t string) bool {
		return strings.HasPrefix(t, "kube-octavia.") || strings.HasPrefix(t, "kube_service_")
	})))
}

// tagged checks the plain tags of the load balancer, its listeners, its pools and the floating
// IP with the address, and that ours are there.
func (s *stage) tagged(address string, balancer, listeners, pools, floating []string) func(tree) error {
	return func(have tree) error {
		found := map[string][2][]string{
			"load balancer": {have.Tags, balancer}, "floating IP": {s.cloud.floatingIP(address).Tags, floating},
		}
		for _, l := range have.Listeners {
			found["listener "+l.key()], found["pool of "+l.key()] = [2][]string{l.Tags, listeners}, [2][]string{l.Pool.Tags, pools}
		}
		for what, tags := range found {
			if got := plainTags(tags[0]); !slices.Equal(got, tags[1]) {
				return fmt.Errorf("the %s has the tags %q, want %q", what, got, tags[1])
			}
			if ours := slices.ContainsFunc(tags[0], func(t string) bool { return strings.HasPrefix(t, "kube-octavia.service=") }); !ours && what != "floating IP" {
				return fmt.Errorf("the %s has lost our tags: %q", what, tags[0])
			}
		}
		return nil
	}
}

// tagByHand adds a tag to the load balancer, its listeners and pools, and the floating IP.
func (s *stage) tagByHand(have tree, f floatingIP, tag string) {
	s.t.Helper()
	put := func(kind, id string, tags []string) {
		s.eventually(s.cloud.pending)
		s.cloud.octavia("PUT", kind+"s/"+id, map[string]any{kind: map[string]any{"tags": append(slices.Clone(tags), tag)}}, nil)
	}
	put("loadbalancer", have.ID, have.Tags)
	for _, l := range have.Listeners {
		put("listener", l.ID, l.Tags)
		put("pool", l.PoolID, l.Pool.Tags)
	}
	s.cloud.neutron("PUT", "floatingips/"+f.ID+"/tags", map[string]any{"tags": append(slices.Clone(f.Tags), tag)}, nil)
	s.eventually(s.cloud.pending)
}

func TestCustomTagsAreChangedLiveAndThoseOfOthersStay(t *testing.T) {
	skipOnRealOpenStack(t, "tags and their changes are in the contract")
	s := newStage(t, settings{conf: []string{"tags=cost-7"}})
	web := s.service("web", tcp(8080), annotated(balancerTagsKey, "a, b"), annotated(listenerTagsKey, "l"), annotated(poolTagsKey, "p"), annotated(floatingTagsKey, "f"))
	address := web.waitUntilProgrammed()
	have := web.waitForTree(s.tagged(address, []string{"a", "b", "cost-7"}, []string{"cost-7", "l"}, []string{"cost-7", "p"}, []string{"cost-7", "f"}))
	visitor := s.visit(address, 8080)

	s.tagByHand(have, s.cloud.floatingIP(address), "by-hand")
	web.change(annotated(balancerTagsKey, "b,c"), annotated(listenerTagsKey, "m"), annotated(poolTagsKey, "p,q"), annotated(floatingTagsKey, "g"))
	web.waitForTree(s.tagged(address, []string{"b", "by-hand", "c", "cost-7"}, []string{"by-hand", "cost-7", "m"}, []string{"by-hand", "cost-7", "p", "q"}, []string{"by-hand", "cost-7", "g"}))
	web.waitUntilProgrammed()

	s.stop() // what was set is known from the cloud alone
	s.start()
	web.change(notAnnotated(balancerTagsKey), notAnnotated(listenerTagsKey), notAnnotated(poolTagsKey), notAnnotated(floatingTagsKey))
	left := []string{"by-hand", "cost-7"}
	web.waitForTree(s.tagged(address, left, left, left, left))
	web.waitUntilProgrammed()
	s.requireNoFailedRequest(visitor)
	if now := web.tree(); now.ID != have.ID || now.Listeners[0].ID != have.Listeners[0].ID || now.Listeners[0].PoolID != have.Listeners[0].PoolID {
		t.Errorf("it was %+v and is %+v", have, now)
	}
}

func TestATagThatAnotherClientRemovedIsSetAgain(t *testing.T) {
	skipOnRealOpenStack(t, "tags and their changes are in the contract")
	s := newStage(t, settings{flags: sweeping})
	web := s.service("web", tcp(8080), annotated(listenerTagsKey, "l"), annotated(floatingTagsKey, "f"))
	address := web.waitUntilProgrammed()
	right := s.tagged(address, nil, []string{"l"}, nil, []string{"f"})
	have := web.waitForTree(right)
	s.waitForNextSecond(have)
	l := have.Listeners[0]
	s.cloud.octavia("PUT", "listeners/"+l.ID, map[string]any{"listener": map[string]any{"tags": slices.DeleteFunc(slices.Clone(l.Tags), func(t string) bool { return t == "l" })}}, nil)
	s.cloud.neutron("PUT", "floatingips/"+s.cloud.floatingIP(address).ID+"/tags", map[string]any{"tags": []string{}}, nil)
	web.waitForTree(right)
}

func TestTagsOfASharerAreSetOnItsListenersAndPoolsOnly(t *testing.T) {
	skipOnRealOpenStack(t, "TestSharerOfAnotherClusterDoesNotChangeNamesAndOwner shares one")
	s := newStage(t, settings{})
	web, api, address, _ := sharing(s, annotated(listenerTagsKey, "l"))
	web.change(annotated(balancerTagsKey, "owner"))
	api.change(annotated(balancerTagsKey, "guest"), annotated(listenerTagsKey, "m"))
	t.Log(api.waitForCondition(accepted, conditionFalse, "LoadBalancerNotTagged").Message)
	tagged := func(want map[string]string) func(tree) error {
		return func(have tree) error {
			if got := plainTags(have.Tags); !slices.Equal(got, []string{"owner"}) {
				return fmt.Errorf("the load balancer has the tags %q", got)
			}
			for _, l := range have.Listeners {
				if got := plainTags(l.Tags); !slices.Equal(got, []string{want[l.key()]}) {
					return fmt.Errorf("port %s has the tags %q", l.key(), got)
				}
			}
			return nil
		}
	}
	web.waitForTree(tagged(map[string]string{"TCP/8080": "l", "TCP/9090": "m", "UDP/5300": "m"}))
	api.change(notAnnotated(balancerTagsKey))
	api.waitForCondition(accepted, conditionTrue, "Accepted")
	api.waitUntilProgrammed()
	api.delete()
	api.waitUntilGone()
	web.waitForTree(tagged(map[string]string{"TCP/8080": "l"}))
	s.answers(address, 8080)
}

func TestAGivenFloatingIPHasTheTagsOnlyWhileItIsAttached(t *testing.T) {
	skipOnRealOpenStack(t, "tags are in the contract, and TestGivenFloatingIPIsAdoptedAndKept gives a floating IP")
	s := newStage(t, settings{})
	given := s.cloud.makeFloatingIP("")
	s.given = []string{given.Address}
	s.cloud.neutron("PUT", "floatingips/"+given.ID+"/tags", map[string]any{"tags": []string{"by-hand"}}, nil)
	web := s.service("web", tcp(8080), at(given.Address), annotated(floatingTagsKey, "f"))
	web.waitUntilProgrammed()
	web.waitForTree(s.tagged(given.Address, nil, nil, nil, []string{"by-hand", "f"}))
	web.delete()
	web.waitUntilGone()
	if f := s.cloud.floatingIP(given.Address); f.ID != given.ID || !slices.Equal(f.Tags, []string{"by-hand"}) {
		t.Errorf("it was %+v and is %+v", given, f)
	}
}
