// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// ourClass is the load balancer class of the controller under test.
const ourClass = "kube-octavia.io/octavia"

// served is a claimed Service of type LoadBalancer.
func served(edits ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-1", Finalizers: []string{claim.Finalizer},
			Annotations: map[string]string{annotation.Managed: "uid-1 " + ourClass, annotation.LoadBalancerID: "lb-1"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

// unclaimed removes the annotation of a claimed Service.
func unclaimed(s *corev1.Service) { delete(s.Annotations, annotation.Managed) }

func without(key string) func(*corev1.Service) {
	return func(s *corev1.Service) { delete(s.Annotations, key) }
}

func deleted(s *corev1.Service) { s.DeletionTimestamp = ptr.To(metav1.Now()) }

func clusterIP(s *corev1.Service) {
	s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil
}

// policy is that of the controller under test.
var policy = claim.Policy{LoadBalancerClass: ourClass, DefaultClass: true, ClusterName: "kubernetes", ClusterUID: "c-1"}

// of returns the Service as an owner.
func of(s *corev1.Service) claim.Owner { return service.Kind{Policy: policy}.Of(s) }

// reading returns an Observer with this Octavia, in a cluster without owners.
func reading(t *testing.T, handle http.HandlerFunc) *Observer {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	client := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: server.URL + "/v2.0/", Type: "load-balancer"}
	ob := cluster("")
	ob.Octavia, ob.Neutron = octavia.New(client, "", lb.Capabilities{}), neutron.New(nil, "p-1")
	return ob
}

// onlyServices is a Kubernetes API with Services only.
type onlyServices struct {
	client.Reader
	services []corev1.Service
}

func (c onlyServices) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if services, ok := list.(*corev1.ServiceList); ok {
		services.Items = slices.Clone(c.services)
	}
	return nil
}

// cluster returns an Observer for these Services and this shared-lb-scope.
func cluster(scope string, services ...corev1.Service) *Observer {
	settings := config.LoadBalancer{SharedScope: scope}
	return &Observer{Policy: policy, Config: settings, Owners: claim.Owners{
		Reader: onlyServices{services: services}, Kinds: []claim.Kind{service.Kind{Policy: policy, Config: settings}},
	}}
}
