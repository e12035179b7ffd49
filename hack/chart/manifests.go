// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"path"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
)

// deployValues are the values with which the manifests in deploy are rendered.
//
//go:embed deploy.yaml
var deployValues []byte

// kustomize is the release for which they are rendered.
var kustomize = release{Name: "kube-octavia", Namespace: "kube-octavia", Service: "kustomize", Kubernetes: "v1.36.0"}

// manifests are the templates that become files with the same names in deploy.
var manifests = []string{
	"serviceaccount.yaml", "clusterrole.yaml", "role.yaml", "deployment.yaml", "poddisruptionbudget.yaml", "service.yaml",
	"admission-policy/policy.yaml", "admission-policy/binding.yaml",
	"nodes/clusterrole.yaml",
	"readiness-gates/clusterrole.yaml", "readiness-gates/policy.yaml", "readiness-gates/binding.yaml",
	"doctor/cronjob.yaml", "drain/role.yaml", "drain/job.yaml",
	"ui/clusterrole.yaml", "ui/deployment.yaml", "ui/service.yaml",
}

// manifestFiles renders the files in deploy that come from the chart.
func manifestFiles(root string) (map[string]string, error) {
	c, err := load(root)
	if err != nil {
		return nil, err
	}
	values, err := chartutil.ReadValues(deployValues)
	if err != nil {
		return nil, err
	}
	rendered, err := render(c, values, kustomize)
	if err != nil {
		return nil, err
	}
	// Users set the flags for readiness gates and controllers themselves, because these need the manifests in
	// readiness-gates and nodes. Doctor, the topology page and the drain Job are separate manifests, too.
	values["podReadinessGates"], values["doctor"] = map[string]any{"enabled": true}, map[string]any{"enabled": true}
	values["drainOnUninstall"], values["ui"] = true, map[string]any{"enabled": true}
	optional, err := render(c, values, kustomize)
	if err != nil {
		return nil, err
	}
	values["controllers"] = []any{"service", "node", "node-lifecycle"}
	withNodes, err := render(c, values, kustomize)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, name := range manifests {
		text := cmp.Or(rendered[name], optional[name], withNodes[name])
		head, rest, found := strings.Cut(text, "\n# SPDX-License-Identifier: Apache-2.0\n")
		if !found {
			return nil, fmt.Errorf("template %s has no header", name)
		}
		files[path.Join("deploy", name)] = head + "\n# SPDX-License-Identifier: Apache-2.0\n#\n# Written by `make generate` from " +
			chartDir + "/templates/" + name + ".\n" + rest
	}
	return files, nil
}
