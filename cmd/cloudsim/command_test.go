// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNodesAreReadFromTheFlag(t *testing.T) {
	got, err := parseNodes([]string{"a", "b=127.9.0.2", "c=fd00::1"})
	want := []cloudsim.Node{{Name: "a"}, {Name: "b", Addresses: []netip.Addr{netip.MustParseAddr("127.9.0.2")}}, {Name: "c", Addresses: []netip.Addr{netip.MustParseAddr("fd00::1")}}}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, bad := range []string{"", "=127.9.0.2", "a=nonsense", "a="} {
		if got, err := parseNodes([]string{bad}); err == nil {
			t.Errorf("%q: got %v", bad, got)
		}
	}
}

func TestServerSaysHowToReachItAndEndsCleanlyWhenItIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	cloudsYAML, cloudConf := filepath.Join(dir, "sub", "clouds.yaml"), filepath.Join(dir, "cloud.conf")
	cmd := newCommand()
	cmd.SetArgs([]string{"--nodes", "node-1", "--data-plane", "--clouds-yaml", cloudsYAML, "--cloud-conf", cloudConf})
	read, write := io.Pipe()
	cmd.SetOut(write)
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.ExecuteContext(ctx)
		_ = write.Close()
	}()

	var printed strings.Builder
	for lines := bufio.NewScanner(read); lines.Scan() && lines.Text() != "# ready"; {
		printed.WriteString(lines.Text() + "\n")
	}
	for _, path := range []string{cloudsYAML, cloudConf} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", path, info, err)
		}
		if !strings.Contains(printed.String(), path) {
			t.Errorf("%s is not named in\n%s", path, &printed)
		}
	}
	written, err := os.ReadFile(cloudsYAML)
	if err != nil || !strings.Contains(printed.String(), string(written)) {
		t.Errorf("what was written was not printed: %v\n%s", err, written)
	}
	for _, name := range []string{"auth", "admin"} {
		url := regexp.MustCompile(name + ` URL +(http\S+)`).FindStringSubmatch(printed.String())
		if url == nil {
			t.Fatalf("no %s URL in\n%s", name, &printed)
		}
		request, err := http.NewRequestWithContext(t.Context(), "GET", url[1], nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Close = true
		resp, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}

	interrupt()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestServerRefusesWhatItCannotDo(t *testing.T) {
	for _, args := range [][]string{{"--nodes", "a=x"}, {"--listen", "0.0.0.0"}, {"--provider", "nonsense"}, {"stray"}, {"--api-version", "1.0"}, {"--release", "2019.1"}} {
		cmd := newCommand()
		cmd.SetArgs(args)
		cmd.SetOut(io.Discard)
		if err := cmd.ExecuteContext(t.Context()); err == nil {
			t.Errorf("%v: started", args)
		}
	}
}
