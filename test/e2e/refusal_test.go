// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestServiceWithAnInvalidAnnotationKeepsServing(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	visitor := s.visit(address, 8080)

	web.change(annotated(monitorKey, "perhaps"), tcp(8081))
	c := web.waitForCondition(accepted, conditionFalse, "InvalidAnnotation")
	for _, part := range []string{monitorKey, "perhaps", "true or false"} {
		if !strings.Contains(c.Message, part) {
			t.Errorf("the message does not name %q: %s", part, c.Message)
		}
	}
	s.addNode("c")
	web.waitForTree(all(ports("TCP/8080"), membersAt(s.addresses("a", "b", "c")...)))
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b", "c")...)
	s.requireNoFailedRequest(visitor)

	web.change(annotated(monitorKey, "true"))
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	web.waitForTree(ports("TCP/8080", "TCP/8081"))
	web.waitUntilProgrammed()
}

func TestServicesThatCannotBeServedReportTheReason(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	for _, c := range []struct {
		name   string
		edit   edit
		reason string
		parts  []string
	}{
		{"annotation", annotated(prefix+"health-monitor-delay", "soon"), "InvalidAnnotation", []string{prefix + "health-monitor-delay", "soon"}},
		{"two-annotations", func(v *corev1.Service) {
			annotated(internalKey, "yes")(v)
			annotated(keepKey, "no")(v)
		}, "InvalidAnnotation", []string{internalKey, "yes", keepKey, "no"}},
		{"two-that-do-not-go-together", func(v *corev1.Service) {
			annotated(forwardedKey, "true")(v)
			annotated(proxyKey, "v2")(v)
		}, "InvalidAnnotation", []string{forwardedKey, proxyKey}},
		{"source-ranges", openTo("2001:db8::/32"), "InvalidSourceRanges", []string{"2001:db8::/32", "IPv4"}},
		{"protocol", annotated(protocolsKey, "tcp-8080=UDP"), "InvalidAnnotation", []string{protocolsKey, "tcp-8080=UDP", "TCP"}},
		{"no-node-port", func(v *corev1.Service) { v.Spec.AllocateLoadBalancerNodePorts = new(bool) }, "NoNodePort", []string{strconv.Itoa(freePort(8080))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			web := s.service(c.name, tcp(8080), c.edit)
			condition := web.waitForCondition(accepted, conditionFalse, c.reason)
			for _, part := range c.parts {
				if !strings.Contains(condition.Message, part) {
					t.Errorf("the message does not name %q: %s", part, condition.Message)
				}
			}
			web.waitForCondition(programmed, conditionFalse, "NotAccepted")
		})
	}
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("the cloud was written to for Services that are refused: %v", writes)
	}
}

func TestARefusedServiceHasNoFinalizer(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	tooMuch := openTo("2001:db8::/32")
	web := s.service("web", tcp(8080), tooMuch)
	web.waitForCondition(accepted, conditionFalse, "InvalidSourceRanges")
	if v := web.now(); len(v.Finalizers)+len(v.Annotations) > 0 {
		t.Errorf("it has nothing in the cloud, but finalizers %v and annotations %v", v.Finalizers, v.Annotations)
	}

	web.change(ofType(corev1.ServiceTypeClusterIP), openTo())
	web.waitUntilUnmarked()

	web.change(ofType(corev1.ServiceTypeLoadBalancer), tooMuch)
	web.waitForCondition(accepted, conditionFalse, "InvalidSourceRanges")
	web.change(openTo())
	web.waitUntilProgrammed()
	if v := web.now(); len(v.Finalizers) == 0 {
		t.Error("it is served, and could vanish")
	}
}
