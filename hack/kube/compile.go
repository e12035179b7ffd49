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

// etcdPackage is etcd. `go build` names its binary server.
const etcdPackage = "go.etcd.io/etcd/server/v3"

// kubernetesPackages are the programs of Kubernetes.
var kubernetesPackages = []string{
	kubernetesModule + "/cmd/kube-apiserver",
	kubernetesModule + "/cmd/kube-controller-manager",
	kubernetesModule + "/cmd/kubectl",
}

// compile builds the programs of the Kubernetes API into dir. A Kubernetes version other than that of
// go.mod is built in a separate module, because a module has only one version of a library.
func compile(ctx context.Context, dir string, v versions, ofGoMod versions) error {
	output := dir + string(filepath.Separator)
	here, other := append([]string{etcdPackage}, kubernetesPackages...), []string(nil)
	if v.kubernetes != ofGoMod.kubernetes {
		here, other = []string{etcdPackage}, kubernetesPackages
	}
	if err := compileTo(ctx, ".", output, v.linkerFlags(), here); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(dir, "server"), filepath.Join(dir, "etcd")); err != nil {
		return err
	}
	if len(other) == 0 {
		return nil
	}
	module, err := os.MkdirTemp("", "kube-octavia-kubernetes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(module)
	if err := writeModule(ctx, module, v.kubernetes); err != nil {
		return err
	}
	// The go command writes the module's go.sum during the build, and checks what it downloads.
	return compileTo(ctx, module, output, v.linkerFlags(), other, "-mod=mod")
}

// compileTo builds the programs of the module in a directory, and shows the progress. All are built
// with the same flags, so that shared packages are compiled only once.
func compileTo(ctx context.Context, module, output, linkerFlags string, packages []string, flags ...string) error {
	progress := newProgress(os.Stdout)
	defer progress.end()

	// `go build` will compile the packages that are not in the build cache yet.
	progress.phase("fetching modules")
	listed, err := goCommand(ctx, module, progress.line, slices.Concat([]string{
		"list", "-deps", "-trimpath", "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"}, flags, packages)...)
	if err != nil {
		return err
	}
	// The programs themselves are not counted: they are stale until they are linked.
	progress.compiling(slices.DeleteFunc(strings.Fields(listed), func(name string) bool {
		return slices.Contains(packages, name)
	}))
	_, err = goCommand(ctx, module, progress.line, slices.Concat([]string{
		"build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", linkerFlags, "-o", output}, flags, packages)...)
	return err
}

// goCommand runs the go command in a directory, passes each line of its standard error to line, and
// returns its standard output. The error contains the lines for which line returned false.
func goCommand(ctx context.Context, dir string, line func(string) (taken bool), args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = dir
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 10 * time.Second
	// Static programs, which need no C compiler.
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
		_, _ = io.Copy(io.Discard, read) // after a line that is too long
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
