// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy_test tries the policies of deploy/admission-policy and deploy/readiness-gates on a real
// kube-apiserver.
package policy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/kube/kubeversion"
)

func TestMain(m *testing.M) {
	kubetest.MainWith(m, kube.Options{
		Audited: []string{kube.Administrator},
		// This one looks at the types in policies.
		Controllers: append(kube.DefaultControllers(), "validatingadmissionpolicy-status-controller"),
	})
}

const (
	manifests = "../../deploy/admission-policy"
	// policyName is that of the policy and of its binding.
	policyName = "kube-octavia-annotations"
)

// warnings are the warnings of kube-apiserver in its answers.
type warnings struct {
	mu    sync.Mutex
	texts []string
}

// HandleWarningHeader records a warning.
func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// take returns the warnings since the last call.
func (w *warnings) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.Join(w.texts, "\n")
	w.texts = nil
	return text
}

// user writes Services in a namespace.
type user struct {
	*kubernetes.Clientset
	namespace string
	warned    *warnings
}

// newUser returns a user with a namespace of their own, for whom the policy is in force, with these
// patches of an operator's kustomization.
func newUser(t *testing.T, patches ...string) user {
	t.Helper()
	kubetest.NeedsVersion(t, kubeversion.HasValidatingAdmissionPolicy, "ValidatingAdmissionPolicy in API version v1")
	u := user{namespace: kubetest.Namespace(t), warned: &warnings{}}
	config := kubetest.Cluster(t).Config()
	config.WarningHandler = u.warned
	var err error
	if u.Clientset, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	dir := kustomization(t, manifests, patches)
	kubectl(t, "apply", "-k", dir, "--validate=strict")
	t.Cleanup(func() {
		if _, err := deploy.Kubectl(context.Background(), kubetest.Cluster(t), "delete", "-k", dir); err != nil {
			t.Error(err)
		}
		u.await(t, "is no longer in force", false)
	})
	u.await(t, "is in force", true)
	return u
}

// kustomization returns a directory with an operator's kustomization of the manifests in the
// directory.
func kustomization(t *testing.T, of string, patches []string) string {
	t.Helper()
	dir := t.TempDir()
	from, err := filepath.Abs(of)
	if err != nil {
		t.Fatal(err)
	}
	resource, err := filepath.Rel(dir, from)
	if err != nil {
		t.Fatal(err)
	}
	text := "resources:\n- " + resource + "\n"
	if len(patches) > 0 {
		text += "patches:\n" + strings.Join(patches, "\n")
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// await waits until kube-apiserver has taken notice of what was applied.
func (u user) await(t *testing.T, what string, inForce bool) {
	t.Helper()
	tries := 0
	err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		u.warned.take()
		tries++
		probe := service(fmt.Sprintf("probe-%v-%d", inForce, tries), map[string]string{annotation.KeepFloatingIP: "maybe"})
		probe.Spec.LoadBalancerClass = ptr.To("kube-octavia.io/octavia")
		_, err := u.CoreV1().Services(u.namespace).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil && !strings.Contains(err.Error(), policyName) {
			return false, err
		}
		noticed := err != nil || strings.Contains(u.warned.take(), policyName) || audited(t, u.namespace)[probe.Name] != ""
		return noticed == inForce, nil
	})
	if err != nil {
		t.Fatalf("wait until the policy %s: %v", what, err)
	}
}

func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := deploy.Kubectl(t.Context(), kubetest.Cluster(t), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// service returns a Service of type LoadBalancer.
func service(name string, annotations map[string]string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}},
			AllocateLoadBalancerNodePorts: ptr.To(false),
			// Otherwise kube-apiserver looks at the source ranges of the annotation before any policy does.
			LoadBalancerSourceRanges: []string{"0.0.0.0/0"},
		},
	}
}

// testingT is what tests and properties have in common.
type testingT interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// try requests a Service with these annotations without making it. The error is that of the policy,
// any other ends the test.
func (u user) try(t testingT, annotations map[string]string) error {
	t.Helper()
	_, err := u.CoreV1().Services(u.namespace).Create(context.Background(), service("web", annotations),
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil && !strings.Contains(err.Error(), policyName) {
		t.Fatalf("%.2000v", err)
	}
	return err
}
