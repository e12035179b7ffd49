// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// requireUntouched fails the test if the controller did anything to the Service since
// it was as given, or asked the cloud for it. It is to be called when the
// controller has served a later Service.
func (v *service) requireUntouched(was *corev1.Service) {
	v.t.Helper()
	now := v.now()
	if d := cmp.Diff(was.ObjectMeta, now.ObjectMeta); d != "" {
		v.t.Errorf("Service %s was changed (-was +is): %s", v.name, d)
	}
	if d := cmp.Diff(was.Status, now.Status); d != "" {
		v.t.Errorf("status of Service %s was changed (-was +is): %s", v.name, d)
	}
	for _, c := range v.cloud.Recorder().Calls() {
		query, _ := url.QueryUnescape(c.Query)
		if strings.Contains(query, v.lbName()) {
			v.t.Errorf("the cloud was asked for it: %s %s?%s", c.Method, c.Path, query)
		}
	}
	if trees := v.cloud.balancers(v.lbName()); len(trees) > 0 {
		v.t.Errorf("Service %s has a load balancer: %+v", v.name, trees)
	}
}

func TestServicesOfAnotherClassAreNeverChanged(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	own := s.service("own", tcp(8081), ofClass(ourClass))
	own.waitUntilProgrammed()
	// A foreign Service may bear the annotations of one that was served here.
	foreign := s.service("foreign", tcp(8080), ofClass("other.example/lb"), annotated(internalKey, "true"),
		annotated(idKey, own.tree().ID), annotated(addressKey, own.address()),
		func(v *corev1.Service) { v.Finalizers = []string{finalizer} })
	was := foreign.now()
	s.service("later", tcp(8082)).waitUntilProgrammed()
	foreign.requireUntouched(was)

	foreign.delete()
	s.service("last", tcp(8083)).waitUntilProgrammed()
	now := foreign.now()
	if d := cmp.Diff([]string{finalizer}, now.Finalizers); d != "" {
		t.Errorf("finalizers of another controller were changed (-was +is): %s", d)
	}
	was.DeletionTimestamp, was.DeletionGracePeriodSeconds, was.ResourceVersion, was.ManagedFields =
		now.DeletionTimestamp, now.DeletionGracePeriodSeconds, now.ResourceVersion, now.ManagedFields
	foreign.requireUntouched(was)
	foreign.change(func(v *corev1.Service) { v.Finalizers = nil })
	foreign.waitUntilGone()
	s.answers(own.address(), 8081)
}

func TestServicesWithoutAClassAreIgnoredIfConfigured(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{flags: []string{"--handle-default-class=false"}})
	plain := s.service("plain", tcp(8080))
	was := plain.now()
	own := s.service("own", tcp(8081), ofClass(ourClass))
	s.answers(own.waitUntilProgrammed(), 8081)
	plain.requireUntouched(was)
	said := "\n1 Service of type LoadBalancer is not handled: " + s.namespace + "/plain (it has no spec.loadBalancerClass, and --handle-default-class is false)\n"
	for _, command := range []string{"status", "plan"} {
		if status, out, errs := s.run(command, "--handle-default-class=false", "-n", s.namespace); status != 0 || !strings.HasSuffix(out, said) {
			t.Errorf("%s ends with %d:\n%s%s", command, status, out, errs)
		}
		if status, out, _ := s.run(command, "--handle-default-class=false", "-n", s.namespace, own.name); status != 0 || strings.Contains(out, "is not handled") {
			t.Errorf("%s of one that is handled ends with %d:\n%s", command, status, out)
		}
	}
}

func TestClassToServeIsConfigurable(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{flags: []string{"--load-balancer-class=example.com/lb"}})
	usual := s.service("usual", tcp(8080), ofClass(ourClass))
	was := usual.now()
	own := s.service("own", tcp(8081), ofClass("example.com/lb"))
	s.answers(own.waitUntilProgrammed(), 8081)
	usual.requireUntouched(was)
}

func TestServicesOfOtherTypesAreIgnored(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	plain := s.service("plain", tcp(8080), ofType(corev1.ServiceTypeNodePort))
	was := plain.now()
	s.service("later", tcp(8081)).waitUntilProgrammed()
	plain.requireUntouched(was)
}
