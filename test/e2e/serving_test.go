// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

const serving = status.Serving

// excluded labels a Node so that it is no member of load balancers.
func excluded(n *corev1.Node) { n.Labels[corev1.LabelNodeExcludeBalancers] = "" }

// included removes this label.
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

// waitForEndpoints waits until the Service has one EndpointSlice, with so many endpoints.
func (v *service) waitForEndpoints(want int) {
	v.t.Helper()
	endpointSlices := v.client.DiscoveryV1().EndpointSlices(v.namespace)
	v.eventually(func() error {
		all, err := endpointSlices.List(v.t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + v.name})
		if err != nil {
			return err
		}
		if n := len(all.Items); n != 1 || len(all.Items[0].Endpoints) != want {
			return fmt.Errorf("%d slices, want one with %d endpoints", n, want)
		}
		return nil
	})
}

func TestAServiceWithoutNodesReportsThatItDoesNotServe(t *testing.T) {
	skipOnRealOpenStack(t, "TestPacketsStopWithTheLastNodeAndTheServiceReportsIt sees it with packets")
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

func TestAServiceThatIsCreatedWithoutNodesGetsAWarning(t *testing.T) {
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

func TestAServiceWhoseSelectorMatchesNoPodReportsThatItDoesNotServe(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	noPod := func(v *corev1.Service) { v.Spec.Selector = map[string]string{"app": "none"} }
	for _, policy := range []corev1.ServiceExternalTrafficPolicy{corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal} {
		t.Log(policy)
		web := s.service("web-"+strings.ToLower(string(policy)), tcp(8080), noPod, func(v *corev1.Service) { v.Spec.ExternalTrafficPolicy = policy })
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

func TestNodeOfTheLastEndpointLeavesAndReturns(t *testing.T) {
	skipOnRealOpenStack(t, "TestPacketsStopWithTheLastNodeAndTheServiceReportsIt sees it with packets")
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

func TestTheFirstEndpointThatComesDuringTheCreateCausesNoWarning(t *testing.T) {
	simulatorOnly(t, "the creation of the load balancer takes long")
	for name, conf := range map[string][]string{"nodes": nil, "Pods": {"target-type=pod"}} {
		t.Run(name+" as members", func(t *testing.T) {
			s := newStage(t, settings{podless: true, conf: conf})
			faults := s.cloud.Faults()
			held := faults.Add(wire.Fault{Service: cloudsim.LoadBalancer, Method: http.MethodPost, Route: "/v2.0/lbaas/loadbalancers", Kind: wire.FaultHang, Times: 1})
			web := s.service("web", tcp(8080), local)
			s.eventually(func() error {
				if faults.Held() == 0 {
					return errors.New("the create has not begun")
				}
				return nil
			})
			s.runPod("only", "a")
			web.waitForEndpoints(1)
			faults.Remove(held)
			web.waitForCondition(serving, conditionTrue, "NotMonitored")
			web.requireEvents(servingReasons)
		})
	}
}

func TestAServiceWithPodsAsMembersReportsWhetherItServes(t *testing.T) {
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
	web.waitForEndpoints(3)
	web.change(touched("now")) // a pass that is sure to follow
	s.waitUntilIdle()
	s.requireCallsAtMost("another endpoint", 0)
	if diff := cmp.Diff(before, web.now().Status.Conditions); diff != "" {
		t.Errorf("conditions (-before +after):\n%s", diff)
	}
}

func TestMembersThatFailTheirHealthChecksAreReportedByTheService(t *testing.T) {
	skipOnRealOpenStack(t, "it needs health checks that reach the members")
	s := newStage(t, settings{conf: quick, flags: sweeping})
	web, other := s.service("web", tcp(8080)), s.service("other", tcp(8082), annotated(monitorKey, "false"))
	web.waitUntilProgrammed()
	other.waitUntilProgrammed()
	web.waitForCondition(serving, conditionTrue, "Serving")
	for _, c := range []struct {
		dead   string
		is     metav1.ConditionStatus
		reason string
	}{
		{"b", conditionTrue, "SomeMembersDown"}, {"a", conditionFalse, "AllMembersDown"},
	} {
		if err := s.nodes.Crash(s.node(c.dead)); err != nil {
			t.Fatal(err)
		}
		web.waitForCondition(serving, c.is, c.reason)
	}
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	s.awaitServing("AllMembersDown", 1)
	// No health monitor checks the members of the other Service, so the controller cannot know.
	other.waitForCondition(serving, conditionTrue, "NotMonitored")

	s.addNode("c")
	web.waitForCondition(serving, conditionTrue, "SomeMembersDown")
	for _, gone := range []string{"a", "b"} {
		if err := s.nodes.Unregister(t.Context(), s.node(gone)); err != nil {
			t.Fatal(err)
		}
	}
	web.waitForCondition(serving, conditionTrue, "Serving")
	web.waitUntilServing()
	s.awaitServing("AllMembersDown", 0)
	told := web.events()
	for _, want := range []string{"SomeMembersDown", "AllMembersDown", "Serving"} {
		if !slices.Contains(told, want) {
			t.Errorf("no event %s in %q", want, told)
		}
	}
}

func TestHealthOfAllMembersIsReadWithOneList(t *testing.T) {
	skipOnRealOpenStack(t, "it needs health checks that reach the members")
	s := newStage(t, settings{conf: quick, flags: sweeping})
	for i := range 3 {
		s.service(fmt.Sprintf("web-%d", i), tcp(8080, 8081)).waitForCondition(serving, conditionTrue, "Serving")
	}
	lists := func(kind string) (n int) {
		for _, c := range s.cloud.Recorder().Calls() {
			if c.Method == http.MethodGet && strings.HasSuffix(c.Route, "/lbaas/"+kind) {
				n++
			}
		}
		return n
	}
	// What was written is read once more after a sweep. Then nothing is left to do.
	s.resetCalls()
	s.eventually(func() error {
		if calls := s.calls(); len(calls) > 0 {
			s.resetCalls()
			return fmt.Errorf("calls of passes: %q", calls)
		}
		if n := lists("loadbalancers"); n < 3 {
			return fmt.Errorf("%d sweeps without a call, want 3", n)
		}
		return nil
	})
	// A sweep has the same interval here, and up to a fifth more.
	if pools, sweeps := lists("pools"), lists("loadbalancers"); pools == 0 || pools > sweeps*6/5+2 {
		t.Errorf("%d lists of pools in the time of %d sweeps", pools, sweeps)
	}
}

func TestPacketsStopWithTheLastNodeAndTheServiceReportsIt(t *testing.T) {
	needsPackets(t)
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	web.waitUntilServing()
	s.waitForTrafficThrough(s.cloud.outside(), corev1.ProtocolTCP, address, 8080, s.addresses("a", "b")...)

	for _, suffix := range []string{"a", "b"} {
		s.changeNode(suffix, excluded)
	}
	web.waitForCondition(serving, conditionFalse, "NoMembers")
	s.awaitServing("NoMembers", 1)
	web.waitForTree(membersAt())
	s.waitUntilSilent(address, 8080)

	s.changeNode("b", included)
	web.waitUntilServing()
	s.awaitServing("NoMembers", 0)
	s.waitForTrafficThrough(s.cloud.outside(), corev1.ProtocolTCP, address, 8080, s.addresses("b")...)
	web.requireEvents(servingReasons, "UnAvailableLoadBalancer", "Serving")
}

// awaitServing waits until the metric counts so many Services with the reason of condition Serving.
func (s *stage) awaitServing(reason string, want float64) {
	s.t.Helper()
	s.eventually(func() error {
		families, err := metrics.Registry.Gather()
		if err != nil {
			return err
		}
		for _, f := range families {
			for _, m := range f.Metric {
				if f.GetName() == "kube_octavia_services_serving" && m.Label[0].GetValue() == reason && m.GetGauge().GetValue() == want {
					return nil
				}
			}
		}
		return fmt.Errorf("the metric does not count %v Services with reason %s", want, reason)
	})
}
