// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

const root = "../.."

// sectionOf returns the text of a page from the heading to the next one.
func sectionOf(t *testing.T, page, heading string) string {
	t.Helper()
	_, text, found := strings.Cut(page, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("there is no section %q", heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// writtenByUs are annotations that kube-octavia writes, and that users do not set.
var writtenByUs = []string{annotation.LoadBalancerAddress, annotation.Managed, annotation.Programmed, annotation.VIPAddress}

func TestReadmeListsEveryFeatureThatAServiceCanAskForByAnnotation(t *testing.T) {
	features, _, _ := strings.Cut(sectionOf(t, read(t, filepath.Join(root, "README.md")), "Status"), "Not yet:")
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\|.*$`).FindAllString(features, -1) {
		for _, m := range regexp.MustCompile("`([a-z.-]+/[a-z-]+)`").FindAllStringSubmatch(row, -1) {
			listed[m[1]] = true
		}
	}
	want := map[string]bool{}
	for _, a := range annotation.Table {
		if !slices.Contains(writtenByUs, a.Key) {
			want[a.Key] = true
		}
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("annotations in the README's section Status (-code +page):\n%s", diff)
	}
}

func TestReadmeNamesTheVersionOfKubernetesThatIsTested(t *testing.T) {
	version := regexp.MustCompile(`k8s\.io/kubernetes v(\d+\.\d+)\.`).FindStringSubmatch(read(t, filepath.Join(root, "hack/kube/go.mod")))
	if version == nil {
		t.Fatal("hack/kube/go.mod requires no Kubernetes")
	}
	if status := sectionOf(t, read(t, filepath.Join(root, "README.md")), "Status"); !strings.Contains(status, "Kubernetes "+version[1]) {
		t.Errorf("the section Status does not name Kubernetes %s", version[1])
	}
}

// directories returns the direct subdirectories of a directory in the repository.
func directories(t *testing.T, below string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(root, below))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, below+"/"+e.Name())
		}
	}
	return names
}

func TestContributingListsEveryDirectoryOfCode(t *testing.T) {
	text := read(t, filepath.Join(root, "CONTRIBUTING.md"))
	for _, below := range []string{"internal", "cmd", "test", "hack"} {
		t.Run(below, func(t *testing.T) {
			var listed []string
			for _, m := range regexp.MustCompile(`(?m)^    (`+below+`/[a-z0-9-]+)/?\s`).FindAllStringSubmatch(text, -1) {
				listed = append(listed, m[1])
			}
			slices.Sort(listed)
			if diff := cmp.Diff(directories(t, below), listed); diff != "" {
				t.Errorf("directories below %s that CONTRIBUTING.md lists (-code +page):\n%s", below, diff)
			}
		})
	}
}

func TestPagesNameOnlyFilesThatExist(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages found: %v", len(pages), err)
	}
	for _, page := range append(pages, filepath.Join(root, "CONTRIBUTING.md"), filepath.Join(root, "README.md")) {
		for _, m := range regexp.MustCompile("`((?:internal|cloudsim|test|hack)/[a-z0-9_/]+\\.go)`").FindAllStringSubmatch(read(t, page), -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}
