// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// pluginName is the name of the plug-in: `kubectl octavia`.
const pluginName = "octavia"

// krewPlugin is the manifest with which krew installs a plug-in of kubectl.
type krewPlugin struct {
	APIVersion string       `yaml:"apiVersion"`
	Kind       string       `yaml:"kind"`
	Metadata   krewMetadata `yaml:"metadata"`
	Spec       krewSpec     `yaml:"spec"`
}

type krewMetadata struct {
	Name string `yaml:"name"`
}

type krewSpec struct {
	Version          string         `yaml:"version"`
	Homepage         string         `yaml:"homepage"`
	ShortDescription string         `yaml:"shortDescription"`
	Description      string         `yaml:"description"`
	Caveats          string         `yaml:"caveats"`
	Platforms        []krewPlatform `yaml:"platforms"`
}

type krewPlatform struct {
	Selector krewSelector `yaml:"selector"`
	URI      string       `yaml:"uri"`
	SHA256   string       `yaml:"sha256"`
	Files    []krewFile   `yaml:"files"`
	// Bin is the program in the archive. krew links kubectl-octavia to it.
	Bin string `yaml:"bin"`
}

type krewSelector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type krewFile struct {
	From string `yaml:"from"`
	To   string `yaml:"to"`
}

// pluginFile returns the manifest for krew. It names the archives among the files, below the URL from which users
// download the release.
func pluginFile(s source, downloads string, programs []program, files []file) (file, error) {
	plugin := krewPlugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: krewMetadata{pluginName},
		Spec: krewSpec{
			Version: s.version, Homepage: sourceURL,
			ShortDescription: "Show the Octavia load balancers of Services",
			Description: "Shows the load balancers that kube-octavia creates for Services in OpenStack\n" +
				"Octavia: their state, members, drift and conflicts (kubectl octavia status), and\n" +
				"what the controller would do (kubectl octavia plan).\n",
			Caveats: "The commands need a cloud.conf and the flags of the controller, such as --cluster-name:\n" +
				"kubectl octavia status --cloud-config=cloud.conf\n",
		},
	}
	for _, p := range programs {
		name := s.archiveName(p.platform)
		i := slices.IndexFunc(files, func(f file) bool { return f.name == name })
		if i < 0 {
			return file{}, fmt.Errorf("write the manifest for krew: there is no archive %s", name)
		}
		plugin.Spec.Platforms = append(plugin.Spec.Platforms, krewPlatform{
			Selector: krewSelector{map[string]string{"os": p.platform.os, "arch": p.platform.arch}},
			URI:      strings.TrimSuffix(downloads, "/") + "/" + name,
			SHA256:   checksum(files[i].content),
			Files:    []krewFile{{programName, "."}, {"LICENSE", "."}, {"THIRD-PARTY-LICENSES", "."}},
			Bin:      programName,
		})
	}
	var content bytes.Buffer
	fmt.Fprintf(&content, "# Copyright The kube-octavia Authors.\n# SPDX-License-Identifier: Apache-2.0\n#\n# kubectl krew install --manifest=kubectl-octavia.yaml\n")
	if err := yaml.NewEncoder(&content).Encode(plugin); err != nil {
		return file{}, fmt.Errorf("write the manifest for krew: %w", err)
	}
	return file{"kubectl-" + pluginName + ".yaml", content.Bytes()}, nil
}
