// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzCloudsFile reads cloud.conf with arbitrary files clouds.yaml, secure.yaml and
// clouds-public.yaml.
func FuzzCloudsFile(f *testing.F) {
	for _, c := range [][3]string{
		{"clouds:\n  k8s:\n    profile: there\n    region_name: RegionOne\n    verify: false\n    auth: {username: k8s, project_name: k8s, user_domain_name: Default}\n",
			"clouds:\n  k8s:\n    auth: {password: 0123}\n", "public-clouds:\n  there:\n    auth: {auth_url: \"https://keystone.test/v3\"}\n"},
		{"clouds: {a: {auth_type: v3applicationcredential, auth: {auth_url: http://k, application_credential_id: i, application_credential_secret: s}}}", "", ""},
		{"clouds: {a: {auth: [1, 2]}, b: 3, c: null}", "clouds: []", "public-clouds: x"},
		{"clouds: {k: {regions: [{name: a, values: {auth: {password: p}, cacert: ~/x}}, b], region_name: [a, b], insecure: yes, verify: \"False\", cert: c, network_endpoint_override: http://n}}", "", ""},
		{"x: &x {auth_type: token}\nclouds: {k: {<<: [*x, {y: z}], profile: p, project-id: 1e3, auth: {auth-token: t, tenant_id: 017, unknown: null}}}", "clouds: {k: {auth: 3}}", "public-clouds: {p: {regions: [{}]}}"},
		{"clouds: &a {x: *a}", "x: [", "%YAML 9"},
		{"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nclouds: {k: {auth: {username: *c}}}", "", ""},
	} {
		f.Add(c[0], c[1], c[2])
	}
	dir := f.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(t testing.TB, name, text string) {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(f, "cloud.conf", "[Global]\nuse-clouds = true\nclouds-file = "+at("clouds.yaml")+"\n")
	f.Fuzz(func(t *testing.T, clouds, secure, public string) {
		write(t, "clouds.yaml", clouds)
		write(t, "secure.yaml", secure)
		write(t, "clouds-public.yaml", public)
		c, err := Load(at("cloud.conf"))
		if err != nil {
			if !strings.HasPrefix(err.Error(), dir) {
				t.Errorf("an error without a place: %q", err)
			}
			return
		}
		for _, n := range c.Notices {
			if n.Line < 1 || n.Text == "" || n.Do == "" {
				t.Errorf("a notice without a place or advice: %+v", n)
			}
		}
		if c.Global.Authentication() == "" || c.Global.AuthURL == "" {
			t.Errorf("accepted without credentials or Keystone: %+v", c.Global)
		}
	})
}
