// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const kubernetesModule = "k8s.io/kubernetes"

// stampFile is a file in each finished directory that contains versions.stamp().
const stampFile = "versions.txt"

// binaries are the programs in a finished directory.
var binaries = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kubectl"}

// versions are the versions to build, with the leading v.
type versions struct {
	kubernetes string
	etcd       string
}

// lastReleases has the last releases of minor versions that the tests use and that get no more
// releases. The proxy for Go modules does not have to list them.
var lastReleases = map[string]string{"1.28": "v1.28.15"}

var (
	kubernetesLine = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v\d+\.\d+\.\S+)`)
	etcdLine       = regexp.MustCompile(`(?m)^\s*go\.etcd\.io/etcd/server/v3 (v\d+\.\d+\.\S+)`)
)

// readVersions reads the versions that a go.mod requires.
func readVersions(path string) (versions, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return versions{}, err
	}
	kubernetes, etcd := kubernetesLine.FindSubmatch(content), etcdLine.FindSubmatch(content)
	if kubernetes == nil || etcd == nil {
		return versions{}, fmt.Errorf("%s must require k8s.io/kubernetes and go.etcd.io/etcd/server/v3", path)
	}
	return versions{kubernetes: string(kubernetes[1]), etcd: string(etcd[1])}, nil
}

var (
	minorVersion   = regexp.MustCompile(`^v?(1\.\d+)$`)
	releaseVersion = regexp.MustCompile(`^v?(1\.\d+\.\d+(-[a-z]+\.\d+)?)$`)
)

// resolve returns the release of Kubernetes that a user means by 1.28, 1.28.15 or v1.28.15. For a minor
// version, this is the release of go.mod if it has this minor version; otherwise the last one that is
// known here; otherwise the newest that list returns.
func resolve(text, ofGoMod string, list func() ([]string, error)) (string, error) {
	if release := releaseVersion.FindStringSubmatch(text); release != nil {
		return "v" + release[1], nil
	}
	match := minorVersion.FindStringSubmatch(text)
	if match == nil {
		return "", fmt.Errorf("%q is not a version of Kubernetes such as 1.28 or 1.28.15", text)
	}
	minor := match[1]
	if strings.HasPrefix(ofGoMod, "v"+minor+".") {
		return ofGoMod, nil
	}
	if last := lastReleases[minor]; last != "" {
		return last, nil
	}
	all, err := list()
	if err != nil {
		return "", err
	}
	if newest := newestOf(minor, all); newest != "" {
		return newest, nil
	}
	return "", fmt.Errorf("the proxy for Go modules lists no release of Kubernetes %s: name one, such as %[1]s.1", minor)
}

// newestOf returns the newest of the releases with the minor version that are not previews, or "".
func newestOf(minor string, releases []string) (newest string) {
	newestPatch := -1
	for _, release := range releases {
		text, found := strings.CutPrefix(release, "v"+minor+".")
		if patch, err := strconv.Atoi(text); found && err == nil && patch > newestPatch {
			newest, newestPatch = release, patch
		}
	}
	return newest
}

// listed returns the releases of Kubernetes that the proxy for Go modules lists.
func listed(ctx context.Context) ([]string, error) {
	text, err := goCommand(ctx, ".", func(string) bool { return false }, "list", "-m", "-versions", kubernetesModule)
	return strings.Fields(text), err
}

// stamp returns the text that describes the versions in a finished directory.
func (v versions) stamp() string {
	return fmt.Sprintf("kubernetes %s\netcd %s\n", v.kubernetes, v.etcd)
}

// complete reports whether dir contains a finished build of these versions.
func complete(dir string, v versions) bool {
	stamp, err := os.ReadFile(filepath.Join(dir, stampFile))
	if err != nil || string(stamp) != v.stamp() {
		return false
	}
	for _, name := range binaries {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// linkerFlags returns the flags that set the version of the programs. Without them kube-apiserver
// reports v0.0.0-master+$Format:%H$, which kubectl cannot parse.
func (v versions) linkerFlags() string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(v.kubernetes, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	flags := []string{"-s", "-w"}
	for _, variable := range []string{
		"gitVersion=" + v.kubernetes,
		"gitMajor=" + major,
		"gitMinor=" + minor,
		"gitTreeState=archive",
	} {
		flags = append(flags, "-X", "k8s.io/component-base/version."+variable)
	}
	return strings.Join(flags, " ")
}
