// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/settings/inifile"
)

// Public returns the settings of a cloud.conf that every user may see, as the text of a cloud.conf: without the
// credentials in [Global], other secrets, comments, and keys without effect. WithGlobal adds a login to it.
func Public(text []byte) (string, error) {
	statements, problems := inifile.Parse(text, public)
	if len(problems) > 0 {
		return "", fmt.Errorf("the cloud configuration: line %d: %s", problems[0].Line, problems[0].Text)
	}
	var b strings.Builder
	for _, s := range statements {
		section, known := findSection(s.Section)
		if !known || section.Name == globalSection {
			continue
		}
		if s.Key == "" {
			b.WriteString(header(section.Name, s.Name))
			continue
		}
		key, known := findKey(section.Name, s.Key)
		switch {
		case !known || key.Kind == Password || key.Use == Accepted:
		case s.Blank:
			b.WriteString(key.Name + "\n")
		default:
			b.WriteString(key.Name + " = " + quote(s.Value) + "\n")
		}
	}
	return b.String(), nil
}

// header returns the header line of a section.
func header(section, name string) string {
	if name == "" {
		return "[" + section + "]\n"
	}
	return "[" + section + " " + quote(name) + "]\n"
}
