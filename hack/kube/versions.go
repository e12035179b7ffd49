// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// stampFile is in each finished directory and holds versions.stamp().
const stampFile = "versions.txt"

// binaries are what a finished directory holds.
var binaries = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kubectl"}

// versions are what is to be built, with the leading v.
type versions struct {
	kubernetes string
	etcd       string
}

var (
	kubernetesLine = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v\d+\.\d+\.\S+)`)
	etcdLine       = regexp.MustCompile(`(?m)^\s*go\.etcd\.io/etcd/server/v3 (v\d+\.\d+\.\S+)`)
)

// readVersions reads what a go.mod requires.
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

// stamp tells the versions in a finished directory.
func (v versions) stamp() string {
	return fmt.Sprintf("kubernetes %s\netcd %s\n", v.kubernetes, v.etcd)
}

// complete reports whether dir is a finished build of these versions.
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

// linkerFlags give the programs their version. Without it kube-apiserver calls
// itself v0.0.0-master+$Format:%H$, which kubectl cannot parse.
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
