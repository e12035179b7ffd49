// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// packages are the programs. `go build` names etcd's binary server.
var packages = []string{
	"go.etcd.io/etcd/server/v3",
	"k8s.io/kubernetes/cmd/kube-apiserver",
	"k8s.io/kubernetes/cmd/kube-controller-manager",
	"k8s.io/kubernetes/cmd/kubectl",
}

// compile builds the programs of the Kubernetes API into dir.
func compile(ctx context.Context, dir string, versions versions) error {
	if err := compileTo(ctx, ".", dir+string(filepath.Separator), versions.linkerFlags(), packages); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, "server"), filepath.Join(dir, "etcd"))
}

// compileTo builds the programs of the module in a directory, and shows how far it is. All
// are built with the same flags, so that packages which several of them have are compiled
// once.
func compileTo(ctx context.Context, module, output, linkerFlags string, packages []string) error {
	progress := newProgress(os.Stdout)
	defer progress.end()

	// What is not in the build cache yet is what `go build` will compile.
	progress.phase("fetching modules")
	listed, err := goCommand(ctx, module, progress.line, append([]string{
		"list", "-deps", "-trimpath", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, packages...)...)
	if err != nil {
		return err
	}
	// The programs themselves are left out: they are stale as long as they are
	// not linked.
	progress.compiling(slices.DeleteFunc(strings.Fields(listed), func(name string) bool {
		return slices.Contains(packages, name)
	}))
	_, err = goCommand(ctx, module, progress.line, append([]string{
		"build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", linkerFlags, "-o", output}, packages...)...)
	return err
}

// goCommand runs the go command in a directory, gives each line of its standard error to
// line, and returns its standard output. The error holds the lines that line
// did not take.
func goCommand(ctx context.Context, dir string, line func(string) (taken bool), args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = dir
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	// Static programs, that need no C compiler to be built.
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	var output bytes.Buffer
	command.Stdout = &output
	read, write := io.Pipe()
	command.Stderr = write
	var others strings.Builder
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		lines := bufio.NewScanner(read)
		for lines.Scan() {
			if !line(lines.Text()) {
				fmt.Fprintln(&others, lines.Text())
			}
		}
		_, _ = io.Copy(io.Discard, read) // after a line too long to be one
	}()
	err := command.Run()
	_ = write.Close()
	<-finished
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, others.String())
	}
	return output.String(), nil
}
