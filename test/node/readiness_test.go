// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/node"
)

// conditions returns the status and the reason of each condition of the Pod.
func (f *fixture) conditions(name string) map[corev1.PodConditionType]string {
	f.t.Helper()
	pod, err := kubetest.Client(f.t).CoreV1().Pods(f.namespace).Get(f.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	all := map[corev1.PodConditionType]string{}
	for _, c := range pod.Status.Conditions {
		all[c.Type] = fmt.Sprint(c.Status, " ", c.Reason)
	}
	return all
}

// awaitConditions waits until the Pod has these conditions, beside those that
// every Pod has.
func (f *fixture) awaitConditions(name string, want map[corev1.PodConditionType]string) {
	f.t.Helper()
	want[corev1.PodScheduled], want[corev1.PodInitialized] = "True ", "True "
	var got map[corev1.PodConditionType]string
	defer func() {
		if f.t.Failed() {
			f.t.Logf("(-want +got):\n%s", cmp.Diff(want, got))
		}
	}()
	eventually(f.t, "the conditions of the Pod", func() bool {
		got = f.conditions(name)
		return cmp.Equal(want, got)
	})
}

// setCondition does what the controller of a readiness gate does.
func (f *fixture) setCondition(name string, of corev1.PodConditionType, status corev1.ConditionStatus) {
	f.t.Helper()
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q,"reason":"Test"}]}}`, of, status)
	_, err := kubetest.Client(f.t).CoreV1().Pods(f.namespace).Patch(f.t.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	if err != nil {
		f.t.Fatal(err)
	}
}

func TestPodIsReadyWhenAllItsReadinessGatesAreTrue(t *testing.T) {
	f := newFixture(t)
	const one, two = "example.com/one", "example.com/two"
	_, err := f.nodes.RunPod(t.Context(), node.Pod{Namespace: f.namespace, Name: "web", Node: f.a.Name, ReadinessGates: []corev1.PodConditionType{one, two}})
	if err != nil {
		t.Fatal(err)
	}
	const waits = "False ReadinessGatesNotReady"
	type conditions = map[corev1.PodConditionType]string
	f.awaitConditions("web", conditions{"ContainersReady": "True ", "Ready": waits})
	f.setCondition("web", one, corev1.ConditionTrue)
	f.setCondition("web", two, corev1.ConditionFalse)
	f.awaitConditions("web", conditions{"ContainersReady": "True ", "Ready": waits, one: "True Test", two: "False Test"})
	f.setCondition("web", two, corev1.ConditionTrue)
	f.awaitConditions("web", conditions{"ContainersReady": "True ", "Ready": "True ", one: "True Test", two: "True Test"})

	if err := f.nodes.SetPodReady(t.Context(), f.namespace, "web", false); err != nil {
		t.Fatal(err)
	}
	const failed = "False ContainersNotReady"
	f.awaitConditions("web", conditions{"ContainersReady": failed, "Ready": failed, one: "True Test", two: "True Test"})
	f.setCondition("web", two, corev1.ConditionFalse)
	if err := f.nodes.SetPodReady(t.Context(), f.namespace, "web", true); err != nil {
		t.Fatal(err)
	}
	f.awaitConditions("web", conditions{"ContainersReady": "True ", "Ready": waits, one: "True Test", two: "False Test"})
}
