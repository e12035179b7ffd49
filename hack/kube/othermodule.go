// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// goMod has those fields of the output of `go mod edit -json` that are used here.
type goMod struct {
	Go      string
	Replace []struct {
		Old, New struct{ Path, Version string }
	}
}

// writeModule writes a module to dir from which the programs of this version of Kubernetes are
// built. The go.mod of k8s.io/kubernetes requires its libraries from folders beside it, which only
// its repository has; this module uses their published versions instead.
func writeModule(ctx context.Context, dir, kubernetes string) error {
	line := func(string) bool { return false }
	text, err := goCommand(ctx, dir, line, "mod", "download", "-json", kubernetesModule+"@"+kubernetes)
	if err != nil {
		return err
	}
	var downloaded struct{ GoMod string }
	if err := json.Unmarshal([]byte(text), &downloaded); err != nil {
		return fmt.Errorf("read the output of `go mod download` for %s@%s: %w", kubernetesModule, kubernetes, err)
	}
	text, err = goCommand(ctx, dir, line, "mod", "edit", "-json", downloaded.GoMod)
	if err != nil {
		return err
	}
	content, err := module(kubernetes, []byte(text))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.mod"), []byte(content), 0o644)
}

// module returns the go.mod of a module that requires k8s.io/kubernetes, whose own go.mod is given
// as JSON. It has the same line `go`, which determines defaults of the built programs.
func module(kubernetes string, goModJSON []byte) (string, error) {
	var original goMod
	if err := json.Unmarshal(goModJSON, &original); err != nil {
		return "", fmt.Errorf("the go.mod of %s@%s as JSON: %w", kubernetesModule, kubernetes, err)
	}
	minor, found := strings.CutPrefix(kubernetes, "v1.")
	if !found || original.Go == "" {
		return "", fmt.Errorf("the versions of the published libraries of Kubernetes %s are unknown", kubernetes)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "module kubernetes.invalid/build\n\ngo %s\n\nrequire %s %s\n", original.Go, kubernetesModule, kubernetes)
	for _, r := range original.Replace {
		path, version := r.New.Path, r.New.Version
		if strings.HasPrefix(path, "./staging/") {
			path, version = r.Old.Path, "v0."+minor
		}
		if version == "" {
			return "", fmt.Errorf("the go.mod of %s@%s replaces %s by the folder %s, which is not published", kubernetesModule, kubernetes, r.Old.Path, path)
		}
		replaced := strings.TrimSpace(r.Old.Path + " " + r.Old.Version)
		fmt.Fprintf(&b, "\nreplace %s => %s %s\n", replaced, path, version)
	}
	return b.String(), nil
}
