// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// namespaceUsage explains --namespace of the commands that take Services as arguments.
const namespaceUsage = "namespace of the Services; default: all namespaces or, for a SERVICE, that of the kubeconfig's context"

// serviceKey returns the Service that an argument names: NAMESPACE/NAME, or NAME. Without --namespace, a NAME is in the
// namespace of the kubeconfig's context or else in namespace default.
func serviceKey(arg, namespace, contextNamespace string) (client.ObjectKey, error) {
	of, name, both := strings.Cut(arg, "/")
	switch {
	case !both:
		of, name = cmp.Or(namespace, contextNamespace, corev1.NamespaceDefault), arg
	case namespace != "" && namespace != of:
		return client.ObjectKey{}, fmt.Errorf("argument %q: it names another namespace than --namespace %s; leave one of them out", arg, namespace)
	}
	if of == "" || name == "" || strings.Contains(name, "/") {
		return client.ObjectKey{}, fmt.Errorf("argument %q: must be NAME or NAMESPACE/NAME of a Service", arg)
	}
	return client.ObjectKey{Namespace: of, Name: name}, nil
}

// readService reads a Service that must exist, and so must its namespace. The error explains the namespace if it was
// assumed.
func readService(ctx context.Context, reader client.Reader, key client.ObjectKey, assumed bool) (service corev1.Service, _ error) {
	err := reader.Get(ctx, key, &service)
	switch {
	case apierrors.IsNotFound(err) && assumed:
		//lint:ignore ST1005 Service is a name
		return service, fmt.Errorf("Service %s does not exist; without --namespace it is looked for in namespace %s", key, key.Namespace)
	case apierrors.IsNotFound(err):
		//lint:ignore ST1005 Service is a name
		return service, cmp.Or(namespaceMissing(ctx, reader, key.Namespace), fmt.Errorf("Service %s does not exist", key))
	case err != nil:
		return service, fmt.Errorf("read Service %s: %w", key, err)
	}
	return service, nil
}

// namespaceMissing returns an error if the namespace does not exist. It returns nil if that cannot be found out: many
// users may not read namespaces.
func namespaceMissing(ctx context.Context, reader client.Reader, name string) error {
	err := reader.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("namespace %q does not exist", name)
	}
	return nil
}
