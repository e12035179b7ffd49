// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kube-octavia provides load balancers from OpenStack Octavia for Kubernetes Services.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kube-octavia/kube-octavia/internal/command/cli"
)

// version is set by the build.
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := cli.Run(ctx, os.Args[1:], cli.IO{Out: os.Stdout, Err: os.Stderr}, cli.Options{Version: version, Program: os.Args[0]})
	stop()
	os.Exit(status)
}
