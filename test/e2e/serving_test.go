// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

const serving = status.Serving

func excluded(n *corev1.Node) { n.Labels[corev1.LabelNodeExcludeBalancers] = "" }

func included(n *corev1.Node) { delete(n.Labels, corev1.LabelNodeExcludeBalancers) }

// requireEvents waits until the events of these reasons about the Service are exactly these, in this order.
func (v *service) requireEvents(of []string, want ...string) {
	v.t.Helper()
	v.eventually(func() error {
		told := slices.DeleteFunc(v.events(), func(reason string) bool { return !slices.Contains(of, reason) })
		if !slices.Equal(told, want) {
			return fmt.Errorf("events %q, want %q", told, want)
		}
		return nil
	})
}

// servingReasons are the reasons of events about condition Serving.
var servingReasons = []string{"UnAvailableLoadBalancer", "NoMembers", "NoEndpoints", "AllMembersDown", "SomeMembersDown", "Serving"}

// waitUntilServing runs kubectl wait, as a user does.
func (v *service) waitUntilServing() {
	v.t.Helper()
	var out bytes.Buffer
	wait := exec.CommandContext(v.t.Context(), kubetest.Cluster(v.t).Kubectl(), "--kubeconfig="+v.adminKubeconfig(), "--namespace="+v.namespace,
		"wait", "--for=condition="+serving, "service/"+v.name, fmt.Sprintf("--timeout=%.0fs", deadline().Seconds()))
	wait.Stdout, wait.Stderr = &out, &out
	if err := wait.Run(); err != nil {
		v.t.Fatalf("kubectl wait: %v\n%s\nconditions: %+v", err, out.String(), v.now().Status.Conditions)
	}
}

func TestAServiceWithoutNodesSaysThatItDoesNotServe(t *testing.T) {
	skipOnRealOpenStack(t, "TestPacketsStopWithTheLastNodeAndTheServiceSaysSo sees it with packets")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080, 8081))
	address := web.waitUntilProgrammed()
	web.waitUntilServing()
	s.answers(address, 8080)
	web.waitForCondition(serving, conditionTrue, "NotMonitored")

	s.changeNode("a", excluded)
	web.waitForTree(membersAt(s.addresses("b")...))
	s.changeNode("b", excluded)
	none := web.waitForCondition(serving, conditionFalse, "NoMembers")
	if !strings.Contains(none.Message, fmt.Sprintf("ports %d/TCP, %d/TCP", freePort(8080), freePort(8081))) || !strings.Contains(none.Message, corev1.LabelNodeExcludeBalancers) {
		t.Errorf("the message does not name the ports and the label: %s", none.Message)
	}
	s.waitUntilSilent(address, 8080)
	web.waitForCondition(programmed, conditionTrue, "Programmed")

	s.changeNode("b", included)
	web.waitUntilServing()
	s.answers(address, 8080)
	web.requireEvents(servingReasons, "UnAvailableLoadBalancer", "Serving")
}

func TestAServiceThatIsMadeWithoutNodesWarns(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	s.changeNode("a", excluded)
	s.changeNode("b", excluded)
	web := s.service("web", tcp(8080))
	web.waitForCondition(serving, conditionFalse, "NoMembers")
	web.waitUntilProgrammed()
	selects := s.service("selects", tcp(8082), annotated(prefix+"node-selector", "disk=tape"))
	s.changeNode("b", included)
	web.waitForCondition(serving, conditionTrue, "NotMonitored")
	web.requireEvents(servingReasons, "UnAvailableLoadBalancer", "Serving")
	none := selects.waitForCondition(serving, conditionFalse, "NoMembers")
	if !strings.Contains(none.Message, "node-selector") {
		t.Errorf("the message does not name the annotation: %s", none.Message)
	}
}

func TestAServiceWhoseSelectorMatchesNobodySaysThatItDoesNotServe(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	nobody := func(v *corev1.Service) { v.Spec.Selector = map[string]string{"app": "nobody"} }
	for _, policy := range []corev1.ServiceExternalTrafficPolicy{corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal} {
		t.Log(policy)
		web := s.service("web-"+strings.ToLower(string(policy)), tcp(8080), nobody, func(v *corev1.Service) { v.Spec.ExternalTrafficPolicy = policy })
		web.waitUntilProgrammed()
		web.waitForCondition(serving, conditionFalse, "NoEndpoints")
		s.resetCalls()
		web.change(func(v *corev1.Service) { v.Spec.Selector = map[string]string{"app": "web"} })
		web.waitUntilServing()
		if policy == corev1.ServiceExternalTrafficPolicyCluster {
			s.requireCallsAtMost("the first endpoint of a Service whose members are all nodes", 0)
		}
		web.requireEvents(servingReasons, "NoEndpoints", "Serving")
	}
}

func TestTheLastEndpointsNodeLeavesAndComesBack(t *testing.T) {
	skipOnRealOpenStack(t, "TestPacketsStopWithTheLastNodeAndTheServiceSaysSo sees it with packets")
	s := newStage(t, settings{podless: true})
	s.runPod("only", "a")
	web := s.service("web", tcp(8080), local)
	web.waitUntilProgrammed()
	web.waitUntilServing()
	s.changeNode("a", excluded)
	none := web.waitForCondition(serving, conditionFalse, "NoMembers")
	if !strings.Contains(none.Message, "there are endpoints") {
		t.Errorf("the message does not say that there are endpoints: %s", none.Message)
	}
	s.changeNode("a", included)
	web.waitForCondition(serving, conditionTrue, "NotMonitored")
	if err := s.nodes.DeletePod(t.Context(), s.namespace, "only"); err != nil {
		t.Fatal(err)
	}
	web.waitForCondition(serving, conditionFalse, "NoEndpoints")
	s.runPod("next", "b")
	web.waitForCondition(serving, conditionTrue, "NotMonitored")
	web.requireEvents(servingReasons, "UnAvailableLoadBalancer", "Serving", "NoEndpoints", "Serving")
}

func TestAServiceWithPodsAsMembersSaysWhetherItServes(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{podless: true, conf: []string{"target-type=pod"}})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	web.waitForCondition(serving, conditionFalse, "NoEndpoints")
	s.runPod("one", "a")
	web.waitForCondition(serving, conditionTrue, "NotMonitored")
}

func TestAServiceThatIsUnchangedIsNotWrittenForItsEndpoints(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	web.waitForCondition(serving, conditionTrue, "NotMonitored")
	s.waitUntilIdle()
	before := web.now().Status.Conditions
	s.resetCalls()
	s.runPod("third", "a")
	slices := s.client.DiscoveryV1().EndpointSlices(s.namespace)
	s.eventually(func() error {
		all, err := slices.List(t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=web"})
		if err != nil {
			return err
		}
		if n := len(all.Items); n != 1 || len(all.Items[0].Endpoints) != 3 {
			return fmt.Errorf("%d slices, want one with 3 endpoints", n)
		}
		return nil
	})
	web.change(touched("now")) // a pass that is sure to follow
	s.waitUntilIdle()
	s.requireCallsAtMost("another endpoint", 0)
	if diff := cmp.Diff(before, web.now().Status.Conditions); diff != "" {
		t.Errorf("conditions (-before +after):\n%s", diff)
	}
}
