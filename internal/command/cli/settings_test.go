// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube-octavia/kube-octavia/internal/command/connection"
	"github.com/kube-octavia/kube-octavia/internal/command/installation"
	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

// renewed returns the Lease of a controller that works.
func renewed(namespace, name string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
			Labels: othercontroller.Labels(claim.Policy{LoadBalancerClass: connection.DefaultLoadBalancerClass})},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("pod"), RenewTime: ptr.To(metav1.NewMicroTime(time.Now())), LeaseDurationSeconds: ptr.To[int32](15)},
	}
}

func TestOnlyACallThatFailsIsExplainedWhenTheLeaseIsSearched(t *testing.T) {
	policy := claim.Policy{LoadBalancerClass: connection.DefaultLoadBalancerClass}
	explain := func(err error) error { return fmt.Errorf("Kubernetes API: %w", err) }
	several := fake.NewClientBuilder().WithObjects(renewed("a", "x"), renewed("b", "x")).Build()
	_, err := findLease(t.Context(), several, explain, policy, othercontroller.LeaseName{Name: "x"}, false)
	if err == nil || !strings.HasPrefix(err.Error(), "several controllers for --load-balancer-class ") {
		t.Errorf("several: %v", err)
	}
	_, err = findLease(t.Context(), unreachable{}, explain, policy, othercontroller.LeaseName{Name: "x"}, false)
	if err == nil || !strings.HasPrefix(err.Error(), "Kubernetes API: list Leases: no route") {
		t.Errorf("an API that does not answer: %v", err)
	}
}

// unreachable is an API that cannot be reached.
type unreachable struct{ client.Reader }

func (unreachable) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("no route")
}

// clusterWith starts a Kubernetes API with the settings of a controller in namespace lb, and Leases.
func clusterWith(t *testing.T, leases ...*coordinationv1.Lease) (kubeconfig string) {
	t.Helper()
	settings := installation.Settings{Namespace: "lb", Secret: "none", SecretKey: "cloud.conf", Flags: map[string]string{
		"leader-elect-resource-name": "x", "cluster-name": "prod", "load-balancer-class": connection.DefaultLoadBalancerClass,
		"handle-default-class": "true", "adopt": "tag", "controllers": "service", "cluster-cidr": ""}}.ConfigMap()
	settings.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	resources := func(group, name, kind string) any {
		return metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: group,
			APIResources: []metav1.APIResource{{Name: name, Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"list", "get"}}}}
	}
	version := metav1.GroupVersionForDiscovery{GroupVersion: "coordination.k8s.io/v1", Version: "v1"}
	found := coordinationv1.LeaseList{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "LeaseList"}}
	for _, l := range leases {
		found.Items = append(found.Items, *l)
	}
	answers := map[string]any{
		"/api":               metav1.APIVersions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIVersions"}, Versions: []string{"v1"}},
		"/api/v1":            resources("v1", "configmaps", "ConfigMap"),
		"/api/v1/configmaps": corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}, Items: []corev1.ConfigMap{*settings}},
		"/api/v1/namespaces/lb/configmaps/x-settings": settings,
		"/apis": metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"},
			Groups: []metav1.APIGroup{{Name: "coordination.k8s.io", Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}}},
		"/apis/coordination.k8s.io/v1":        resources("coordination.k8s.io/v1", "leases", "Lease"),
		"/apis/coordination.k8s.io/v1/leases": found,
	}
	server, ca := kubernetesAPI(t, func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.Path]
		if !known {
			refusal(http.StatusNotFound, "NotFound", r.URL.Path+" not found")(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	})
	return kubeconfigFor(t, server, ca)
}

func TestADrainDeletesOnlyBySettingsThatAFlagNames(t *testing.T) {
	t.Setenv("OS_CLOUD", "")
	t.Setenv("OS_AUTH_URL", "")
	const refused, goesOn = "add --settings=lb/x-settings", "read Secret lb/none: "
	for name, test := range map[string]struct {
		flags  []string
		leases []*coordinationv1.Lease
		want   string
	}{
		"a controller that works":        {[]string{"--delete"}, []*coordinationv1.Lease{renewed("lb", "x")}, refused},
		"one that does not work":         {[]string{"--delete"}, nil, refused},
		"the same, and nothing to write": {nil, nil, goesOn},
		"the same, named":                {[]string{"--delete", "--settings=lb/x-settings"}, nil, goesOn},
	} {
		t.Run(name, func(t *testing.T) {
			got := runCommand(t, append([]string{"cleanup", "--drain", "--kubeconfig=" + clusterWith(t, test.leases...)}, test.flags...)...)
			if got.Status != 1 || !strings.Contains(got.Err, test.want) || test.want == goesOn && strings.Contains(got.Err, refused) {
				t.Errorf("got %+v", got)
			}
		})
	}
}
