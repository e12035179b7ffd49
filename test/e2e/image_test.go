// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// nonroot is the user of the image.
const nonroot = 65532

// TestControllerOfTheImageServesAService builds the image by `make image`. As root, the
// controller runs as its user, with the files of the image and no others; otherwise only the
// program comes from the image.
func TestControllerOfTheImageServesAService(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	if runtime.GOOS != "linux" {
		t.Skip("images are for Linux")
	}
	root := unpackedImage(t)
	s := newStage(t, settings{off: true})
	p := s.execute(s.imageCommand(root))
	web := s.service("web", tcp(8080))
	s.answers(web.waitUntilProgrammed(), 8080)
	web.delete()
	web.waitUntilGone()
	p.terminate()
}

// imageCommand returns the controller with the unpacked image as its root directory, as far as this
// process may do that.
func (s *stage) imageCommand(root string) *exec.Cmd {
	s.t.Helper()
	if os.Getuid() != 0 {
		return s.command(filepath.Join(root, "kube-octavia"), alone...)
	}
	const dir = "/etc/kube-octavia"
	if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
		s.t.Fatal(err)
	}
	for _, file := range []string{s.cloudConf(), s.kubeconfig()} {
		content, err := os.ReadFile(file)
		path := filepath.Join(root, dir, filepath.Base(file))
		if err := errors.Join(err, os.WriteFile(path, content, 0o400), os.Chown(path, nonroot, nonroot)); err != nil {
			s.t.Fatal(err)
		}
	}
	// Of a flag that is given twice, the last one counts.
	command := s.command("/kube-octavia", append([]string{"--cloud-config=" + dir + "/cloud.conf", "--kubeconfig=" + dir + "/kubeconfig"}, alone...)...)
	command.Dir, command.Env = "/", []string{"HOME=/"}
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: nonroot, Gid: nonroot}}
	return command
}

// unpackedImage builds the image for this machine and returns a directory with its files.
func unpackedImage(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-C", "../..", "image", "BIN="+dir, "PLATFORMS=linux/"+runtime.GOARCH, "VERSION=v1.2.3")
	command.Env = append(os.Environ(), "MAKEFLAGS=") // the variables of a `make test` are not meant for it
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("make image: %v\n%s", err, out)
	}
	archive, err := os.Open(filepath.Join(dir, "kube-octavia-image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := map[string][]byte{}
	eachFile(t, archive, func(header *tar.Header, content []byte) { files[header.Name] = content })
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, layer := range layersOf(t, files) {
		unzipped, err := gzip.NewReader(bytes.NewReader(layer))
		if err != nil {
			t.Fatal(err)
		}
		eachFile(t, unzipped, func(header *tar.Header, content []byte) {
			path, mode := filepath.Join(root, header.Name), header.FileInfo().Mode()
			if mode.IsDir() {
				err = os.MkdirAll(path, mode.Perm())
			} else {
				err = os.WriteFile(path, content, mode.Perm())
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	return root
}

// layersOf returns the layers of the only image in an OCI layout.
func layersOf(t *testing.T, files map[string][]byte) [][]byte {
	t.Helper()
	type descriptor struct{ Digest string }
	var document struct{ Manifests, Layers []descriptor }
	for content := files["index.json"]; document.Layers == nil; {
		document.Manifests = nil
		if err := json.Unmarshal(content, &document); err != nil || document.Layers == nil && len(document.Manifests) != 1 {
			t.Fatalf("no image: %v\n%s", err, content)
		}
		if document.Layers == nil {
			content = files[blob(document.Manifests[0].Digest)]
		}
	}
	var layers [][]byte
	for _, l := range document.Layers {
		layers = append(layers, files[blob(l.Digest)])
	}
	return layers
}

// blob returns the file of a digest in an OCI layout.
func blob(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

// eachFile calls do for each entry of an archive, in order.
func eachFile(t *testing.T, archive io.Reader, do func(header *tar.Header, content []byte)) {
	t.Helper()
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		var content []byte
		if err == nil {
			content, err = io.ReadAll(reader)
		}
		if err != nil {
			t.Fatal(err)
		}
		do(header, content)
	}
}
