// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/test/kube/kubeversion"
)

// requireVersion fails the test unless the file contains the text, in which VERSION stands for the version of
// Kubernetes, and does not contain it with any other version.
func requireVersion(t *testing.T, file, text string, minor int) {
	t.Helper()
	before, after, _ := strings.Cut(text, "VERSION")
	all := regexp.MustCompile(regexp.QuoteMeta(before)+`1\.\d+`+regexp.QuoteMeta(after)).FindAllString(read(t, filepath.Join("../..", file)), -1)
	if len(all) == 0 {
		t.Errorf("%s does not say %q", file, text)
	}
	for _, found := range all {
		if want := before + kubernetes(minor) + after; found != want {
			t.Errorf("%s says %q, want %q", file, found, want)
		}
	}
}

// TestTheOldestKubernetesIsTheSameEverywhere compares the documentation and the chart with the version of the tests.
func TestTheOldestKubernetesIsTheSameEverywhere(t *testing.T) {
	for file, text := range map[string]string{
		"charts/kube-octavia/Chart.yaml": `kubeVersion: ">=VERSION.0-0"`,
		"charts/kube-octavia/README.md":  "For Helm 3 and Kubernetes VERSION and newer.",
		"README.md":                      "and VERSION as the oldest",
		"docs/install.md":                "Kubernetes VERSION or newer",
		"docs/reference/versions.md":     "Kubernetes VERSION is the oldest",
		"docs/testing.md":                "make test KUBE=VERSION",
		"CONTRIBUTING.md":                "make kube KUBE=VERSION",
		"hack/kube/main.go":              "another version of Kubernetes (VERSION or newer)",
		"Makefile":                       "a version other than that of hack/kube/go.mod: VERSION or newer",
		"hack/kube/versions.go":          `lastReleases = map[string]string{"VERSION"`,
	} {
		t.Run(file, func(t *testing.T) {
			requireVersion(t, file, text, kubeversion.Oldest)
		})
	}
}

// TestPoliciesSayWhichKubernetesTheyNeed compares the chart and the guides with the versions of the tests.
func TestPoliciesSayWhichKubernetesTheyNeed(t *testing.T) {
	requireVersion(t, "charts/kube-octavia/templates/admission-policy/policy.yaml", `semverCompare "<VERSION.0-0"`, kubeversion.HasValidatingAdmissionPolicy)
	requireVersion(t, "docs/how-to.md", "a ValidatingAdmissionPolicy with a binding, for Kubernetes VERSION and newer", kubeversion.HasValidatingAdmissionPolicy)
	requireVersion(t, "charts/kube-octavia/templates/readiness-gates/policy.yaml", `semverCompare "<VERSION.0-0"`, kubeversion.HasMutatingAdmissionPolicy)
	requireVersion(t, "docs/how-to.md", "The policy is for Kubernetes VERSION and newer", kubeversion.HasMutatingAdmissionPolicy)
	requireVersion(t, "docs/how-to.md", "ServiceCIDR, since Kubernetes VERSION;", kubeversion.HasServiceCIDR)
	requireVersion(t, "docs/service-authors.md", "before Kubernetes VERSION, whose API server removes `ipMode`", kubeversion.HasIPMode)
}
