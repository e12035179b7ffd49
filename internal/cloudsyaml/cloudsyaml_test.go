// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsyaml_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/cloudsyaml"
)

func TestKeysOfOtherClientsAreIgnored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "clouds.yaml")
	text := "clouds: {one: {volume_api_version: 3, networks: [{name: ext}], auth: {auth_url: http://k, passcode: {nested: x}, password: 12345, project_name: p}}}"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	settings, from, err := cloudsyaml.Read(path, "one")
	if err != nil || from != path {
		t.Fatalf("%s: %v", from, err)
	}
	got := map[string]string{}
	for key, value := range settings {
		if value != "" {
			got[key] = value
		}
	}
	want := map[string]string{"auth-url": "http://k", "password": "12345", "tenant-name": "p"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
