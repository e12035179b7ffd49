// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	adapter "github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

const class = "kube-octavia.io/octavia"

// service returns a Service of type LoadBalancer that the controller of the class has claimed.
func service(edits ...func(*corev1.Service)) corev1.Service {
	s := corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid", Finalizers: []string{claim.Finalizer}, Annotations: map[string]string{}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	marked(class)(&s)
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

func marked(class string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations[annotation.Managed] = string(s.UID) + " " + class }
}

func unmarked(s *corev1.Service) { delete(s.Annotations, annotation.Managed) }

func unclaimed(s *corev1.Service) { s.Finalizers = nil }

func atClusterIP(s *corev1.Service) {
	s.Spec.Type, s.Spec.ClusterIP = corev1.ServiceTypeClusterIP, "10.96.0.7"
}

func ofClass(name string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerClass = ptr.To(name) }
}

func programmed(is metav1.ConditionStatus, reason, message string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Status.Conditions = []metav1.Condition{{Type: status.Programmed, Status: is, Reason: reason, Message: message}}
	}
}

func TestServicesToReleaseAndObjectsToKeep(t *testing.T) {
	const another = ""
	clusterIPs, err := claim.NewClusterIPs(config.ClusterIP{Enabled: true, ServiceSubnetID: "services"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		service      corev1.Service
		explicitOnly bool
		left         []Service
		spared       *string
	}{
		"claimed":              {service: service(), left: []Service{{Namespace: "shop", Name: "web"}}, spared: ptr.To("")},
		"Programmed until now": {service: service(programmed(metav1.ConditionTrue, "Programmed", "fine")), left: []Service{{Namespace: "shop", Name: "web"}}, spared: ptr.To("")},
		"cannot be released": {
			service: service(programmed(metav1.ConditionFalse, "Deleting", "why")), left: []Service{{Namespace: "shop", Name: "web", Reason: "Deleting", Message: "why"}}, spared: ptr.To(""),
		},
		"claimed, without its finalizer": {service: service(unclaimed), left: []Service{{Namespace: "shop", Name: "web"}}, spared: ptr.To("")},
		"released":                       {service: service(unmarked, unclaimed)},
		"refused, with its conditions": {
			service: service(unmarked, unclaimed, programmed(metav1.ConditionFalse, "Refused", "why")), left: []Service{{Namespace: "shop", Name: "web", Reason: "Refused", Message: "why"}},
		},
		"of another class":                              {service: service(ofClass("other/x"), marked("other/x")), spared: ptr.To(another)},
		"of another class, refused":                     {service: service(ofClass("other/x"), unmarked, unclaimed, programmed(metav1.ConditionFalse, "Refused", "why")), spared: ptr.To(another)},
		"without a class, with the mark of another one": {service: service(marked("other/x")), spared: ptr.To(another)},
		"without a class, which is not handled":         {service: service(), explicitOnly: true, spared: ptr.To("Service shop/web has no spec.loadBalancerClass, and --handle-default-class is false")},
		"without a mark": {
			service: service(unmarked), spared: ptr.To("Service shop/web has the finalizer but no annotation kube-octavia.io/managed, so another controller may have claimed it"),
		},
		"default/kubernetes, of another class": {
			service: service(ofClass("other/x"), marked("other/x"), func(s *corev1.Service) {
				s.Namespace, s.Name, s.Spec.ClusterIP = metav1.NamespaceDefault, "kubernetes", "10.96.0.1"
			}), spared: ptr.To(another),
		},
		"at its ClusterIP": {service: service(atClusterIP), left: []Service{{Namespace: "shop", Name: "web"}}, spared: ptr.To("")},
		"at its ClusterIP, without its annotations": {
			service: service(atClusterIP, unmarked), spared: ptr.To("Service shop/web has the finalizer but no annotation kube-octavia.io/managed, so another controller may have claimed it"),
		},
		"at its ClusterIP, with the mark of another class": {service: service(atClusterIP, marked("other/x"), unclaimed), spared: ptr.To(another)},
		"at its ClusterIP, released":                       {service: service(atClusterIP, unmarked, unclaimed)},
		"of another type, never served":                    {service: service(unmarked, unclaimed, func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })},
	} {
		t.Run(name, func(t *testing.T) {
			p := claim.Policy{LoadBalancerClass: class, DefaultClass: !c.explicitOnly, ClusterIPs: clusterIPs, Drain: true}
			owners := []claim.Owner{adapter.Kind{Policy: p}.Of(&c.service)}
			if d := cmp.Diff(c.left, Left(owners)); d != "" {
				t.Errorf("left (-want +have):\n%s", d)
			}
			spared := map[types.UID]string{}
			for uid, why := range Spared(owners) {
				spared[types.UID(uid)] = why
			}
			want := map[types.UID]string{}
			if c.spared != nil {
				want[types.UID(p.Owner(&c.service).ServiceUID)] = *c.spared
			}
			if d := cmp.Diff(want, spared); d != "" {
				t.Errorf("spared (-want +have):\n%s", d)
			}
		})
	}
}
