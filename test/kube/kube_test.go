// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kube-octavia/kube-octavia/test/kube"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// abandonVariable tells the test binary to start a cluster and to be killed.
const abandonVariable = "KUBE_TEST_ABANDON_CLUSTER"

func TestMain(m *testing.M) {
	if os.Getenv(abandonVariable) != "" {
		abandonCluster()
	}
	kubetest.MainWith(m, kube.Options{Audited: []string{kube.Administrator}})
}

// eventually waits until condition returns nil.
func eventually(t *testing.T, condition func(ctx context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true,
		func(ctx context.Context) (bool, error) {
			err := condition(ctx)
			if err != nil && ctx.Err() != nil {
				return false, err // of the deadline; the one before says more
			}
			last = err
			return err == nil, nil
		})
	if err != nil {
		t.Fatalf("%v: %v", err, last)
	}
}

func TestServiceWithAReadyPodGetsAnEndpointSlice(t *testing.T) {
	client, namespace := kubetest.Client(t), kubetest.Namespace(t)
	pod := createRunningPod(t, namespace, "web-0", "10.244.0.7")
	createService(t, namespace, corev1.ServiceSpec{
		Selector: map[string]string{"app": "web"},
		Ports:    []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
	})

	want := []discoveryv1.Endpoint{{
		Addresses: []string{"10.244.0.7"},
		NodeName:  new(pod.Spec.NodeName),
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: "web-0", UID: pod.UID},
		Conditions: discoveryv1.EndpointConditions{
			Ready: new(true), Serving: new(true), Terminating: new(false),
		},
	}}
	eventually(t, func(ctx context.Context) error {
		slices, err := client.DiscoveryV1().EndpointSlices(namespace).List(ctx,
			metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=web"})
		if err != nil {
			return err
		}
		if len(slices.Items) != 1 {
			return fmt.Errorf("%d EndpointSlices, want 1", len(slices.Items))
		}
		if diff := cmp.Diff(want, slices.Items[0].Endpoints); diff != "" {
			return fmt.Errorf("endpoints (-want +got):\n%s", diff)
		}
		return nil
	})
}

func TestEndpointSlicesAreDeletedWithTheirService(t *testing.T) {
	client, namespace := kubetest.Client(t), kubetest.Namespace(t)
	createRunningPod(t, namespace, "web-0", "10.244.0.8")
	createService(t, namespace, corev1.ServiceSpec{
		Selector: map[string]string{"app": "web"},
		Ports:    []corev1.ServicePort{{Port: 80}},
	})
	waitForSlices := func(number int) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			slices, err := client.DiscoveryV1().EndpointSlices(namespace).List(ctx, metav1.ListOptions{})
			if err == nil && len(slices.Items) != number {
				err = fmt.Errorf("%d EndpointSlices, want %d", len(slices.Items), number)
			}
			return err
		})
	}
	waitForSlices(1)
	if err := client.CoreV1().Services(namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waitForSlices(0)
}

func TestDeletedNamespaceIsRemovedWithItsObjects(t *testing.T) {
	client := kubetest.Client(t)
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "leaving-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	createService(t, namespace.Name, corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}})
	if err := client.CoreV1().Namespaces().Delete(t.Context(), namespace.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		_, err := client.CoreV1().Namespaces().Get(ctx, namespace.Name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the namespace is still there (%v)", err)
		}
		return nil
	})
}

func TestServicesGetAddressesOfTheRequestedFamilies(t *testing.T) {
	namespace := kubetest.Namespace(t)
	for _, test := range []struct {
		name     string
		policy   corev1.IPFamilyPolicy
		families []corev1.IPFamily
		want     []string // prefixes of the cluster IPs
	}{
		{"single", corev1.IPFamilyPolicySingleStack, nil, []string{"10.96."}},
		{"six", corev1.IPFamilyPolicySingleStack, []corev1.IPFamily{corev1.IPv6Protocol}, []string{"fd00:10:96:"}},
		{"dual", corev1.IPFamilyPolicyRequireDualStack, nil, []string{"10.96.", "fd00:10:96:"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			service, err := kubetest.Client(t).CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Name: test.name},
				Spec: corev1.ServiceSpec{
					IPFamilyPolicy: &test.policy,
					IPFamilies:     test.families,
					Ports:          []corev1.ServicePort{{Port: 80}},
				},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(service.Spec.ClusterIPs) != len(test.want) {
				t.Fatalf("cluster IPs %v, want %d", service.Spec.ClusterIPs, len(test.want))
			}
			for i, prefix := range test.want {
				if !strings.HasPrefix(service.Spec.ClusterIPs[i], prefix) {
					t.Errorf("cluster IP %d is %s, want one of %s", i, service.Spec.ClusterIPs[i], prefix)
				}
			}
		})
	}
}

func TestKubectlReadsAndWritesWithTheKubeconfig(t *testing.T) {
	cluster, namespace := kubetest.Cluster(t), kubetest.Namespace(t)
	kubeconfig := filepath.Join(t.TempDir(), "new", "kubeconfig")
	if err := cluster.Kubeconfig(kubeconfig); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("the kubeconfig has mode %o, want 600: it holds a credential", mode)
	}
	kubectl := func(args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), cluster.Kubectl(), append([]string{"--namespace", namespace}, args...)...)
		command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+t.TempDir())
		output, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl %v: %v\n%s", args, err, output)
		}
		return string(output)
	}
	kubectl("create", "service", "loadbalancer", "web", "--tcp=80:8080")
	if got, want := kubectl("get", "service", "web", "-o", "jsonpath={.spec.ports[0].targetPort}"), "8080"; got != want {
		t.Errorf("kubectl get: %q, want %q", got, want)
	}
	if got := kubectl("version"); !strings.Contains(got, "Server Version: v1.") {
		t.Errorf("kubectl does not understand the server's version:\n%s", got)
	}
}

// createService creates a Service named web.
func createService(t *testing.T, namespace string, spec corev1.ServiceSpec) *corev1.Service {
	t.Helper()
	service, err := kubetest.Client(t).CoreV1().Services(namespace).Create(t.Context(),
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return service
}

// createRunningPod makes a pod labelled app=web that is bound to a node and
// ready, as a kubelet would report it. The endpointslice controller leaves out
// pods of a node that does not exist.
func createRunningPod(t *testing.T, namespace, name, address string) *corev1.Pod {
	t.Helper()
	node := createNode(t)
	pods := kubetest.Client(t).CoreV1().Pods(namespace)
	_, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			NodeName:   node.Name,
			Containers: []corev1.Container{{Name: "web", Image: "web"}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status := fmt.Sprintf(`{"status":{"phase":"Running","podIP":%q,"podIPs":[{"ip":%[1]q}],
		"conditions":[{"type":"Ready","status":"True"}]}}`, address)
	pod, err := pods.Patch(t.Context(), name, types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestServerListensOnLoopbackOnly(t *testing.T) {
	server, err := url.Parse(kubetest.Cluster(t).Config().Host)
	if err != nil {
		t.Fatal(err)
	}
	if server.Hostname() != "127.0.0.1" {
		t.Errorf("the API is at %s", server)
	}
}

// createNode makes a node that is deleted when the test ends.
func createNode(t *testing.T) *corev1.Node {
	t.Helper()
	nodes := kubetest.Client(t).CoreV1().Nodes()
	node, err := nodes.Create(t.Context(),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "node-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		if err := nodes.Delete(context.Background(), node.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return node
}

// withoutRights returns the client of a user who may do nothing.
func withoutRights(t *testing.T) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(kubetest.Cluster(t).Config())
	config.Impersonate.UserName = "nobody"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestRefusalsOfANamespaceThatIsBeingDeletedCountAsAllowed(t *testing.T) {
	client, cluster := kubetest.Client(t), kubetest.Cluster(t)
	namespace := kubetest.Namespace(t)
	web := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	if err := client.CoreV1().Namespaces().Delete(t.Context(), namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Services(namespace).Create(t.Context(), web, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("create a Service in a namespace that is being deleted: %v", err)
	}
	eventually(t, func(context.Context) error {
		all, err := cluster.Requests()
		if err != nil {
			return err
		}
		for _, r := range all {
			if r.Namespace == namespace && r.Resource == "services" && r.Verb == "create" {
				if r.Status != 403 || r.Unauthorized {
					t.Errorf("%+v, want status 403 of a user who has the right", r)
				}
				return nil
			}
		}
		return errors.New("the request is not recorded")
	})
}

func TestRequestsOfAuditedUsersAreRecorded(t *testing.T) {
	client, cluster := kubetest.Client(t), kubetest.Cluster(t)
	if _, err := client.CoreV1().Services("recorded").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Services("recorded").UpdateStatus(t.Context(),
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, metav1.UpdateOptions{}); err == nil {
		t.Fatal("a Service that is not there was updated")
	}
	if _, err := withoutRights(t).CoreV1().Services("recorded").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("a user without rights: %v", err)
	}
	want := []kube.Request{
		{Verb: "list", Resource: "services", Namespace: "recorded", Status: 200, Path: "/api/v1/namespaces/recorded/services"},
		{Verb: "update", Resource: "services", Subresource: "status", Namespace: "recorded", Name: "web", Status: 404,
			Path: "/api/v1/namespaces/recorded/services/web/status"},
		{Verb: "list", Resource: "services", Namespace: "recorded", Status: 403, Unauthorized: true, Path: "/api/v1/namespaces/recorded/services"},
	}
	for i := range want {
		want[i].User = kube.Administrator
	}
	eventually(t, func(context.Context) error {
		all, err := cluster.Requests()
		if err != nil {
			return err
		}
		got := slices.DeleteFunc(all, func(r kube.Request) bool { return r.Namespace != "recorded" })
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("requests (-want +got):\n%s", diff)
		}
		return nil
	})
}
