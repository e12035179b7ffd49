// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"sigs.k8s.io/kustomize/api/filters/imagetag"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// manifestFiles returns the manifests as kustomize renders them, with the name of the image: one
// file for deploy/, and one for each optional part that has its own kustomization.
func manifestFiles(s source, tag name.Tag) ([]file, error) {
	kustomizations, err := filepath.Glob(filepath.Join(s.root, "deploy", "*", "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	files := map[string]string{programName: filepath.Join(s.root, "deploy")}
	names := []string{programName}
	for _, k := range kustomizations {
		dir := filepath.Dir(k)
		files[filepath.Base(dir)] = dir
		names = append(names, filepath.Base(dir))
	}
	var rendered []file
	for _, n := range names {
		manifests, err := render(files[n], tag)
		if err != nil {
			return nil, fmt.Errorf("render the manifests in %s: %w", files[n], err)
		}
		head := fmt.Sprintf("# Copyright The kube-octavia Authors.\n# SPDX-License-Identifier: Apache-2.0\n#\n# %s %s, rendered by kustomize.\n", n, s.version)
		rendered = append(rendered, file{n + ".yaml", append([]byte(head), manifests...)})
	}
	return rendered, nil
}

// render does the same as `kubectl kustomize DIRECTORY`, and sets the name of the image.
func render(dir string, tag name.Tag) ([]byte, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, err
	}
	repository := strings.TrimSuffix(familiarName(tag), ":"+tag.TagStr())
	image := types.Image{Name: programName, NewName: repository, NewTag: tag.TagStr()}
	if err := resources.ApplyFilter(imagetag.LegacyFilter{ImageTag: image}); err != nil {
		return nil, err
	}
	return resources.AsYaml()
}

// chartDirectory is the directory of the Helm chart.
const chartDirectory = "charts/" + programName

// chartFile returns the chart as `helm package --version --app-version` writes it, with the files
// that git tracks.
func chartFile(ctx context.Context, s source) (packaged chart, err error) {
	listed, err := git(ctx, s.root, "ls-files", "-z", chartDirectory)
	if err != nil {
		return packaged, err
	}
	if listed == "" {
		return packaged, fmt.Errorf("git tracks no files in %s", chartDirectory)
	}
	var entries []entry
	for _, path := range strings.Split(strings.TrimRight(listed, "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(s.root, path))
		if err != nil {
			return packaged, err
		}
		if path == chartDirectory+"/Chart.yaml" {
			content, err = setChartVersion(content, s.version)
			if err != nil {
				return packaged, fmt.Errorf("%s: %w", path, err)
			}
			packaged.metadata = content
		}
		entries = append(entries, entry{name: strings.TrimPrefix(path, "charts/"), mode: modeFile, content: content})
	}
	packaged.name = programName + "-" + chartVersion(s.version) + ".tgz"
	packaged.content, err = tarGz(entries, s.time)
	return packaged, err
}

// chartVersion returns the version without the leading v, which Helm's versions do not have.
func chartVersion(version string) string { return strings.TrimPrefix(version, "v") }

// setChartVersion sets the version of a Chart.yaml, and that of the program (appVersion).
func setChartVersion(chart []byte, version string) ([]byte, error) {
	for key, value := range map[string]string{"version": chartVersion(version), "appVersion": version} {
		line := regexp.MustCompile(`(?m)^` + key + `:.*$`)
		if n := len(line.FindAll(chart, -1)); n != 1 {
			return nil, fmt.Errorf("%s occurs %d times, but must occur exactly once", key, n)
		}
		chart = line.ReplaceAllLiteral(chart, []byte(key+": "+`"`+value+`"`))
	}
	return bytes.Clone(chart), nil
}
