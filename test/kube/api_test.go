// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// The tests of this file state what the controller, the tests and the demo rely
// on in the Kubernetes API, so that a new version that differs is noticed here.

// patchService changes the Service web; subresources is empty or "status".
func patchService(t *testing.T, namespace, patch string, subresources ...string) (*corev1.Service, error) {
	t.Helper()
	return kubetest.Client(t).CoreV1().Services(namespace).Patch(t.Context(), "web",
		types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
}

// createLoadBalancer creates a Service web of type LoadBalancer.
func createLoadBalancer(t *testing.T, namespace string) *corev1.Service {
	t.Helper()
	return createService(t, namespace, corev1.ServiceSpec{
		Type:  corev1.ServiceTypeLoadBalancer,
		Ports: []corev1.ServicePort{{Port: 80}},
	})
}

func TestServicesHaveNoGeneration(t *testing.T) {
	namespace := kubetest.Namespace(t)
	created := createLoadBalancer(t, namespace)
	changed, err := patchService(t, namespace, `{"spec":{"sessionAffinity":"ClientIP"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if created.Generation != 0 || changed.Generation != 0 {
		t.Errorf("generation %d, then %d; want 0: observedGeneration could tell something now",
			created.Generation, changed.Generation)
	}
}

func TestServiceStatusTakesConditionsAndLoopbackAddresses(t *testing.T) {
	namespace := kubetest.Namespace(t)
	createLoadBalancer(t, namespace)
	got, err := patchService(t, namespace, `{"status":{
		"loadBalancer":{"ingress":[{"ip":"127.1.2.3","ipMode":"Proxy"},{"ip":"::1"}]},
		"conditions":[{"type":"example.com/Programmed","status":"True","reason":"Active","message":"",
			"lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`, "status")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Status.Conditions) != 1 {
		t.Errorf("conditions: %v, want the one that was written", got.Status.Conditions)
	}
	want := []corev1.LoadBalancerIngress{
		{IP: "127.1.2.3", IPMode: new(corev1.LoadBalancerIPModeProxy)},
		{IP: "::1", IPMode: new(corev1.LoadBalancerIPModeVIP)}, // the default
	}
	if !kubetest.KeepsIPMode(t) {
		want = []corev1.LoadBalancerIngress{{IP: "127.1.2.3"}, {IP: "::1"}}
	}
	if diff := cmp.Diff(want, got.Status.LoadBalancer.Ingress); diff != "" {
		t.Errorf("ingress (-want +got):\n%s", diff)
	}
}

func TestIPModeNeedsAnAddress(t *testing.T) {
	kubetest.NeedsVersion(t, 30, "the field ipMode")
	namespace := kubetest.Namespace(t)
	createLoadBalancer(t, namespace)
	_, err := patchService(t, namespace,
		`{"status":{"loadBalancer":{"ingress":[{"hostname":"lb.example.com","ipMode":"VIP"}]}}}`, "status")
	if !apierrors.IsInvalid(err) {
		t.Errorf("a host name with ipMode: %v, want it refused", err)
	}
}

func TestTypeChangeClearsTheAddressAndKeepsTheConditions(t *testing.T) {
	namespace := kubetest.Namespace(t)
	createLoadBalancer(t, namespace)
	_, err := patchService(t, namespace, `{"status":{
		"loadBalancer":{"ingress":[{"ip":"127.1.2.3"}]},
		"conditions":[{"type":"example.com/Programmed","status":"True","reason":"Active","message":"",
			"lastTransitionTime":"2026-01-02T03:04:05Z"}]}}`, "status")
	if err != nil {
		t.Fatal(err)
	}
	got, err := patchService(t, namespace, `{"spec":{"type":"ClusterIP"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if ingress := got.Status.LoadBalancer.Ingress; len(ingress) > 0 {
		t.Errorf("ingress %v, want none", ingress)
	}
	if len(got.Status.Conditions) != 1 {
		t.Errorf("conditions %v, want the one from before", got.Status.Conditions)
	}
}

func TestNodesMayHaveLoopbackAddressesAndStartTainted(t *testing.T) {
	nodes := kubetest.Client(t).CoreV1().Nodes()
	node := createNode(t)
	if diff := cmp.Diff([]corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}, node.Spec.Taints); diff != "" {
		t.Errorf("taints of a new node (-want +got):\n%s", diff)
	}
	got, err := nodes.Patch(t.Context(), node.Name, types.MergePatchType,
		[]byte(`{"status":{"addresses":[{"type":"InternalIP","address":"127.0.1.1"}]}}`), metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	want := []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.1.1"}}
	if diff := cmp.Diff(want, got.Status.Addresses); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func TestEndpointSlicesRefuseLoopbackAddresses(t *testing.T) {
	namespace := kubetest.Namespace(t)
	_, err := kubetest.Client(t).DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "web"},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"127.0.1.1"}}},
	}, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("a loopback endpoint: %v, want it refused", err)
	}
}
