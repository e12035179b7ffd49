// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
	"github.com/kube-octavia/kube-octavia/test/kube/kubeversion"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

// manifests is the directory that is under test.
const manifests = "../../deploy"

// kubectl runs kubectl, which must succeed.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := deploy.Kubectl(t.Context(), kubetest.Cluster(t), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// installed returns the Deployment, once the manifests are in the cluster.
func installed(t *testing.T) *appsv1.Deployment {
	t.Helper()
	if err := deploy.Install(t.Context(), kubetest.Cluster(t), manifests); err != nil {
		t.Fatal(err)
	}
	d, err := kubetest.Client(t).AppsV1().Deployments(deploy.Namespace).Get(t.Context(), deploy.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestKubeAPIServerAcceptsTheManifestsWithoutAWarning(t *testing.T) {
	installed(t)
	out := kubectl(t, "apply", "-k", manifests, "--validate=strict")
	if lines := strings.Count(out, "\n"); lines != 9 || strings.Contains(out, "Warning") || strings.Contains(out, "created") {
		t.Errorf("applied a second time, %d objects instead of 9:\n%s", lines, out)
	}
	if out := kubectl(t, "apply", "-f", filepath.Join(manifests, "example"), "--dry-run=server", "--validate=strict"); out != "secret/cloud-config created (server dry run)\n" {
		t.Errorf("the example: %s", out)
	}
}

// altered returns a copy of the manifests in which one text is replaced by another.
func altered(t *testing.T, file, from, to string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(manifests)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), from) {
		t.Fatalf("%s has no %q", file, from)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), from, to)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestMistakesInTheManifestsAreFound(t *testing.T) {
	installed(t)
	dir := altered(t, "deployment.yaml", "readOnlyRootFilesystem", "readOnlyRootFilesytem")
	_, err := deploy.Kubectl(t.Context(), kubetest.Cluster(t), "apply", "-k", dir, "--validate=strict", "--dry-run=server")
	if err == nil || !strings.Contains(err.Error(), "readOnlyRootFilesytem") {
		t.Errorf("a misspelled field: %v", err)
	}
	dir = altered(t, "deployment.yaml", "runAsNonRoot: true", "runAsNonRoot: false")
	if out := kubectl(t, "apply", "-k", dir, "--dry-run=server"); !strings.Contains(out, "would violate PodSecurity") {
		t.Errorf("there is no warning of a Pod that would be refused:\n%s", out)
	}
}

func TestTheSecretIsNeverOverwritten(t *testing.T) {
	installed(t)
	const mine = "[Global]\nauth-url=https://keystone.example.com/v3\n"
	secrets := kubetest.Client(t).CoreV1().Secrets(deploy.Namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloud-config"}, StringData: map[string]string{"cloud.conf": mine}}
	if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "apply", "-k", manifests)
	got, err := secrets.Get(t.Context(), "cloud-config", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mine, string(got.Data["cloud.conf"])); diff != "" {
		t.Errorf("cloud.conf (-before +after):\n%s", diff)
	}
}

func TestExampleIsTheFileThatThePodReads(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(manifests, "example", "secret.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var secret corev1.Secret
	if err := yaml.UnmarshalStrict(text, &secret); err != nil {
		t.Fatal(err)
	}
	pod := installed(t).Spec.Template.Spec
	if len(pod.Volumes) != 1 || pod.Volumes[0].Secret == nil || pod.Volumes[0].Secret.SecretName != secret.Name || secret.Namespace != deploy.Namespace {
		t.Errorf("the Pod mounts %+v, and the example is %s/%s", pod.Volumes, secret.Namespace, secret.Name)
	}
	mount := pod.Containers[0].VolumeMounts[0]
	if want := "--cloud-config=" + mount.MountPath + "/cloud.conf"; !slices.Contains(pod.Containers[0].Args, want) || !mount.ReadOnly || mount.SubPath != "" {
		t.Errorf("mounted as %+v, read by %v", mount, pod.Containers[0].Args)
	}
	example := secret.StringData["cloud.conf"]
	if _, err := config.Parse("cloud.conf", []byte(example)); err == nil || strings.Count(err.Error(), "must be the id of") != 2 {
		t.Errorf("words in capitals that were not replaced: %v", err)
	}
	filled := regexp.MustCompile("ID-OF-[A-Z-]+").ReplaceAllString(example, "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04")
	conf, err := config.Parse("cloud.conf", []byte(filled))
	if err != nil {
		t.Fatal(err)
	}
	if conf.Global.Authentication() != config.ByApplicationCredential || len(conf.Notices) > 0 {
		t.Errorf("the example authenticates %v, with the notices %v", conf.Global.Authentication(), conf.Notices)
	}
}

func TestPodDisruptionBudgetAndServiceSelectThePods(t *testing.T) {
	d := installed(t)
	pods := labels.Set(d.Spec.Template.Labels)
	budget, err := kubetest.Client(t).PolicyV1().PodDisruptionBudgets(deploy.Namespace).Get(t.Context(), deploy.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil || !selector.Matches(pods) {
		t.Errorf("the budget is for %v %v, and the Pods have %v", selector, err, pods)
	}
	if most := budget.Spec.MaxUnavailable.IntValue(); most < 1 || most >= int(*d.Spec.Replicas) {
		t.Errorf("%d of %d Pods may be missing: nodes could not be drained, or no Pod would be left", most, *d.Spec.Replicas)
	}
	service, err := kubetest.Client(t).CoreV1().Services(deploy.Namespace).Get(t.Context(), deploy.Name+"-metrics", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !labels.SelectorFromSet(service.Spec.Selector).Matches(pods) {
		t.Errorf("the Service is for %v, and the Pods have %v", service.Spec.Selector, pods)
	}
	target := service.Spec.Ports[0].TargetPort.StrVal
	if !slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == target }) {
		t.Errorf("the container has no port %q", target)
	}
}

// TestNodesCanBeDrainedWhileNoReplicaIsReady evicts Pods as `kubectl drain` does, with a budget that allows no disruption.
// Expired credentials make all replicas unready, and no drain may wait for them.
func TestNodesCanBeDrainedWhileNoReplicaIsReady(t *testing.T) {
	d := installed(t)
	client := kubetest.Client(t)
	budgets := client.PolicyV1().PodDisruptionBudgets(deploy.Namespace)
	budget, err := budgets.Get(t.Context(), deploy.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// What the disruption controller, which does not run here, finds when no more Pod may be missing.
	budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, DesiredHealthy: 1, ExpectedPods: 2, CurrentHealthy: 1}
	if _, err := budgets.UpdateStatus(t.Context(), budget, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for name, ready := range map[string]corev1.ConditionStatus{
		"Pod is ready":     corev1.ConditionTrue,
		"Pod is not ready": corev1.ConditionFalse,
	} {
		t.Run(name, func(t *testing.T) {
			pods := client.CoreV1().Pods(deploy.Namespace)
			pod, err := pods.Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "drained-", Labels: d.Spec.Template.Labels}, Spec: *d.Spec.Template.Spec.DeepCopy(),
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := pods.Delete(context.Background(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil && !apierrors.IsNotFound(err) {
					t.Error(err)
				}
			})
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}}
			if _, err := pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}}
			switch err := pods.EvictV1(t.Context(), eviction); {
			case ready == corev1.ConditionTrue && !apierrors.IsTooManyRequests(err):
				t.Errorf("the last ready Pod is evicted: %v", err)
			case ready == corev1.ConditionFalse && err != nil:
				t.Errorf("a Pod that is not ready cannot be evicted: %v", err)
			}
		})
	}
}

// TestPodMeetsTheRestrictedPodSecurityStandard makes the Pod of the Deployment as its
// controllers would, where kube-apiserver enforces the Pod Security Standards, and
// shows that it would refuse one that is less restricted.
func TestPodMeetsTheRestrictedPodSecurityStandard(t *testing.T) {
	template := installed(t).Spec.Template
	for name, weaken := range map[string]func(pod *corev1.PodSpec, container *corev1.SecurityContext){
		"":                       func(*corev1.PodSpec, *corev1.SecurityContext) {},
		"runAsNonRoot":           func(pod *corev1.PodSpec, _ *corev1.SecurityContext) { pod.SecurityContext.RunAsNonRoot = nil },
		"runAsUser=0":            func(pod *corev1.PodSpec, _ *corev1.SecurityContext) { pod.SecurityContext.RunAsUser = ptr.To[int64](0) },
		"seccompProfile":         func(pod *corev1.PodSpec, _ *corev1.SecurityContext) { pod.SecurityContext.SeccompProfile = nil },
		"host namespaces":        func(pod *corev1.PodSpec, _ *corev1.SecurityContext) { pod.HostNetwork = true },
		"unrestricted capabilit": func(_ *corev1.PodSpec, c *corev1.SecurityContext) { c.Capabilities = nil },
		"allowPrivilegeEscalation != false": func(_ *corev1.PodSpec, c *corev1.SecurityContext) {
			c.AllowPrivilegeEscalation = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "try-", Labels: template.Labels}, Spec: *template.Spec.DeepCopy()}
			weaken(&pod.Spec, pod.Spec.Containers[0].SecurityContext)
			got, err := kubetest.Client(t).CoreV1().Pods(deploy.Namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			switch {
			case name == "" && err != nil:
				t.Errorf("the Pod is refused: %v", err)
			case name == "" && (got.Spec.Priority == nil || *got.Spec.Priority < 1e9):
				t.Errorf("the Pod has priority %v", got.Spec.Priority)
			case name != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), name)):
				t.Errorf("the Pod is not refused for that: %v", err)
			}
		})
	}
}

// TestPodHasNoUnneededRights is about what the Pod Security Standards leave
// open.
func TestPodHasNoUnneededRights(t *testing.T) {
	pod := installed(t).Spec.Template.Spec
	c := pod.Containers[0]
	if !ptr.Deref(c.SecurityContext.ReadOnlyRootFilesystem, false) {
		t.Error("the root file system can be written to")
	}
	if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() {
		t.Errorf("resources are not bounded: %+v", c.Resources)
	}
	if mode := pod.Volumes[0].Secret.DefaultMode; mode == nil || *mode&0o007 != 0 {
		t.Errorf("every user in the container can read the Secret: mode %v", mode)
	}
	if pod.SecurityContext.FSGroup == nil {
		t.Error("the Secret's files belong to root, and the controller's user is in no group that can read them")
	}
}

// docs is the page about the installation, and rights the one with the rights.
const (
	docs   = "../../docs/install.md"
	rights = "../../docs/reference/deployment.md"
)

func page(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestInstallationAndDrainWorkAsDocumented takes the kustomizations of the docs and lets
// kube-apiserver see what comes of them.
func TestInstallationAndDrainWorkAsDocumented(t *testing.T) {
	installed(t)
	for _, path := range []string{docs, "../../docs/magnum-and-cluster-api.md"} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			_, rest, found := strings.Cut(page(t, path), "\n    apiVersion: kustomize.config.k8s.io/v1beta1\n")
			if !found {
				t.Fatalf("%s has no kustomization", path)
			}
			block, _, _ := strings.Cut(rest, "\n\n")
			dir := t.TempDir()
			if err := os.CopyFS(filepath.Join(dir, "kube-octavia", "deploy"), os.DirFS(manifests)); err != nil {
				t.Fatal(err)
			}
			mine := filepath.Join(dir, "mine")
			if err := os.Mkdir(mine, 0o700); err != nil {
				t.Fatal(err)
			}
			text := "apiVersion: kustomize.config.k8s.io/v1beta1\n" + strings.ReplaceAll("\n"+block, "\n    ", "\n")
			if err := os.WriteFile(filepath.Join(mine, "kustomization.yaml"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			kubectl(t, "apply", "-k", mine, "--dry-run=server", "--validate=strict")
			out := kubectl(t, "kustomize", mine)
			for _, want := range []string{"image: registry.example.com/kube-octavia:v1\n", "- --cluster-name=prod\n"} {
				if !strings.Contains(out, want) {
					t.Errorf("%s: there is no %q in\n%s", path, want, out)
				}
			}
		})
	}
}

// gates is the directory of what readiness gates need.
const gates = "../../deploy/readiness-gates"

func TestKubeAPIServerAcceptsTheManifestsForReadinessGatesWithoutAWarning(t *testing.T) {
	kubetest.NeedsVersion(t, kubeversion.HasMutatingAdmissionPolicy, "MutatingAdmissionPolicy in API version v1")
	installed(t)
	if err := deploy.InstallGates(t.Context(), kubetest.Cluster(t), gates); err != nil {
		t.Fatal(err)
	}
	out := kubectl(t, "apply", "-k", gates, "--validate=strict")
	if lines := strings.Count(out, "\n"); lines != 4 || strings.Contains(out, "Warning") || strings.Contains(out, "created") {
		t.Errorf("applied a second time, %d objects instead of 4:\n%s", lines, out)
	}
}

func TestKubeAPIServerAcceptsTheJobThatDrainsWithoutAWarning(t *testing.T) {
	installed(t)
	const drain = "../../deploy/drain"
	out := kubectl(t, "apply", "-k", drain, "--validate=strict")
	t.Cleanup(func() {
		if _, err := deploy.Kubectl(context.Background(), kubetest.Cluster(t), "delete", "-k", drain, "--wait=false"); err != nil {
			t.Error(err)
		}
	})
	if lines := strings.Count(out, "\n"); lines != 3 || strings.Contains(out, "Warning") {
		t.Errorf("%d objects instead of 3:\n%s", lines, out)
	}
	job, err := kubetest.Client(t).BatchV1().Jobs(deploy.Namespace).Get(t.Context(), deploy.Name+"-drain", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "try-", Labels: job.Spec.Template.Labels}, Spec: *job.Spec.Template.Spec.DeepCopy()}
	if _, err := kubetest.Client(t).CoreV1().Pods(deploy.Namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Errorf("its Pod is refused: %v", err)
	}
	role, err := kubetest.Client(t).RbacV1().Roles(deploy.Namespace).Get(t.Context(), deploy.Name+"-drain", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []rbacv1.PolicyRule{{Verbs: []string{"patch"}, APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, ResourceNames: []string{deploy.Name}}}
	if diff := cmp.Diff(want, role.Rules); diff != "" {
		t.Errorf("rights (-want +have):\n%s", diff)
	}
}

// topologyPage is the directory of the topology page in the cluster.
const topologyPage = "../../deploy/ui"

func TestKubeAPIServerAcceptsTheManifestsOfTheTopologyPageWithoutAWarning(t *testing.T) {
	installed(t)
	kubectl(t, "apply", "-k", topologyPage)
	out := kubectl(t, "apply", "-k", topologyPage, "--validate=strict")
	if lines := strings.Count(out, "\n"); lines != 6 || strings.Contains(out, "Warning") || strings.Contains(out, "created") {
		t.Errorf("applied a second time, %d objects instead of 6:\n%s", lines, out)
	}
}

func TestDocsListTheRights(t *testing.T) {
	installed(t)
	kubectl(t, "apply", "-k", topologyPage)
	if err := deploy.InstallGates(t.Context(), kubetest.Cluster(t), gates); err != nil {
		t.Fatal(err)
	}
	const header = "| resource | verbs | what for |\n| --- | --- | --- |\n"
	tables := strings.Split(page(t, rights), header)
	if len(tables) != 4 {
		t.Fatalf("%s has %d tables of rights", rights, len(tables)-1)
	}
	for i, read := range []func(context.Context, kubernetes.Interface) ([]deploy.Permission, error){deploy.Granted, deploy.GatesGranted, deploy.PageGranted} {
		granted, err := read(t.Context(), kubetest.Client(t))
		if err != nil {
			t.Fatal(err)
		}
		compareRights(t, granted, tables[i+1])
	}
}

// compareRights compares what is granted with the table of the docs.
func compareRights(t *testing.T, granted []deploy.Permission, table string) {
	t.Helper()
	verbs := map[string][]string{}
	for _, p := range granted {
		resource := p.Resource
		if p.Group != "" {
			resource += "." + p.Group
		}
		if p.Name != "" {
			resource += ", " + p.Name + " only"
		}
		if p.Namespace != "" {
			resource += ", in its own namespace"
		}
		verbs[resource] = append(verbs[resource], p.Verb)
	}
	want := map[string]string{}
	for resource, all := range verbs {
		want[resource] = strings.Join(all, ", ")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	got := map[string]string{}
	for _, row := range strings.Split(table, "\n") {
		if cells := strings.Split(row, " | "); len(cells) == 3 {
			got[strings.TrimPrefix(cells[0], "| ")] = cells[1]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rights (-roles +docs):\n%s", diff)
	}
}
