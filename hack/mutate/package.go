// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// goPackage is a package to mutate, as `go list` describes it.
type goPackage struct {
	Dir, ImportPath, Name, Export string
	DepOnly                       bool
	GoFiles, CgoFiles             []string
	TestGoFiles, XTestGoFiles     []string
	Module                        *struct{ Dir, Path string }
	// exports are the files with the types of all packages that this one needs, by import path.
	exports map[string]string
}

// load finds the packages, in the module of dir, and compiles what they import.
func load(ctx context.Context, dir string, patterns []string) ([]*goPackage, error) {
	listed, err := goOutput(ctx, dir, append([]string{"list", "-deps", "-export", "-json", "--"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	var packages []*goPackage
	decoder := json.NewDecoder(strings.NewReader(listed))
	for {
		p := &goPackage{exports: exports}
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read the output of go list: %w", err)
		}
		exports[p.ImportPath] = p.Export
		switch {
		case p.DepOnly:
		case len(p.CgoFiles) > 0:
			return nil, fmt.Errorf("%s uses cgo", p.ImportPath)
		case len(p.TestGoFiles)+len(p.XTestGoFiles) == 0:
			return nil, fmt.Errorf("%s has no tests", p.ImportPath)
		default:
			packages = append(packages, p)
		}
	}
	return packages, nil
}

// goOutput runs a go command in dir and returns what it prints.
func goOutput(ctx context.Context, dir string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = dir
	var failure strings.Builder
	c.Stderr = &failure
	output, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, failure.String())
	}
	return string(output), nil
}

// name returns the folder of the package, relative to its module.
func (p *goPackage) name() string {
	if p.Module == nil {
		return p.ImportPath
	}
	name, err := filepath.Rel(p.Module.Dir, p.Dir)
	if err != nil {
		return p.ImportPath
	}
	return name
}

// generated is the comment of files that programs have written.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// mutate finds the mutants of the package: all, or those whose line in the report matches.
func (p *goPackage) mutate(only *regexp.Regexp) ([]*mutant, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	sources := map[*ast.File]string{}
	for _, name := range p.GoFiles {
		source, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		sources[f] = string(source)
	}
	info, err := p.check(fset, files)
	if err != nil {
		return nil, err
	}
	var all []*mutant
	for _, f := range files {
		if generated.MatchString(sources[f]) {
			continue
		}
		all = append(all, find(fset, f, sources[f], info)...)
	}
	var mutants []*mutant
	for _, m := range all {
		m.folder = p.name()
		if only.MatchString(m.String()) {
			mutants = append(mutants, m)
			m.number = len(mutants)
		}
	}
	return mutants, nil
}

// check determines the types of all expressions.
func (p *goPackage) check(fset *token.FileSet, files []*ast.File) (*types.Info, error) {
	lookup := func(path string) (io.ReadCloser, error) {
		file, known := p.exports[path]
		if !known || file == "" {
			return nil, fmt.Errorf("no types of package %s", path)
		}
		return os.Open(file)
	}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	info := &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	if _, err := config.Check(p.ImportPath, fset, files, info); err != nil {
		return nil, err
	}
	return info, nil
}
