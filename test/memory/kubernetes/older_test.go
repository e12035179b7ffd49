// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes_test

import (
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/test/kube/kubeversion"
	"github.com/kube-octavia/kube-octavia/test/memory/kubernetes"
)

// ofVersion returns an API that simulates a minor version; 0 means the newest.
func ofVersion(t *testing.T, minor int) *clientgo.Clientset {
	t.Helper()
	api := kubernetes.New()
	api.Minor = minor
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	client, err := clientgo.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestOlderVersionsDropNewerFields(t *testing.T) {
	for name, c := range map[string]struct {
		minor                     int
		version                   string
		ipMode, cidrs, streamsAll bool
	}{
		"the newest":                   {0, "1.36", true, true, true},
		"before the ipMode of address": {kubeversion.HasIPMode - 1, "1.29", false, false, false},
		"with it":                      {kubeversion.HasIPMode, "1.30", true, false, false},
		"the oldest":                   {kubeversion.Oldest, "1.28", false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			client := ofVersion(t, c.minor)
			is, err := client.Discovery().ServerVersion()
			if err != nil || is.Major+"."+is.Minor != c.version {
				t.Errorf("the version is %v, %v", is, err)
			}
			services := client.CoreV1().Services("default")
			service, err := services.Get(t.Context(), "kubernetes", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1", IPMode: ptr.To(corev1.LoadBalancerIPModeVIP)}}
			service, err = services.UpdateStatus(t.Context(), service, metav1.UpdateOptions{})
			if err != nil || len(service.Status.LoadBalancer.Ingress) != 1 || service.Status.LoadBalancer.Ingress[0].IP != "192.0.2.1" ||
				(service.Status.LoadBalancer.Ingress[0].IPMode != nil) != c.ipMode {
				t.Errorf("published is %+v, %v", service.Status, err)
			}
			if _, err := client.NetworkingV1().ServiceCIDRs().List(t.Context(), metav1.ListOptions{}); apierrors.IsNotFound(err) == c.cidrs {
				t.Errorf("ServiceCIDRs: %v", err)
			}
			watch, err := services.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: ptr.To(true), AllowWatchBookmarks: true,
				ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
			if err == nil {
				watch.Stop()
			}
			if c.streamsAll != (err == nil) || err != nil && !apierrors.IsInvalid(err) {
				t.Errorf("a watch that begins with a list: %v", err)
			}
		})
	}
}
