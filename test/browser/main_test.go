// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package browser_test looks at the page of `kube-octavia ui` with a real browser: headless Chromium. The cluster and the
// controller are real, the cloud is cloudsim without its data plane.
//
// It is a module of its own, so that the driver of the browser is no dependency of the program. Where there is no
// Chromium the tests are skipped, except with CI=true as root on Debian. With -screenshots=DIR it writes those of the
// documentation.
package browser_test

import (
	"context"
	"flag"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// screenshots is where to write them; empty: nowhere.
var screenshots = flag.String("screenshots", "", "directory for screenshots")

func TestMain(m *testing.M) {
	flag.Parse()
	// A command's first run sets the logger of Kubernetes' libraries, which must not happen while another goroutine logs.
	cli.Run(context.Background(), []string{"controller", "--cloud-config=" + os.DevNull + "/missing"}, cli.IO{Out: io.Discard, Err: io.Discard}, cli.Options{Version: "test"})
	kubetest.Main(m, kubetest.IgnoreStoppedQueue())
}

// chromium returns the path of the browser, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	_, notDebian := os.Stat("/etc/debian_version")
	if os.Getenv("CI") == "true" && os.Geteuid() == 0 && notDebian == nil {
		t.Fatal("there is no Chromium: `apt-get install chromium`")
	}
	t.Skip("there is no Chromium")
	return ""
}
