// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write writes files to a new directory and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const cloudsYAML = `
clouds:
  one:
    profile: vendor
    auth: {username: k8s, password: 12345, project_name: k8s, user_domain_name: Default, project_domain_name: Default}
    region_name: RegionOne
    interface: internalURL
    verify: false
    cacert: /etc/ca.pem
  two:
    auth_type: v3applicationcredential
    auth: {auth_url: "https://two.example.com", application_credential_id: a}
`

func TestCloudsFileSetsOnlyEmptyKeys(t *testing.T) {
	dir := write(t, map[string]string{
		"clouds.yaml":        cloudsYAML,
		"clouds-public.yaml": "public-clouds: {vendor: {auth: {auth_url: 'https://vendor.example.com/v3', username: nobody}}}",
		"cloud.conf":         "[Global]\nuse-clouds\nclouds-file = DIR/clouds.yaml\ncloud = one\nregion = RegionTwo\nca-file =\n",
	})
	got, err := Load(filepath.Join(dir, "cloud.conf"))
	if err != nil {
		t.Fatal(err)
	}
	want := Global{
		UseClouds: true, CloudsFile: filepath.Join(dir, "clouds.yaml"), Cloud: "one",
		AuthURL: "https://vendor.example.com/v3", Username: "k8s", Password: "12345",
		TenantName: "k8s", UserDomainName: "Default", TenantDomainName: "Default",
		Region: "RegionTwo", EndpointType: "internal", CAFile: "/etc/ca.pem", TLSInsecure: true,
	}
	if diff := cmp.Diff(want, got.Global); diff != "" {
		t.Error(diff)
	}
}

func TestSecureFileOverridesTheCloudsFile(t *testing.T) {
	dir := write(t, map[string]string{
		"clouds.yaml": cloudsYAML,
		"secure.yaml": "clouds: {two: {auth: {application_credential_secret: hunter2}}}",
		"cloud.conf":  "[Global]\nuse-clouds = true\nclouds-file = DIR/clouds.yaml\n",
	})
	t.Setenv("OS_CLOUD", "two")
	got, err := Load(filepath.Join(dir, "cloud.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Global.ApplicationCredentialID != "a" || got.Global.ApplicationCredentialSecret != "hunter2" {
		t.Errorf("got %+v", got.Global)
	}
	if got.Global.Authentication() != ByApplicationCredential {
		t.Errorf("authenticates by %s", got.Global.Authentication())
	}
}

func TestCloudsFileProblemsAreReportedWithoutSecrets(t *testing.T) {
	tests := map[string]struct{ clouds, cloud, want string }{
		"no such cloud":   {cloudsYAML, "three", `has no cloud "three"; it has: one, two`},
		"no choice":       {cloudsYAML, "", `has no cloud ""; it has: one, two`},
		"bad YAML":        {"clouds:\n  one: {auth: {password: *hunter2}}\n", "one", "is not valid YAML"},
		"bad type":        {"clouds: {one: {auth: {password: [hunter2]}}}", "one", `clouds.yaml:1: [clouds.one] auth.password: must be text, not a list or a map`},
		"bad entry":       {"clouds: {one: [hunter2]}", "one", "clouds.yaml:1: [clouds.one] must be a map of keys and values"},
		"bad auth":        {"clouds: {one: {auth: hunter2}}", "one", "clouds.yaml:1: [clouds.one] auth: must be a map of keys and values"},
		"bad region":      {"clouds: {one: {region_name: {hunter2: x}}}", "one", "clouds.yaml:1: [clouds.one] region_name: must be text, not a list or a map"},
		"bad regions":     {"clouds: {one: {regions: [{values: {}}]}}", "one", "[clouds.one] regions: each element must be the name of a region, or a map with name and values"},
		"bad verify":      {"clouds: {one: {verify: /etc/ca.pem}}", "one", `[clouds.one] verify: "/etc/ca.pem" is neither true nor false: set the file with the certificates of the CAs in cacert`},
		"bad endpoint":    {"clouds: {one: {network_endpoint_override: here}}", "one", `[clouds.one] network_endpoint_override: "here" must be an http or https address`},
		"not a map":       {"clouds: [hunter2]", "one", "clouds.yaml:1: clouds must be a map of keys and values"},
		"no auth at all":  {"clouds: {one: {region_name: r}}", "one", "auth-url is missing"},
		"other auth":      {"clouds: {one: {auth_type: v3oidcpassword}}", "one", `auth_type "v3oidcpassword" is not supported`},
		"other interface": {"clouds: {one: {interface: secret}}", "one", `clouds.yaml:1: [clouds.one] interface: "secret" is not one of public, internal, admin`},
		"no profile":      {"clouds: {one: {profile: vendor}}", "one", `clouds.yaml:1: [clouds.one] profile: clouds-public.yaml does not contain the profile "vendor", and kube-octavia does not have the profiles that are part of openstacksdk: set auth_url in auth`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OS_CLOUD", "")
			dir := write(t, map[string]string{
				"clouds.yaml": test.clouds,
				"cloud.conf":  "[Global]\nuse-clouds = true\nclouds-file = DIR/clouds.yaml\ncloud = \"" + test.cloud + "\"\n",
			})
			_, err := Load(filepath.Join(dir, "cloud.conf"))
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("want %q in %q", test.want, err)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func TestCloudWithoutUseCloudsGivesANotice(t *testing.T) {
	c := mustParse(t, credentials+"cloud = one\n")
	if len(c.Notices) != 1 || c.Notices[0].Key != "cloud" || c.Notices[0].Line != 5 {
		t.Errorf("got %v", c.Notices)
	}
}

func TestParseLeavesCredentialsToTheCloudsFile(t *testing.T) {
	c := mustParse(t, "[Global]\nuse-clouds = yes\ncloud = one\n")
	if !c.Global.UseClouds || c.Global.Cloud != "one" {
		t.Errorf("got %+v", c.Global)
	}
}
