// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/test/kube"
)

// writeModule makes a module of this name that requests Kubernetes v1.99.1, and enters it.
func writeModule(t *testing.T, name string) (root string) {
	t.Helper()
	root = t.TempDir()
	for path, content := range map[string]string{
		"go.mod":           "module " + name + "\n",
		"hack/kube/go.mod": "module " + name + "/hack/kube\n\nrequire (\n\tk8s.io/kubernetes v1.99.1\n)\n",
	} {
		writeFile(t, filepath.Join(root, path), content)
	}
	t.Chdir(filepath.Join(root, "hack", "kube"))
	return root
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
}

// writeAssets makes files with the names of the binaries, without the one
// named.
func writeAssets(t *testing.T, dir, without string) {
	t.Helper()
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kubectl"} {
		if name != without {
			writeFile(t, filepath.Join(dir, name), "")
		}
	}
}

func TestAssetsAreFoundInTheCacheOfTheModule(t *testing.T) {
	t.Setenv(kube.AssetsVariable, "")
	t.Setenv(kube.VersionVariable, "")
	want := filepath.Join(writeModule(t, "github.com/kube-octavia/kube-octavia"), ".cache", "kube", "v1.99.1")
	writeAssets(t, want, "")
	got, err := kube.AssetsDir()
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAssetsOfTheVariableComeFirst(t *testing.T) {
	writeModule(t, "github.com/kube-octavia/kube-octavia")
	want := t.TempDir()
	writeAssets(t, want, "")
	t.Setenv(kube.AssetsVariable, want)
	t.Setenv(kube.VersionVariable, "")
	if got, err := kube.AssetsDir(); err != nil || got != want {
		t.Errorf("got %s and %v, want %s", got, err, want)
	}
}

func TestAssetsOfARequestedVersionAreFoundInTheCache(t *testing.T) {
	for _, test := range []struct {
		name, requested, want string
	}{
		{"a release", "1.98.2", "v1.98.2"},
		{"a release with the leading v", "v1.98.2", "v1.98.2"},
		{"a minor version: its newest release", "1.98", "v1.98.10"},
		{"a minor version of which one release is not complete", "1.97", "v1.97.1"},
		{"the version of go.mod", "1.99", "v1.99.1"},
		{"a preview", "1.100.0-rc.1", "v1.100.0-rc.1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cache := filepath.Join(writeModule(t, "github.com/kube-octavia/kube-octavia"), ".cache", "kube")
			for _, release := range []string{"v1.97.1", "v1.98.2", "v1.98.10", "v1.98.9", "v1.98.11-rc.1", "v1.99.1", "v1.100.0-rc.1"} {
				writeAssets(t, filepath.Join(cache, release), "")
			}
			writeAssets(t, filepath.Join(cache, "v1.97.2"), "kubectl")
			t.Setenv(kube.AssetsVariable, "")
			t.Setenv(kube.VersionVariable, test.requested)
			if got, err := kube.AssetsDir(); err != nil || got != filepath.Join(cache, test.want) {
				t.Errorf("got %s and %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestAVersionThatIsNotBuiltIsNamedWithTheCommandThatBuildsIt(t *testing.T) {
	writeModule(t, "github.com/kube-octavia/kube-octavia")
	t.Setenv(kube.AssetsVariable, "")
	for _, requested := range []string{"1.28", "1.99"} {
		t.Setenv(kube.VersionVariable, requested)
		if dir, err := kube.AssetsDir(); err == nil || !strings.Contains(err.Error(), "run `make kube KUBE="+requested+"`") {
			t.Errorf("%s: got %q and %v", requested, dir, err)
		}
	}
}

func TestDirectoryAndVersionTogetherAreAnError(t *testing.T) {
	dir := t.TempDir()
	writeAssets(t, dir, "")
	t.Setenv(kube.AssetsVariable, dir)
	t.Setenv(kube.VersionVariable, "1.28")
	if _, err := kube.AssetsDir(); err == nil || !strings.Contains(err.Error(), "both set") {
		t.Errorf("got %v", err)
	}
}

func TestMissingAssetsAreNamedWithTheWayToGetThem(t *testing.T) {
	incomplete := t.TempDir()
	writeAssets(t, incomplete, "kubectl")
	for _, test := range []struct {
		name, module, variable string
		want                   []string
	}{
		{"no build", "github.com/kube-octavia/kube-octavia", "", []string{"no etcd, kube-apiserver", "v1.99.1", "run `make kube`"}},
		{"another module", "example.com/other", "", []string{"is not inside the module", kube.AssetsVariable}},
		{"incomplete directory", "github.com/kube-octavia/kube-octavia", incomplete, []string{"no kubectl in", kube.AssetsVariable}},
	} {
		t.Run(test.name, func(t *testing.T) {
			writeModule(t, test.module)
			t.Setenv(kube.AssetsVariable, test.variable)
			t.Setenv(kube.VersionVariable, "")
			dir, err := kube.AssetsDir()
			if err == nil {
				t.Fatalf("found %s", dir)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
		})
	}
}
