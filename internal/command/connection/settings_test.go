// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/command/installation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// published returns the settings of a controller.
func published() installation.Settings {
	return installation.Settings{
		Namespace: "system", Secret: "conf", SecretKey: "cloud.conf", Region: "east", CloudConf: "[LoadBalancer]\nlb-provider = ovn\nlb-method = SOURCE_IP_PORT\n",
		Flags: map[string]string{"cluster-name": "prod", "load-balancer-class": "example.com/x", "handle-default-class": "false", "adopt": "observe",
			"controllers": "service,route", "cluster-cidr": "", "leader-elect-resource-name": "lease"},
	}
}

func TestFlagsThatAreNotGivenAreThoseOfTheController(t *testing.T) {
	var o Options
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(flags)
	o.AddAdoptFlag(flags)
	o.AddSettingsFlags(flags)
	controllers := flags.StringSlice("controllers", []string{"service"}, "")
	cidrs := flags.StringSlice("cluster-cidr", []string{"10.0.0.0/8"}, "")
	namespace := flags.String("leader-elect-resource-namespace", "", "")
	if err := flags.Parse([]string{"--cluster-name=given"}); err != nil {
		t.Fatal(err)
	}
	if err := takeOver(published(), flags); err != nil {
		t.Fatal(err)
	}
	got := []any{o.ClusterName, o.LoadBalancerClass, o.DefaultClass, string(o.Adopt), *controllers, *cidrs, *namespace}
	if d := cmp.Diff([]any{"given", "example.com/x", false, "observe", []string{"service", "route"}, []string{}, "system"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestAFlagOfTheControllerThatCannotBeReadIsAnError(t *testing.T) {
	var o Options
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(flags)
	s := published()
	s.Flags["handle-default-class"] = "perhaps"
	if err := takeOver(s, flags); err == nil || !strings.Contains(err.Error(), `ConfigMap system/lease-settings: handle-default-class "perhaps": `) {
		t.Error(err)
	}
}

func TestTheLoginIsThatOfTheEnvironmentOrElseOfTheSecret(t *testing.T) {
	const conf = "[Global]\nauth-url = https://secret/v3\nuser-id = u\npassword = hunter2\n[LoadBalancer]\nlb-provider = octavia\n"
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "conf"}, Data: map[string][]byte{"cloud.conf": []byte(conf)}}
	openrc := map[string]string{"OS_AUTH_URL": "https://environment/v3", "OS_USER_ID": "u", "OS_PASSWORD": "hunter3"}
	inRegion := map[string]string{"OS_AUTH_URL": "https://environment/v3", "OS_USER_ID": "u", "OS_PASSWORD": "hunter3", "OS_REGION_NAME": "west"}
	t.Setenv("OS_CLIENT_CONFIG_FILE", file(t, "clouds.yaml", `{clouds: {many: {auth: {auth_url: "https://many/v3", user_id: u, password: hunter4}, regions: [west, east]}}}`))
	for name, test := range map[string]struct {
		env       map[string]string
		edit      func(*installation.Settings)
		from      string
		authURL   string
		region    string
		providers string
		err       string
	}{
		"the Secret":          {nil, nil, "Secret system/conf", "https://secret/v3", "", "octavia", ""},
		"an openrc file":      {openrc, nil, "the environment ($OS_AUTH_URL and others)", "https://environment/v3", "east", "ovn", ""},
		"one with its region": {inRegion, func(s *installation.Settings) { s.Region = "west" }, "the environment ($OS_AUTH_URL and others)", "https://environment/v3", "west", "ovn", ""},
		"one, and a controller that names no region": {inRegion, func(s *installation.Settings) { s.Region = "" }, "the environment ($OS_AUTH_URL and others)", "https://environment/v3", "west", "ovn", ""},
		"one with another region": {inRegion, nil, "the environment ($OS_AUTH_URL and others)", "", "", "",
			"the login of the environment is for region west, and the controller works in region east: unset $OS_REGION_NAME"},
		"an entry with several regions":   {map[string]string{"OS_CLOUD": "many"}, nil, "$OS_CLOUD (many)", "https://many/v3", "east", "ovn", ""},
		"a Secret that is not there":      {nil, func(s *installation.Settings) { s.Secret = "none" }, "Secret system/none", "", "", "", "not found: set $OS_CLOUD or the variables of an openrc file, or --cloud-config"},
		"a Secret without the key":        {nil, func(s *installation.Settings) { s.SecretKey = "x" }, "Secret system/conf", "", "", "", "Secret system/conf has no key x"},
		"a Secret that no flag names":     {nil, func(s *installation.Settings) { s.Secret = "" }, "unknown", "", "", "", "--cloud-config-secret of the controller is not set: set $OS_CLOUD"},
		"an openrc file without password": {map[string]string{"OS_AUTH_URL": "https://environment/v3", "OS_USER_ID": "u"}, nil, "the environment ($OS_AUTH_URL and others)", "", "", "", "read the login of the environment: "},
	} {
		t.Run(name, func(t *testing.T) {
			s := published()
			if test.edit != nil {
				test.edit(&s)
			}
			f := found{settings: s}
			f.chooseLogin(t.Context(), fake.NewClientBuilder().WithObjects(secret).Build(), func(name string) string { return test.env[name] })
			o := Options{found: &f}
			if fromEnvironment := o.Origin() == config.FromEnvironment; fromEnvironment != (test.env != nil) || o.Origin() == config.FromFile {
				t.Errorf("origin %v", o.Origin())
			}
			c, err := o.LoadConfig()
			if o.ConfigName() != test.from || test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("from %s, %v; want %s, %s", o.ConfigName(), err, test.from, test.err)
				return
			}
			if test.err == "" && (c.Global.AuthURL != test.authURL || c.Global.Region != test.region || c.LoadBalancer.Provider != test.providers) {
				t.Errorf("%s, region %q, provider %s", c.Global.AuthURL, c.Global.Region, c.LoadBalancer.Provider)
			}
		})
	}
}

func TestSettingsAreNotFoundInAnAPIThatDoesNotAnswer(t *testing.T) {
	ended := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	defer api.Close()
	defer close(ended)
	o := flags()
	o.kubernetesLimit, o.Kubeconfig = time.Millisecond, kubeconfigOf(t, api.URL)
	err := o.FindSettings(t.Context(), pflag.NewFlagSet("", pflag.ContinueOnError), func(string) string { return "" }, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "--cloud-config is required") || !strings.Contains(err.Error(), "Kubernetes API at "+api.URL) {
		t.Error(err)
	}
}

// kubeconfigOf returns the path of a kubeconfig for an API without authentication.
func kubeconfigOf(t *testing.T, server string) string {
	t.Helper()
	return file(t, "kubeconfig", `{"apiVersion": "v1", "kind": "Config", "current-context": "x", "contexts": [{"name": "x", "context": {"cluster": "x"}}],
		"clusters": [{"name": "x", "cluster": {"server": "`+server+`"}}]}`)
}

func TestOnlyErrorsOfCallsNameTheAPI(t *testing.T) {
	explain := func(err error) error { return fmt.Errorf("Kubernetes API: %w", err) }
	named := func(namespace string) client.Object {
		return installation.Settings{Namespace: namespace, Flags: map[string]string{"leader-elect-resource-name": "x"}}.ConfigMap()
	}
	bad := named("a")
	bad.SetName("copy")
	for name, test := range map[string]struct {
		settings string
		objects  []client.Object
		want     string
	}{
		"several":          {"", []client.Object{named("a"), named("b")}, "several controllers publish their settings: choose one of --settings=a/x-settings, --settings=b/x-settings"},
		"none":             {"", nil, errNoCloudConfig.Error() + "; without it, a command uses the settings of the controller, but " + installation.ErrNone.Error()},
		"one that is bad":  {"a/copy", []client.Object{bad}, "ConfigMap a/copy does not have the settings of a controller: "},
		"one that is gone": {"a/x", nil, errNoCloudConfig.Error() + "; without it, a command uses the settings of the controller, but Kubernetes API: read ConfigMap a/x (--settings): "},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{settings: test.settings}
			_, err := o.chooseSettings(t.Context(), fake.NewClientBuilder().WithObjects(test.objects...).Build(), explain)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

func TestDeletionsRequireSettingsThatAFlagNames(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"--cloud-config":               {Options{CloudConfig: "x"}, ""},
		"settings that were found":     {Options{found: &found{settings: published()}}, "ConfigMap system/lease-settings determines what is deleted, and was found without being named"},
		"the same, but a flag says so": {Options{found: &found{settings: published()}, settings: "system/lease-settings"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.options.CheckController()
			if (err == nil) != (test.want == "") || err != nil && (!strings.HasPrefix(err.Error(), test.want) || !strings.HasSuffix(err.Error(), "add --settings=system/lease-settings")) {
				t.Error(err)
			}
		})
	}
}

func TestAdviceNamesThePlaceOfTheLogin(t *testing.T) {
	refused := &openstack.Error{Class: openstack.Unauthorized, Message: "no", Advice: "check in [Global] the password"}
	for name, test := range map[string]struct {
		found *found
		want  string
	}{
		"a file":          {nil, "no; check in [Global] the password"},
		"the Secret":      {&found{name: "Secret a/b", origin: config.FromSecret}, "no; check in [Global] of Secret a/b the password"},
		"the environment": {&found{name: "$OS_CLOUD (dev)", origin: config.FromEnvironment}, "no; check in $OS_CLOUD (dev) the password"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{found: test.found}
			if got := o.place(refused); got.Error() != test.want || openstack.Classify(got) != openstack.Unauthorized {
				t.Errorf("got %v, want %s", got, test.want)
			}
		})
	}
}
