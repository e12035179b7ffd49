// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig finds the Kubernetes cluster of a command. It imports nothing of the project.
package kubeconfig

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Load finds the cluster. The API server's priority and fairness holds
// clients to what it can take; a rate of our own would only delay Services.
func Load(path string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = path
	cluster, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w; check --kubeconfig and $KUBECONFIG", err)
	}
	cluster.QPS = -1
	cluster.UserAgent = "kube-octavia"
	return cluster, nil
}
