// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// What users write and read, written out here so that a test notices a change.
const (
	prefix         = "loadbalancer.openstack.org/"
	internalKey    = "service.beta.kubernetes.io/openstack-internal-load-balancer"
	sourcesKey     = "service.beta.kubernetes.io/load-balancer-source-ranges"
	keepKey        = prefix + "keep-floatingip"
	monitorKey     = prefix + "enable-health-monitor"
	idKey          = prefix + "load-balancer-id"
	addressKey     = prefix + "load-balancer-address"
	managedKey     = "kube-octavia.io/managed"
	ourClass       = "kube-octavia.io/octavia"
	finalizer      = "service.kubernetes.io/load-balancer-cleanup"
	clusterName    = "kubernetes"
	accepted       = status.Accepted
	programmed     = status.Programmed
	conditionTrue  = metav1.ConditionTrue
	conditionFalse = metav1.ConditionFalse
)

// edit changes a Service.
type edit func(*corev1.Service)

// tcp adds TCP ports that lead to the Pods' HTTP servers.
func tcp(ports ...int32) edit { return addPorts(corev1.ProtocolTCP, "http", ports) }

// udp adds UDP ports that lead to the Pods' echo servers.
func udp(ports ...int32) edit { return addPorts(corev1.ProtocolUDP, "dns", ports) }

// addPorts adds ports that lead to the port of the Pods with the name in target.
func addPorts(protocol corev1.Protocol, target string, ports []int32) edit {
	return func(v *corev1.Service) {
		for _, p := range ports {
			v.Spec.Ports = append(v.Spec.Ports, corev1.ServicePort{
				Name: fmt.Sprintf("%s-%d", strings.ToLower(string(protocol)), p), Port: int32(freePort(int(p))),
				Protocol: protocol, TargetPort: intstr.FromString(target),
			})
		}
	}
}

// without takes a port away.
func without(port int32) edit {
	return func(v *corev1.Service) {
		v.Spec.Ports = slices.DeleteFunc(v.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == int32(freePort(int(port))) })
	}
}

// annotated sets an annotation.
func annotated(key, value string) edit {
	return func(v *corev1.Service) { metav1.SetMetaDataAnnotation(&v.ObjectMeta, key, value) }
}

// notAnnotated removes an annotation.
func notAnnotated(key string) edit {
	return func(v *corev1.Service) { delete(v.Annotations, key) }
}

// touched sets an annotation that is not the controller's: it means nothing to a
// load balancer, but makes the controller look at the Service.
func touched(value string) edit { return annotated("example.com/touched", value) }

// labelled sets a label that is not the controller's.
func labelled(value string) edit {
	return func(v *corev1.Service) { metav1.SetMetaDataLabel(&v.ObjectMeta, "touched", value) }
}

// ofType sets spec.type.
func ofType(kind corev1.ServiceType) edit {
	return func(v *corev1.Service) { v.Spec.Type = kind }
}

// ofClass sets spec.loadBalancerClass.
func ofClass(class string) edit {
	return func(v *corev1.Service) { v.Spec.LoadBalancerClass = &class }
}

// at sets spec.loadBalancerIP.
func at(address string) edit {
	return func(v *corev1.Service) { v.Spec.LoadBalancerIP = address }
}

// openTo lets only these sources connect; none means all addresses.
func openTo(cidrs ...string) edit {
	return func(v *corev1.Service) { v.Spec.LoadBalancerSourceRanges = cidrs }
}

// local sets externalTrafficPolicy: Local.
func local(v *corev1.Service) {
	v.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
}

// sticky sets sessionAffinity: ClientIP with a timeout.
func sticky(seconds int32) edit {
	return func(v *corev1.Service) {
		v.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		v.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr.To(seconds)}}
	}
}

// service is a Service of the stage.
type service struct {
	*stage
	name string
}

// service creates a Service of type LoadBalancer for the stage's Pods.
func (s *stage) service(name string, edits ...edit) *service {
	s.t.Helper()
	v := &service{stage: s, name: name}
	if err := v.create(edits...); err != nil {
		s.t.Fatal(err)
	}
	return v
}

// create creates the Service, and returns the error of the API server, for tests that expect one.
func (v *service) create(edits ...edit) error {
	object := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: v.name, Namespace: v.namespace},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "web"}},
	}
	for _, e := range edits {
		e(object)
	}
	_, err := v.client.CoreV1().Services(v.namespace).Create(v.t.Context(), object, metav1.CreateOptions{})
	return err
}

// now returns the Service as it is.
func (v *service) now() *corev1.Service {
	v.t.Helper()
	object, err := v.client.CoreV1().Services(v.namespace).Get(v.t.Context(), v.name, metav1.GetOptions{})
	if err != nil {
		v.t.Fatal(err)
	}
	return object
}

// change edits the Service, whatever else is changing it.
func (v *service) change(edits ...edit) {
	v.t.Helper()
	v.eventually(func() error {
		object := v.now()
		for _, e := range edits {
			e(object)
		}
		err := v.update(object)
		if err != nil && !apierrors.IsConflict(err) {
			v.t.Fatal(err)
		}
		return err
	})
}

// update writes the Service once, and returns the error of the API server, which may be a conflict.
func (v *service) update(object *corev1.Service) error {
	_, err := v.client.CoreV1().Services(v.namespace).Update(v.t.Context(), object, metav1.UpdateOptions{})
	return err
}

// delete requests the deletion of the Service.
func (v *service) delete() {
	v.t.Helper()
	if err := v.client.CoreV1().Services(v.namespace).Delete(v.t.Context(), v.name, metav1.DeleteOptions{}); err != nil {
		v.t.Fatal(err)
	}
}

// waitUntilGone waits until the Service is not there any more.
func (v *service) waitUntilGone() {
	v.t.Helper()
	v.eventually(func() error {
		object, err := v.client.CoreV1().Services(v.namespace).Get(v.t.Context(), v.name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("Service %s is still there: finalizers %v, conditions %+v", v.name, object.Finalizers, object.Status.Conditions)
	})
}

// waitUntilUnmarked waits until the Service has nothing of the controller's any more. It must have
// no annotations of its own.
func (v *service) waitUntilUnmarked() {
	v.t.Helper()
	v.eventually(func() error {
		now := v.now()
		if len(now.Finalizers)+len(now.Annotations)+len(now.Status.Conditions)+len(now.Status.LoadBalancer.Ingress) > 0 {
			return fmt.Errorf("marks are left: %v %v %+v", now.Finalizers, now.Annotations, now.Status)
		}
		return nil
	})
}

// waitForCondition waits until the condition has the status and the reason, and returns it.
func (v *service) waitForCondition(kind string, is metav1.ConditionStatus, reason string) metav1.Condition {
	v.t.Helper()
	var found metav1.Condition
	v.eventually(func() error {
		conditions := v.now().Status.Conditions
		c := meta.FindStatusCondition(conditions, kind)
		if c == nil || c.Status != is || c.Reason != reason {
			return fmt.Errorf("Service %s should have %s=%s (%s); its conditions: %+v", v.name, kind, is, reason, conditions)
		}
		found = *c
		return nil
	})
	return found
}

// waitUntilProgrammed waits until the Service says that everything is there, and
// returns its address.
func (v *service) waitUntilProgrammed() string {
	v.t.Helper()
	v.waitForCondition(programmed, conditionTrue, "Programmed")
	return v.address()
}

// address waits for the one published address.
func (v *service) address() string {
	v.t.Helper()
	var address string
	v.eventually(func() error {
		ingress := v.now().Status.LoadBalancer.Ingress
		if len(ingress) != 1 {
			return fmt.Errorf("Service %s has the addresses %+v", v.name, ingress)
		}
		address = ingress[0].IP
		return nil
	})
	return address
}

// keptIPMode returns what the API server keeps of the field ipMode.
func (s *stage) keptIPMode(mode corev1.LoadBalancerIPMode) *corev1.LoadBalancerIPMode {
	s.t.Helper()
	if !kubetest.KeepsIPMode(s.t) {
		return nil
	}
	return &mode
}

// requireIPMode fails the test unless the published address has the mode, as far as the API server keeps it.
func (v *service) requireIPMode(want corev1.LoadBalancerIPMode) {
	v.t.Helper()
	for _, i := range v.now().Status.LoadBalancer.Ingress {
		if kept := v.keptIPMode(want); ptr.Deref(i.IPMode, "") != ptr.Deref(kept, "") {
			v.t.Fatalf("address %s has ipMode %q, want %q", i.IP, ptr.Deref(i.IPMode, ""), ptr.Deref(kept, ""))
		}
	}
}

// waitForOtherAddress waits until the Service is programmed at another address than the one given, and returns it. A
// published address is withdrawn before it is released, so the cloud may still be at work when only the address differs.
func (v *service) waitForOtherAddress(from string) string {
	v.t.Helper()
	var address string
	v.eventually(func() error {
		address = v.address()
		if address == from {
			return fmt.Errorf("Service %s is still at %s", v.name, from)
		}
		return nil
	})
	v.waitForCondition(programmed, conditionTrue, "Programmed")
	return address
}

// events returns the reasons of the events about the Service, each as often as it occurred, in the
// order of the first time.
func (v *service) events() []string {
	v.t.Helper()
	list, err := v.client.EventsV1().Events(v.namespace).List(v.t.Context(), metav1.ListOptions{})
	if err != nil {
		v.t.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	var reasons []string
	for _, e := range list.Items {
		if e.Regarding.Kind != "Service" || e.Regarding.Name != v.name {
			continue
		}
		times := 1
		if e.Series != nil {
			times = int(e.Series.Count)
		}
		for range times {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

// lbName returns the name of the Service's load balancer.
func (v *service) lbName() string {
	return "kube_service_" + clusterName + "_" + v.namespace + "_" + v.name
}

// waitForTree waits until the Service's load balancer is ACTIVE and check finds
// nothing wrong with it, and returns it.
func (v *service) waitForTree(check func(tree) error) tree {
	v.t.Helper()
	var last tree
	v.eventually(func() error {
		found := v.cloud.balancers(v.lbName())
		if len(found) != 1 {
			return fmt.Errorf("Service %s has %d load balancers", v.name, len(found))
		}
		last = found[0]
		if last.Status != "ACTIVE" {
			return fmt.Errorf("load balancer %s is %s", last.ID, last.Status)
		}
		v.cloud.fill(&last)
		return check(last)
	})
	return last
}

// tree returns the Service's one load balancer as it is.
func (v *service) tree() tree {
	v.t.Helper()
	trees := v.cloud.trees(v.lbName())
	if len(trees) != 1 {
		v.t.Fatalf("Service %s has %d load balancers", v.name, len(trees))
	}
	return trees[0]
}

// all joins checks of a tree.
func all(checks ...func(tree) error) func(tree) error {
	return func(t tree) error {
		var errs []error
		for _, check := range checks {
			errs = append(errs, check(t))
		}
		return errors.Join(errs...)
	}
}
