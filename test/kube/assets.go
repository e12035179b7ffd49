// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// AssetsVariable is the environment variable that names a directory with
// etcd, kube-apiserver, kube-controller-manager and kubectl, to be used instead
// of those that `make kube` builds.
const AssetsVariable = "KUBE_ASSETS"

// VersionVariable is the environment variable that names another version of Kubernetes than that of
// hack/kube/go.mod, such as 1.28 or 1.28.15. `make kube KUBE=1.28` builds it.
const VersionVariable = "KUBE_VERSION"

const (
	etcdBinary              = "etcd"
	apiserverBinary         = "kube-apiserver"
	controllerManagerBinary = "kube-controller-manager"
	kubectlBinary           = "kubectl"
)

// modulePath is the module whose root holds the cache of `make kube`.
const modulePath = "github.com/kube-octavia/kube-octavia"

var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v\S+)`)

// AssetsDir returns the directory that holds the binaries: the one that the
// environment variable KUBE_ASSETS names, or else .cache/kube/<version> under
// the module's root, which is looked for from the working directory upwards;
// the version is the one that KUBE_VERSION names, or else that of
// k8s.io/kubernetes in hack/kube/go.mod. The error says which binaries are
// missing and how to get them.
func AssetsDir() (string, error) {
	requested := os.Getenv(VersionVariable)
	if dir := os.Getenv(AssetsVariable); dir != "" {
		if requested != "" {
			return "", fmt.Errorf("%s and %s are both set: unset one of them", AssetsVariable, VersionVariable)
		}
		if err := checkAssets(dir); err != nil {
			return "", fmt.Errorf("%s: %w", AssetsVariable, err)
		}
		return dir, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	version, err := versionIn(filepath.Join(root, "hack", "kube", "go.mod"))
	if err != nil {
		return "", err
	}
	cache, command := filepath.Join(root, ".cache", "kube"), "make kube"
	if requested != "" {
		command += " KUBE=" + requested
		built, err := releasesIn(cache)
		if err != nil {
			return "", err
		}
		version = requestedRelease(requested, append(built, version))
		if version == "" {
			return "", fmt.Errorf("no Kubernetes %s in %s: run `%s` in %s", requested, cache, command, root)
		}
	}
	dir := filepath.Join(cache, version)
	if err := checkAssets(dir); err != nil {
		return "", fmt.Errorf("%w: run `%s` in %s", err, command, root)
	}
	return dir, nil
}

// releasesIn returns the releases that the cache of `make kube` holds.
func releasesIn(cache string) (releases []string, err error) {
	entries, err := os.ReadDir(cache)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if checkAssets(filepath.Join(cache, e.Name())) == nil {
			releases = append(releases, e.Name())
		}
	}
	return releases, nil
}

// requestedRelease returns the newest of the releases that the requested version means: 1.28 means
// every release of this minor version, 1.28.15 only one. It returns "" if there is none.
func requestedRelease(requested string, releases []string) (newest string) {
	requested = "v" + strings.TrimPrefix(requested, "v")
	newestPatch := -1
	for _, release := range releases {
		if release == requested {
			return release
		}
		text, found := strings.CutPrefix(release, requested+".")
		if patch, err := strconv.Atoi(text); found && err == nil && patch > newestPatch {
			newest, newestPatch = release, patch
		}
	}
	return newest
}

// checkAssets reports which binaries are missing from dir.
func checkAssets(dir string) error {
	var missing []string
	for _, name := range []string{etcdBinary, apiserverBinary, controllerManagerBinary, kubectlBinary} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("no %s in %s", strings.Join(missing, ", "), dir)
	}
	return nil
}

// moduleRoot finds the root of this module from the working directory upwards.
func moduleRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		name, err := moduleName(filepath.Join(dir, "go.mod"))
		if err != nil {
			return "", err
		}
		if name == modulePath {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside the module %s: set %s to a directory with the Kubernetes binaries",
				start, modulePath, AssetsVariable)
		}
	}
}

// moduleName returns the module path in a go.mod file, or "" if there is no
// such file.
func moduleName(path string) (string, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if name, found := strings.CutPrefix(lines.Text(), "module "); found {
			return strings.TrimSpace(name), nil
		}
	}
	return "", lines.Err()
}

// versionIn returns the version of k8s.io/kubernetes that a go.mod requests.
func versionIn(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	match := kubernetesVersion.FindSubmatch(content)
	if match == nil {
		return "", fmt.Errorf("%s does not require k8s.io/kubernetes", path)
	}
	return string(match[1]), nil
}
