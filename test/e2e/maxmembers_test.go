// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const maxMembersKey = "kube-octavia.io/max-members"

func TestANodeThatIsNoMemberCausesNoCalls(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{conf: []string{"max-members=2"}})
	zone := func(suffix, value string) {
		s.changeNode(suffix, func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = value })
	}
	zone("a", "x")
	zone("b", "y")
	web, all := s.service("web", tcp(8080)), s.service("all", tcp(8081), annotated(maxMembersKey, "0"))
	web.waitUntilProgrammed()
	all.waitUntilProgrammed()
	web.waitForTree(membersAt(s.addresses("a", "b")...))
	s.waitUntilIdle()
	version := web.now().ResourceVersion

	// Nodes whose zone is not known are the last to be chosen.
	s.resetCalls()
	s.addNode("c")
	all.waitForTree(membersAt(s.addresses("a", "b", "c")...))
	s.waitUntilIdle()
	web.waitForTree(membersAt(s.addresses("a", "b")...))
	if w := s.writes(); len(w) != 1 {
		t.Errorf("writes: %v", w)
	}
	s.requireCallsAtMost("a node that one of two Services uses", 3)
	if now := web.now().ResourceVersion; now != version {
		t.Errorf("the Service was written: its version was %s and is %s", version, now)
	}

	// Where a member leaves, another node takes its place.
	deleteNode(s, "a")
	web.waitForTree(membersAt(s.addresses("b", "c")...))
	web.change(annotated(maxMembersKey, "1"))
	web.waitForTree(membersAt(s.addresses("b")...))
	web.change(annotated(maxMembersKey, "few"))
	web.waitForCondition(accepted, conditionFalse, "InvalidAnnotation")
	web.waitForTree(membersAt(s.addresses("b")...))
	web.change(notAnnotated(maxMembersKey))
	web.waitForTree(membersAt(s.addresses("b", "c")...))
	web.waitUntilProgrammed()
}
