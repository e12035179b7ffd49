// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kubeversion has the versions of Kubernetes that the tests and the documentation depend on.
//
// It is apart from package kube, which starts Kubernetes: `make` builds Kubernetes for each test that imports that one, see
// NEED_KUBE in the Makefile.
package kubeversion

// Oldest is the oldest minor version of Kubernetes that the tests run with: 28 of 1.28. The chart requires it, and the
// documentation names it.
const Oldest = 28

// The minor versions from which on Kubernetes has something by default that kube-octavia can use. On an older one the tests of it are
// skipped. The documentation has the table of them (hack/docs).
const (
	// HasValidatingAdmissionPolicy is about ValidatingAdmissionPolicy in API version v1.
	HasValidatingAdmissionPolicy = 30
	// HasIPMode is about the field ipMode of addresses in the status of Services (feature gate LoadBalancerIPMode). Older
	// kube-apiservers remove it from what is written.
	HasIPMode = 30
	// HasServiceCIDR is about ServiceCIDR in API version v1.
	HasServiceCIDR = 33
	// HasMutatingAdmissionPolicy is about MutatingAdmissionPolicy in API version v1.
	HasMutatingAdmissionPolicy = 36
)
