// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig finds the Kubernetes cluster of a command, and explains why its API cannot be used.
package kubeconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// Cluster is a Kubernetes cluster, and its source.
type Cluster struct {
	// REST is the configuration of its client.
	REST *rest.Config
	// source is the kubeconfig with its context, or the Pod's service account. server and user name the places of the
	// API's address and of the credentials.
	source, server, user string
	// namespace is the namespace of the context.
	namespace string
}

// podAccount are the credentials of a Pod.
const podAccount = "the Pod's service account"

// Namespace returns the namespace of the kubeconfig's current context, or "" if it names none.
func (c Cluster) Namespace() string { return c.namespace }

// Load finds the cluster: that of the kubeconfig at path or, if path is empty, of $KUBECONFIG, of ~/.kube/config, or of
// the Pod. context is the context in the kubeconfig, or "" for its current one. The error names the kubeconfig and what
// it lacks.
func Load(path, context string) (Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	rules.WarnIfAllMissing = false // the error contains it
	where := location(rules)
	loaded, err := rules.Load()
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Cluster{}, fmt.Errorf("find the cluster: %s does not exist: set --kubeconfig or $KUBECONFIG to the kubeconfig of the cluster", where)
	case err != nil:
		return Cluster{}, fmt.Errorf("find the cluster: %s cannot be read: %w", where, err)
	case api.IsConfigEmpty(loaded) && context != "":
		return Cluster{}, &Error{Fact: fmt.Sprintf("find the cluster: %s does not exist or is empty, so it has no context %q (--context)", where, context),
			Advice: "set --kubeconfig or $KUBECONFIG to the kubeconfig with this context"}
	case api.IsConfigEmpty(loaded):
		return inPod(where)
	}
	if context != "" {
		if loaded.Contexts[context] == nil {
			return Cluster{}, &Error{Fact: fmt.Sprintf("find the cluster: %s has no context %q", where, context), Advice: "set --context to one that it has: " + contextsOf(loaded)}
		}
		loaded.CurrentContext = context
	}
	var cluster Cluster
	cluster.REST, err = usable(loaded, rules)
	if err != nil {
		return Cluster{}, fmt.Errorf("find the cluster: %s: %w", where, err)
	}
	current := loaded.Contexts[loaded.CurrentContext]
	cluster.source = fmt.Sprintf("%s, context %q", where, loaded.CurrentContext)
	cluster.server = fmt.Sprintf("server of cluster %q in the kubeconfig", current.Cluster)
	cluster.user = fmt.Sprintf("user %q in the kubeconfig", current.AuthInfo)
	cluster.namespace = current.Namespace
	return cluster.unlimited(), nil
}

// location returns the kubeconfig and the setting from which it comes.
func location(rules *clientcmd.ClientConfigLoadingRules) string {
	switch {
	case rules.ExplicitPath != "":
		return fmt.Sprintf("kubeconfig %s (--kubeconfig)", rules.ExplicitPath)
	case os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "":
		return fmt.Sprintf("kubeconfig %s ($%s)", os.Getenv(clientcmd.RecommendedConfigPathEnvVar), clientcmd.RecommendedConfigPathEnvVar)
	}
	return "kubeconfig " + strings.Join(rules.Precedence, ", ")
}

// inPod returns the cluster of the Pod in which the program runs, if no kubeconfig was found.
func inPod(where string) (Cluster, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return Cluster{}, fmt.Errorf("find the cluster: %s does not exist or is empty, and this is not a Pod with a service account (%w): "+
			"set --kubeconfig or $KUBECONFIG to the kubeconfig of the cluster", where, err)
	}
	return Cluster{REST: config, source: podAccount, server: "$KUBERNETES_SERVICE_HOST and $KUBERNETES_SERVICE_PORT",
		user: podAccount}.unlimited(), nil
}

// usable returns the configuration of the current context, or an error with what the kubeconfig
// lacks.
func usable(loaded *api.Config, rules *clientcmd.ClientConfigLoadingRules) (*rest.Config, error) {
	contexts := contextsOf(loaded)
	switch current, known := loaded.Contexts[loaded.CurrentContext]; {
	case contexts == "":
		return nil, errors.New("it has no context: get another kubeconfig")
	case loaded.CurrentContext == "":
		return nil, fmt.Errorf("it has no current-context: choose one of %s with `kubectl config use-context`", contexts)
	case !known:
		return nil, fmt.Errorf("its current-context %q does not exist: choose one of %s with `kubectl config use-context`", loaded.CurrentContext, contexts)
	case loaded.Clusters[current.Cluster] == nil:
		return nil, fmt.Errorf("context %q names cluster %q, which it does not have", loaded.CurrentContext, current.Cluster)
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*loaded, loaded.CurrentContext, nil, rules).ClientConfig()
	return config, eachOnItsLine(err)
}

// eachOnItsLine returns an error that prints joined errors on one line each, instead of client-go's list in one
// sentence.
func eachOnItsLine(err error) error {
	var several utilerrors.Aggregate
	if errors.As(err, &several) && len(several.Errors()) > 1 {
		return errors.Join(several.Errors()...)
	}
	return err
}

// Contexts returns the names of the contexts of the kubeconfig that Load would use; none if it cannot be read.
func Contexts(path string) []string {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	rules.WarnIfAllMissing = false
	loaded, err := rules.Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(loaded.Contexts))
}

// contextsOf returns the names of the contexts, separated by commas.
func contextsOf(loaded *api.Config) string {
	return strings.Join(slices.Sorted(maps.Keys(loaded.Contexts)), ", ")
}

// unlimited returns the cluster without a client-side rate limit. The API server's priority and fairness limits
// its clients; our own limit would only delay Services.
func (c Cluster) unlimited() Cluster {
	c.REST.QPS = -1
	c.REST.UserAgent = "kube-octavia"
	return c
}

// Version returns the version of the API server. The error is explained; see Explain.
func (c Cluster) Version(ctx context.Context) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c.REST)
	if err != nil {
		return "", c.Explain(err)
	}
	answer := client.RESTClient().Get().AbsPath("/version").Do(ctx)
	// Only Error returns the API's message. The error of Raw treats every failure as unexpected.
	if err := answer.Error(); err != nil {
		return "", c.Explain(fmt.Errorf("read the version: %w", err))
	}
	text, err := answer.Raw()
	if err != nil {
		return "", c.Explain(fmt.Errorf("read the version: %w", err))
	}
	var found version.Info
	if err := json.Unmarshal(text, &found); err != nil || found.GitVersion == "" {
		return "", c.Explain(fmt.Errorf("read the version: %w", errNotKubernetes))
	}
	return found.GitVersion, nil
}

// UID returns the uid of the kube-system namespace, which identifies the cluster: it is unique and never changes.
// The error is explained; see Explain.
func (c Cluster) UID(ctx context.Context) (string, error) {
	client, err := corev1.NewForConfig(c.REST)
	if err != nil {
		return "", c.Explain(err)
	}
	system, err := client.Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err == nil && system.UID == "" {
		err = errors.New("it has none")
	}
	var status apierrors.APIStatus
	if err != nil && !errors.As(err, new(*url.Error)) && !errors.As(err, &status) {
		err = fmt.Errorf("%w: %w", errNotKubernetes, err) // there was an answer, but it is not a namespace
	}
	if err != nil {
		return "", c.Explain(fmt.Errorf("read the cluster's uid from namespace %s: %w", metav1.NamespaceSystem, err))
	}
	return string(system.UID), nil
}
