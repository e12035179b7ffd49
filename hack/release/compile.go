// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// The default platforms. The commands plan, status and migrate also run on laptops.
const (
	imagePlatforms   = "linux/amd64,linux/arm64"
	releasePlatforms = imagePlatforms + ",darwin/amd64,darwin/arm64"
)

// programName is the name of the program, of its package below cmd, and of the image.
const programName = "kube-octavia"

// platform is an operating system and an architecture, with the names of Go, which OCI also uses.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// hasImage reports whether images are built for the platform.
func (p platform) hasImage() bool { return p.os == "linux" }

// parsePlatforms reads a list such as linux/amd64,linux/arm64.
func parsePlatforms(list string) ([]platform, error) {
	var all []platform
	seen := map[platform]bool{}
	for _, name := range strings.Split(list, ",") {
		os, arch, found := strings.Cut(name, "/")
		if !found || os == "" || arch == "" || strings.Contains(arch, "/") {
			return nil, fmt.Errorf("PLATFORMS=%s: %q is not a platform such as linux/amd64", list, name)
		}
		if p := (platform{os, arch}); !seen[p] {
			seen[p] = true
			all = append(all, p)
		}
	}
	return all, nil
}

// program is the program for one platform.
type program struct {
	platform platform
	content  []byte
	// modules is the build information that Go stored in it: the version of Go and the modules.
	modules *debug.BuildInfo
}

// build compiles the programs for the platforms. It reports progress on out, because the first time
// each platform takes minutes.
func build(ctx context.Context, s source, platforms []platform, out io.Writer) ([]program, error) {
	dir, err := os.MkdirTemp("", "kube-octavia-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var programs []program
	for _, p := range platforms {
		path := filepath.Join(dir, p.os+"-"+p.arch)
		fmt.Fprintf(out, "compiling %s %s for %s\n", programName, s.version, p)
		if _, err := output(compiler(ctx, s, p, path)); err != nil {
			return nil, fmt.Errorf("build %s for %s: %w", programName, p, err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		modules, err := buildinfo.Read(bytes.NewReader(content))
		if err != nil {
			return nil, fmt.Errorf("read the modules of %s for %s: %w", programName, p, err)
		}
		programs = append(programs, program{platform: p, content: content, modules: modules})
	}
	return programs, nil
}

// compiler returns the command that builds the program. It sets everything in the environment that
// could change the result, so that the same source gives the same bytes. Go's record of the commit
// is omitted, because it depends on the tags of the clone; the image and the SBOM name the commit.
// Debug information (DWARF) is omitted; the symbol table is kept for stack traces and scanners.
func compiler(ctx context.Context, s source, p platform, path string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-buildid= -w -X main.version="+s.version, "-o", path, "./cmd/"+programName)
	command.Dir = s.root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch,
		"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off")
	return command
}
