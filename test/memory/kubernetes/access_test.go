// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kube-octavia/kube-octavia/test/memory/kubernetes"
)

// guarded returns an API whose only user may not list Services and not update the status of any.
func guarded(t *testing.T, token string) *clientgo.Clientset {
	t.Helper()
	api := kubernetes.New()
	api.Access = kubernetes.Access{Token: "right", User: "somebody", Denies: func(a authorizationv1.ResourceAttributes) bool {
		return a.Resource == "services" && (a.Verb == "list" || a.Subresource == "status")
	}}
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	client, err := clientgo.NewForConfig(&rest.Config{Host: server.URL, BearerToken: token})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestOnlyTheConfiguredUserIsAdmitted(t *testing.T) {
	if _, err := guarded(t, "wrong").CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("with a wrong token: %v", err)
	}
	client := guarded(t, "right")
	if _, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	who, err := client.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || who.Status.UserInfo.Username != "somebody" {
		t.Errorf("%v, %v", who, err)
	}
}

func TestForbiddenRequestsAreRefusedAndReportedByAccessReviews(t *testing.T) {
	client := guarded(t, "right")
	_, err := client.CoreV1().Services("").List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "somebody" cannot list resource "services" in API group "" at the cluster scope`) {
		t.Errorf("got %v", err)
	}
	if _, err := client.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	for verb, allowed := range map[string]bool{"list": false, "get": true} {
		t.Run(verb, func(t *testing.T) {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: "services"}}}
			answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
			if err != nil || answer.Status.Allowed != allowed {
				t.Errorf("%v, %v", answer, err)
			}
		})
	}
}
