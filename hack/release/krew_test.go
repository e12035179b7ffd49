// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/semver"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// readPlugin reads a manifest, which must have no unknown fields.
func readPlugin(t *testing.T, content []byte) (m krewPlugin) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestManifestOfThePluginIsWhatKrewRequires checks the rules by which krew validates a manifest, and the archive that it
// names.
func TestManifestOfThePluginIsWhatKrewRequires(t *testing.T) {
	r, _ := sharedReleases(t)
	m := readPlugin(t, r.read(t, "kubectl-octavia.yaml"))
	if got, want := m.APIVersion+" "+m.Kind+" "+m.Metadata.Name, "krew.googlecontainertools.github.com/v1alpha2 Plugin octavia"; got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
	if m.Spec.Version != testVersion || !semver.IsValid(m.Spec.Version) || !strings.HasPrefix(m.Spec.Version, "v") {
		t.Errorf("version %q", m.Spec.Version)
	}
	if short := m.Spec.ShortDescription; short == "" || strings.ContainsAny(short, "\r\n") || len(short) > 50 {
		t.Errorf("short description %q", short)
	}
	if m.Spec.Homepage == "" || m.Spec.Description == "" || m.Spec.Caveats == "" {
		t.Errorf("incomplete: %+v", m.Spec)
	}
	if len(m.Spec.Platforms) != 1 {
		t.Fatalf("%d platforms: %+v", len(m.Spec.Platforms), m.Spec.Platforms)
	}
	p := m.Spec.Platforms[0]
	if d := cmp.Diff(map[string]string{"os": "linux", "arch": testPlatform.arch}, p.Selector.MatchLabels); d != "" {
		t.Errorf("selector (-want +got):\n%s", d)
	}
	uri, err := url.Parse(p.URI)
	if err != nil || uri.Scheme != "https" || uri.Host == "" {
		t.Fatalf("uri %q, %v", p.URI, err)
	}
	archive := r.read(t, path.Base(uri.Path))
	if !regexp.MustCompile(`^[a-f0-9]{64}$`).MatchString(p.SHA256) || p.SHA256 != checksum(archive) {
		t.Errorf("sha256 %q, and the archive has %s", p.SHA256, checksum(archive))
	}
	headers, _, order := untar(t, gunzip(t, r.read(t, path.Base(uri.Path))))
	var from []string
	for _, f := range p.Files {
		from = append(from, f.From)
		if headers[f.From] == nil || f.To != "." {
			t.Errorf("file %+v of an archive with %v", f, order)
		}
	}
	if headers[p.Bin] == nil || headers[p.Bin].Mode != modeExecutable || !strings.Contains(strings.Join(from, " "), "LICENSE") {
		t.Errorf("program %q and files %v of an archive with %v", p.Bin, from, order)
	}
}

func TestManifestOfThePluginNamesEachPlatformBelowTheURL(t *testing.T) {
	s := source{version: testVersion}
	platforms, err := parsePlatforms(releasePlatforms)
	if err != nil {
		t.Fatal(err)
	}
	var programs []program
	var files []file
	for _, p := range platforms {
		programs = append(programs, program{platform: p})
		files = append(files, file{s.archiveName(p), []byte(p.String())})
	}
	f, err := pluginFile(s, "https://downloads.example.com/v1.2.3/", programs, files)
	if err != nil {
		t.Fatal(err)
	}
	m := readPlugin(t, f.content)
	for i, p := range platforms {
		got := m.Spec.Platforms[i]
		if want := "https://downloads.example.com/v1.2.3/kube-octavia-v1.2.3-" + p.os + "-" + p.arch + ".tar.gz"; got.URI != want || got.SHA256 != checksum([]byte(p.String())) {
			t.Errorf("%s: %+v, want %s", p, got, want)
		}
	}
	if _, err := pluginFile(s, "https://downloads.example.com", programs, files[1:]); err == nil {
		t.Error("an archive that is missing is not noticed")
	}
}
