// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"path"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// twoPlatforms returns an image with placeholders instead of compiled programs.
func twoPlatforms(t *testing.T) v1.ImageIndex {
	t.Helper()
	certificates, err := certificateBundle()
	if err != nil {
		t.Fatal(err)
	}
	index, err := imageIndex(contents{
		source: source{version: testVersion, revision: "1f2e3d", time: time.Unix(1700000000, 0).UTC()},
		programs: []program{
			{platform: platform{"linux", "amd64"}, content: []byte("program for amd64")},
			{platform: platform{"linux", "arm64"}, content: []byte("program for arm64")},
		},
		certificates: certificates,
		licences:     licenceFiles([]byte("Apache"), []component{{path: "example.com/module", version: "v1.0.0", text: "MIT"}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// images returns the images of an index, by platform.
func images(t *testing.T, index v1.ImageIndex) map[string]v1.Image {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]v1.Image{}
	for _, m := range manifest.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		found[m.Platform.String()] = image
	}
	return found
}

func TestImageRunsTheProgramOfEachPlatformAsNonroot(t *testing.T) {
	index := twoPlatforms(t)
	labels := map[string]string{
		"org.opencontainers.image.title": "kube-octavia", "org.opencontainers.image.description": "Load balancers for Kubernetes Services from OpenStack Octavia",
		"org.opencontainers.image.source":  "https://github.com/kube-octavia/kube-octavia",
		"org.opencontainers.image.version": "v1.2.3", "org.opencontainers.image.revision": "1f2e3d", "org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.created": "2023-11-14T22:13:20Z",
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(labels, manifest.Annotations); diff != "" {
		t.Errorf("annotations of the index (-want +got):\n%s", diff)
	}
	all := images(t, index)
	if len(all) != 2 {
		t.Errorf("%d images", len(all))
	}
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			image := all["linux/"+arch]
			if image == nil {
				t.Fatalf("no image for linux/%s: %v", arch, all)
			}
			config, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			want := v1.Config{User: "65532:65532", WorkingDir: "/", Entrypoint: []string{"/kube-octavia"}, Labels: labels}
			if diff := cmp.Diff(want, config.Config); diff != "" {
				t.Errorf("config for %s (-want +got):\n%s", arch, diff)
			}
			if config.OS != "linux" || config.Architecture != arch || config.Created.Unix() != 1700000000 {
				t.Errorf("config for %s: %s/%s of %v", arch, config.OS, config.Architecture, config.Created)
			}
			_, contents, _ := untar(t, mutate.Extract(image))
			if got := string(contents["kube-octavia"]); got != "program for "+arch {
				t.Errorf("/kube-octavia of %s is %q", arch, got)
			}
		})
	}
}

func TestOnlyRootMayWriteInTheImageAndNothingIsSetuid(t *testing.T) {
	for platform, image := range images(t, twoPlatforms(t)) {
		t.Run(platform, func(t *testing.T) {
			layers, err := image.Layers()
			if err != nil || len(layers) == 0 {
				t.Fatalf("%d layers, %v", len(layers), err)
			}
			for _, l := range layers {
				archive, err := l.Uncompressed()
				if err != nil {
					t.Fatal(err)
				}
				headers, _, order := untar(t, archive)
				for _, name := range order {
					h := headers[name]
					if h.Mode&^0o755 != 0 || h.Uid != 0 || h.Gid != 0 {
						t.Errorf("%s has mode %o of %d:%d", name, h.Mode, h.Uid, h.Gid)
					}
					if executable := h.Mode&0o111 != 0; executable != (h.Typeflag == tar.TypeDir || name == programName) {
						t.Errorf("%s has mode %o", name, h.Mode)
					}
					if dir := path.Dir(path.Clean(name)) + "/"; dir != "./" && headers[dir] == nil {
						t.Errorf("the directory of %s is not there, so whoever unpacks it chooses its mode", name)
					}
				}
				if err := archive.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestImageTrustsTheRootsThatMozillaTrustsWithoutConditions(t *testing.T) {
	_, contents, _ := untar(t, mutate.Extract(images(t, twoPlatforms(t))["linux/amd64"]))
	trusted := map[string]bool{}
	rest := contents["etc/ssl/certs/ca-certificates.crt"]
	if !x509.NewCertPool().AppendCertsFromPEM(rest) {
		t.Fatal("Go finds no certificate")
	}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		trusted[string(block.Bytes)] = true
	}
	if len(trusted) < 100 {
		t.Errorf("only %d roots are trusted", len(trusted))
	}
	for root := range bundle.Roots() {
		if trusted[string(root.Certificate)] != (root.Constraint == nil) {
			t.Errorf("a root is trusted: %t, with a condition: %t", trusted[string(root.Certificate)], root.Constraint != nil)
		}
	}
}

func TestPulledImageIsTheOneThatWasBuilt(t *testing.T) {
	r, _ := sharedReleases(t)
	tag, err := name.NewTag(shared.repository + ":" + testVersion)
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Index(tag, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(pulled); err != nil {
		t.Error(err)
	}
	stored := storedIndex(t, r.read(t, "kube-octavia-v1.2.3-image.tar"), shared.repository+":"+testVersion)
	for where, index := range map[string]v1.ImageIndex{"pulled": pulled, "of the archive": stored} {
		if digest, err := index.Digest(); err != nil || digest.String() != r.digest(t) {
			t.Errorf("the index %s is %s, %v, and not %s", where, digest, err, r.digest(t))
		}
	}
}

// storedIndex returns the only index in an archive, which must have the name.
func storedIndex(t *testing.T, archive []byte, name string) v1.ImageIndex {
	t.Helper()
	_, contents, _ := untar(t, bytes.NewReader(archive))
	dir := t.TempDir()
	for name, content := range contents {
		if err := writeTo(path.Join(dir, name), content); err != nil {
			t.Fatal(err)
		}
	}
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%v, %v", manifest, err)
	}
	want := map[string]string{"org.opencontainers.image.ref.name": testVersion, "io.containerd.image.name": name}
	if diff := cmp.Diff(want, manifest.Manifests[0].Annotations); diff != "" {
		t.Errorf("names of the image (-want +got):\n%s", diff)
	}
	index, err := outer.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

func TestArchiveHasAnImageForEachArchitectureForContainerdPodmanAndDocker(t *testing.T) {
	tag, err := name.NewTag("kube-octavia:v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	archive, err := imageArchive(source{}, tag, twoPlatforms(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(storedIndex(t, archive, "docker.io/library/kube-octavia:v1.2.3")); err != nil {
		t.Error(err)
	}
	_, contents, _ := untar(t, bytes.NewReader(archive))
	var list []dockerImage
	if err := json.Unmarshal(contents["manifest.json"], &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, image := range list {
		names = append(names, image.RepoTags...)
		for _, blob := range append(image.Layers, image.Config) {
			if _, there := contents[blob]; !there {
				t.Errorf("%v: there is no %s", image.RepoTags, blob)
			}
		}
	}
	if diff := cmp.Diff([]string{"kube-octavia:v1.2.3-amd64", "kube-octavia:v1.2.3-arm64"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}
