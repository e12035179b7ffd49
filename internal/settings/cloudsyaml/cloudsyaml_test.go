// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsyaml_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/settings/cloudsyaml"
)

var update = flag.Bool("update", false, "write the golden files anew")

// isolate hides the files and variables of the user who runs the test.
func isolate(t *testing.T) {
	t.Setenv("HOME", "/home/somebody")
	t.Setenv("XDG_CONFIG_HOME", "")
	for _, name := range []string{"OS_CLOUD", "OS_CLIENT_CONFIG_FILE", "OS_CLIENT_SECURE_FILE"} {
		t.Setenv(name, "")
	}
}

func TestFilesOfOtherClientsAreRead(t *testing.T) {
	paths, err := filepath.Glob("testdata/*/clouds.yaml")
	if err != nil || len(paths) < 12 {
		t.Fatalf("%d files: %v", len(paths), err)
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			isolate(t)
			cloud, err := cloudsyaml.Read(cloudsyaml.Choice{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, key := range slices.Sorted(maps.Keys(cloud.Settings)) {
				fmt.Fprintf(&got, "%s = %s\n", key, cloud.Settings[key].Text)
			}
			for _, n := range cloud.Notices {
				kind := "no effect"
				if n.Doubtful {
					kind = "doubtful"
				}
				fmt.Fprintf(&got, "%s:%d: [%s] %s (%s): %s %s\n", n.File, n.Line, n.Section, n.Key, kind, n.Text, n.Do)
				if strings.Contains(n.Text+n.Do, "made-up") {
					t.Errorf("a notice shows a secret: %+v", n)
				}
			}
			golden := filepath.Join(dir, "read")
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheWantedRegionBringsItsOwnValues(t *testing.T) {
	isolate(t)
	for region, want := range map[string]string{"west": "/home/somebody/west.pem", "east": "/home/somebody/ca.pem", "north": "/home/somebody/ca.pem"} {
		t.Run(region, func(t *testing.T) {
			cloud, err := cloudsyaml.Read(cloudsyaml.Choice{Path: "testdata/regions/clouds.yaml", Region: region})
			if err != nil {
				t.Fatal(err)
			}
			_, set := cloud.Settings["region"]
			if got := cloud.Settings["ca-file"].Text; got != want || set || len(cloud.Notices) > 0 {
				t.Errorf("ca-file %q, region set: %v, notices %v", got, set, cloud.Notices)
			}
			if got, want := cloud.Settings["auth-url"].Text, "https://"+region+".example.com/v3"; got != want {
				t.Errorf("auth-url %q, want %q", got, want)
			}
		})
	}
}

func TestEachSettingHasItsPositionInTheFile(t *testing.T) {
	isolate(t)
	cloud, err := cloudsyaml.Read(cloudsyaml.Choice{Path: "testdata/regions/clouds.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, key := range []string{"region", "tenant-id", "username", "os-endpoint-type"} {
		got[key] = cloud.Settings[key].Source
	}
	const at = "testdata/regions/clouds.yaml:"
	want := map[string]string{"region": at + "6: [clouds.two] regions", "tenant-id": at + "9: [clouds.two] auth.project_id",
		"username": at + "3: [clouds.two] auth.username", "os-endpoint-type": at + "10: [clouds.two] interface"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// read reads the only cloud of a text.
func read(t *testing.T, text string) (cloudsyaml.Cloud, error) {
	t.Helper()
	isolate(t)
	path := filepath.Join(t.TempDir(), "clouds.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return cloudsyaml.Read(cloudsyaml.Choice{Path: path})
}

func TestCertificatesAreVerifiedUnlessTheFileSaysNo(t *testing.T) {
	for text, insecure := range map[string]bool{
		"":                               false,
		"verify: true":                   false,
		"verify: 'True'":                 false,
		"verify: false":                  true,
		"verify: \"False\"":              true,
		"verify: no":                     true,
		"verify: off":                    true,
		"verify: 0":                      true,
		"verify:":                        false,
		"insecure: true":                 true,
		"insecure: 'true'":               true,
		"insecure: yes":                  true,
		"insecure: 'yes'":                false,
		"insecure: false":                false,
		"verify: true, insecure: true":   true,
		"verify: false, insecure: false": true,
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			cloud, err := read(t, "clouds: {one: {"+text+"}}")
			if err != nil {
				t.Fatal(err)
			}
			if got := cloud.Settings["tls-insecure"].Text == "true"; got != insecure {
				t.Errorf("insecure is %v", got)
			}
		})
	}
}

func TestAuthTypeChoosesAmongSecrets(t *testing.T) {
	const auth = "auth: {username: u, password: p, token: t, application_credential_id: a, application_credential_secret: s}"
	for kind, want := range map[string][]string{
		"v3password":              {"password", "username"},
		"token":                   {"token"},
		"v3applicationcredential": {"application-credential-id", "application-credential-secret", "username"},
	} {
		t.Run(kind, func(t *testing.T) {
			cloud, err := read(t, "clouds: {one: {auth_type: "+kind+", "+auth+"}}")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(cloud.Settings))); diff != "" {
				t.Error(diff)
			}
			if dropped := 5 - len(want); len(cloud.Notices) != dropped {
				t.Errorf("%d notices for %d keys", len(cloud.Notices), dropped)
			}
		})
	}
}

func TestTheSecretsMayBeInAFileThatAVariableNames(t *testing.T) {
	isolate(t)
	t.Setenv("OS_CLIENT_SECURE_FILE", "testdata/secure/secure.yml")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "clouds.json"), []byte(`{"clouds": {"one": {"auth": {"username": "k8s"}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if _, err := cloudsyaml.Read(cloudsyaml.Choice{}); err == nil || !strings.Contains(err.Error(), "secure.yml") {
		t.Errorf("a file with secrets that is not there: %v", err)
	}
	t.Setenv("OS_CLIENT_SECURE_FILE", "")
	cloud, err := cloudsyaml.Read(cloudsyaml.Choice{})
	if err != nil || cloud.Path != "clouds.json" || cloud.Settings["username"].Text != "k8s" {
		t.Errorf("%+v, %v", cloud, err)
	}
}

func TestMapsThatMergeEachOtherDoNotLoop(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 {x: 1}\n")
	for i := 1; i < 20; i++ {
		fmt.Fprintf(&b, "a%d: &a%d {<<: [*a%d, *a%d, *a%d]}\n", i, i, i-1, i-1, i-1)
	}
	_, err := read(t, b.String()+"clouds: {one: {<<: *a19}}")
	if err == nil || !strings.Contains(err.Error(), "merges too many maps") {
		t.Error(err)
	}
}
