// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestProgramOfTheImageNeedsNothingElse builds the program as the Dockerfile does,
// by `make build`, whose image has no library and no loader. It leaves out
// -trimpath, which would have all dependencies built anew.
func TestProgramOfTheImageNeedsNothingElse(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("images are for Linux")
	}
	dockerfile, err := os.ReadFile("../../Dockerfile")
	if err != nil || !strings.Contains(string(dockerfile), "\nRUN make build ") {
		t.Fatalf("the Dockerfile does not build by `make build`: %v", err)
	}
	dir := t.TempDir()
	steps, err := exec.CommandContext(t.Context(), "make", "--dry-run", "--no-print-directory", "-C", "../..", "build", "BIN="+dir, "VERSION=v1.2.3").Output()
	if err != nil {
		t.Fatalf("make build: %v", err)
	}
	build := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(string(steps), " -trimpath", ""))
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", steps, err, out)
	}
	path := filepath.Join(dir, "kube-octavia")
	program, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	if libraries, err := program.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("the program needs %v %v", libraries, err)
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program needs a loader")
		}
	}
	out, err := exec.CommandContext(t.Context(), path, "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "kube-octavia v1.2.3 ") {
		t.Errorf("version prints %q %v", out, err)
	}
}
