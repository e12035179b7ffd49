// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/conflict"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// What objects have that the cache drops.
var (
	managed = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	owners  = []metav1.OwnerReference{{Name: "owner"}}
	applied = map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}
)

func fullService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "uid", ResourceVersion: "7", Generation: 3, CreationTimestamp: metav1.Unix(1, 0),
			Labels: map[string]string{"app": "web"}, ManagedFields: managed, OwnerReferences: owners, Finalizers: []string{claim.Finalizer, "example.com/other"},
			Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}", annotation.MaxMembers: "2", "example.com/touched": "1", annotation.LoadBalancerID: "lb"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "web"}, ClusterIP: "10.96.0.1", ClusterIPs: []string{"10.96.0.1"}, ExternalIPs: []string{"192.0.2.9"},
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyLocal, HealthCheckNodePort: 32000, SessionAffinity: corev1.ServiceAffinityClientIP,
			LoadBalancerSourceRanges: []string{"10.0.0.0/8"}, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicySingleStack),
			Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080, AppProtocol: ptr.To("http")}},
		},
		Status: corev1.ServiceStatus{
			LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "203.0.113.7"}}},
			Conditions:   []metav1.Condition{{Type: status.Programmed, Status: metav1.ConditionTrue}},
		},
	}
}

func fullNode() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "uid", Labels: map[string]string{corev1.LabelTopologyZone: "a"}, DeletionTimestamp: ptr.To(metav1.Unix(2, 0)),
			Annotations: applied, ManagedFields: managed, OwnerReferences: owners},
		Spec: corev1.NodeSpec{ProviderID: "openstack:///1", PodCIDR: "10.244.0.0/24", PodCIDRs: []string{"10.244.0.0/24"}, Unschedulable: true,
			Taints: []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.9"}},
			Images: []corev1.ContainerImage{{Names: []string{"i"}}}, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady}}},
	}
}

func fullSlice() *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-x", Labels: map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "controller", "app": "web"},
			Annotations: applied, ManagedFields: managed, OwnerReferences: owners},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: ptr.To[int32](8080)}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.244.0.1"}, NodeName: ptr.To("n"), Zone: ptr.To("a"),
			Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}, TargetRef: &corev1.ObjectReference{Name: "web-1"}}},
	}
}

// slim returns the object as the cache has it.
func slim[T client.Object](t *testing.T, object T) T {
	t.Helper()
	for kind, of := range CacheOptions(config.ClusterIP{}).ByObject {
		if _, same := kind.(T); same {
			got, err := of.Transform(object)
			if err != nil {
				t.Fatal(err)
			}
			return got.(T)
		}
	}
	t.Fatalf("%T is not in the cache", object)
	return object
}

func TestCacheKeepsOnlyFieldsThatAreRead(t *testing.T) {
	service := fullService()
	service.Labels, service.ManagedFields, service.OwnerReferences = nil, nil, nil
	delete(service.Annotations, corev1.LastAppliedConfigAnnotation)
	service.Spec.Selector, service.Spec.ClusterIP, service.Spec.ClusterIPs, service.Spec.ExternalIPs = nil, "", nil, nil
	if diff := cmp.Diff(service, slim(t, fullService())); diff != "" {
		t.Errorf("Service (-want +got):\n%s", diff)
	}
	node := fullNode()
	node.Annotations, node.ManagedFields, node.OwnerReferences = nil, nil, nil
	node.Spec.PodCIDR, node.Spec.PodCIDRs, node.Status.Images, node.Status.Conditions = "", nil, nil, nil
	if diff := cmp.Diff(node, slim(t, fullNode())); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	slice := fullSlice()
	slice.Annotations, slice.ManagedFields, slice.OwnerReferences = nil, nil, nil
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "controller"}
	slice.Endpoints[0].Zone, slice.Ports[0].AppProtocol = nil, nil
	slice.Endpoints[0].TargetRef = &corev1.ObjectReference{Kind: slice.Endpoints[0].TargetRef.Kind, Name: slice.Endpoints[0].TargetRef.Name}
	if diff := cmp.Diff(slice, slim(t, fullSlice())); diff != "" {
		t.Errorf("EndpointSlice (-want +got):\n%s", diff)
	}
}

func TestTheLoadBalancerOfTheAPIServiceIsFoundAfterClusterIPModeWasSwitchedOff(t *testing.T) {
	api := fullService()
	api.Namespace, api.Name = "default", "kubernetes"
	policy := claim.Policy{ClusterUID: "cluster"}
	if diff := cmp.Diff(policy.Owner(api), policy.Owner(slim(t, api.DeepCopy()))); diff != "" {
		t.Errorf("owner in the cloud (-want +got):\n%s", diff)
	}
}

func TestTheCacheKeepsClusterIPsAndLabelsOfServicesInClusterIPMode(t *testing.T) {
	want := fullService()
	want.ManagedFields, want.OwnerReferences, want.Spec.Selector, want.Spec.ExternalIPs = nil, nil, nil, nil
	delete(want.Annotations, corev1.LastAppliedConfigAnnotation)
	for kind, of := range CacheOptions(config.ClusterIP{Enabled: true}).ByObject {
		if _, is := kind.(*corev1.Service); !is {
			continue
		}
		got, err := of.Transform(fullService())
		if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

func TestObjectsOfTheCacheLeadToTheSameLoadBalancer(t *testing.T) {
	wanted := func(s *corev1.Service, n *corev1.Node, e *discoveryv1.EndpointSlice) lb.Wanted {
		n.DeletionTimestamp, n.Spec.Taints = nil, nil // so that it is a member
		operator := config.LoadBalancer{Provider: "amphora", Method: "ROUND_ROBIN"}
		w, err := desired.Wanted(desired.Input{
			Spec: service.Spec(s, operator), Nodes: []corev1.Node{*n}, Slices: []discoveryv1.EndpointSlice{*e}, Owner: lb.Owner{ServiceUID: "uid"},
			Config:       operator,
			Networks:     desired.Networks{VIPSubnetID: "vip", MemberSubnetID: "nodes", FloatingNetworkID: "public"},
			Capabilities: lb.Capabilities{APIVersion: lb.Version{Major: 2, Minor: 26}, Provider: "amphora"},
		})
		if err != nil || len(w.LoadBalancer.Listeners[0].Pool.Members) != 1 {
			t.Fatalf("%v, %+v", err, w)
		}
		return w
	}
	full := wanted(fullService(), fullNode(), fullSlice())
	if diff := cmp.Diff(full, wanted(slim(t, fullService()), slim(t, fullNode()), slim(t, fullSlice()))); diff != "" {
		t.Errorf("from whole objects, and from the cache:\n%s", diff)
	}
}

func TestAPatchOfAServiceOfTheCacheRemovesNothingThatTheCacheDropped(t *testing.T) {
	before := slim(t, fullService())
	after := before.DeepCopy()
	after.Annotations[annotation.LoadBalancerID] = "lb-2"
	after.Finalizers = after.Finalizers[1:]
	patch, err := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}).Data(after)
	const want = `{"metadata":{"annotations":{"loadbalancer.openstack.org/load-balancer-id":"lb-2"},"finalizers":["example.com/other"],"resourceVersion":"7"}}`
	if diff := cmp.Diff(want, string(patch)); diff != "" || err != nil {
		t.Errorf("error %v, patch (-want +got):\n%s", err, diff)
	}
	if fields := conflict.ChangedFields(service.Kind{}.Of(fullService()), service.Kind{}.Of(before)); len(fields) > 0 {
		t.Errorf("the cache seems to change %v", fields)
	}
}
