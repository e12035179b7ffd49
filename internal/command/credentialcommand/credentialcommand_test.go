// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package credentialcommand_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cloud/accessrule"
	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// cloudWithLogin starts a simulated cloud and lets the environment of the test be
// that of an openrc file for it.
func cloudWithLogin(t *testing.T) *cloudsim.Cloud {
	t.Helper()
	return cloudOf(t, release.Zed)
}

// cloudOf is cloudWithLogin for a release.
func cloudOf(t *testing.T, r release.Release) *cloudsim.Cloud {
	t.Helper()
	cloud, err := cloudsim.Start(cloudsim.Options{Release: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	c := cloud.Credentials()
	for name, value := range map[string]string{"OS_AUTH_URL": c.AuthURL, "OS_USERNAME": c.Username, "OS_PASSWORD": c.Password,
		"OS_USER_DOMAIN_NAME": c.UserDomainName, "OS_PROJECT_ID": c.ProjectID, "OS_REGION_NAME": c.Region, "OS_CLOUD": ""} {
		t.Setenv(name, value)
	}
	return cloud
}

func TestCreateWritesTheSecretThatTheManifestsMount(t *testing.T) {
	cloud := cloudWithLogin(t)
	settings := file(t, "cloud.conf", cloud.CloudConf())
	got := runCommand(t, "credential", "create", "--cloud-config="+settings, "--name=mine")
	if got.Status != 0 || !strings.Contains(got.Err, "(mine) for project "+cloud.Credentials().ProjectID) {
		t.Fatalf("%+v", got)
	}
	var secret corev1.Secret
	if err := yaml.UnmarshalStrict([]byte(got.Out), &secret); err != nil {
		t.Fatal(err)
	}
	if secret.Namespace != "kube-octavia" || secret.Name != "cloud-config" {
		t.Errorf("the Secret is %s/%s", secret.Namespace, secret.Name)
	}
	conf, err := config.Parse("cloud.conf", []byte(secret.StringData["cloud.conf"]))
	if err != nil {
		t.Fatal(err)
	}
	if conf.Global.Authentication() != config.ByApplicationCredential || conf.Global.Region != cloud.Credentials().Region ||
		conf.LoadBalancer.SubnetID != cloud.IDs().PrivateSubnet {
		t.Errorf("cloud.conf says %+v", conf)
	}
	if made := conf.Global.ApplicationCredentialSecret.Reveal(); strings.Contains(got.Err, made) || strings.Contains(got.Out+got.Err, cloud.Credentials().Password) {
		t.Error("a secret is where it does not belong")
	}
	if again := runCommand(t, "credential", "create", "--name=mine"); again.Status != 1 || !strings.Contains(again.Err, "409") || again.Out != "" {
		t.Errorf("a second one of the name: %+v", again)
	}
}

func TestCreateStoresTheCACertificates(t *testing.T) {
	cloud := cloudWithLogin(t)
	t.Setenv("OS_CACERT", file(t, "ca.pem", anotherAuthority(t)))
	got := runCommand(t, "credential", "create")
	var secret corev1.Secret
	if err := yaml.UnmarshalStrict([]byte(got.Out), &secret); err != nil || got.Status != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if !strings.Contains(secret.StringData["ca.crt"], "BEGIN CERTIFICATE") || !strings.Contains(secret.StringData["cloud.conf"], `ca-file = "/etc/kube-octavia/ca.crt"`) {
		t.Errorf("the Secret holds %v", secret.StringData)
	}
	if n := cloud.Keystone().Counts()["application_credentials"]; n != 1 {
		t.Errorf("there are %d application credentials", n)
	}
}

func TestCredentialThatCannotBeWrittenIsNotCreated(t *testing.T) {
	cloud := cloudWithLogin(t)
	for name, args := range map[string][]string{
		"directory that does not exist":    {"--output-file=" + filepath.Join(t.TempDir(), "no", "such", "directory")},
		"date in the past":                 {"--expires=yesterday"},
		"unknown flag":                     {"--secret=x"},
		"unknown format":                   {"--format=xml"},
		"no output":                        {"--output="},
		"two formats":                      {"--output=json", "--format=conf"},
		"role that the user does not have": {"--roles=admin"},
		"cloud.conf with a mistake":        {"--cloud-config=" + file(t, "cloud.conf", "[Global]\nauth-ulr=x\n")},
	} {
		t.Run(name, func(t *testing.T) {
			if got := runCommand(t, append([]string{"credential", "create"}, args...)...); got.Status != 1 || got.Out != "" {
				t.Errorf("%v: %+v", args, got)
			}
		})
	}
	if n := cloud.Keystone().Counts()["application_credentials"]; n != 0 {
		t.Errorf("there are %d application credentials", n)
	}
}

func TestAdviceForARejectedLoginNamesItsSource(t *testing.T) {
	cloud := cloudWithLogin(t)
	conf := file(t, "cloud.conf", strings.ReplaceAll(cloud.CloudConf(), cloud.Credentials().Password, "wrong"))
	t.Setenv("OS_PASSWORD", "wrong")
	for name, test := range map[string]struct {
		want string
		args []string
	}{
		"login of the environment": {"check in your login the user", nil},
		"cloud.conf":               {"check in [Global] the user", []string{"--cloud-config=" + conf}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := runCommand(t, append([]string{"credential", "create"}, test.args...)...); got.Status != 1 || !strings.Contains(got.Err, test.want) {
				t.Errorf("%v: %+v", test.args, got)
			}
		})
	}
}

func TestAFileWithACredentialIsForItsOwnerOnly(t *testing.T) {
	cloudWithLogin(t)
	path := file(t, "secret.yaml", "old")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := runCommand(t, "credential", "create", "--format=conf", "--output-file", path); got.Status != 0 || got.Out != "" {
		t.Fatalf("%+v", got)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if _, err := config.Load(path); err != nil {
		t.Error(err)
	}
}

func TestFlagOutputStillWritesAFileAndWarnsOfItsReplacement(t *testing.T) {
	cloudWithLogin(t)
	path := filepath.Join(t.TempDir(), "secret.yaml")
	got := runCommand(t, "credential", "create", "-o", path)
	if want := "Warning: --output " + path + ": a file is now set with --output-file"; got.Status != 0 || got.Out != "" || !strings.Contains(got.Err, want) {
		t.Errorf("got %+v, want %q", got, want)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "kind: Secret") {
		t.Errorf("%v, the file has %d bytes", err, len(text))
	}
	if got := runCommand(t, "credential", "create", "-o", "-"); got.Status != 0 || !strings.Contains(got.Out, "kind: Secret") || !strings.Contains(got.Err, "Warning: --output -: ") {
		t.Errorf("got %+v", got)
	}
}

func TestTheManifestIsTheSameInJSON(t *testing.T) {
	cloudWithLogin(t)
	got := runCommand(t, "credential", "create", "-o", "json")
	var secret struct {
		APIVersion, Kind string
		StringData       map[string]string
	}
	if err := json.Unmarshal([]byte(got.Out), &secret); err != nil || got.Status != 0 {
		t.Fatalf("%v: %+v", err, got.Err)
	}
	if secret.APIVersion != "v1" || secret.Kind != "Secret" || !strings.Contains(secret.StringData["cloud.conf"], "application-credential-id") {
		t.Errorf("it is %s %s with %d keys", secret.APIVersion, secret.Kind, len(secret.StringData))
	}
}

func TestFileIsUnchangedIfNoCredentialIsCreated(t *testing.T) {
	cloud := cloudWithLogin(t)
	path := file(t, "secret.yaml", "old")
	files := func(want ...string) {
		t.Helper()
		entries, err := os.ReadDir(filepath.Dir(path))
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		if d := cmp.Diff(want, names); err != nil || d != "" {
			t.Errorf("%v; files (-want +got):\n%s", err, d)
		}
	}
	cloud.Faults().Add(wire.Fault{Service: cloudsim.Identity, Method: http.MethodPost, Route: "/v3/users/{id}/application_credentials",
		Kind: wire.FaultStatus, Status: http.StatusInternalServerError, Times: 1})
	if got := runCommand(t, "credential", "create", "--output-file", path); got.Status != 1 || !strings.Contains(got.Err, "500") {
		t.Errorf("got %+v", got)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "old" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	files("secret.yaml")
	if got := runCommand(t, "credential", "create", "--output-file", path); got.Status != 0 {
		t.Errorf("got %+v", got)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "kind: Secret") {
		t.Errorf("the file holds %q, %v", text, err)
	}
	files("secret.yaml")
}

func TestCredentialThatMayHaveBeenCreatedIsReportedByName(t *testing.T) {
	cloud := cloudWithLogin(t)
	for _, kind := range []wire.FaultKind{wire.FaultResetAfter, wire.FaultHalfBody} {
		t.Run(string(kind), func(t *testing.T) {
			cloud.Faults().Add(wire.Fault{Service: cloudsim.Identity, Method: http.MethodPost, Route: "/v3/users/{id}/application_credentials", Kind: kind, Times: 1})
			got := runCommand(t, "credential", "create", "--name=mine-"+string(kind))
			if got.Status != 1 || got.Out != "" || !strings.Contains(got.Err, "may exist anyway") || !strings.Contains(got.Err, "the name mine-"+string(kind)) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestAFileIsReplacedWhereALinkLeads(t *testing.T) {
	cloudWithLogin(t)
	path := file(t, "conf", "old")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if got := runCommand(t, "credential", "create", "--format=conf", "--output-file", link); got.Status != 0 {
		t.Fatalf("%+v", got)
	}
	if _, err := config.Load(path); err != nil {
		t.Error(err)
	}
	if to, err := os.Readlink(link); err != nil || to != path {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

func TestACredentialCanBeWrittenToAPipe(t *testing.T) {
	cloudWithLogin(t)
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		text, err := os.ReadFile(path)
		if err != nil {
			text = []byte(err.Error())
		}
		read <- string(text)
	}()
	if got := runCommand(t, "credential", "create", "--format=conf", "--output-file", path); got.Status != 0 {
		t.Fatalf("%+v", got)
	}
	if _, err := config.Parse("cloud.conf", []byte(<-read)); err != nil {
		t.Error(err)
	}
}

func TestACredentialIsDeletedByItsID(t *testing.T) {
	cloud := cloudWithLogin(t)
	conf, err := config.Parse("cloud.conf", []byte(runCommand(t, "credential", "create", "--format=conf").Out))
	if err != nil {
		t.Fatal(err)
	}
	id := conf.Global.ApplicationCredentialID
	if got := runCommand(t, "credential", "delete", id); got.Status != 0 || !strings.Contains(got.Err, id) {
		t.Errorf("got %+v", got)
	}
	if n := cloud.Keystone().Counts()["application_credentials"]; n != 0 {
		t.Errorf("there are %d application credentials", n)
	}
	if got := runCommand(t, "credential", "delete", id); got.Status != 1 || !strings.Contains(got.Err, "404") {
		t.Errorf("once more: %+v", got)
	}
}

func TestFeaturesThatNothingUsesAreLeftOut(t *testing.T) {
	cloudWithLogin(t)
	got := runCommand(t, "credential", "create", "--format=conf", "--without=certificates,security-groups")
	conf, err := config.Parse("cloud.conf", []byte(got.Out))
	if err != nil || got.Status != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	session, err := openstack.Connect(t.Context(), openstack.Options{Config: conf.Global})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	missing := session.MissingRules()
	for _, call := range missing {
		if _, optional := calls.FindOptional(call.Feature.Name()); !optional && call.Feature != calls.FeatureCertificateGrants {
			t.Errorf("%s is not allowed", call)
		}
	}
	if len(missing) < 10 {
		t.Errorf("only %v are not allowed", missing)
	}
	for name, want := range map[string]string{"certs": `--without "certs": must be any of certificates, security-groups, nodes, routes`, "floating-IPs": "are always needed"} {
		t.Run(name, func(t *testing.T) {
			if got := runCommand(t, "credential", "create", "--without="+name); got.Status != 1 || got.Out != "" || !strings.Contains(got.Err, want) {
				t.Errorf("got %+v, want %q", got, want)
			}
		})
	}
}

func TestCallsForNodesAndRoutesAreAllowedOnlyIfRequested(t *testing.T) {
	cloudWithLogin(t)
	for name, test := range map[string]struct {
		flags string
		want  []calls.Feature
	}{
		"default":                                {"", calls.Additional()},
		"with Nodes":                             {"--with=nodes", []calls.Feature{calls.FeatureRoutes}},
		"with Nodes and routes":                  {"--with=nodes,routes", nil},
		"with Nodes and without security groups": {"--without=security-groups --with=nodes", []calls.Feature{calls.FeatureSecurityGroups, calls.FeatureRoutes}},
	} {
		t.Run(name, func(t *testing.T) {
			got := runCommand(t, append([]string{"credential", "create", "--format=conf"}, strings.Fields(test.flags)...)...)
			conf, err := config.Parse("cloud.conf", []byte(got.Out))
			if err != nil || got.Status != 0 {
				t.Fatalf("%+v, %v", got, err)
			}
			session, err := openstack.Connect(t.Context(), openstack.Options{Config: conf.Global})
			if err != nil {
				t.Fatal(err)
			}
			features, others := accessrule.Without(session.MissingRules())
			if diff := cmp.Diff(test.want, features); diff != "" || len(others) > 0 {
				t.Errorf("other calls %v, features that are left out (-want +got):\n%s", others, diff)
			}
			session.Close()
		})
	}
	for name, test := range map[string]struct{ flags, want string }{
		"unknown optional feature":           {"--with=certificates", `--with "certificates": must be any of nodes, routes`},
		"feature that is added and left out": {"--with=nodes --without=nodes", "--with and --without both name nodes"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := runCommand(t, append([]string{"credential", "create"}, strings.Fields(test.flags)...)...); got.Status != 1 || !strings.Contains(got.Err, test.want) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// Keystone enforces access rules on itself since 2025.1, and answers 401. Before, it answers 403.
func TestErrorWithAnApplicationCredentialAsksForALoginOfAUser(t *testing.T) {
	for _, r := range release.All {
		t.Run(r.String(), func(t *testing.T) {
			cloudOf(t, r)
			restricted := filepath.Join(t.TempDir(), "restricted.conf")
			if got := runCommand(t, "credential", "create", "--format=conf", "--output-file="+restricted); got.Status != 0 {
				t.Fatal(got.Err)
			}
			text, err := os.ReadFile(restricted)
			if err != nil {
				t.Fatal(err)
			}
			conf, err := config.Parse("cloud.conf", text)
			if err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"create"}, {"delete", conf.Global.ApplicationCredentialID}} {
				t.Run(args[0], func(t *testing.T) {
					got := runCommand(t, append(append([]string{"credential"}, args...), "--cloud-config="+restricted)...)
					if got.Status == 0 || strings.Count(got.Err, "Log in as a user, with a password") != 1 || strings.Contains(got.Err, "kube-octavia credential create") {
						t.Errorf("%v: status %d, %s", args, got.Status, got.Err)
					}
				})
			}
		})
	}
}
