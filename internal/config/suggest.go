// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/spelling"
)

// suggestSection names the section that an unknown one most resembles.
func suggestSection(name string) string {
	var names []string
	for _, s := range sections {
		names = append(names, s.Name)
	}
	best, near := spelling.Nearest(name, names)
	if near {
		return fmt.Sprintf("did you mean [%s]?", best)
	}
	return fmt.Sprintf("the nearest known section is [%s]", best)
}

// suggestKey names the key that an unknown one most resembles, or the section where a key of that name belongs.
func suggestKey(section, name string) string {
	var names []string
	elsewhere := ""
	for _, k := range table {
		if k.Section == section {
			names = append(names, k.Name)
		} else if elsewhere == "" && strings.EqualFold(k.Name, name) {
			elsewhere = k.Section
		}
	}
	best, near := spelling.Nearest(name, names)
	switch {
	case elsewhere != "":
		return fmt.Sprintf("it belongs in section [%s]", elsewhere)
	case near:
		return fmt.Sprintf("did you mean %q?", best)
	}
	return fmt.Sprintf("the nearest known key is %q", best)
}
