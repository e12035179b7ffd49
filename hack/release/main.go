// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release builds what is published of kube-octavia, the container image and the files of a
// release, without a container engine and without root. `make image` and `make release` run it.
//
//	go run . image   -version V [-image NAME] [-platforms LIST] [-push] -o FILE
//	go run . release -version V [-image NAME] [-platforms LIST] [-push] [-downloads URL] [-sign-key KEY] -o DIRECTORY
//
// One commit and one version of Go always give the same bytes, in any directory and on any machine:
// times are those of the commit, entries are sorted, and certificates come from a pinned module. It
// imports nothing of the rest of the repository.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options are the values of the flags.
type options struct {
	// root is the directory of the repository.
	root      string
	version   string
	image     string
	platforms string
	output    string
	push      bool
	// signKey is the gpg key that signs the chart and the checksums; empty means no signatures.
	signKey string
	// downloads is the URL below which the files of a release are published.
	downloads string
}

// run runs a command, and reports on out what it has made.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 || args[0] != "image" && args[0] != "release" {
		return errors.New("the first argument is image or release")
	}
	command, platforms := args[0], imagePlatforms
	if command == "release" {
		platforms = releasePlatforms
	}
	var o options
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.StringVar(&o.root, "root", "../..", "the `directory` of the repository")
	flags.StringVar(&o.version, "version", "", "the `version` that the program prints")
	flags.StringVar(&o.image, "image", "", "the `name` of the image, such as registry.example.com/kube-octavia:v1.2.3 (default kube-octavia:VERSION)")
	flags.StringVar(&o.platforms, "platforms", platforms, "the `platforms` to build for, separated by commas")
	flags.BoolVar(&o.push, "push", false, "push the image to the registry of its name")
	flags.StringVar(&o.downloads, "downloads", "", "the `URL` below which the files of the release are published, for the manifest of krew (default "+sourceURL+"/releases/download/VERSION)")
	flags.StringVar(&o.signKey, "sign-key", "", "the `key` of gpg that signs the chart and the checksums of the release")
	flags.StringVar(&o.output, "o", "", "the `file` of the image, or the directory of the release")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if o.output == "" || o.version == "" {
		return errors.New("-o and -version are required")
	}
	if o.image == "" {
		o.image = "kube-octavia:" + o.version
	}
	if command == "release" {
		return makeRelease(ctx, o, out)
	}
	return makeImage(ctx, o, out)
}
