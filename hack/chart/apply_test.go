// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// kubectl runs kubectl, which must succeed.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := deploy.Kubectl(t.Context(), kubetest.Cluster(t), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// namespace creates a namespace that admits Pods of this level of the Pod Security Standards.
func namespace(t *testing.T, level string) string {
	t.Helper()
	name := kubetest.Namespace(t)
	kubectl(t, "label", "namespace", name, "pod-security.kubernetes.io/enforce="+level, "pod-security.kubernetes.io/warn="+level)
	return name
}

// install applies a release with the values of a case, and returns its manifests and the output of kubectl.
func install(t *testing.T, r release, name string) (map[string]string, string) {
	t.Helper()
	texts := rendered(t, r, caseFile(t, name, "values.yaml"))
	dir := t.TempDir()
	for path, text := range texts {
		if filepath.Ext(path) != ".yaml" {
			continue
		}
		file := filepath.Join(dir, strings.ReplaceAll(path, "/", "-"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The cluster lacks the resources of the Prometheus operator. These definitions have the fields that the chart sets.
	kubectl(t, "apply", "-f", "testdata/prometheus-operator.yaml")
	kubectl(t, "wait", "--for=condition=Established", "-f", "testdata/prometheus-operator.yaml", "--timeout=60s")
	t.Cleanup(func() {
		if out, err := deploy.Kubectl(context.Background(), kubetest.Cluster(t), "delete", "--wait=false", "-f", dir); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	return texts, kubectl(t, "apply", "--validate=strict", "-f", dir)
}

// admitted checks with a dry run whether kube-apiserver would create a Pod of the Deployment.
func admitted(t *testing.T, d appsv1.Deployment, namespace string) error {
	t.Helper()
	return admittedPod(t, d.Spec.Template, namespace)
}

// admittedPod checks with a dry run whether kube-apiserver would create a Pod of the template.
func admittedPod(t *testing.T, template corev1.PodTemplateSpec, namespace string) error {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "try-", Labels: template.Labels, Annotations: template.Annotations}, Spec: *template.Spec.DeepCopy()}
	_, err := kubetest.Client(t).CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func TestKubeAPIServerAcceptsReleasesWithoutAWarning(t *testing.T) {
	for name, r := range cases {
		t.Run(name, func(t *testing.T) {
			level := "restricted"
			if name == "host-network" {
				level = "privileged"
			}
			r.Namespace = namespace(t, level)
			texts, out := install(t, r, name)
			objects := len(names(t, texts))
			if strings.Count(out, "\n") != objects || strings.Count(out, " created\n") != objects {
				t.Errorf("%d objects are applied:\n%s", objects, out)
			}
			d := object[appsv1.Deployment](t, texts["deployment.yaml"], "Deployment")
			if err := admitted(t, d, r.Namespace); err != nil {
				t.Errorf("the Pod is refused: %v", err)
			}
			pods := labels.Set(d.Spec.Template.Labels)
			budget := object[policyv1.PodDisruptionBudget](t, texts["poddisruptionbudget.yaml"], "PodDisruptionBudget")
			service := object[corev1.Service](t, texts["service.yaml"], "Service")
			for what, selector := range map[string]map[string]string{
				"Deployment": d.Spec.Selector.MatchLabels, "PodDisruptionBudget": budget.Spec.Selector.MatchLabels, "Service": service.Spec.Selector,
			} {
				if !labels.SelectorFromSet(selector).Matches(pods) {
					t.Errorf("the %s is for %v, and the Pods have %v", what, selector, pods)
				}
			}
		})
	}
}

// TestDoctorJobIsCreatedFromTheCronJob makes a Job as docs/how-to.md says, and compares its Pods with those of the controller.
func TestDoctorJobIsCreatedFromTheCronJob(t *testing.T) {
	r := cases["everything"]
	r.Namespace = namespace(t, "restricted")
	texts, _ := install(t, r, "everything")
	d := object[appsv1.Deployment](t, texts["deployment.yaml"], "Deployment").Spec.Template
	cron := object[batchv1.CronJob](t, texts["doctor/cronjob.yaml"], "CronJob")
	test := object[batchv1.Job](t, texts["doctor/test.yaml"], "Job")
	if diff := cmp.Diff(cron.Spec.JobTemplate.Spec, test.Spec); diff != "" {
		t.Errorf("helm test runs another Job (-CronJob +test):\n%s", diff)
	}
	if test.Annotations["helm.sh/hook"] != "test" || *cron.Spec.Suspend {
		t.Errorf("the test has annotations %v, and the CronJob with a schedule is suspended: %v", test.Annotations, *cron.Spec.Suspend)
	}
	kubectl(t, "-n", r.Namespace, "create", "job", "doctor", "--from=cronjob/"+cron.Name)
	job, err := kubetest.Client(t).BatchV1().Jobs(r.Namespace).Get(t.Context(), "doctor", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.Template
	if err := admittedPod(t, pod, r.Namespace); err != nil {
		t.Errorf("the Pod is refused: %v", err)
	}
	if labels.SelectorFromSet(object[appsv1.Deployment](t, texts["deployment.yaml"], "Deployment").Spec.Selector.MatchLabels).Matches(labels.Set(pod.Labels)) {
		t.Errorf("Service, Deployment and PodDisruptionBudget select the Pod of doctor, with labels %v", pod.Labels)
	}
	for _, flag := range []string{"--controllers=service,node,node-lifecycle,route", "--cluster-cidr=10.244.0.0/16,fd00:244::/56"} {
		if !slices.Contains(d.Spec.Containers[0].Args, flag) || !slices.Contains(pod.Spec.Containers[0].Args, flag) {
			t.Errorf("controller or doctor runs without %s: %v, %v", flag, d.Spec.Containers[0].Args, pod.Spec.Containers[0].Args)
		}
	}
	policy := object[networkingv1.NetworkPolicy](t, texts["networkpolicy.yaml"], "NetworkPolicy").Spec.PodSelector
	for name, one := range map[string]map[string]string{"controller": d.Labels, "doctor": pod.Labels} {
		if !labels.SelectorFromSet(policy.MatchLabels).Matches(labels.Set(one)) {
			t.Errorf("the NetworkPolicy does not select the Pod of %s", name)
		}
	}
	same := func(p corev1.PodTemplateSpec) []any {
		c := p.Spec.Containers[0]
		return []any{p.Spec.ServiceAccountName, p.Spec.Volumes, p.Spec.DNSConfig, p.Spec.Tolerations, p.Spec.NodeSelector, p.Spec.ImagePullSecrets, p.Spec.SecurityContext, c.Image, c.Env, c.VolumeMounts, c.SecurityContext}
	}
	// Fields that kube-apiserver adds are not compared.
	if diff := cmp.Diff(same(d), same(cron.Spec.JobTemplate.Spec.Template)); diff != "" {
		t.Errorf("Pods of controller and doctor differ (-controller +doctor):\n%s", diff)
	}
}

func TestOnlyAPodInTheNetworkOfTheNodeNeedsAPrivilegedNamespace(t *testing.T) {
	r := cases["host-network"]
	r.Namespace = namespace(t, "restricted")
	texts := rendered(t, r, caseFile(t, "host-network", "values.yaml"))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "kube-octavia"}}
	if _, err := kubetest.Client(t).CoreV1().ServiceAccounts(r.Namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	err := admitted(t, object[appsv1.Deployment](t, texts["deployment.yaml"], "Deployment"), r.Namespace)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "host namespaces") {
		t.Errorf("the Pod is not refused for that: %v", err)
	}
}

// TestAdmissionPolicyOfAReleaseAppliesToItsClassOnly installs a release for one class, and creates Services of this class and of none.
func TestAdmissionPolicyOfAReleaseAppliesToItsClassOnly(t *testing.T) {
	r := cases["second"]
	r.Namespace = namespace(t, "restricted")
	install(t, r, "second")
	create := func(ctx context.Context, class *string) error {
		_, err := kubetest.Client(t).CoreV1().Services(r.Namespace).Create(ctx, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Annotations: map[string]string{"loadbalancer.openstack.org/keep-floatingip": "perhaps"}},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: class, Ports: []corev1.ServicePort{{Port: 80}}},
		}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := create(ctx, ptr.To("example.com/internal"))
		if err == nil {
			return false, nil // kube-apiserver has not noticed the policy yet
		}
		if !strings.Contains(err.Error(), "keep-floatingip") {
			return false, fmt.Errorf("refused for another reason: %w", err)
		}
		return true, nil
	})
	if err != nil {
		t.Fatalf("an invalid annotation of a Service of the release's class: %v", err)
	}
	for name, class := range map[string]*string{"no class": nil, "another class": ptr.To("kube-octavia.io/octavia")} {
		t.Run(name, func(t *testing.T) {
			if err := create(t.Context(), class); err != nil {
				t.Errorf("a Service of %s is refused: %v", name, err)
			}
		})
	}
}
