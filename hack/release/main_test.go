// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// testVersion is the version of the releases that the tests build. They have only one platform,
// because compiling for another one takes a long time.
const testVersion = "v1.2.3"

var testPlatform = platform{"linux", runtime.GOARCH}

// release is the output of the command release.
type release struct {
	dir     string
	printed string
}

func (r release) path(name string) string { return filepath.Join(r.dir, name) }

func (r release) read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(r.path(name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// digest returns the digest of the pushed image.
func (r release) digest(t *testing.T) string {
	t.Helper()
	_, digest, found := strings.Cut(r.printed, "pushed: "+shared.repository+"@")
	if !found {
		t.Fatalf("no image was pushed to %s:\n%s", shared.repository, r.printed)
	}
	return strings.TrimSpace(digest)
}

// shared has two releases of one commit, built in two directories and environments. The first test
// that needs it builds it.
var shared struct {
	once       sync.Once
	dir        string
	registry   *httptest.Server
	repository string
	releases   []release
	err        error
}

func TestMain(m *testing.M) {
	status := m.Run()
	if shared.registry != nil {
		shared.registry.Close()
	}
	if err := os.RemoveAll(shared.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// sharedReleases returns the two releases.
func sharedReleases(t *testing.T) (first, second release) {
	t.Helper()
	shared.once.Do(func() { shared.err = buildShared() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.releases[0], shared.releases[1]
}

// buildShared builds the second release with variables that would change it if they had an effect.
func buildShared() (err error) {
	if shared.dir, err = os.MkdirTemp("", "kube-octavia-release-test-"); err != nil {
		return err
	}
	shared.registry = httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	shared.repository = strings.TrimPrefix(shared.registry.URL, "http://") + "/team/kube-octavia"
	for _, one := range []struct {
		name        string
		environment map[string]string
	}{
		{"a", nil},
		{filepath.Join("another", "directory"), map[string]string{"GOFLAGS": "-ldflags=-s", "GOAMD64": "v3", "GOARM64": "v9.0", "CGO_ENABLED": "1", "TZ": "Asia/Tokyo"}},
	} {
		root := filepath.Join(shared.dir, one.name, "repository")
		if err := copyRepository(root); err != nil {
			return err
		}
		r := release{dir: filepath.Join(shared.dir, one.name, "release")}
		var printed bytes.Buffer
		restore := setEnvironment(one.environment)
		err := run(context.Background(), []string{"release", "-root", root, "-version", testVersion, "-image", shared.repository + ":" + testVersion,
			"-platforms", testPlatform.String(), "-push", "-o", r.dir}, &printed)
		restore()
		if err != nil {
			return err
		}
		r.printed = printed.String()
		shared.releases = append(shared.releases, r)
	}
	return nil
}

// setEnvironment sets environment variables; t.Setenv would restore them at the end of one test.
func setEnvironment(variables map[string]string) (restore func()) {
	before := map[string]string{}
	for key, value := range variables {
		before[key] = os.Getenv(key)
		os.Setenv(key, value)
	}
	return func() {
		for key, value := range before {
			os.Setenv(key, value)
		}
	}
}

// copyRepository makes a clone with one commit, which has the current files of this repository. If
// the repository has no chart, one is added.
func copyRepository(dir string) error {
	const root = "../.."
	listed, err := git(context.Background(), root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for _, path := range strings.Split(strings.TrimRight(listed, "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, path))
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, but not committed yet
		}
		if err := errors.Join(err, writeTo(filepath.Join(dir, path), content)); err != nil {
			return err
		}
	}
	chart := filepath.Join(dir, chartDirectory, "Chart.yaml")
	if _, err := os.Stat(chart); errors.Is(err, os.ErrNotExist) {
		if err := writeTo(chart, []byte("apiVersion: v2\nname: kube-octavia\nversion: 0.0.0\nappVersion: v0.0.0\n")); err != nil {
			return err
		}
	}
	return commit(dir)
}

func writeTo(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

// commit commits all files of a directory, always with the same time.
func commit(dir string) error {
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "--all"},
		{"-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false", "commit", "--quiet", "--message=Test"},
	} {
		command := exec.Command("git", append([]string{"-C", dir}, args...)...)
		command.Env = append(os.Environ(), "GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000")
		if _, err := output(command); err != nil {
			return err
		}
	}
	return nil
}

// untar returns the headers and the contents of an archive, by name, and the names in their order.
func untar(t *testing.T, archive io.Reader) (headers map[string]*tar.Header, contents map[string][]byte, order []string) {
	t.Helper()
	headers, contents = map[string]*tar.Header{}, map[string][]byte{}
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return headers, contents, order
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		headers[header.Name], contents[header.Name] = header, content
		order = append(order, header.Name)
	}
}

// gunzip returns a reader of the decompressed content.
func gunzip(t *testing.T, compressed []byte) io.Reader {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	return reader
}
