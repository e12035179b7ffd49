// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/kio"
)

func TestTwoBuildsOfACommitInTwoDirectoriesGiveTheSameFiles(t *testing.T) {
	first, second := sharedReleases(t)
	if diff := cmp.Diff(string(first.read(t, "checksums.txt")), string(second.read(t, "checksums.txt"))); diff != "" {
		t.Errorf("checksums (-first +second):\n%s", diff)
	}
	if a, b := first.digest(t), second.digest(t); a != b {
		t.Errorf("the digests of the image are %s and %s", a, b)
	}
}

func TestReleaseHasTheseFilesAndTheirChecksumsVerify(t *testing.T) {
	r, _ := sharedReleases(t)
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	program := "kube-octavia-v1.2.3-linux-" + testPlatform.arch
	want := []string{"admission-policy.yaml", "checksums.txt", "doctor.yaml", "drain.yaml", "kube-octavia-1.2.3.tgz", "kube-octavia-v1.2.3-image.spdx.json", "kube-octavia-v1.2.3-image.tar",
		program + ".spdx.json", program + ".tar.gz", "kube-octavia.yaml", "kubectl-octavia.yaml", "nodes.yaml", "readiness-gates.yaml", "ui.yaml"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	verify := exec.Command("sha256sum", "--check", "--strict", "checksums.txt")
	verify.Dir = r.dir
	out, err := verify.CombinedOutput()
	if err != nil {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
	if n := strings.Count(string(out), ": OK\n"); n != len(want)-1 {
		t.Errorf("%d files are verified, of %d:\n%s", n, len(want)-1, out)
	}
}

func TestProgramOfAReleaseNeedsNoLibraryAndPrintsItsVersion(t *testing.T) {
	r, _ := sharedReleases(t)
	headers, contents, order := untar(t, gunzip(t, r.read(t, "kube-octavia-v1.2.3-linux-"+testPlatform.arch+".tar.gz")))
	if diff := cmp.Diff([]string{"LICENSE", "THIRD-PARTY-LICENSES", "kube-octavia"}, order); diff != "" {
		t.Errorf("files of the archive (-want +got):\n%s", diff)
	}
	if mode := headers[programName].Mode; mode != modeExecutable {
		t.Errorf("the program has mode %o", mode)
	}
	program, err := elf.NewFile(bytes.NewReader(contents[programName]))
	if err != nil {
		t.Fatal(err)
	}
	if libraries, err := program.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("the program needs libraries %v, %v", libraries, err)
	}
	if slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Error("the program needs a loader")
	}
	if testPlatform.os != runtime.GOOS {
		return
	}
	path := filepath.Join(t.TempDir(), programName)
	if err := os.WriteFile(path, contents[programName], modeExecutable); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "kube-octavia v1.2.3 (") {
		t.Errorf("version prints %q, %v", out, err)
	}
}

func TestLicencesOfAllModulesAreInTheArchive(t *testing.T) {
	r, _ := sharedReleases(t)
	_, contents, _ := untar(t, gunzip(t, r.read(t, "kube-octavia-v1.2.3-linux-"+testPlatform.arch+".tar.gz")))
	text := string(contents["THIRD-PARTY-LICENSES"])
	for _, module := range modulesOf(t, contents[programName]) {
		_, section, found := strings.Cut(text, "\n"+module+"\n\n")
		section, _, _ = strings.Cut(section, strings.Repeat("-", 80))
		if !found || len(strings.TrimSpace(section)) < 500 {
			t.Errorf("no licence of %s: %q", module, section)
		}
	}
}

func TestManifestsOfAReleaseHaveItsImage(t *testing.T) {
	r, _ := sharedReleases(t)
	nodes, err := kio.FromBytes(r.read(t, "kube-octavia.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, n := range nodes {
		kinds = append(kinds, n.GetKind())
	}
	slices.Sort(kinds)
	want := []string{"ClusterRole", "ClusterRoleBinding", "Deployment", "Namespace", "PodDisruptionBudget", "Role", "RoleBinding", "Service", "ServiceAccount"}
	if diff := cmp.Diff(want, slices.Compact(kinds)); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	images := regexp.MustCompile(`(?m)^ *(?:- )?image: (.*)$`).FindAllStringSubmatch(string(r.read(t, "kube-octavia.yaml")), -1)
	if len(images) != 1 || images[0][1] != shared.repository+":"+testVersion {
		t.Errorf("images %v", images)
	}
}

func TestChartOfAReleaseHasItsVersion(t *testing.T) {
	r, _ := sharedReleases(t)
	_, contents, order := untar(t, gunzip(t, r.read(t, "kube-octavia-1.2.3.tgz")))
	for _, name := range order {
		if !strings.HasPrefix(name, "kube-octavia/") {
			t.Errorf("%s is not in the directory of the chart", name)
		}
	}
	chart := string(contents["kube-octavia/Chart.yaml"])
	for _, line := range []string{"name: kube-octavia", `version: "1.2.3"`, `appVersion: "v1.2.3"`} {
		if !strings.Contains("\n"+chart, "\n"+line+"\n") {
			t.Errorf("no %q in Chart.yaml:\n%s", line, chart)
		}
	}
}

func TestChartWithoutItsVersionIsRefused(t *testing.T) {
	for _, chart := range []string{"name: x\nversion: 1.0.0\n", "appVersion: v1\nversion: 1.0.0\nversion: 1.0.1\n"} {
		if got, err := setChartVersion([]byte(chart), testVersion); err == nil {
			t.Errorf("%q became %q", chart, got)
		}
	}
}
