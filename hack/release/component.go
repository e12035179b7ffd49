// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// component is a part of a program or an image: a module, Go's standard library, or the root
// certificates.
type component struct {
	path, version string
	// sum is Go's checksum (h1:...) of a module; empty for the standard library.
	sum string
	// licence is an SPDX expression, or NOASSERTION if it was not recognized.
	licence string
	// text is the text of the licence and notice files.
	text string
}

func (c component) String() string { return c.path + " " + c.version }

// noAssertion is SPDX's word for what is not known.
const noAssertion = "NOASSERTION"

// standardLibrary is the name of Go's standard library in SBOMs, by which scanners recognize it.
const standardLibrary = "stdlib"

// rootsModule is the module with the root certificates of the image.
const rootsModule = "golang.org/x/crypto/x509roots/fallback"

// programComponents returns the standard library and the modules of the programs, sorted by name
// and without duplicates. Their licences are read from the module cache.
func programComponents(ctx context.Context, s source, programs []program) ([]component, error) {
	wanted := map[string]bool{}
	for _, p := range programs {
		for _, m := range p.modules.Deps {
			m = replaced(m)
			wanted[m.Path+"@"+m.Version] = true
		}
	}
	components, err := moduleComponents(ctx, s.root, slices.Sorted(maps.Keys(wanted)))
	if err != nil {
		return nil, err
	}
	goroot, err := goCommand(ctx, s.root, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	library := component{path: standardLibrary, version: strings.TrimPrefix(programs[0].modules.GoVersion, "go")}
	library.licence, library.text, err = readLicence(goroot)
	if err != nil {
		return nil, err
	}
	return append([]component{library}, components...), nil
}

// replaced returns the module that replaces m, or m.
func replaced(m *debug.Module) *debug.Module {
	if m.Replace != nil {
		return m.Replace
	}
	return m
}

// moduleComponents returns the components of modules, given as path or path@version, as the module
// in dir uses them.
func moduleComponents(ctx context.Context, dir string, modules []string) ([]component, error) {
	listed, err := goCommand(ctx, dir, append([]string{"mod", "download", "-json"}, modules...)...)
	if err != nil {
		return nil, err
	}
	var components []component
	for decoder := json.NewDecoder(strings.NewReader(listed)); ; {
		var module struct{ Path, Version, Sum, Dir string }
		if err := decoder.Decode(&module); errors.Is(err, io.EOF) {
			return components, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the list of modules: %w", err)
		}
		c := component{path: module.Path, version: module.Version, sum: module.Sum}
		c.licence, c.text, err = readLicence(module.Dir)
		if err != nil {
			return nil, fmt.Errorf("licence of %s: %w", c, err)
		}
		components = append(components, c)
	}
}

// goCommand runs the go command in a directory, without flags from the environment.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	return output(command)
}

// Licence files, and files that must be distributed with them.
var (
	licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying)([.-].*)?$`)
	noticeFile  = regexp.MustCompile(`(?i)^(notice|patents)([.-].*)?$`)
)

// readLicence returns the SPDX expression and the text of the licence in the directory of a module.
func readLicence(dir string) (expression, text string, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return "", "", err
	}
	var licences, texts []string
	for _, f := range files {
		isLicence := licenceFile.MatchString(f.Name())
		if f.Type() != fs.FileMode(0) || !isLicence && !noticeFile.MatchString(f.Name()) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return "", "", err
		}
		texts = append(texts, strings.TrimSpace(string(content)))
		if isLicence {
			licences = append(licences, string(content))
		}
	}
	return licenceExpression(licences), strings.Join(texts, "\n\n"), nil
}

// licenceExpression returns the SPDX expression of the licences in the texts. It is NOASSERTION if
// most of a text is not a known licence.
func licenceExpression(texts []string) string {
	var ids []string
	for _, text := range texts {
		coverage := licensecheck.Scan([]byte(text))
		if coverage.Percent < 75 {
			return noAssertion
		}
		for _, match := range coverage.Match {
			if !match.IsURL && !slices.Contains(ids, match.ID) {
				ids = append(ids, match.ID)
			}
		}
	}
	if len(ids) == 0 {
		return noAssertion
	}
	slices.Sort(ids)
	return strings.Join(ids, " AND ")
}

// licenceFiles returns the files that must be distributed with the program: its own licence, and
// those of its components.
func licenceFiles(own []byte, components []component) []entry {
	var text strings.Builder
	text.WriteString("kube-octavia contains the following, under these licences.\n")
	for _, c := range components {
		fmt.Fprintf(&text, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 80), c, c.text)
	}
	return []entry{
		{name: "LICENSE", mode: modeFile, content: own},
		{name: "THIRD-PARTY-LICENSES", mode: modeFile, content: []byte(text.String())},
	}
}
