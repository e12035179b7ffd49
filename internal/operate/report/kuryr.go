// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

// kuryrLoadBalancers are the objects in which Kuryr-Kubernetes stored the state of load balancers. Each has the name
// and namespace of its Service.
var kuryrLoadBalancers = schema.GroupVersionKind{Group: "openstack.org", Version: "v1", Kind: "KuryrLoadBalancerList"}

// KuryrMark is what Kuryr-Kubernetes left in the cluster for one Service.
type KuryrMark struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// ServiceFinalizer means that the Service has Kuryr's finalizer, so that it cannot be deleted completely.
	ServiceFinalizer bool `json:"serviceFinalizer"`
	// Object means that there is a KuryrLoadBalancer, and ObjectFinalizers are its finalizers.
	Object           bool     `json:"object"`
	ObjectFinalizers []string `json:"objectFinalizers,omitempty"`
}

// kuryrMarks returns what Kuryr left, sorted by namespace and name. If KuryrLoadBalancers are not defined in the
// cluster, there are none.
func (s Source) kuryrMarks(ctx context.Context, services []corev1.Service) ([]KuryrMark, error) {
	marks := map[types.NamespacedName]KuryrMark{}
	for i := range services {
		if v := &services[i]; controllerutil.ContainsFinalizer(v, claim.KuryrFinalizer) {
			marks[types.NamespacedName{Namespace: v.Namespace, Name: v.Name}] = KuryrMark{Namespace: v.Namespace, Name: v.Name, ServiceFinalizer: true}
		}
	}
	var objects unstructured.UnstructuredList
	objects.SetGroupVersionKind(kuryrLoadBalancers)
	if err := s.Finder.Reader.List(ctx, &objects); err != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("list KuryrLoadBalancers: %w", err)
	}
	for _, o := range objects.Items {
		key := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
		m := marks[key]
		m.Namespace, m.Name, m.Object, m.ObjectFinalizers = key.Namespace, key.Name, true, o.GetFinalizers()
		marks[key] = m
	}
	all := make([]KuryrMark, 0, len(marks))
	for _, m := range marks {
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b KuryrMark) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// fromKuryr reports whether the load balancer has the name and the subnet of one of Kuryr's.
func (s Source) fromKuryr(l lb.LoadBalancer) bool {
	_, _, named := lb.KuryrService(l)
	return named && s.Finder.Policy.InServiceSubnet(l.VIP.SubnetID)
}

// describeKuryr returns why a load balancer of Kuryr belongs to no Service.
func (s Source) describeKuryr(l lb.LoadBalancer, services []corev1.Service) string {
	namespace, name, _ := lb.KuryrService(l)
	i := slices.IndexFunc(services, func(s corev1.Service) bool { return s.Namespace == namespace && s.Name == name })
	switch {
	case i < 0:
		return fmt.Sprintf("Kuryr created it for Service %s, which does not exist", l.Name)
	case !s.Finder.Policy.AtClusterIP(&services[i]):
		return fmt.Sprintf("Kuryr created it for Service %s, which is not selected by [ClusterIP] of cloud.conf", l.Name)
	case !s.Finder.Policy.Serves(&services[i]):
		return fmt.Sprintf("Kuryr created it for Service %s, which this controller does not serve: it is being deleted, or of another class", l.Name)
	case !s.Finder.Policy.FromKuryr(&services[i]):
		return fmt.Sprintf("Kuryr created it for Service %s, which has no finalizer %s: set that to let it be taken over", l.Name, claim.KuryrFinalizer)
	case services[i].Spec.ClusterIP != l.VIP.Address:
		return fmt.Sprintf("Kuryr created it for Service %s, but its VIP is %s, and the ClusterIP is %s", l.Name, l.VIP.Address, services[i].Spec.ClusterIP)
	}
	return fmt.Sprintf("Kuryr created it for Service %s, which has another one", l.Name)
}
