// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const loginClouds = `
clouds:
  one: {auth: {auth_url: "https://one/v3", username: u, password: p, user_domain_name: D, project_id: x}}
  many: {auth: {auth_url: "https://many/v3", username: u, password: p, user_domain_name: D, project_id: x}, regions: [west, east]}
  two: {auth: {auth_url: "https://two/v3", application_credential_id: a, application_credential_secret: s}, region_name: R}
`

func TestLoginOfAUserIsFoundAsByTheClientsOfOpenStack(t *testing.T) {
	dir := t.TempDir()
	clouds := filepath.Join(dir, "clouds.yaml")
	if err := os.WriteFile(clouds, []byte(loginClouds), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OS_CLIENT_CONFIG_FILE", clouds)
	openrc := map[string]string{"OS_AUTH_URL": "https://rc/v3", "OS_USERNAME": "u", "OS_PASSWORD": "p", "OS_USER_DOMAIN_NAME": "D",
		"OS_PROJECT_NAME": "k8s", "OS_PROJECT_DOMAIN_ID": "default", "OS_PROJECT_DOMAIN_NAME": "Default", "OS_REGION_NAME": "R", "OS_INTERFACE": "internalURL"}
	one := Global{AuthURL: "https://one/v3", Username: "u", Password: "p", UserDomainName: "D", TenantID: "x", EndpointType: "public", UseClouds: true, Cloud: "one"}
	many := func(region string) Global {
		return Global{AuthURL: "https://many/v3", Username: "u", Password: "p", UserDomainName: "D", TenantID: "x", Region: region, EndpointType: "public", UseClouds: true, Cloud: "many"}
	}
	two := Global{AuthURL: "https://two/v3", ApplicationCredentialID: "a", ApplicationCredentialSecret: "s", Region: "R", EndpointType: "public", UseClouds: true, Cloud: "two"}
	for name, test := range map[string]struct {
		cloud       string
		region      string
		environment map[string]string
		want        Global
		refused     string
	}{
		"named":                 {cloud: "one", environment: openrc, want: one},
		"OS_CLOUD":              {environment: map[string]string{"OS_CLOUD": "two"}, want: two},
		"named before OS_CLOUD": {cloud: "one", environment: map[string]string{"OS_CLOUD": "two"}, want: one},
		"openrc": {environment: openrc, want: Global{AuthURL: "https://rc/v3", Username: "u", Password: "p", UserDomainName: "D", TenantName: "k8s",
			TenantDomainID: "default", Region: "R", EndpointType: "internal"}},
		"the wanted region": {cloud: "many", region: "east", want: many("east")},
		"the first region":  {cloud: "many", want: many("west")},
		"openrc wins over the wanted": {region: "east", environment: openrc, want: Global{AuthURL: "https://rc/v3", Username: "u", Password: "p", UserDomainName: "D", TenantName: "k8s",
			TenantDomainID: "default", Region: "R", EndpointType: "internal"}},
		"several clouds":  {refused: "no login"},
		"openrc, no user": {environment: map[string]string{"OS_AUTH_URL": "https://rc/v3", "OS_PASSWORD": "hidden"}, refused: "password needs user-id or username"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := LoadLogin(test.cloud, test.region, func(key string) string { return test.environment[key] })
			if test.refused != "" {
				if err == nil || !strings.Contains(err.Error(), test.refused) || strings.Contains(err.Error(), "hidden") {
					t.Errorf("got %+v, %v", got, err)
				}
				return
			}
			if diff := cmp.Diff(test.want, got.Global); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestLoginWithSeveralRegionsReportsThatItUsesTheFirst(t *testing.T) {
	clouds := filepath.Join(t.TempDir(), "clouds.yaml")
	if err := os.WriteFile(clouds, []byte(loginClouds), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OS_CLIENT_CONFIG_FILE", clouds)
	for name, test := range map[string]struct {
		region string
		want   int
	}{
		"no region is chosen": {"", 1},
		"a region is chosen":  {"east", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := LoadLogin("many", test.region, func(string) string { return "" })
			if err != nil || len(got.Notices) != test.want {
				t.Errorf("region %q: %v, %v, want %d notices", test.region, got.Notices, err, test.want)
			}
		})
	}
}

func TestOnlyTheSectionGlobalIsRewritten(t *testing.T) {
	before := "# mine\n[Global]\nauth-url=https://old/v3\nusername=u\n\n[LoadBalancer]\n# the public one\nfloating-network-id = x\n\n[Networking]\npublic-network-name = a\npublic-network-name = b\n"
	got, err := WithGlobal([]byte(before), Global{AuthURL: "https://new/v3", ApplicationCredentialID: "a", ApplicationCredentialSecret: `s"\e cret`, EndpointType: "public"})
	if err != nil {
		t.Fatal(err)
	}
	want := `[Global]
auth-url = "https://new/v3"
application-credential-id = "a"
application-credential-secret = "s\"\\e cret"

[LoadBalancer]
# the public one
floating-network-id = x

[Networking]
public-network-name = a
public-network-name = b
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestValuesWrittenToGlobalAreReadUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ -~\n\t]{1,40}`).Draw(t, "secret")
		want := Global{AuthURL: "https://x/v3", ApplicationCredentialID: "a", ApplicationCredentialSecret: Secret(text), EndpointType: "public", TLSInsecure: rapid.Bool().Draw(t, "insecure")}
		written, err := WithGlobal(nil, want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse("cloud.conf", []byte(written))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Global, cmp.Transformer("reveal", Secret.Reveal)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestAnApplicationCredentialIsForTheSameCloud(t *testing.T) {
	before := otherValues(t).Global
	after := before.WithApplicationCredential("a", "s")
	for _, key := range globalKeys {
		switch key.Name {
		case "application-credential-id", "application-credential-secret":
			continue
		}
		mine, theirs := Config{Global: before}, Config{Global: after}
		kept := key.equal(&mine, &theirs)
		ofLogin := slices.Contains([]string{"username", "user-id", "password", "tenant-id", "tenant-name", "domain-id", "domain-name", "user-domain-id", "user-domain-name",
			"tenant-domain-id", "tenant-domain-name", "application-credential-name", "trust-id", "trustee-id", "trustee-password", "token", "use-clouds", "clouds-file", "cloud"}, key.Name)
		if kept == ofLogin {
			t.Errorf("%s is kept: %v", key.Name, kept)
		}
	}
}
