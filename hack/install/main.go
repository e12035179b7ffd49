// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Command install tests docs/install.md: it runs the commands of the page, with git, make, the real
// helm and kubectl. It prints their output and the duration of each step, from the clone of the
// repository to the first answer of a Service. `make try-install` runs it.
//
//	go run . helm|helm-template|kustomize
//
// The Kubernetes API is a real one, and the cloud is the simulator. Instead of kubelet, the command
// runs the container of a Pod of kube-octavia: from the files of the image, as its user, with the
// arguments, environment and files of the Pod in the API. It needs root, for chroot and for a
// network namespace, in which everything after the build runs, so that no other process can reach
// the ports of the Pod.
//
// It imports cloudsim, test/kube and test/node.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// insideVariable is an environment variable of the process in the network namespace: the time in
// nanoseconds at which the clock started.
const insideVariable = "KUBE_OCTAVIA_INSTALL_BEGAN"

// imageName is the image name that the page uses.
const imageName = "registry.example.com/kube-octavia:v1"

// methods are the ways to install.
var methods = []string{"helm", "helm-template", "kustomize"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "install: failed:", err)
		os.Exit(1)
	}
}

// run tests one way to install.
func run(ctx context.Context, args []string, out io.Writer) error {
	if began := os.Getenv(insideVariable); began != "" && len(args) == 2 {
		nanoseconds, err := strconv.ParseInt(began, 10, 64)
		if err != nil {
			return err
		}
		return inside(ctx, args[0], args[1], &clock{out: out, began: time.Unix(0, nanoseconds)})
	}
	if len(args) != 1 || !slices.Contains(methods, args[0]) {
		return fmt.Errorf("the argument must be one of %s", strings.Join(methods, ", "))
	}
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		return errors.New("it needs root on Linux: the files of the image become the root directory of the program")
	}
	dir, err := os.MkdirTemp("", "kube-octavia-install-")
	if err != nil {
		return err
	}
	err = build(ctx, args[0], dir, out)
	return errors.Join(err, os.RemoveAll(dir))
}

// build carries out the steps that need the network of the machine: it clones the repository and
// builds the image, which may download modules. Then it continues in a network namespace.
func build(ctx context.Context, method, dir string, out io.Writer) error {
	root, err := output(ctx, ".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	root = strings.TrimSpace(root)
	// The page requires helm.
	bin := filepath.Join(dir, "bin")
	if _, err := output(ctx, filepath.Join(root, "hack/install"), "go", "build", "-o", bin+"/helm", "helm.sh/helm/v3/cmd/helm"); err != nil {
		return err
	}
	c := &clock{out: out, began: time.Now()}
	if err := c.step("git clone", func() error {
		_, err := output(ctx, dir, "git", "clone", "--quiet", root, "kube-octavia")
		return err
	}); err != nil {
		return err
	}
	p, err := readPage(filepath.Join(dir, "kube-octavia"))
	if err != nil {
		return err
	}
	command, err := p.block("make image IMAGE=")
	if err != nil {
		return err
	}
	// There is no registry, so the file of the image is used, and only this platform is needed.
	command = strings.TrimSpace(strings.Replace(command, " PUSH=1", "", 1)) + " PLATFORMS=linux/" + runtime.GOARCH
	if err := c.step(command, func() error { return c.shell(ctx, filepath.Join(dir, "kube-octavia"), command, "MAKEFLAGS=") }); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.CommandContext(ctx, self, method, dir)
	child.Stdout, child.Stderr = out, out
	child.Env = append(os.Environ(), insideVariable+"="+strconv.FormatInt(c.began.UnixNano(), 10))
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	child.Cancel = func() error { return child.Process.Signal(syscall.SIGTERM) } // so that it can clean up
	return child.Run()
}

// clock prints steps and their durations.
type clock struct {
	out   io.Writer
	began time.Time
}

// step runs do and prints how long it took.
func (c *clock) step(what string, do func() error) error {
	began := time.Now()
	fmt.Fprintf(c.out, "\n[%6.1f s] %s\n", began.Sub(c.began).Seconds(), what)
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Fprintf(c.out, "           %.1f s\n", time.Since(began).Seconds())
	return nil
}

// shell runs commands of the page, with additional variables, and prints their output.
func (c *clock) shell(ctx context.Context, dir, commands string, variables ...string) error {
	command := exec.CommandContext(ctx, "sh", "-euc", commands)
	command.Dir, command.Env = dir, append(os.Environ(), variables...)
	out, err := command.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		fmt.Fprintf(c.out, "    %s\n", strings.TrimRight(line, "\n"))
	}
	return err
}

// output returns the output of a command.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}
