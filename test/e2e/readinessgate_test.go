// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/readiness"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/kube/kubeversion"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// withGates are the flags of a controller that sets readiness gates.
var withGates = []string{"--pod-readiness-gates"}

// gatesInstalled is whether deploy/readiness-gates is installed, once for all tests.
var gatesInstalled struct {
	once sync.Once
	err  error
}

// newGatedStage returns a stage whose namespace has opted in to readiness gates.
func newGatedStage(t *testing.T, with settings) *stage {
	t.Helper()
	controllerToken(t) // installs the rest of deploy/
	gatesInstalled.once.Do(func() {
		gatesInstalled.err = deploy.InstallGates(context.Background(), kubetest.Cluster(t), "../../deploy/readiness-gates")
	})
	if gatesInstalled.err != nil {
		t.Fatal(gatesInstalled.err)
	}
	with.off, with.podless, with.flags = true, true, append(withGates, with.flags...)
	s := newStage(t, reachingPods(t, with))
	label := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, readiness.NamespaceLabel, readiness.Enabled)
	if _, err := s.client.CoreV1().Namespaces().Patch(t.Context(), s.namespace, types.MergePatchType, []byte(label), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.start()
	return s
}

// gatesOf returns status and reason of the gate of Service web, and of readiness.
func (s *stage) gatesOf(pod string) (gate, ready string) {
	s.t.Helper()
	now, err := s.client.CoreV1().Pods(s.namespace).Get(s.t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range now.Status.Conditions {
		switch c.Type {
		case readiness.Gate("web"):
			gate = fmt.Sprint(c.Status, " ", c.Reason)
		case corev1.PodReady:
			ready = fmt.Sprint(c.Status, " ", c.Reason)
		}
	}
	return gate, ready
}

// waitUntilReady waits until the Pod is ready because its member takes traffic.
func (s *stage) waitUntilReady(pod string) {
	s.t.Helper()
	s.eventually(func() error {
		gate, ready := s.gatesOf(pod)
		if gate != "True TakesTraffic" || ready != "True " {
			return fmt.Errorf("Pod %s: gate %q, ready %q", pod, gate, ready)
		}
		return nil
	})
}

// awaitPolicy waits until kube-apiserver adds the gate of Service web to Pods of the namespace. Where it has no such
// policies, further Pods come with the gate, as if it were written into their template.
func (s *stage) awaitPolicy() {
	s.t.Helper()
	if kubetest.MinorVersion(s.t) < kubeversion.HasMutatingAdmissionPolicy {
		s.gates = []corev1.PodConditionType{readiness.Gate("web")}
		return
	}
	probe := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "probe", Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
	s.eventually(func() error {
		got, err := s.client.CoreV1().Pods(s.namespace).Create(s.t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && len(got.Spec.ReadinessGates) != 1 {
			err = fmt.Errorf("a new Pod has the gates %v", got.Spec.ReadinessGates)
		}
		return err
	})
}

func TestAPodIsReadyWhenItsMemberTakesTraffic(t *testing.T) {
	s := newGatedStage(t, settings{})
	web := s.service("web", tcp(8080, 8081), toPods, withoutNodePorts)
	s.awaitPolicy()
	s.runPod("a", "a")
	s.runPod("b", "b")
	s.waitUntilReady("a")
	s.waitUntilReady("b")
	address := web.waitUntilProgrammed()
	web.waitForTree(membersAt(s.podAddresses("a", "b")...))
	if s.podsAnswer() {
		s.answers(address, 8080)
	}
	s.waitUntilIdle()

	// No Pod waits: nothing is read.
	s.resetCalls()
	s.waitForPassAfter(func() { web.change(touched("one")) })
	s.requireCallsAtMost("no Pod waits", 0)
	s.podIsReady("b", false)
	web.waitForTree(membersAt(s.podAddresses("a")...))
	s.podIsReady("b", true)
	web.waitForTree(membersAt(s.podAddresses("a", "b")...))
}

func TestAPodThatFailsItsHealthChecksDoesNotBecomeReady(t *testing.T) {
	skipOnRealOpenStack(t, "Octavia is held until a node has crashed")
	s := newGatedStage(t, settings{conf: quick})
	web := s.service("web", tcp(8080), toPods)
	s.awaitPolicy()
	s.runPod("a", "a")
	s.waitUntilReady("a")
	web.waitUntilProgrammed()
	s.waitUntilIdle()

	release := s.cloud.hold()
	s.runPod("dead", "b")
	s.runPod("living", "a")
	if err := s.nodes.Crash(s.node("b")); err != nil {
		t.Fatal(err)
	}
	release()
	web.waitForTree(membersAt(s.podAddresses("a", "dead", "living")...))
	s.waitUntilReady("living")
	if gate, ready := s.gatesOf("dead"); gate != "" || ready != "False ReadinessGatesNotReady" {
		t.Errorf("the Pod that does not answer: gate %q, ready %q", gate, ready)
	}
}

func TestARollingUpdateThatWaitsForGatesFailsNoRequest(t *testing.T) {
	const pods = 3
	with := settings{conf: quick}
	if c, err := openstack.Load(*stateDir); err == nil && c.Provider == "ovn" {
		with.conf = nil // its health monitors do harm
	}
	s := newGatedStage(t, with)
	web := s.service("web", tcp(8080), toPods, withoutNodePorts)
	s.awaitPolicy()
	var now []string
	start := func(generation, i int) {
		name := fmt.Sprintf("web-%d-%d", generation, i)
		s.runPodFor(name, []string{"a", "b"}[i%2], 8)
		s.waitUntilReady(name)
		now = append(now, name)
	}
	for i := range pods {
		start(1, i)
	}
	visitor := s.visitPods(web.waitUntilProgrammed())
	for i := range pods {
		start(2, i)
		old := now[0]
		now = now[1:]
		s.deletePod(old)
	}
	web.waitForTree(membersAt(s.podAddresses(now...)...))
	s.requireNoFailedRequest(visitor)
}
