// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package credentialcommand

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kube-octavia/kube-octavia/internal/command/installation"
)

func TestErrorOfAMissingSecretNamesThoseOfControllers(t *testing.T) {
	of := func(namespace, secret string) client.Object {
		return installation.Settings{Namespace: namespace, Secret: secret, Flags: map[string]string{"leader-elect-resource-name": "x"}}.ConfigMap()
	}
	forbidden := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil)
	}}
	absent := apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "cloud-config")
	const unnamed = `secrets "cloud-config" not found; name it with --secret`
	for name, c := range map[string]struct {
		err       error
		published []client.Object
		funcs     interceptor.Funcs
		want      string
	}{
		"a controller":                     {absent, []client.Object{of("lb", "login")}, interceptor.Funcs{}, unnamed + ": --secret=lb/login, according to ConfigMap lb/x-settings"},
		"two controllers":                  {absent, []client.Object{of("lb", "login"), of("a", "b")}, interceptor.Funcs{}, unnamed + ": --secret=a/b, according to ConfigMap a/x-settings; --secret=lb/login, according to ConfigMap lb/x-settings"},
		"no controller":                    {absent, nil, interceptor.Funcs{}, unnamed},
		"one that does not say its Secret": {absent, []client.Object{of("lb", "")}, interceptor.Funcs{}, unnamed},
		"no right to list ConfigMaps":      {absent, []client.Object{of("lb", "login")}, forbidden, unnamed},
		"another error":                    {errors.New("no key cloud.conf"), []client.Object{of("lb", "login")}, interceptor.Funcs{}, "no key cloud.conf"},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithObjects(c.published...).WithInterceptorFuncs(c.funcs).Build()
			got := withPublished(t.Context(), kube, c.err)
			if got.Error() != c.want || !errors.Is(got, c.err) {
				t.Errorf("got  %v\nwant %s", got, c.want)
			}
		})
	}
}
