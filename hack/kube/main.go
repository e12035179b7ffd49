// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kube builds the Kubernetes control plane that the tests and the demo
// run: etcd, kube-apiserver, kube-controller-manager and kubectl, in the
// versions of this folder's go.mod. The result is written to .cache/kube/<Kubernetes version>, and
// only built if it is missing.
//
// With -kubernetes it builds another version of Kubernetes (1.28 or newer), with the same etcd.
//
// Usage: `make kube`, `make kube KUBE=1.28`, or `go run .` in this folder. With -programs it builds programs of this
// repository instead, with the same flags and the same progress display, so that packages which the control plane
// also uses are not compiled again. It uses the standard library only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	cache := flag.String("cache", filepath.Join("..", "..", ".cache", "kube"), "the `directory` with one directory per version")
	kubernetes := flag.String("kubernetes", "", "the `version` of Kubernetes, such as 1.28 or 1.28.15; empty means that of go.mod")
	programs := flag.String("programs", "", "`packages` of the repository to build instead, separated by spaces")
	output := flag.String("o", "", "the `directory` for them, in the repository")
	linkerFlags := flag.String("ldflags", "", "`flags` of the linker for them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := error(nil)
	if *programs != "" {
		err = compileTo(ctx, filepath.Join("..", ".."), *output+string(filepath.Separator), *linkerFlags, strings.Fields(*programs))
	} else {
		err = run(ctx, *cache, *kubernetes)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "make kube:", err)
		stop()
		os.Exit(1)
	}
}

// run makes sure that the binaries of the version of Kubernetes are in the cache.
func run(ctx context.Context, cache, kubernetes string) error {
	ofGoMod, err := readVersions("go.mod")
	if err != nil {
		return err
	}
	versions := ofGoMod
	if kubernetes != "" {
		versions.kubernetes, err = resolve(kubernetes, ofGoMod.kubernetes, func() ([]string, error) { return listed(ctx) })
		if err != nil {
			return err
		}
	}
	cache, err = filepath.Abs(cache)
	if err != nil {
		return err
	}
	dir := filepath.Join(cache, versions.kubernetes)
	if complete(dir, versions) {
		return nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	unlock, err := lock(ctx, filepath.Join(cache, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if complete(dir, versions) {
		return nil // another process has built it meanwhile
	}
	return buildInto(ctx, dir, filepath.Join(cache, "unfinished"), versions, ofGoMod)
}

// buildInto builds in a temporary directory, which becomes dir when it is complete, so that an
// interrupted build is never mistaken for a finished one.
func buildInto(ctx context.Context, dir, unfinished string, versions, ofGoMod versions) error {
	fmt.Printf(`Building the Kubernetes API for tests and demo from source:
  etcd %s, and kube-apiserver, kube-controller-manager and kubectl %s.
  These are large programs: this takes about 6 minutes on 2 cores. It is done once;
  the result is kept in %s.
`, versions.etcd, versions.kubernetes, dir)
	start := time.Now()
	if err := os.RemoveAll(unfinished); err != nil { // of a build that was killed
		return err
	}
	if err := os.Mkdir(unfinished, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(unfinished)
	if err := compile(ctx, unfinished, versions, ofGoMod); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(unfinished, stampFile), []byte(versions.stamp()), 0o644); err != nil {
		return err
	}
	if err := replace(dir, unfinished); err != nil {
		return err
	}
	fmt.Printf("Built in %s.\n", time.Since(start).Round(time.Second))
	return nil
}

// replace moves replacement to dir. An older dir is removed; programs that run from it continue.
func replace(dir, replacement string) error {
	old := dir + ".old"
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(replacement, dir); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

// lock waits for the exclusive lock on a file. The kernel releases it when this process ends, in
// whatever way.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	announced := false
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		if !announced {
			fmt.Println("Another process is building the Kubernetes API for tests and demo; waiting for it.")
			announced = true
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), file.Close())
		case <-time.After(500 * time.Millisecond):
		}
	}
}
