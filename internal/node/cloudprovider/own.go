// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// ownNodes is an informer whose lister has only the Nodes of this cloud and region. Kubernetes' route controller would
// mark other Nodes as without a network, because no route to them is possible.
type ownNodes struct {
	coreinformers.NodeInformer
	isOwn func(*corev1.Node) bool
}

// Lister implements coreinformers.NodeInformer.
func (o ownNodes) Lister() corelisters.NodeLister {
	return ownLister{o.NodeInformer.Lister(), o.isOwn}
}

type ownLister struct {
	corelisters.NodeLister
	isOwn func(*corev1.Node) bool
}

// List implements corelisters.NodeLister.
func (l ownLister) List(selector labels.Selector) ([]*corev1.Node, error) {
	all, err := l.NodeLister.List(selector)
	return slices.DeleteFunc(all, func(node *corev1.Node) bool { return !l.isOwn(node) }), err
}
