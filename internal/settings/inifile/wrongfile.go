// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package inifile

import (
	"regexp"
	"strings"
)

var (
	clouds   = regexp.MustCompile(`(?m)^clouds:`)
	manifest = regexp.MustCompile(`(?m)^apiVersion:`)
	openrc   = regexp.MustCompile(`(?m)^\s*export\s+OS_`)
	yaml     = regexp.MustCompile(`^(?:\s*(?:#[^\n]*)?\n)*(?:---|[ \t]*[A-Za-z_][\w-]*:[ \t\r]*\n[ \t]+\S)`)
)

// wrongFile returns what a file is if it is not a cloud.conf at all, or "".
func wrongFile(text string) string {
	switch {
	case strings.HasPrefix(text, "\xff\xfe"), strings.HasPrefix(text, "\xfe\xff"), strings.ContainsRune(text, 0):
		return "the file is not encoded in UTF-8, but perhaps in UTF-16: save it as UTF-8"
	case strings.HasPrefix(strings.TrimSpace(text), "{"):
		return "the file is JSON, not a cloud.conf: write lines such as [Global] and auth-url = ..."
	case clouds.MatchString(text):
		return "the file is a clouds.yaml, not a cloud.conf: write a cloud.conf with [Global], use-clouds = true, clouds-file = PATH and cloud = NAME"
	case manifest.MatchString(text):
		return "the file is a manifest of Kubernetes, not a cloud.conf: use the text of its key cloud.conf, decoded"
	case openrc.MatchString(text):
		return "the file is an openrc file, not a cloud.conf: write [Global] with auth-url and credentials, without export and OS_"
	case yaml.MatchString(text):
		return "the file is YAML, not a cloud.conf: write lines such as [Global] and auth-url = ..."
	}
	return ""
}
