// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// chartDir is the directory of the chart in the repository.
const chartDir = "charts/kube-octavia"

// release describes the release for which a chart is rendered.
type release struct {
	Name, Namespace string
	// Service is the program that makes the release. Only releases of Helm have Helm's labels.
	Service string
	// Kubernetes is the version of the cluster, such as v1.36.0.
	Kubernetes string
}

// load reads the chart of a repository.
func load(root string) (*chart.Chart, error) {
	return loader.Load(filepath.Join(root, chartDir))
}

// render returns the text of each template of the chart that is not empty, by its path below templates. Errors in
// values or of a template have the form in which Helm shows them.
func render(c *chart.Chart, values map[string]any, r release) (map[string]string, error) {
	version, err := chartutil.ParseKubeVersion(r.Kubernetes)
	if err != nil {
		return nil, err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: r.Name, Namespace: r.Namespace, IsInstall: true, Revision: 1}, capabilities)
	if err != nil {
		return nil, err
	}
	all["Release"].(map[string]any)["Service"] = r.Service
	texts, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	rendered := map[string]string{}
	for path, text := range texts {
		name := strings.TrimPrefix(path, c.Name()+"/templates/")
		text = strings.TrimSpace(text)
		if text != "" && !strings.HasPrefix(filepath.Base(name), "_") {
			rendered[name] = text + "\n"
		}
	}
	return rendered, nil
}
