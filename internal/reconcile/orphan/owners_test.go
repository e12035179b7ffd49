// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package orphan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func TestAServiceDefaultKubernetesThatWasCreatedAgainOwnsItsLoadBalancer(t *testing.T) {
	f := &Finder{Policy: claim.Policy{ClusterUID: "c"}}
	api := func(uid types.UID, clusterIP string) corev1.Service {
		return corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kubernetes", UID: uid, Finalizers: []string{claim.Finalizer},
				Annotations: map[string]string{annotation.Managed: string(uid)}},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: clusterIP},
		}
	}
	earlier := api("uid-1", "10.96.0.1")
	made := marked(loadBalancerKind, "b1", f.Policy.Owner(&earlier).ServiceUID)
	for _, c := range []struct {
		name string

		service corev1.Service
		owns    bool
	}{
		{"the same Service", earlier, true},
		{"created again at the same address", api("uid-2", "10.96.0.1"), true},
		{"created again at another address", api("uid-2", "10.97.0.1"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ownersAmong(owned(f, c.service)).have(made); got != c.owns {
				t.Errorf("uid %s at %s: %t", c.service.UID, c.service.Spec.ClusterIP, got)
			}
		})
	}
}

func TestAFloatingIPThatAServiceRequestsIsNoOrphan(t *testing.T) {
	f := &Finder{Policy: claim.Policy{ClusterUID: "c", DefaultClass: true}}
	left := marked(floatingIPKind, "f1", "uid-of-a-deleted-service")
	left.Name = "203.0.113.7"
	requesting := func(address, ip string) corev1.Service {
		return corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid-1", Annotations: map[string]string{annotation.FloatingIP: address}},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerIP: ip},
		}
	}
	for name, c := range map[string]struct {
		service corev1.Service
		stays   bool
	}{
		"by its address":    {requesting("203.0.113.7", ""), true},
		"by its id":         {requesting("f1", ""), true},
		"by loadBalancerIP": {requesting("", "203.0.113.7"), true},
		"another one":       {requesting("203.0.113.8", ""), false},
		"no floating IP":    {requesting("", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ownersAmong(owned(f, c.service)).have(left); got != c.stays {
				t.Errorf("it stays: %t", got)
			}
		})
	}
}

func TestAFloatingIPAtALoadBalancerThatIsUsedIsNoOrphan(t *testing.T) {
	one := lb.Owner{ClusterName: "prod", ClusterUID: "c", Namespace: "shop", Name: "one", ServiceUID: "s1"}
	two := one
	two.Name, two.ServiceUID = "two", "s2"
	f := &Finder{Policy: claim.Policy{ClusterName: "prod", ClusterUID: "c", DefaultClass: true}}
	sharer := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "two", UID: "s2"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	attached := lb.FloatingIP{ID: "f1", Address: "203.0.113.1", PortID: "p1", Description: one.FloatingIPDescription()}
	detached := attached
	detached.PortID = ""
	shared := octavia.Head{ID: "b1", VIPPortID: "p1", Tags: append(one.Tags(), two.SharerTags()...)}
	for name, c := range map[string]struct {
		floating lb.FloatingIP
		services []corev1.Service
		balancer octavia.Head
		want     []string
	}{
		"a sharer uses the load balancer":                  {attached, []corev1.Service{sharer}, shared, nil},
		"no Service uses the load balancer":                {attached, nil, shared, []string{"b1", "f1"}},
		"the load balancer is another owner's":             {attached, nil, octavia.Head{ID: "b1", VIPPortID: "p1"}, nil},
		"it is attached to another port":                   {attached, []corev1.Service{sharer}, octavia.Head{ID: "b1", VIPPortID: "p2", Tags: shared.Tags}, []string{"f1"}},
		"it is detached, and the port of a VIP is unknown": {detached, []corev1.Service{sharer}, octavia.Head{ID: "b1", Tags: shared.Tags}, []string{"f1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var ids []string
			for _, o := range f.Among(owned(f, c.services...), Inventory{LoadBalancers: []octavia.Head{c.balancer}, FloatingIPs: []lb.FloatingIP{c.floating}}) {
				ids = append(ids, o.ID)
			}
			if diff := cmp.Diff(c.want, ids); diff != "" {
				t.Errorf("orphans (-want +got):\n%s", diff)
			}
		})
	}
}

// owned returns the Services as owners.
func owned(f *Finder, services ...corev1.Service) []claim.Owner {
	owners := make([]claim.Owner, len(services))
	for i := range services {
		owners[i] = service.Kind{Policy: f.Policy, Config: f.Config}.Of(&services[i])
	}
	return owners
}
