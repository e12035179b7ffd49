// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

func TestMain(m *testing.M) {
	// The first run of a command sets the logger of Kubernetes' libraries, which must not happen while another
	// goroutine logs. This run ends at once, because the file is missing.
	cli.Run(context.Background(), []string{"controller", "--cloud-config=" + os.DevNull + "/missing"}, cli.IO{Out: io.Discard, Err: io.Discard}, cli.Options{Version: "test"})
	kubetest.Main(m, kubetest.IgnoreStoppedQueue())
}

// root is the directory of the repository.
const root = "../.."

// file returns the text of a file of the repository.
func file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheDashboardIsUpToDate(t *testing.T) {
	want, err := dashboardText()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), file(t, dashboardFile)); diff != "" {
		t.Errorf("%s is not up to date; run `make generate` (-code +file):\n%s", dashboardFile, diff)
	}
}
