// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/test/kube/kubeversion"
)

// versions returns the data of the page: what each feature needs from Octavia, the tested versions
// of README.md, and what depends on the version of Kubernetes.
func versions() (any, error) {
	features := newTable("Octavia API", "with provider ovn", "feature", "name in cloud.conf")
	for _, r := range lb.Requirements() {
		others, ovn := r.Since.String(), "no"
		if r.NotAmphora {
			others += ", not amphora"
		}
		if r.OVNSince != (lb.Version{}) {
			ovn = r.OVNSince.String()
		}
		features.row(others, ovn, r.Doc, code(r.Name))
	}
	tested, err := found("README.md", `(?s)\nTested versions:\n\n(.*?)\n\n`)
	if err != nil {
		return nil, err
	}
	return map[string]any{"Features": features, "Tested": tested, "Oldest": kubernetes(kubeversion.Oldest), "Kubernetes": kubernetesVersions()}, nil
}

// kubernetes returns the name of a minor version.
func kubernetes(minor int) string { return fmt.Sprintf("1.%d", minor) }

// kubernetesVersions returns the table of what depends on the version of Kubernetes, with one column for each range
// of versions that do not differ.
func kubernetesVersions() *table {
	firsts := []int{kubeversion.Oldest, kubeversion.HasValidatingAdmissionPolicy, kubeversion.HasIPMode, kubeversion.HasServiceCIDR, kubeversion.HasMutatingAdmissionPolicy}
	slices.Sort(firsts)
	firsts = slices.Compact(firsts)
	heads := []string{""}
	for i, first := range firsts {
		head := kubernetes(first)
		if i == len(firsts)-1 {
			head += " and newer"
		} else if last := firsts[i+1] - 1; last > first {
			head += " to " + kubernetes(last)
		}
		heads = append(heads, head)
	}
	t := newTable(heads...)
	for _, r := range []struct {
		what          string
		since         int
		before, after string
	}{
		{"load balancers, nodes, routes, the commands; the chart and the manifests in [deploy](../../deploy)", kubeversion.Oldest, "", "yes"},
		{"`ipMode: Proxy`, by which traffic from Pods passes load balancers with [PROXY or TLS ports](../service-authors.md#protocols)",
			kubeversion.HasIPMode, "no: set a [host name](../service-authors.md#protocols)", "yes"},
		{"the policy that [rejects invalid annotations](../how-to.md#reject-invalid-annotations-in-kubectl-apply) (ValidatingAdmissionPolicy)",
			kubeversion.HasValidatingAdmissionPolicy, "no: conditions say what is invalid", "yes"},
		{"[cluster-ip mode](../how-to.md#the-subnet-of-the-clusterips): what the subnet is compared with", kubeversion.HasServiceCIDR, "the ClusterIP", "the whole Service range"},
		{"the policy that adds [readiness gates](../how-to.md#switch-it-on) to Pods (MutatingAdmissionPolicy)", kubeversion.HasMutatingAdmissionPolicy,
			"no: write them into the templates of Pods", "yes"},
	} {
		cells := []string{r.what}
		for _, first := range firsts {
			if first < r.since {
				cells = append(cells, r.before)
			} else {
				cells = append(cells, r.after)
			}
		}
		t.row(cells...)
	}
	return t
}

// found returns the text in a file of the repository that the group in the pattern matches.
func found(file, pattern string) (string, error) {
	text, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		return "", err
	}
	match := regexp.MustCompile(pattern).FindSubmatch(text)
	if match == nil {
		return "", fmt.Errorf("%s: nothing matches %s", file, pattern)
	}
	return string(match[1]), nil
}
