// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"testing"
)

const (
	limitKey  = prefix + "connection-limit"
	methodKey = prefix + "lb-method"
)

// tuned checks what all listeners and their pools are set to.
func tuned(limit int, waits Timeouts, method string) func(tree) error {
	return func(have tree) error {
		for _, l := range have.Listeners {
			if l.Limit != limit || l.Timeouts != waits || l.Pool == nil || l.Pool.Algorithm != method {
				return fmt.Errorf("port %s has limit %d, timeouts %+v, pool %+v", l.key(), l.Limit, l.Timeouts, l.Pool)
			}
		}
		return nil
	}
}

func TestSettingsOfListenersAndPoolsFollowTheirAnnotations(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn carries none of them out")
	skipOnRealOpenStack(t, "settings of listeners and pools and their changes are in the contract")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080), udp(5300), annotated(limitKey, "1000"), annotated(prefix+"timeout-client-data", "600000"))
	address := web.waitUntilProgrammed()
	web.waitForTree(tuned(1000, Timeouts{600_000, 5_000, 50_000, 0}, "ROUND_ROBIN"))
	was := web.tree()
	visitor := s.visit(address, 8080)

	web.change(annotated(limitKey, "2000"), annotated(methodKey, "LEAST_CONNECTIONS"), annotated(prefix+"timeout-member-connect", "1000"),
		annotated(prefix+"timeout-member-data", "70000"), annotated(prefix+"timeout-tcp-inspect", "5"))
	web.waitForTree(tuned(2000, Timeouts{600_000, 1_000, 70_000, 5}, "LEAST_CONNECTIONS"))

	web.change(notAnnotated(limitKey), notAnnotated(methodKey), notAnnotated(prefix+"timeout-client-data"), notAnnotated(prefix+"timeout-member-connect"),
		notAnnotated(prefix+"timeout-member-data"), notAnnotated(prefix+"timeout-tcp-inspect"))
	web.waitForTree(tuned(-1, Timeouts{50_000, 5_000, 50_000, 0}, "ROUND_ROBIN"))
	s.requireNoFailedRequest(visitor)
	web.waitUntilProgrammed()
	for _, key := range []string{"TCP/8080", "UDP/5300"} {
		if before, now := was.listener(key), web.tree().listener(key); before.ID != now.ID || before.PoolID != now.PoolID {
			t.Errorf("port %s was listener %s with pool %s, and is %s with %s", key, before.ID, before.PoolID, now.ID, now.PoolID)
		}
	}
}

func TestAlgorithmOfCloudConfIsTheDefaultOfServices(t *testing.T) {
	skipOnRealOpenStack(t, "changes of the method are in the contract")
	s := newStage(t, settings{conf: []string{"lb-method=SOURCE_IP"}})
	web, other := s.service("web", tcp(8080)), s.service("other", tcp(8080), annotated(methodKey, "ROUND_ROBIN"))
	web.waitUntilProgrammed()
	web.waitForTree(tuned(-1, Timeouts{50_000, 5_000, 50_000, 0}, "SOURCE_IP"))
	other.waitUntilProgrammed()
	other.waitForTree(tuned(-1, Timeouts{50_000, 5_000, 50_000, 0}, "ROUND_ROBIN"))
}

func TestSettingsThatProviderOVNDoesNotImplementAreReported(t *testing.T) {
	s := newStage(t, oldOVN(t))
	web := s.service("web", tcp(8080), annotated(limitKey, "1000"))
	t.Log(web.waitForCondition(accepted, conditionFalse, "ConnectionLimitUnsupported").Message)
	visitor := s.visit(web.address(), 8080)
	web.change(notAnnotated(limitKey), annotated(prefix+"timeout-client-data", "1000"))
	t.Log(web.waitForCondition(accepted, conditionFalse, "TimeoutsUnsupported").Message)
	web.change(notAnnotated(prefix+"timeout-client-data"), annotated(methodKey, "ROUND_ROBIN"))
	t.Log(web.waitForCondition(accepted, conditionFalse, "Unsupported").Message)
	web.change(annotated(methodKey, "SOURCE_IP_PORT"))
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	web.waitUntilProgrammed()
	s.requireNoFailedRequest(visitor)
}
