// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/readiness"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/kube/kubeversion"
)

// gateManifests holds the policy that adds readiness gates.
const gateManifests = "../../deploy/readiness-gates"

// podUser creates Pods in a namespace that has opted in to readiness gates.
type podUser struct {
	*kubernetes.Clientset
	namespace string
}

// newPodUser is such a user. The policy is in force with these patches of an operator's kustomization.
func newPodUser(t *testing.T, patches ...string) podUser {
	t.Helper()
	kubetest.NeedsVersion(t, kubeversion.HasMutatingAdmissionPolicy, "MutatingAdmissionPolicy in API version v1")
	u := podUser{kubetest.Client(t), kubetest.Namespace(t)}
	dir := kustomization(t, gateManifests, patches)
	kubectl(t, "apply", "-k", dir, "--validate=strict")
	t.Cleanup(func() {
		if _, err := deploy.Kubectl(context.Background(), kubetest.Cluster(t), "delete", "-k", dir); err != nil {
			t.Error(err)
		}
	})
	label := fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, readiness.NamespaceLabel, readiness.Enabled)
	if _, err := u.CoreV1().Namespaces().Patch(t.Context(), u.namespace, types.MergePatchType, []byte(label), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	return u
}

// services creates Services whose selector is app=web.
func (u podUser) services(t *testing.T, edits map[string]func(*corev1.Service)) {
	t.Helper()
	for name, edit := range edits {
		s := service(name, map[string]string{"kube-octavia.io/target-type": "pod"})
		s.Spec.Selector = map[string]string{"app": "web"}
		edit(s)
		if _, err := u.CoreV1().Services(u.namespace).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// gates returns the readiness gates that a new Pod has, without creating it.
func (u podUser) gates(labels map[string]string, gates ...string) ([]string, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
	}
	for _, gate := range gates {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: corev1.PodConditionType(gate)})
	}
	got, err := u.CoreV1().Pods(u.namespace).Create(context.Background(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return nil, err
	}
	var all []string
	for _, g := range got.Spec.ReadinessGates {
		all = append(all, string(g.ConditionType))
	}
	return all, nil
}

// await waits until a new Pod has these gates: kube-apiserver learns of policies and Services a moment later.
func (u podUser) await(t *testing.T, labels map[string]string, want ...string) {
	t.Helper()
	var got []string
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		var err error
		got, err = u.gates(labels)
		return err == nil && cmp.Equal(want, got, sorted), err
	})
	if err != nil {
		t.Fatalf("%v; gates (-want +got):\n%s", err, cmp.Diff(want, got))
	}
}

var sorted = cmp.Transformer("sorted", func(all []string) string {
	set := map[string]int{}
	for _, one := range all {
		set[one]++
	}
	return fmt.Sprint(set)
})

func TestAPodGetsAGateForEachServiceThatSelectsIt(t *testing.T) {
	u := newPodUser(t)
	u.services(t, map[string]func(*corev1.Service){
		"web":       func(*corev1.Service) {},
		"internal":  func(s *corev1.Service) { s.Spec.LoadBalancerClass = ptr.To("kube-octavia.io/octavia") },
		"spaced":    func(s *corev1.Service) { s.Annotations["kube-octavia.io/target-type"] = " pod " },
		"two":       func(s *corev1.Service) { s.Spec.Selector["tier"] = "front" },
		"of-others": func(s *corev1.Service) { s.Spec.LoadBalancerClass = ptr.To("example.com/other") },
		"nodes":     func(s *corev1.Service) { s.Annotations["kube-octavia.io/target-type"] = "node" },
		"default":   func(s *corev1.Service) { s.Annotations = nil },
		"cluster": func(s *corev1.Service) {
			s.Spec.Type, s.Spec.AllocateLoadBalancerNodePorts, s.Spec.LoadBalancerSourceRanges = corev1.ServiceTypeClusterIP, nil, nil
		},
		"unselect":  func(s *corev1.Service) { s.Spec.Selector = nil },
		"elsewhere": func(s *corev1.Service) { s.Spec.Selector["app"] = "shop" },
	})
	app := map[string]string{"app": "web"}
	u.await(t, app, "kube-octavia.io/web", "kube-octavia.io/internal", "kube-octavia.io/spaced")
	u.await(t, map[string]string{"app": "web", "tier": "front"}, "kube-octavia.io/web", "kube-octavia.io/internal", "kube-octavia.io/spaced", "kube-octavia.io/two")
	u.await(t, map[string]string{"app": "shop"}, "kube-octavia.io/elsewhere")
	u.await(t, nil)
	got, err := u.gates(app, "example.com/other", "kube-octavia.io/web")
	want := []string{"example.com/other", "kube-octavia.io/web", "kube-octavia.io/internal", "kube-octavia.io/spaced"}
	if diff := cmp.Diff(want, got, sorted); diff != "" || err != nil {
		t.Errorf("error %v; a Pod that has gates (-want +got):\n%s", err, diff)
	}
	if len(got) > 1 && strings.Join(got[:2], " ") != "example.com/other kube-octavia.io/web" {
		t.Errorf("the gates that the Pod had are no longer the first: %v", got)
	}
}

func TestPodsOfNamespacesThatHaveNotOptedInGetNoGate(t *testing.T) {
	u := newPodUser(t)
	u.services(t, map[string]func(*corev1.Service){"web": func(*corev1.Service) {}})
	app := map[string]string{"app": "web"}
	u.await(t, app, "kube-octavia.io/web")
	label := fmt.Sprintf(`{"metadata":{"labels":{%q:"disabled"}}}`, readiness.NamespaceLabel)
	if _, err := u.CoreV1().Namespaces().Patch(t.Context(), u.namespace, types.MergePatchType, []byte(label), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	u.await(t, app)
}

func TestPolicyFollowsOtherFlagsAsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to.md")
	if err != nil {
		t.Fatal(err)
	}
	const first = "      - target: {kind: MutatingAdmissionPolicy,"
	_, rest, found := strings.Cut(string(page), first)
	if !found {
		t.Fatal("docs/how-to.md has no patch of the policy")
	}
	block, _, _ := strings.Cut(first+rest, "\n\n")
	u := newPodUser(t, strings.ReplaceAll("\n"+block, "\n      ", "\n"))
	ours := ptr.To("kube-octavia.io/octavia")
	u.services(t, map[string]func(*corev1.Service){
		"no-class": func(*corev1.Service) {},
		"web":      func(s *corev1.Service) { s.Spec.LoadBalancerClass = ours },
		"default":  func(s *corev1.Service) { s.Spec.LoadBalancerClass, s.Annotations = ours, nil },
		"nodes": func(s *corev1.Service) {
			s.Spec.LoadBalancerClass, s.Annotations["kube-octavia.io/target-type"] = ours, "node"
		},
	})
	u.await(t, map[string]string{"app": "web"}, "kube-octavia.io/web", "kube-octavia.io/default")
}
