// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

func TestClientsKeepTheirNodeWithSessionAffinity(t *testing.T) {
	onlyWithProvider(t, "amphora", "OVN keeps no client at its node")
	skipOnRealOpenStack(t, "a session persistence and its changes are in the contract")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080), udp(5300), sticky(90))
	address := web.waitUntilProgrammed()
	web.waitForTree(all(persistent("TCP/8080", "SOURCE_IP", 0), persistent("UDP/5300", "SOURCE_IP", 90)))
	first := s.answers(address, 8080)
	for range s.requests(6) {
		if a, err := ask(t.Context(), s.cloud.outside(), address, 8080); err != nil || a.Client != first.Client {
			t.Errorf("first %+v, then %+v %v", first, a, err)
		}
	}
	visitor := s.visit(address, 8080)
	before := web.tree()
	web.change(sticky(120))
	web.waitForTree(persistent("UDP/5300", "SOURCE_IP", 120))
	web.change(func(v *corev1.Service) {
		v.Spec.SessionAffinity, v.Spec.SessionAffinityConfig = corev1.ServiceAffinityNone, nil
	})
	after := web.waitForTree(all(persistent("TCP/8080", "", 0), persistent("UDP/5300", "", 0)))
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
	s.requireNoFailedRequest(visitor)
	if before.listener("TCP/8080").PoolID != after.listener("TCP/8080").PoolID {
		t.Error("the pool was replaced")
	}
}

// persistent checks the session persistence of the port's pool; no kind means
// none.
func persistent(key, kind string, timeout int) func(tree) error {
	return func(t tree) error {
		p := t.listener(key).Pool.Persistence
		if p == nil && kind == "" || p != nil && p.Type == kind && p.Timeout == timeout {
			return nil
		}
		return fmt.Errorf("persistence of %s is %+v, not %s of %d s", key, p, kind, timeout)
	}
}

func TestSourceRangesRefuseOtherClients(t *testing.T) {
	onlyWithProvider(t, "amphora", "OVN has no source ranges")
	skipOnRealOpenStack(t, "source ranges and their changes are in the contract")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080, 8081), openTo("127.0.0.2/32", "127.0.0.0/31"))
	address := web.waitUntilProgrammed()
	web.waitForTree(sources("127.0.0.0/31", "127.0.0.2/32"))
	allowed := func(from string, yes bool) {
		t.Helper()
		if !s.cloud.packets() {
			return // the listeners' allowed_cidrs have been looked at
		}
		s.eventually(func() error {
			for _, port := range []int{8080, 8081} {
				if _, err := ask(t.Context(), client{address: from}, address, port); (err == nil) != yes {
					return fmt.Errorf("%s may connect to port %d should be %v: %v", from, port, yes, err)
				}
			}
			return nil
		})
	}
	allowed("127.0.0.1", true)
	allowed("127.0.0.2", true)
	allowed("127.0.0.3", false)

	web.change(openTo("127.0.0.3/32"))
	web.waitForTree(sources("127.0.0.3/32"))
	allowed("127.0.0.1", false)
	allowed("127.0.0.3", true)

	web.change(openTo(), annotated(sourcesKey, "127.0.0.1/32, 127.0.0.4/32"))
	web.waitForTree(sources("127.0.0.1/32", "127.0.0.4/32"))
	allowed("127.0.0.1", true)
	allowed("127.0.0.3", false)

	web.change(notAnnotated(sourcesKey))
	web.waitForTree(sources("0.0.0.0/0"))
	allowed("127.0.0.3", true)
}

func TestSourceRangesThatCannotBeEnforcedAreRefused(t *testing.T) {
	onlyWithProvider(t, "ovn", "amphorae enforce source ranges")
	s := newStage(t, settings{cloud: cloudsim.Options{Provider: "ovn"}, conf: []string{"lb-provider=ovn"}})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	s.answers(address, 8080)
	s.resetCalls()
	web.change(openTo("192.0.2.0/24"))
	c := web.waitForCondition(accepted, conditionFalse, "Unsupported")
	t.Log(c.Message)
	web.waitForCondition(programmed, conditionFalse, "NotAccepted")
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("calls were made for a Service that is refused: %v", writes)
	}
	other := s.service("other", tcp(8081), openTo("192.0.2.0/24"))
	other.waitForCondition(accepted, conditionFalse, "Unsupported")
	if have := s.cloud.balancers(other.lbName()); len(have) > 0 {
		t.Errorf("a load balancer was made that is open to all addresses: %s", cmp.Diff(nil, have))
	}
	web.change(openTo())
	web.waitUntilProgrammed()
}

func TestFeaturesThatCloudConfDeniesAProviderAreNotRequestedOfIt(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud is not asked")
	s := newStage(t, settings{conf: []string{`[LoadBalancerProvider "amphora"]`, "lacks=allowed-cidrs,timeouts"}})
	web := s.service("web", tcp(8080), openTo("192.0.2.0/24"))
	if said := web.waitForCondition(accepted, conditionFalse, "Unsupported").Message; !strings.Contains(said, `lack allowed-cidrs according to section [LoadBalancerProvider "amphora"]`) {
		t.Errorf("it is told %q", said)
	}
	s.requireUntouched()
	web.change(openTo(), annotated(prefix+"timeout-client-data", "60000"))
	web.waitForCondition(accepted, conditionFalse, "TimeoutsUnsupported")
	s.answers(web.address(), 8080)
}
