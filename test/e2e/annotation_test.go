// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

// ownPrefix is the other prefix under which each annotation is understood.
const ownPrefix = "kube-octavia.io/"

// count returns the number of events of this kind about the Service.
func (v *service) count(reason string) (n int) {
	v.t.Helper()
	for _, r := range v.events() {
		if r == reason {
			n++
		}
	}
	return n
}

// waitForEvents waits until there are as many events.
func (v *service) waitForEvents(reason string, times int) {
	v.t.Helper()
	v.eventually(func() error {
		if n := v.count(reason); n != times {
			return fmt.Errorf("%d events %s, want %d: %v", n, reason, times, v.events())
		}
		return nil
	})
}

// requireWords fails the test unless a text has all the words.
func requireWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not name %s", text, w)
		}
	}
}

func TestAnnotationsAreUnderstoodUnderBothPrefixes(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080), annotated(ownPrefix+"keep-floatingip", "true"), annotated(ownPrefix+"connection-limit", "7"))
	address := web.waitUntilProgrammed()
	s.given = []string{address}
	kept := s.cloud.floatingIP(address)
	web.waitForTree(limited("TCP/8080", 7))
	if c := meta.FindStatusCondition(web.now().Status.Conditions, status.AnnotationsKnown); c != nil {
		t.Errorf("no annotation is unknown, and there is a condition: %+v", *c)
	}

	visitor := s.visit(address, 8080)
	web.change(annotated(prefix+"connection-limit", "8"), tcp(8081))
	c := web.waitForCondition(accepted, conditionFalse, "InvalidAnnotation")
	requireWords(t, c.Message, prefix+`connection-limit="8"`, ownPrefix+`connection-limit="7"`)
	web.waitForTree(all(ports("TCP/8080"), limited("TCP/8080", 7)))

	web.change(annotated(prefix+"connection-limit", "7"))
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	web.waitForTree(ports("TCP/8080", "TCP/8081"))
	web.waitUntilProgrammed()
	s.requireNoFailedRequest(visitor)

	web.delete()
	web.waitUntilGone()
	if have := s.cloud.floatingIP(address); have.ID != kept.ID || have.PortID != "" {
		t.Errorf("the floating IP of the deleted Service is %+v", have)
	}
}

func TestUnknownAnnotationsAreReportedWithTheNearestKey(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080), annotated(ownPrefix+"max-member", "1"), annotated("service.beta.kubernetes.io/aws-load-balancer-type", "nlb"))
	web.waitUntilProgrammed()
	c := web.waitForCondition(status.AnnotationsKnown, conditionFalse, "UnknownAnnotation")
	requireWords(t, c.Message, ownPrefix+"max-member (did you mean "+ownPrefix+"max-members?)")
	if strings.Contains(c.Message, "aws") {
		t.Errorf("the annotation of another cloud is unknown: %s", c.Message)
	}
	web.waitForEvents("UnknownAnnotation", 1)

	web.change(touched("once"))
	web.change(annotated(prefix+"enable-health-monitors", "true"))
	web.eventually(func() error {
		c := web.waitForCondition(status.AnnotationsKnown, conditionFalse, "UnknownAnnotation")
		if !strings.Contains(c.Message, "enable-health-monitors (did you mean "+monitorKey+"?)") {
			return fmt.Errorf("the message is %q", c.Message)
		}
		return nil
	})
	web.waitForEvents("UnknownAnnotation", 2)
	web.waitForCondition(accepted, conditionTrue, "Accepted")

	web.change(notAnnotated(ownPrefix+"max-member"), notAnnotated(prefix+"enable-health-monitors"))
	web.waitForCondition(status.AnnotationsKnown, conditionTrue, "AnnotationsKnown")
	if n := web.count("UnknownAnnotation"); n != 2 {
		t.Errorf("events: %v", web.events())
	}
}

func TestAMisspeltAnnotationThatProtectsFailsClosed(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	for _, key := range []string{ownPrefix + "tls-secert", prefix + "internal", "loadbalancer.openstack.com/keep-floatingip"} {
		name := "new-" + key[strings.LastIndex(key, "/")+1:]
		refused := s.service(name, tcp(8080), annotated(key, "true"))
		c := refused.waitForCondition(accepted, conditionFalse, "MisspeltAnnotation")
		requireWords(t, c.Message, key, "did you mean")
		refused.waitForEvents("MisspeltAnnotation", 1)
	}
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("the cloud was written to for Services that are refused: %v", writes)
	}

	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	s.given = []string{address}
	made := s.cloud.floatingIP(address)
	visitor := s.visit(address, 8080)
	web.change(annotated(ownPrefix+"keep-floating-ip", "true"), tcp(8081))
	requireWords(t, web.waitForCondition(accepted, conditionFalse, "MisspeltAnnotation").Message, ownPrefix+"keep-floating-ip", keepKey)
	s.addNode("c")
	web.waitForTree(all(ports("TCP/8080"), membersAt(s.addresses("a", "b", "c")...)))
	s.requireNoFailedRequest(visitor)
	web.delete()
	web.waitUntilGone()
	if have := s.cloud.floatingIP(address); have.ID != made.ID || have.PortID != "" {
		t.Errorf("the floating IP of the deleted Service is %+v", have)
	}
	if left := s.cloud.balancers(web.lbName()); len(left) > 0 {
		t.Errorf("load balancers are left: %v", left)
	}
}
