// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-octavia/kube-octavia/test/kube/kubeversion"
)

// newest is the default minor version of an API.
const newest = 36

// streamsLists is the minor version from which on watches can begin with a list, by default: feature gate WatchList. It was also on
// in 1.32, and off again in 1.33 (pkg/features/kube_features.go).
const streamsLists = 34

func (a *API) minor() int { return cmp.Or(a.Minor, newest) }

// has reports whether the version has the resource.
func (a *API) has(r resource) bool { return a.minor() >= r.since }

// drop silently removes fields that the version does not know from an object that a client writes, as kube-apiserver
// does.
func (a *API) drop(t target, o object) {
	if t.resource.kind != "Service" || a.minor() >= kubeversion.HasIPMode {
		return
	}
	ingress, _, err := unstructured.NestedSlice(o, "status", "loadBalancer", "ingress")
	if err != nil || len(ingress) == 0 {
		return
	}
	for _, one := range ingress {
		if address, ok := one.(object); ok {
			delete(address, "ipMode")
		}
	}
	_ = unstructured.SetNestedSlice(o, ingress, "status", "loadBalancer", "ingress") // it was there
}
