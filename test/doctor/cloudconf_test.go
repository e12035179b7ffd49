// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
)

// createCredential is advice that is right only if the credentials are wrong.
const createCredential = "credential create"

var inCloudConf = []situation{
	{name: "The file does not exist", arise: func(s *setup) { s.conf = "" },
		check: doctor.Configuration, status: doctor.Error, what: "no such file or directory", do: "Create the file, or correct the path", lie: "Correct what"},
	{name: "The path is that of a directory", arise: func(s *setup) { s.conf, s.confPath = "", filepath.Dir(s.confPath) },
		check: doctor.Configuration, status: doctor.Error, what: "is a directory", do: "Correct the path", lie: "Correct what"},
	{name: "A key is misspelt", arise: func(s *setup) { s.global("auth-ulr", "http://cloud") },
		check: doctor.Configuration, status: doctor.Error, what: "auth-ulr", do: "docs/reference/cloud-conf.md"},
	{name: "auth-url is missing", arise: func(s *setup) { s.conf = strings.ReplaceAll(s.conf, "auth-url", "# auth-url") },
		check: doctor.Configuration, status: doctor.Error, what: "auth-url", do: "docs/reference/cloud-conf.md"},
	{name: "Two keys have values of the wrong form", arise: func(s *setup) { s.balancing("create-monitor = perhaps", "monitor-max-retries = many") },
		check: doctor.Configuration, status: doctor.Error, what: "monitor-max-retries", do: "Correct what the message names"},
	{name: "clouds.yaml does not exist", arise: func(s *setup) {
		s.conf = "[Global]\nuse-clouds = true\ncloud = mine\nclouds-file = " + filepath.Join(filepath.Dir(s.confPath), "clouds.yaml") + "\n"
	}, check: doctor.Configuration, status: doctor.Error, what: "clouds.yaml", do: "Create the file, or correct the path"},
	{name: "A key has no effect", arise: func(s *setup) { s.balancing("[BlockStorage]", "bs-version = v3") },
		check: doctor.Configuration, status: doctor.Warning, what: "bs-version", do: "Remove the key"},
	{name: "Every user of the machine may read the file", arise: func(s *setup) { s.mode = 0o644 },
		check: doctor.Configuration, status: doctor.Warning, what: "every user of this machine may read", do: "chmod o-rwx"},
	{name: "Certificates are not verified", arise: func(s *setup) { s.global("tls-insecure", "true") },
		check: doctor.Configuration, status: doctor.Warning, what: "tls-insecure is true", do: "set ca-file"},
	{name: "Load balancers are switched off", arise: func(s *setup) { s.balancing("enabled = false") },
		check: doctor.Configuration, status: doctor.Error, what: "enabled is false", do: "Set enabled = true"},
	{name: "ca-file does not exist", arise: func(s *setup) { s.global("ca-file", filepath.Join(filepath.Dir(s.confPath), "ca.pem")) },
		check: doctor.Credentials, status: doctor.Error, what: "ca.pem: no such file", do: "Correct the path in [Global]", lie: createCredential},
	{name: "ca-file holds no certificate", arise: func(s *setup) {
		path := filepath.Join(filepath.Dir(s.confPath), "ca.pem")
		s.must(os.WriteFile(path, []byte("nothing"), 0o600))
		s.global("ca-file", path)
	}, check: doctor.Credentials, status: doctor.Error, what: "contains no certificate in PEM format", do: "Correct the file that the message names", lie: createCredential},
}
