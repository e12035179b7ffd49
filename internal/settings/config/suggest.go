// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/settings/spelling"
)

// reference is the page that lists all sections and keys.
const reference = "docs/reference/cloud-conf.md"

// suggestSection returns the section that is probably meant by an unknown one, or "", and a hint.
func suggestSection(name string) (section, hint string) {
	var names []string
	for _, s := range sections {
		names = append(names, s.Name)
	}
	if best, near := spelling.Nearest(name, names); near {
		return best, fmt.Sprintf("did you mean [%s]?", best)
	}
	return "", "all sections are listed in " + reference
}

// otherNames are names that other files of OpenStack's clients use for keys of [Global].
var otherNames = map[string]string{
	"user": "username", "project": "tenant-name", "project-id": "tenant-id", "project-name": "tenant-name",
	"project-domain-id": "tenant-domain-id", "project-domain-name": "tenant-domain-name",
	"region-name": "region", "interface": "os-endpoint-type", "endpoint-type": "os-endpoint-type",
	"cacert": "ca-file", "cert": "cert-file", "key": "key-file", "insecure": "tls-insecure",
}

// suggestKey returns the key that is probably meant by an unknown one, if any, and a hint.
func suggestKey(unknown place) (meant place, hint string) {
	section, name := unknown.section, unknown.key
	if other := otherNames[strings.ToLower(name)]; section == globalSection && other != "" {
		return place{section: section, key: other}, fmt.Sprintf("write %s instead", other)
	}
	var names []string
	var elsewhere place
	for _, k := range table {
		if k.Section == section {
			names = append(names, k.Name)
		} else if elsewhere.key == "" && strings.EqualFold(k.Name, name) {
			elsewhere = place{section: k.Section, key: k.Name}
		}
	}
	best, near := spelling.Nearest(name, names)
	switch {
	case elsewhere.key != "":
		return elsewhere, fmt.Sprintf("it belongs in section [%s]", elsewhere.section)
	case near:
		return place{section, unknown.name, best}, fmt.Sprintf("did you mean %q?", best)
	}
	return place{}, fmt.Sprintf("all keys of [%s] are listed in %s", section, reference)
}
