// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

func TestInvalidValuesAreRefusedWithAHelpfulMessageAndValidOnesPass(t *testing.T) {
	u := newUser(t)
	seen := map[string][2]bool{}
	for _, v := range bad {
		seen[v.Key()] = [2]bool{true, seen[v.Key()][1]}
		t.Run(fmt.Sprintf("%s=%.40q", v.key, v.value), func(t *testing.T) {
			err := u.try(t, map[string]string{v.Key(): v.value})
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), v.Key()) || !strings.Contains(err.Error(), v.told) {
				t.Errorf("%v; want an error with the key and %q", err, v.told)
				return
			}
			shown := fmt.Sprintf("annotation %s=%q: ", v.Key(), v.value)
			if len(v.value) < 100 && !strings.Contains(v.told, "regexp") && !strings.Contains(err.Error(), shown) {
				t.Errorf("%v; want the value shown", err)
			}
		})
	}
	for _, v := range good {
		seen[v.Key()] = [2]bool{seen[v.Key()][0], true}
		t.Run(fmt.Sprintf("%s=%.40q", v.key, v.value), func(t *testing.T) {
			if err := u.try(t, map[string]string{v.Key(): v.value}); err != nil {
				t.Error(err)
			}
		})
	}
	if text := u.warned.take(); text != "" {
		t.Errorf("warnings: %s", text)
	}
	for _, a := range annotation.Table {
		if got, want := seen[a.Key], [2]bool{true, a.Rule.Value != "false"}; !a.Output && got != want {
			t.Errorf("%s was tried with a bad value: %v, with a good one: %v", a.Key, got[0], got[1])
		}
	}
	t.Logf("%d bad values refused, %d good ones passed", len(bad), len(good))
}

func TestAllProblemsOfAServiceAreReportedTogether(t *testing.T) {
	u := newUser(t)
	err := u.try(t, map[string]string{
		annotation.KeepFloatingIP: "maybe", annotation.SubnetID: "private", annotation.Prefix + "hostname": "192.0.2.1",
		annotation.ConnectionLimit: "7", annotation.ClassKey: "gold",
	})
	if err == nil {
		t.Fatal("nothing was refused")
	}
	_, got, _ := strings.Cut(err.Error(), "denied request: ")
	want := `annotation loadbalancer.openstack.org/keep-floatingip="maybe": must be true or false; ` +
		`annotation loadbalancer.openstack.org/hostname="192.0.2.1": must be a DNS name in lower case, such as www.example.com, not an address; ` +
		`annotation loadbalancer.openstack.org/subnet-id="private": must be the id of a subnet, such as 3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04, not its name; this shows the id: openstack subnet show NAME -f value -c id`
	if got != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

func TestKubectlShowsTheMessageOfThePolicy(t *testing.T) {
	u := newUser(t)
	file := filepath.Join(t.TempDir(), "web.yaml")
	text := `{apiVersion: v1, kind: Service, metadata: {name: web, annotations: {loadbalancer.openstack.org/keep-floatingip: "yes"}},
		spec: {type: LoadBalancer, ports: [{port: 80}]}}`
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "\t", " ")), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = `The services "web" is invalid: : ValidatingAdmissionPolicy 'kube-octavia-annotations' with binding 'kube-octavia-annotations' denied request: ` +
		`annotation loadbalancer.openstack.org/keep-floatingip="yes": must be true or false`
	if _, err := deploy.Kubectl(t.Context(), kubetest.Cluster(t), "apply", "-n", u.namespace, "-f", file); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
}

func TestServicesOfOtherClassesAndTypesPass(t *testing.T) {
	u := newUser(t)
	for name, change := range map[string]func(*corev1.ServiceSpec){
		"another class": func(s *corev1.ServiceSpec) { s.LoadBalancerClass = ptr.To("example.com/other") },
		"ClusterIP":     func(s *corev1.ServiceSpec) { *s = corev1.ServiceSpec{Ports: s.Ports} },
		"NodePort":      func(s *corev1.ServiceSpec) { *s = corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: s.Ports} },
		"headless": func(s *corev1.ServiceSpec) {
			*s = corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: s.Ports}
		},
		"ExternalName": func(s *corev1.ServiceSpec) {
			*s = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := service("web", map[string]string{annotation.KeepFloatingIP: "maybe"})
			change(&s.Spec)
			if _, err := u.CoreV1().Services(u.namespace).Create(t.Context(), s, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
				t.Error(err)
			}
		})
	}
	s := service("web", map[string]string{annotation.KeepFloatingIP: "maybe"})
	s.Spec.LoadBalancerClass = ptr.To("kube-octavia.io/octavia")
	if _, err := u.CoreV1().Services(u.namespace).Create(t.Context(), s, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("our own class: %v", err)
	}
}

// TestServicesWithoutAClassPassIfAnotherControllerHandlesThem is for --handle-default-class=false.
func TestServicesWithoutAClassPassIfAnotherControllerHandlesThem(t *testing.T) {
	u := newUser(t, `- target: {kind: ValidatingAdmissionPolicy}
  patch: |
    - op: replace
      path: /spec/matchConditions/1/expression
      value: object.spec.?loadBalancerClass.orValue("") == "kube-octavia.io/octavia"`)
	if err := u.try(t, map[string]string{annotation.KeepFloatingIP: "maybe"}); err != nil {
		t.Errorf("a Service without a class: %v", err)
	}
}

// TestInvalidAnnotationsFromBeforeThePolicyDoNotBlockOtherChanges makes Services with bad annotations
// before the policy is there.
func TestInvalidAnnotationsFromBeforeThePolicyDoNotBlockOtherChanges(t *testing.T) {
	const finalizer = "service.kubernetes.io/load-balancer-cleanup"
	early := service("early", map[string]string{
		annotation.KeepFloatingIP: "maybe", annotation.SubnetID: "private",
		annotation.Prefix + "health-monitor-delay": "5s", annotation.Prefix + "floating-subnet": "~(",
	})
	early.Finalizers = []string{finalizer}
	plain := service("plain", map[string]string{annotation.KeepFloatingIP: "maybe"})
	plain.Spec = corev1.ServiceSpec{Ports: plain.Spec.Ports}
	namespace := kubetest.Namespace(t)
	services := kubetest.Client(t).CoreV1().Services(namespace)
	for _, s := range []*corev1.Service{early, plain} {
		if _, err := services.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	u := newUser(t)
	services = u.CoreV1().Services(namespace)
	patch := func(name, patch string, subresources ...string) error {
		_, err := services.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
		return err
	}
	annotate := func(key, value string) string { return fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value) }
	for _, c := range []struct {
		what, patch string
		name        string
		sub         []string
		refused     string
	}{
		{what: "spec", patch: `{"spec":{"externalTrafficPolicy":"Local"}}`},
		{what: "label", patch: `{"metadata":{"labels":{"a":"b"}}}`},
		{what: "status", patch: `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`, sub: []string{"status"}},
		{what: "annotation of the controller", patch: annotate(annotation.LoadBalancerID, `"x"`)},
		{what: "another one, good", patch: annotate(annotation.ConnectionLimit, `"5"`)},
		{what: "another one, good beside a bad one that it is compared with", patch: annotate(annotation.Prefix+"health-monitor-timeout", `"3"`)},
		{what: "another one, bad", patch: annotate(annotation.ConnectionLimit, `"many"`), refused: annotation.ConnectionLimit + `="many"`},
		{what: "from bad to bad", patch: annotate(annotation.SubnetID, `"public"`), refused: annotation.SubnetID + `="public"`},
		{what: "from bad to good", patch: annotate(annotation.SubnetID, `""`)},
		{what: "away", patch: annotate(annotation.Prefix+"health-monitor-delay", `null`)},
		{what: "and back", patch: annotate(annotation.Prefix+"health-monitor-delay", `"5s"`), refused: `health-monitor-delay="5s"`},
		{what: "another type", patch: `{"spec":{"type":"NodePort","loadBalancerSourceRanges":null}}`},
		{what: "a load balancer again", patch: `{"spec":{"type":"LoadBalancer"}}`, refused: annotation.KeepFloatingIP},
		{what: "of another controller", patch: `{"spec":{"type":"LoadBalancer","loadBalancerClass":"example.com/other"}}`},
		{what: "becomes a load balancer", name: "plain", patch: `{"spec":{"type":"LoadBalancer"}}`, refused: annotation.KeepFloatingIP},
		{what: "right at once", name: "plain", patch: `{"spec":{"type":"LoadBalancer"},"metadata":{"annotations":{"` + annotation.KeepFloatingIP + `":"true"}}}`},
	} {
		name := c.name
		if name == "" {
			name = "early"
		}
		err := patch(name, c.patch, c.sub...)
		if c.refused == "" && err != nil || c.refused != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), c.refused)) {
			t.Errorf("%s: %v; want refused: %q", c.what, err, c.refused)
		}
	}
}

func TestServiceWithInvalidAnnotationsCanBeDeleted(t *testing.T) {
	namespace := kubetest.Namespace(t)
	services := kubetest.Client(t).CoreV1().Services(namespace)
	s := service("web", map[string]string{annotation.KeepFloatingIP: "maybe"})
	s.Finalizers = []string{"service.kubernetes.io/load-balancer-cleanup"}
	if _, err := services.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	newUser(t)
	if err := services.Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := services.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+annotation.ClassKey+`":"gold"},"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := services.Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestPolicyCanWarnOrAuditInsteadOfRefusing(t *testing.T) {
	const told = `annotation loadbalancer.openstack.org/keep-floatingip="maybe": must be true or false`
	for _, actions := range []string{"[Warn]", "[Audit]", "[Warn, Audit]", "[Deny, Audit]"} {
		t.Run(actions, func(t *testing.T) {
			u := newUser(t, fmt.Sprintf(`- target: {kind: ValidatingAdmissionPolicyBinding}
  patch: |
    - {op: replace, path: /spec/validationActions, value: %s}`, actions))
			err := u.try(t, map[string]string{annotation.KeepFloatingIP: "maybe"})
			if denied := err != nil; denied != strings.Contains(actions, "Deny") {
				t.Errorf("refused: %v", err)
			}
			warned := u.warned.take()
			if strings.Contains(warned, told) != strings.Contains(actions, "Warn") {
				t.Errorf("warned: %q", warned)
			}
			if logged := audited(t, u.namespace)["web"]; strings.Contains(actions, "Audit") != strings.Contains(logged, `must be true or false`) {
				t.Errorf("audit log: %q", logged)
			}
		})
	}
}

// audited returns what kube-apiserver noted about Services in a namespace, by their name.
func audited(t *testing.T, namespace string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(kubetest.Cluster(t).Dir(), "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	noted := map[string]string{}
	for line := range strings.SplitSeq(string(text), "\n") {
		var event struct {
			ObjectRef   struct{ Namespace, Name string }
			Annotations map[string]string
		}
		if json.Unmarshal([]byte(line), &event) != nil || event.ObjectRef.Namespace != namespace {
			continue // also a line that is still being written
		}
		if note, there := event.Annotations["validation.policy.admission.k8s.io/validation_failure"]; there {
			noted[event.ObjectRef.Name] = note
		}
	}
	return noted
}

func TestKubernetesReportsNoTypeErrorInThePolicy(t *testing.T) {
	newUser(t)
	var got *admissionv1.ValidatingAdmissionPolicy
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		var err error
		got, err = kubetest.Client(t).AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(ctx, policyName, metav1.GetOptions{})
		return err == nil && got.Status.ObservedGeneration == got.Generation && got.Status.TypeChecking != nil, err
	})
	if err != nil || len(got.Status.TypeChecking.ExpressionWarnings) > 0 {
		t.Errorf("%v, %+v", err, got.Status)
	}
}

// TestPolicyStaysWithinTheCostLimitOfKubeAPIServer fills the 256 KiB that annotations may have with
// what may be the most work: one annotation of each kind alone, and all together.
func TestPolicyStaysWithinTheCostLimitOfKubeAPIServer(t *testing.T) {
	u := newUser(t)
	const room = 240 << 10
	keys, kinds := []string{}, map[string]string{}
	for _, a := range annotation.Table {
		if !a.Output {
			keys, kinds[a.Rule.Kind] = append(keys, a.Key), a.Key
		}
	}
	fill := func(piece string, size int) string { return strings.Repeat(piece, size/len(piece)) }
	affordable := func(what string, annotations map[string]string) {
		if err := u.try(t, annotations); err != nil && (strings.Contains(err.Error(), "budget") || strings.Contains(err.Error(), "cost")) {
			t.Errorf("%s: %.2000v", what, err)
		}
	}
	for _, piece := range []string{"x", "9", "a,", ",", "=", "~(a*)*", "1::/9,", "k=v,", " ", "\u00fc", "\n", "\""} {
		all := map[string]string{}
		for _, key := range keys {
			all[key] = fill(piece, room/len(keys))
		}
		affordable(fmt.Sprintf("%q everywhere", piece), all)
		for _, list := range kinds {
			if strings.Contains(piece, ",") || !testing.Short() && len(piece) == 1 {
				affordable(fmt.Sprintf("%s=%q", list, piece), map[string]string{list: fill(piece, room)})
			}
		}
	}
	// As many parts as are looked at, or as there is room for, all of them long, in all lists.
	lists := slices.DeleteFunc(slices.Clone(annotation.Table), func(a annotation.Annotation) bool { return a.Rule.Part == "" })
	for _, part := range []string{"x", "2001:db8:1:2:3:4:5:6/128", strings.Repeat("a.", 10) + "/b=" + strings.Repeat("c", 10)} {
		all := map[string]string{}
		for _, a := range lists {
			all[a.Key] = strings.Repeat(part+",", min(999, min(32<<10, room/len(lists))/(len(part)+1)-1)) + "!"
		}
		affordable(part, all)
	}
}
