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
	"strings"
)

// AssetsVariable is the environment variable that names a directory with
// etcd, kube-apiserver, kube-controller-manager and kubectl, to be used instead
// of those that `make kube` builds.
const AssetsVariable = "KUBE_ASSETS"

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
// the version is that of k8s.io/kubernetes in hack/kube/go.mod. The error says
// which binaries are missing and how to get them.
func AssetsDir() (string, error) {
	if dir := os.Getenv(AssetsVariable); dir != "" {
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
	dir := filepath.Join(root, ".cache", "kube", version)
	if err := checkAssets(dir); err != nil {
		return "", fmt.Errorf("%w: run `make kube` in %s", err, root)
	}
	return dir, nil
}

// checkAssets tells which binaries are missing from dir.
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

// versionIn returns the version of k8s.io/kubernetes that a go.mod asks for.
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
