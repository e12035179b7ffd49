// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// keyPage is a page with the names of annotations that it may have although they are not whole keys of the table.
type keyPage struct {
	path string
	// otherwise are texts that mean something else on the page, or that are examples of wrong keys.
	otherwise []string
}

// keyPages returns the pages for users.
func keyPages(t *testing.T) []keyPage {
	t.Helper()
	otherwise := map[string][]string{
		"docs/reference/metrics.md":                     {"class"}, // a label
		"docs/runbooks/KubeOctaviaWritesNeedAPerson.md": {"class"},
		"docs/reference/versions.md":                    {"connection-limit", "vip-security-groups"}, // features of the cloud
	}
	pages := []keyPage{{path: "README.md"}, {path: "CHANGELOG.md"}, {path: "charts/kube-octavia/README.md"}}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			below, _ := filepath.Rel(root, path)
			pages = append(pages, keyPage{filepath.ToSlash(below), otherwise[filepath.ToSlash(below)]})
		}
		return err
	})
	if err != nil || len(pages) < 30 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	return pages
}

// named returns the names in the table with their keys. Names that are also keys of cloud.conf count only after
// the word annotation.
func named() (keys map[string]string, alsoSettings map[string]bool) {
	keys, alsoSettings = map[string]string{}, map[string]bool{}
	for _, a := range annotation.Table {
		_, name := annotation.Split(a.Key)
		keys[name] = a.Key
	}
	for _, k := range config.Keys() {
		alsoSettings[k.Name] = true
	}
	return keys, alsoSettings
}

// withoutPrefix returns the names of annotations in a text that lack the prefix which users must
// type.
func withoutPrefix(text string) (found []string) {
	keys, alsoSettings := named()
	for _, m := range regexp.MustCompile("(?i)(annotations? (?:`[^`\n]+`(?:,| and| or) )*)?`([a-z-]+)(?:(?::|=) ?[^`\n]*)?`( annotation)?").FindAllStringSubmatch(text, -1) {
		isAnnotation := m[1] != "" || m[3] != ""
		if key, there := keys[m[2]]; there && (isAnnotation || !alsoSettings[m[2]]) {
			found = append(found, m[2]+" instead of "+key)
		}
	}
	for _, m := range regexp.MustCompile("(?i)annotations? ([a-z]+(?:-[a-z]+)+)").FindAllStringSubmatch(text, -1) {
		if key, there := keys[m[1]]; there {
			found = append(found, m[1]+" instead of "+key)
		}
	}
	return found
}

// ours matches a key with one of our prefixes. A name that begins with a capital letter is a
// condition.
var ours = regexp.MustCompile(`(?:loadbalancer\.openstack\.org|kube-octavia\.io)/[a-z][a-z0-9-]*`)

// others are labels, classes and other names that are not annotations of Services.
var others = []string{
	"kube-octavia.io/octavia", "kube-octavia.io/demo", "kube-octavia.io/readiness-gates", "kube-octavia.io/readiness-gate", "kube-octavia.io/load-balancer-class",
	"kube-octavia.io/handle-default-class", "kube-octavia.io/web", // the readiness gate of Service web
	"kube-octavia.io/controller-settings", "kube-octavia.io/v1", // the label of the ConfigMap, and the apiVersion of command output
}

// unknownKeys returns the unknown keys with our prefixes in a text.
func unknownKeys(text string) (found []string) {
	for _, at := range ours.FindAllStringIndex(text, -1) {
		key := text[at[0]:at[1]]
		isPattern := strings.HasSuffix(key, "-") // such as timeout-*
		if !isPattern && !slices.Contains(others, key) && len(annotation.FindUnknown(map[string]string{key: ""})) > 0 {
			found = append(found, key)
		}
	}
	return found
}

func TestPagesNameAnnotationsByTheirFullKeys(t *testing.T) {
	keys := 0
	for _, page := range keyPages(t) {
		text := read(t, filepath.Join(root, page.path))
		keys += len(ours.FindAllString(text, -1))
		for _, wrong := range withoutPrefix(text) {
			name, _, _ := strings.Cut(wrong, " ")
			if !slices.Contains(page.otherwise, name) {
				t.Errorf("%s names annotation %s", page.path, wrong)
			}
		}
		for _, key := range unknownKeys(text) {
			t.Errorf("%s names the unknown annotation %s", page.path, key)
		}
	}
	if keys < 200 {
		t.Errorf("found only %d keys", keys)
	}
}

func TestNamesWithoutPrefixAndUnknownKeysAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"set `tls-secret`": 1, "set `tls-secret: web`": 1, "annotation `subnet-id`": 1, "Annotation `subnet-id: x` or": 1, "the `subnet-id` annotation": 1,
		"annotations `loadbalancer.openstack.org/class` and `subnet-id`": 1, "of annotation tls-secret": 1, "`subnet-id` in cloud.conf": 0,
		"`loadbalancer.openstack.org/tls-secret`": 0, "`secret`": 0,
	} {
		t.Run(text, func(t *testing.T) {
			if got := withoutPrefix(text); len(got) != want {
				t.Errorf("found %v, want %d", got, want)
			}
		})
	}
	for text, want := range map[string]int{
		"kube-octavia.io/tls-secert: web": 1, "kube-octavia.io/octavia": 0, "kube-octavia.io/Accepted": 0, "loadbalancer.openstack.org/timeout-*": 0,
		"loadbalancer.openstack.org/max-members": 0, "kube-octavia.io/load-balancer-id": 1,
	} {
		t.Run(text, func(t *testing.T) {
			if got := unknownKeys(text); len(got) != want {
				t.Errorf("found %v, want %d", got, want)
			}
		})
	}
}

// TestSourceReadsAnnotationsByTheKeysOfTheTable finds code that would miss an annotation under the other prefix.
func TestSourceReadsAnnotationsByTheKeysOfTheTable(t *testing.T) {
	written := []string{"Managed", "VIPAddress", "LoadBalancerID", "LoadBalancerAddress", "Programmed"} // which have one key
	reading := regexp.MustCompile(`Annotations\[annotation\.(\w+)\]`)
	files := 0
	for _, dir := range []string{"internal", "cmd", "hack"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files++
			for _, m := range reading.FindAllStringSubmatch(read(t, path), -1) {
				if !slices.Contains(written, m[1]) {
					t.Errorf("%s reads Annotations[annotation.%s]; use annotation.Value or annotation.Canonical", path, m[1])
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	if files < 300 {
		t.Errorf("found only %d files", files)
	}
}
