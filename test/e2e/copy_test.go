// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// A copy keeps what `kubectl get -o yaml` shows and the API server accepts: annotations and finalizers, and no status.
func TestACopyOfAServiceGetsALoadBalancerOfItsOwn(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is one more load balancer")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	original, now := web.tree(), web.now()
	var copies []*service
	for name, edits := range map[string][]edit{
		"another-port": {without(8080), tcp(8081)},
		"same-port":    nil,
		"vip-address":  {annotated("kube-octavia.io/vip-address", "10.0.0.9")},
		"no-mark":      {notAnnotated(managedKey)},
	} {
		copies = append(copies, s.copied(now, s.namespace, name, edits...))
	}
	copies = append(copies, s.copied(now, kubetest.Namespace(t), "web"))
	for _, v := range copies {
		if other := v.waitUntilProgrammed(); other == address || v.tree().ID == original.ID {
			t.Errorf("copy %s is at %s, on load balancer %s", v.name, other, v.tree().ID)
		}
	}
	if tags := web.tree().Tags; !slices.Equal(tags, original.Tags) {
		t.Errorf("the load balancer of the original has the tags %v, before %v", tags, original.Tags)
	}
	web.delete()
	web.waitUntilGone()
	if slices.Contains(s.cloud.ids("loadbalancers"), original.ID) {
		t.Error("the load balancer of the original is there after it was deleted")
	}
	for _, v := range copies {
		v.requireOneLoadBalancer()
	}
}

func TestACopyOfAServiceOfAGroupIsServedInItsNamespace(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is one more load balancer")
	s := newStage(t, settings{conf: []string{"max-shared-lb=3"}})
	grouped := annotated(prefix+"load-balancer-group", "g")
	s.service("web", tcp(8080), grouped).waitUntilProgrammed()
	second := s.service("second", tcp(8081), grouped)
	address := second.waitUntilProgrammed()
	if same := s.copied(second.now(), s.namespace, "copy", without(8081), tcp(8082)).waitUntilProgrammed(); same != address {
		t.Errorf("the copy in the same group is at %s, the group at %s", same, address)
	}
	other := s.copied(second.now(), kubetest.Namespace(t), "second")
	if got := other.waitForOtherAddress(address); got == address {
		t.Error("the copy in another namespace has the address of the original")
	}
}

// A backup is restored after the Service was lost while no controller ran: the old load balancer has the old uid.
func TestARestoredServiceIsServedThoughItsOldLoadBalancerExists(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is one more load balancer")
	s := newStage(t, settings{flags: collecting})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	old, backup := web.tree().ID, web.now()
	s.waitUntilIdle()
	s.stop()
	web.deleteWithoutFinalizer()
	restored := s.copied(backup, s.namespace, "web")
	s.start()
	if other := restored.waitForOtherAddress(address); other == address {
		t.Error("the restored Service has the old address")
	}
	if id := restored.now().Annotations[idKey]; id == old || id == "" {
		t.Errorf("the restored Service has load balancer %q", id)
	}
	s.eventually(func() error {
		if slices.Contains(s.cloud.ids("loadbalancers"), old) {
			return errors.New("the old load balancer, which is an orphan, was not deleted")
		}
		return nil
	})
	restored.requireOneLoadBalancer()
}

// copied creates a Service as users and backups do: from the manifest of another one.
func (s *stage) copied(from *corev1.Service, namespace, name string, edits ...edit) *service {
	s.t.Helper()
	object := from.DeepCopy()
	object.ObjectMeta = metav1.ObjectMeta{Name: name, Namespace: namespace, Annotations: object.Annotations, Labels: object.Labels, Finalizers: object.Finalizers}
	object.Spec.ClusterIP, object.Spec.ClusterIPs, object.Spec.HealthCheckNodePort, object.Status = "", nil, 0, corev1.ServiceStatus{}
	for i := range object.Spec.Ports {
		object.Spec.Ports[i].NodePort = 0
	}
	for _, e := range edits {
		e(object)
	}
	if _, err := s.client.CoreV1().Services(namespace).Create(s.t.Context(), object, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	there := *s
	there.namespace = namespace
	return &service{stage: &there, name: name}
}

// As after a cluster's Services were lost and restored: the load balancer of the lost one is an orphan, and the address that it
// was given automatically is what people know.
func TestARestoredServiceGetsItsFormerAddressIfItRequestsIt(t *testing.T) {
	skipOnRealOpenStack(t, "what a floating IP leads to is in the contract")
	s := newStage(t, settings{flags: collecting})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	lost := s.cloud.floatingIP(address)
	s.stop()
	web.change(func(v *corev1.Service) { v.Finalizers = nil })
	if err := s.client.CoreV1().Services(s.namespace).Delete(t.Context(), web.name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	restored := s.service("web", tcp(8080), at(address))
	s.start()
	if got := restored.waitUntilProgrammed(); got != address {
		t.Errorf("the Service is at %s, and requests %s", got, address)
	}
	restored.requireOneLoadBalancer()
	restored.delete()
	restored.waitUntilGone()
	if now := s.cloud.floatingIP(address); now.ID != lost.ID || now.PortID != "" {
		t.Errorf("the requested floating IP does not stay: %+v", now)
	}
	s.given = append(s.given, address)
}

// After a start, the conditions and the cloud show what the memory of the controller had.
func TestAServiceThatNeedsNoLoadBalancerAnyMoreIsReleasedAfterAStart(t *testing.T) {
	skipOnRealOpenStack(t, "what the tags prove is decided here; other tests check that they are read")
	bare := func(v *corev1.Service) { v.Annotations = nil }
	unprotected := func(v *corev1.Service) { v.Finalizers = nil }
	s := newStage(t, settings{})
	changes := map[string][]edit{
		"type":                            {toClusterIP},
		"type-and-annotations":            {toClusterIP, bare},
		"type-and-finalizer":              {toClusterIP, unprotected},
		"type-annotations-and-conditions": {toClusterIP, bare},
		"type-annotations-and-name":       {toClusterIP, bare},
		"annotations":                     {bare},
	}
	all := map[string]*service{}
	for name := range changes {
		all[name] = s.service(name, tcp(int32(8080+len(all))))
	}
	for _, v := range all {
		v.waitUntilProgrammed()
	}
	s.waitUntilIdle()
	s.stop()
	s.resetCalls()
	for name, edits := range changes {
		all[name].change(edits...)
	}
	renamed := s.cloud.balancers(all["type-annotations-and-name"].lbName())[0].ID
	s.cloud.octavia(http.MethodPut, "loadbalancers/"+renamed, map[string]any{"loadbalancer": map[string]any{"name": "by-hand"}}, nil)
	s.resetCalls()
	lost := all["type-annotations-and-conditions"]
	if _, err := s.client.CoreV1().Services(s.namespace).Patch(t.Context(), lost.name, types.MergePatchType, []byte(`{"status":{"conditions":null}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	s.start()
	for name, v := range all {
		if name == "annotations" {
			v.waitUntilProgrammed()
			v.requireOneLoadBalancer()
			continue
		}
		v.waitUntilUnmarked()
		if left := s.cloud.balancers(v.lbName()); len(left) > 0 {
			t.Errorf("%s: load balancers are left: %+v", name, left)
		}
	}
	if left := s.cloud.balancers("by-hand"); len(left) > 0 {
		t.Errorf("the load balancer that another client renamed is left: %+v", left)
	}
	for _, w := range s.writes() {
		if strings.HasPrefix(w, "POST ") || strings.HasPrefix(w, "PUT ") {
			t.Errorf("the cloud was changed: %s", w)
		}
	}
}
