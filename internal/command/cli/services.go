// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/command/command"
)

// namespaceUsage explains --namespace of the commands that take Services as arguments.
const namespaceUsage = "namespace of the Services; default: all namespaces or, for a SERVICE, that of the kubeconfig's context"

// serviceUsage explains the argument SERVICE.
const serviceUsage = "SERVICE is NAME, svc/NAME, service/NAME or NAMESPACE/NAME."

// namespaceFlags holds --namespace and --all-namespaces.
type namespaceFlags struct {
	namespace string
	all       bool
}

func (o *namespaceFlags) addFlags(c *cobra.Command) {
	c.Flags().StringVarP(&o.namespace, "namespace", "n", "", namespaceUsage)
	c.Flags().BoolVarP(&o.all, "all-namespaces", "A", false, "show Services of all namespaces, regardless of --namespace; this is the default without a SERVICE and without --namespace")
}

// check adds the problems of the flags with the arguments. As in kubectl, --all-namespaces overrides --namespace.
func (o *namespaceFlags) check(p *command.Problems, args []string) {
	if o.all {
		o.namespace = ""
	}
	p.Require(!o.all || len(args) == 0, "all-namespaces", true, "must not be set with a SERVICE, which is in one namespace")
}

// serviceKinds are the names of the kind Service that kubectl accepts before a slash.
var serviceKinds = []string{"service", "services", "svc"}

// namesNamespace reports whether an argument names the namespace of its Service.
func namesNamespace(arg string) bool {
	of, _, both := strings.Cut(arg, "/")
	return both && !slices.Contains(serviceKinds, of)
}

// serviceKey returns the Service that an argument names: NAME, svc/NAME or NAMESPACE/NAME. Without --namespace, a NAME is in
// the namespace of the kubeconfig's context or else in namespace default.
func serviceKey(arg, namespace, contextNamespace string) (client.ObjectKey, error) {
	given := arg
	if kind, rest, both := strings.Cut(arg, "/"); both && slices.Contains(serviceKinds, kind) && !strings.Contains(rest, "/") {
		arg = rest
	}
	of, name, both := strings.Cut(arg, "/")
	switch {
	case !both:
		of, name = cmp.Or(namespace, contextNamespace, corev1.NamespaceDefault), arg
	case namespace != "" && namespace != of && isOtherKind(of):
		return client.ObjectKey{}, otherKind(arg)
	case namespace != "" && namespace != of:
		return client.ObjectKey{}, fmt.Errorf("argument %q: it names another namespace than --namespace %s; omit one of them", arg, namespace)
	}
	if of == "" || name == "" || strings.Contains(name, "/") {
		return client.ObjectKey{}, fmt.Errorf("argument %q: must be NAME, svc/NAME or NAMESPACE/NAME of a Service", given)
	}
	return client.ObjectKey{Namespace: of, Name: name}, nil
}

// otherKind returns the error of an argument that names an object of another kind.
func otherKind(arg string) error {
	kind, _, _ := strings.Cut(arg, "/")
	return fmt.Errorf("argument %q: kind %s is not Service; name a Service as NAME, svc/NAME or NAMESPACE/NAME", arg, kind)
}

// otherKinds are names that kubectl accepts before a slash, of kinds that users may confuse with Services.
var otherKinds = []string{
	"configmap", "configmaps", "cm", "cronjob", "cronjobs", "cj", "daemonset", "daemonsets", "ds", "deployment", "deployments", "deploy",
	"endpoints", "ep", "endpointslice", "endpointslices", "gateway", "gateways", "gtw", "httproute", "httproutes", "ingress", "ingresses", "ing",
	"job", "jobs", "namespace", "namespaces", "ns", "node", "nodes", "no", "pod", "pods", "po", "replicaset", "replicasets", "rs",
	"secret", "secrets", "statefulset", "statefulsets", "sts",
}

// isOtherKind reports whether a word before a slash is one of otherKinds, also with its API group, as in deployment.apps.
func isOtherKind(word string) bool {
	kind, _, _ := strings.Cut(word, ".")
	return slices.Contains(otherKinds, kind)
}

// exists reports whether the Service exists.
func exists(ctx context.Context, reader client.Reader, key client.ObjectKey) bool {
	return reader.Get(ctx, key, &corev1.Service{}) == nil
}

// readService reads the Service that an argument names. It must exist, and so must its namespace. The error explains
// where the namespace came from if it was assumed, and that the word before a slash may be a kind. If an argument such
// as services/web is ambiguous, because namespace "services" also has a Service web, it is refused: without
// --namespace, the wrong one might be shown.
func readService(ctx context.Context, reader client.Reader, arg, namespace, contextNamespace string) (service corev1.Service, _ error) {
	key, err := serviceKey(arg, namespace, contextNamespace)
	if err != nil {
		return service, err
	}
	if kind, name, _ := strings.Cut(arg, "/"); namespace == "" && slices.Contains(serviceKinds, kind) && kind != key.Namespace &&
		exists(ctx, reader, client.ObjectKey{Namespace: kind, Name: name}) {
		return service, fmt.Errorf("argument %q: it may mean Service %s of namespace %s or of namespace %s: choose one with --namespace", arg, name, kind, key.Namespace)
	}
	err = reader.Get(ctx, key, &service)
	switch {
	case apierrors.IsNotFound(err) && namespace == "" && !namesNamespace(arg):
		//lint:ignore ST1005 Service is a name
		return service, fmt.Errorf("Service %s does not exist; without --namespace, the command looks in namespace %s", key, key.Namespace)
	case apierrors.IsNotFound(err):
		missing := namespaceMissing(ctx, reader, key.Namespace)
		if missing != nil && namesNamespace(arg) && isOtherKind(key.Namespace) {
			return service, otherKind(arg)
		}
		//lint:ignore ST1005 Service is a name
		return service, cmp.Or(missing, fmt.Errorf("Service %s does not exist", key))
	case err != nil:
		return service, fmt.Errorf("read Service %s: %w", key, err)
	}
	return service, nil
}

// namespaceMissing returns an error if the namespace does not exist. It returns nil if that is unknown: many users
// may not read namespaces.
func namespaceMissing(ctx context.Context, reader client.Reader, name string) error {
	err := reader.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{})
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("namespace %q does not exist", name)
	}
	return nil
}
