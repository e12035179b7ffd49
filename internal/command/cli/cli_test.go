// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestVersionIsThatOfTheBuild(t *testing.T) {
	got := runCommand(t, "version")
	want := "kube-octavia v1.2.3 (" + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + ")\n"
	if got != (ran{Out: want}) {
		t.Errorf("got %+v, want %q", got, want)
	}
}

func TestHelpIsPrintedToStandardOutput(t *testing.T) {
	for name, args := range map[string][]string{
		"no arguments":        nil,
		"--help":              {"--help"},
		"help of a command":   {"help", "plan"},
		"-h of a command":     {"controller", "-h"},
		"--help of a command": {"plan", "--help"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runCommand(t, args...)
			if got.Status != 0 || got.Err != "" || !strings.Contains(got.Out, "Usage:") {
				t.Errorf("%v: %+v", args, got)
			}
		})
	}
}

func TestMistakesOfUsersAreReportedInOneHelpfulLine(t *testing.T) {
	conf := file(t, "cloud.conf", goodConf)
	none := filepath.Join(t.TempDir(), "none")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"an unknown command":               {[]string{"frobnicate"}, "unknown command \"frobnicate\" for `kube-octavia`; there are cleanup, completion, controller, credential, doctor, migrate, plan, status, ui, version"},
		"a command with a slip":            {[]string{"controler"}, "unknown command \"controler\" for `kube-octavia`; did you mean controller?"},
		"an unknown command of a group":    {[]string{"credential", "frobnicate"}, "unknown command \"frobnicate\" for `kube-octavia credential`; there are create, delete, rotate"},
		"a command of a group with a slip": {[]string{"credential", "creat", "--name=x"}, "for `kube-octavia credential`; did you mean create?"},
		"the same without a flag":          {[]string{"credential", "creat"}, "unknown command \"creat\" for `kube-octavia credential`; did you mean create?"},
		"an unknown shell":                 {[]string{"completion", "csh"}, "unknown command \"csh\" for `kube-octavia completion`; did you mean bash or zsh or fish?"},
		"help for an unknown command":      {[]string{"help", "frobnicate"}, `unknown command "frobnicate"`},
		"help for one of a group":          {[]string{"help", "credential", "rotat"}, "for `kube-octavia credential`; did you mean rotate?"},
		"an unknown flag":                  {[]string{"plan", "--frobnicate"}, "unknown flag: --frobnicate; see `kube-octavia plan --help`"},
		"an unknown short flag":            {[]string{"plan", "-z"}, "unknown shorthand flag: 'z' in -z; see `kube-octavia plan --help`"},
		"a flag of no command":             {[]string{"--cloud-config=x"}, "unknown flag: --cloud-config; see `kube-octavia --help`"},
		"a flag without its value":         {[]string{"controller", "--concurrency"}, "flag needs an argument: --concurrency; see `kube-octavia controller --help`"},
		"a value that is no number":        {[]string{"controller", "--concurrency=many"}, `--concurrency "many": must be a whole number`},
		"a rate that is no number":         {[]string{"plan", "--cloud-rate=fast"}, `--cloud-rate "fast": must be a number`},
		"a switch that is neither":         {[]string{"plan", "--handle-default-class=maybe"}, `--handle-default-class "maybe": must be true or false`},
		"a duration without a unit": {
			[]string{"controller", "--sweep-interval=60"}, "--sweep-interval \"60\": must be a duration with a unit, such as 90s, 10m or 1h30m; see `kube-octavia controller --help`",
		},
		"a grace period without a unit":           {[]string{"controller", "--orphan-grace-period=60"}, `--orphan-grace-period "60": must be a duration above 0s, such as 90m, or never`},
		"a wait without a unit":                   {[]string{"credential", "rotate", "--delete-old-after=60"}, `--delete-old-after "60": must be a duration with a unit`},
		"an argument too many for the controller": {[]string{"controller", "stray"}, `unexpected argument "stray": the command takes none; usage: kube-octavia controller --cloud-config=FILE [flags]`},
		"no application credential to delete":     {[]string{"credential", "delete"}, "argument ID is missing; usage: kube-octavia credential delete ID [flags]"},
		"two application credentials to delete":   {[]string{"credential", "delete", "a", "b"}, `unexpected argument "b" after ID; usage: kube-octavia credential delete ID [flags]`},
		"an argument of a version":                {[]string{"version", "2"}, `unexpected argument "2": the command takes none; usage: kube-octavia version [flags]`},
		"no cloud.conf for the controller":        {[]string{"controller"}, "--cloud-config is required: the path of cloud.conf"},
		"no cloud.conf for plan":                  {[]string{"plan"}, "--cloud-config is required: the path of cloud.conf"},
		"a cloud.conf that is not there":          {[]string{"plan", "--cloud-config=" + none}, "read the cloud configuration: open " + none},
		"an output that is none":                  {[]string{"plan", "--cloud-config=" + conf, "-o", "xml"}, `--output "xml": must be text, json, yaml or name`},
		"a way to adopt that is none":             {[]string{"controller", "--adopt=steal"}, `--adopt "steal": must be tag or observe`},
		"the same of a plan":                      {[]string{"plan", "--adopt="}, `--adopt "": must be tag or observe`},
		"an output of a migration":                {[]string{"migrate", "--cloud-config=" + conf, "-o", "wide"}, `--output "wide": must be text, json, yaml or name`},
		"a cleanup of an unknown cluster":         {[]string{"cleanup", "--cloud-config=" + conf}, "--cluster-name or --cluster-uid is required"},
		"a cleanup with a flag of a drain":        {[]string{"cleanup", "--cloud-config=" + conf, "--cluster-uid=u", "--kubeconfig=k"}, "--kubeconfig k: needs --drain"},
		"the same with another one":               {[]string{"cleanup", "--cloud-config=" + conf, "--cluster-uid=u", "--scale-down=d"}, "--scale-down d: needs --drain"},
		"a cleanup of routes by name":             {[]string{"cleanup", "--cloud-config=" + conf, "--cluster-name=c", "--cluster-cidr=10.244.0.0/16"}, `--cluster-cidr "10.244.0.0/16": needs --cluster-uid`},
		"a cleanup of routes to no Pods":          {[]string{"cleanup", "--cloud-config=" + conf, "--cluster-uid=u", "--cluster-cidr=pods"}, `--cluster-cidr "pods": "pods" is not a CIDR`},
		"a cleanup of routes in no router":        {[]string{"cleanup", "--cloud-config=" + conf, "--cluster-uid=u", "--cluster-cidr=10.244.0.0/16"}, "[Route] router-id is not set, so --cluster-cidr has no effect"},
		"a drain of routes":                       {[]string{"cleanup", "--cloud-config=" + conf, "--drain", "--cluster-cidr=10.244.0.0/16"}, "while its Nodes exist, they need their routes"},
		"a drain of a uid":                        {[]string{"cleanup", "--cloud-config=" + conf, "--drain", "--cluster-uid=u"}, "--cluster-uid u: must not be set with --drain"},
		"a drain that keeps floating IPs":         {[]string{"cleanup", "--cloud-config=" + conf, "--drain", "--keep-floating-ips"}, "--keep-floating-ips must not be set with --drain"},
		"a drain of no class":                     {[]string{"cleanup", "--cloud-config=" + conf, "--drain", "--load-balancer-class="}, `--load-balancer-class "": must be a name`},
		"a drain that stops but deletes nothing":  {[]string{"cleanup", "--cloud-config=" + conf, "--drain", "--scale-down=d"}, "--scale-down d: needs --delete"},
		"a drain without a cloud.conf":            {[]string{"cleanup", "--drain"}, "--cloud-config is required: the path of cloud.conf"},
		"an output of status":                     {[]string{"status", "--cloud-config=" + conf, "-o", "xml"}, `--output "xml": must be text, wide, json, yaml, name or tree`},
		"an interval that is too short":           {[]string{"status", "--cloud-config=" + conf, "-w", "--interval=10ms"}, `--interval 10ms: must be 1s or more`},
		"a migration from no cloud":               {[]string{"migrate"}, "--cloud-config is required"},
		"a Service in all namespaces":             {[]string{"status", "--cloud-config=" + conf, "-A", "web"}, "--all-namespaces must not be set with a SERVICE, which is in one namespace"},
		"a ConfigMap without a namespace":         {[]string{"plan", "--settings=x"}, `--settings "x": must be NAMESPACE/NAME of a ConfigMap`},
		"a ConfigMap beside a file":               {[]string{"plan", "--cloud-config=" + conf, "--settings=a/b"}, `--settings "a/b": must not be set with --cloud-config`},
		"a context that is not there":             {[]string{"plan", "--cloud-config=" + conf, "--kubeconfig=" + kubeconfigFor(t, "https://127.0.0.1:1", ""), "--context=prod"}, `has no context "prod"; set --context to one that it has: c`},
		"a context without a kubeconfig":          {[]string{"plan", "--cloud-config=" + conf, "--kubeconfig=" + file(t, "empty", ""), "--context=prod"}, `so it has no context "prod" (--context)`},
		"a cleanup with a context":                {[]string{"cleanup", "--cloud-config=" + conf, "--cluster-uid=u", "--context=c"}, "--context c: needs --drain"},
		"a cleanup without a cloud.conf":          {[]string{"cleanup", "--cluster-uid=u"}, "--cloud-config is required: the path of cloud.conf"},
		"an output of the version":                {[]string{"version", "-o", "xml"}, `--output "xml": must be text, json or yaml`},
		"a Secret that cannot have this name":     {[]string{"controller", "--cloud-config=" + conf, "--cloud-config-secret=a/b"}, `--cloud-config-secret "a/b": must be the name of a Secret`},
		"a migration from nowhere":                {[]string{"migrate", "--from=metallb"}, `--from "metallb": must be occm or kuryr`},
	} {
		t.Run(name, func(t *testing.T) {
			got := runCommand(t, test.args...)
			if got.Status != exitError || got.Out != "" {
				t.Errorf("exit status %d, printed %q", got.Status, got.Out)
			}
			if !strings.HasPrefix(got.Err, "kube-octavia: ") || !strings.Contains(got.Err, test.want) {
				t.Errorf("said %q, want %q in it", got.Err, test.want)
			}
		})
	}
}

func TestPluginOfKubectlNamesItselfInMessages(t *testing.T) {
	for program, want := range map[string]string{
		"/usr/local/bin/kube-octavia": "kube-octavia", "": "kube-octavia", "./kubectl-octavia-old": "kube-octavia",
		"/home/op/.krew/bin/kubectl-octavia": "kubectl octavia", "kubectl-octavia": "kubectl octavia", "kubectl-octavia.exe": "kubectl octavia",
	} {
		t.Run(fmt.Sprintf("%q", program), func(t *testing.T) {
			var out, errs bytes.Buffer
			streams, o := IO{Out: &out, Err: &errs}, Options{Program: program}
			if status := Run(t.Context(), []string{"status", "--help"}, streams, o); status != exitOK || !strings.Contains(out.String(), "\n  "+want+" status [SERVICE...] [flags]\n") {
				t.Errorf("help, with status %d, says %s", status, out.String())
			}
			if status := Run(t.Context(), []string{"plan"}, streams, o); status != exitError || !strings.HasPrefix(errs.String(), want+": --cloud-config is required") {
				t.Errorf("status %d, %s", status, errs.String())
			}
		})
	}
}

func TestAServiceIsNamedByItselfOrWithItsNamespace(t *testing.T) {
	for name, c := range map[string]struct {
		arg, namespace, context string
		want, err               string
	}{
		"a name":                              {"web", "", "", "default/web", ""},
		"a name, in the context's namespace":  {"web", "", "shop", "shop/web", ""},
		"a name and --namespace":              {"web", "blog", "shop", "blog/web", ""},
		"both":                                {"shop/web", "", "blog", "shop/web", ""},
		"both and the same --namespace":       {"shop/web", "shop", "", "shop/web", ""},
		"both and another --namespace":        {"shop/web", "blog", "", "", `argument "shop/web": it names another namespace than --namespace blog; omit one of them`},
		"another kind and --namespace":        {"deployment.apps/web", "blog", "", "", `argument "deployment.apps/web": kind deployment.apps is not Service; name a Service as NAME, svc/NAME or NAMESPACE/NAME`},
		"a namespace with the name of a kind": {"deploy/web", "", "", "deploy/web", ""},
		"no name":                             {"shop/", "", "", "", `argument "shop/": must be NAME, svc/NAME or NAMESPACE/NAME of a Service`},
		"no namespace":                        {"/web", "", "", "", `argument "/web": must be NAME, svc/NAME or NAMESPACE/NAME of a Service`},
		"nothing":                             {"", "", "", "", `argument "": must be NAME, svc/NAME or NAMESPACE/NAME of a Service`},
		"a kind, as kubectl has it":           {"svc/web", "", "shop", "shop/web", ""},
		"a kind in full":                      {"service/web", "blog", "shop", "blog/web", ""},
		"a kind in the plural":                {"services/web", "", "", "default/web", ""},
		"a kind alone":                        {"svc/", "", "", "", `argument "svc/": must be NAME, svc/NAME or NAMESPACE/NAME of a Service`},
		"a kind and a namespace":              {"service/shop/web", "", "", "", `argument "service/shop/web": must be NAME, svc/NAME or NAMESPACE/NAME of a Service`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := serviceKey(c.arg, c.namespace, c.context)
			if c.err == "" && (err != nil || got.String() != c.want) || c.err != "" && (err == nil || err.Error() != c.err) {
				t.Errorf("%s, %v; want %s, %s", got, err, c.want, c.err)
			}
		})
	}
}

func TestAKindThatIsANamespaceWithThisServiceIsRefused(t *testing.T) {
	var objects []client.Object
	for _, name := range [][2]string{{"default", "web"}, {"default", "api"}, {"services", "web"}, {"services", "db"}} {
		objects = append(objects, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: name[0], Name: name[1]}})
	}
	reader := fake.NewClientBuilder().WithObjects(objects...).Build()
	for _, c := range []struct {
		name                      string
		arg, namespace, want, err string
	}{
		{"a kind that is no namespace", "svc/web", "", "default/web", ""},
		{"a kind that is a namespace without this Service", "services/api", "", "default/api", ""},
		{"both have the Service", "services/web", "", "", `argument "services/web": it may mean Service web of namespace services or of namespace default: choose one with --namespace`},
		{"only the namespace of this name has it", "services/db", "", "", `argument "services/db": it may mean Service db of namespace services or of namespace default`},
		{"--namespace names the one of this name", "services/web", "services", "services/web", ""},
		{"--namespace names the other", "services/web", "default", "default/web", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := readService(t.Context(), reader, c.arg, c.namespace, "")
			if c.err == "" && (err != nil || client.ObjectKeyFromObject(&got).String() != c.want) || c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)) {
				t.Errorf("%s of namespace %q: %s/%s, %v; want %s, %s", c.arg, c.namespace, got.Namespace, got.Name, err, c.want, c.err)
			}
		})
	}
}

func TestFlagsWithInvalidValuesAreRefusedWithTheValidForm(t *testing.T) {
	for arg, want := range map[string]string{
		"--concurrency=0":                        "--concurrency 0: must be 1 or more",
		"--sweep-interval=10ms":                  "--sweep-interval 10ms: must be 1s or more",
		"--log-format=xml":                       `--log-format "xml": must be text or json`,
		"--log-format=":                          `--log-format "": must be text or json`,
		"--v=10":                                 "--v 10: must be 0 to 9",
		"--v=-1":                                 "--v -1: must be 0 to 9",
		"--cluster-name=":                        `--cluster-name "": must not be empty`,
		"--cluster-name=\xff":                    `--cluster-name "\xff": must be UTF-8`,
		"--cluster-name=" + longName + "x":       "must have at most 240 bytes",
		"--cloud-rate=-1":                        "--cloud-rate -1: must be above 0: calls per second",
		"--cloud-rate=0":                         "--cloud-rate 0: must be above 0",
		"--cloud-rate=NaN":                       "--cloud-rate NaN: must be above 0",
		"--cloud-rate=Inf":                       "--cloud-rate +Inf: must be above 0",
		"--cloud-burst=0":                        "--cloud-burst 0: must be 1 or more: calls at once",
		"--load-balancer-class=Bad Class":        `--load-balancer-class "Bad Class": must be a name with an optional prefix, such as kube-octavia.io/octavia or my-class: `,
		"--load-balancer-class=":                 `--load-balancer-class "": must be a name`,
		"--load-balancer-class=a/b/c":            `--load-balancer-class "a/b/c": must be a name`,
		"--leader-elect-lease-duration=10s":      "--leader-elect-lease-duration 10s: must be more than --leader-elect-renew-deadline, which is 10s",
		"--leader-elect-renew-deadline=2s":       "--leader-elect-renew-deadline 2s: must be more than 2.4s, which is 1.2 times --leader-elect-retry-period",
		"--leader-elect-retry-period=0s":         "--leader-elect-retry-period 0s: must be above 0s",
		"--metrics-bind-address=8080":            `--metrics-bind-address "8080": must be an address with a port, such as :8080, 127.0.0.1:8080 or [::1]:8080, or 0 for none`,
		"--metrics-bind-address=127.0.0.1":       `--metrics-bind-address "127.0.0.1": must be an address with a port`,
		"--health-probe-bind-address=":           `--health-probe-bind-address "": must be an address with a port`,
		"--health-probe-bind-address=::1:8081":   `--health-probe-bind-address "::1:8081": must be an address with a port`,
		"--health-probe-bind-address=:99999":     `there is no port "99999"`,
		"--health-probe-bind-address=localhost:": `--health-probe-bind-address "localhost:": must be an address with a port`,
	} {
		t.Run(fmt.Sprintf("%.50q", arg), func(t *testing.T) {
			got := runCommand(t, "controller", "--cloud-config=x", arg)
			if got.Status != exitError || !strings.HasPrefix(got.Err, "kube-octavia: ") || !strings.Contains(got.Err, want) || strings.Count(got.Err, "\n") != 1 {
				t.Errorf("%s: %+v, want %q", arg, got, want)
			}
		})
	}
}

func TestControllersAreReadByDoctorAsByTheController(t *testing.T) {
	for arg, want := range map[string]string{
		"--controllers=nodes":                    `--controllers "nodes": "nodes" is not one of service, node, node-lifecycle, route`,
		"--controllers=-service":                 "enables no controller",
		"--controllers=cloud-node,-node":         "node is both enabled and disabled",
		"--controllers=*":                        `--cluster-cidr "": is required by controller route`,
		"--cluster-cidr=10.244.0.0":              `"10.244.0.0" is not a CIDR`,
		"--cluster-cidr=10.0.0.0/16,10.1.0.0/16": "one CIDR of each IP family",
	} {
		t.Run(arg, func(t *testing.T) {
			for _, command := range []string{"controller", "doctor"} {
				t.Run(command, func(t *testing.T) {
					got := runCommand(t, command, "--cloud-config=x", arg)
					if got.Status != exitError || !strings.Contains(got.Err, want) || got.Out != "" {
						t.Errorf("%s %s: %+v, want %q", command, arg, got, want)
					}
				})
			}
		})
	}
}

// longName is the longest name of a cluster: after it one byte is left in the name of a load balancer.
var longName = strings.Repeat("ä", 120)

func TestFlagsWithValidValuesAreAccepted(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for name, args := range map[string][]string{
		"odd cluster name":                    {"--cluster-name=Prod EU, 1/2_\n*"},
		"long cluster name":                   {"--cluster-name=" + longName},
		"class with a prefix":                 {"--load-balancer-class=example.com/A_b.c"},
		"class without a prefix":              {"--load-balancer-class=internal"},
		"low rate":                            {"--cloud-rate=0.1", "--cloud-burst=1"},
		"no metrics and an IPv6 address":      {"--metrics-bind-address=0", "--health-probe-bind-address=[::1]:0"},
		"named host and port":                 {"--metrics-bind-address=localhost:http"},
		"short lease without leader election": {"--leader-elect=false", "--leader-elect-lease-duration=1s"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runCommand(t, append([]string{"controller", "--cloud-config=" + none}, args...)...)
			if want := "kube-octavia: read the cloud configuration: open " + none; !strings.HasPrefix(got.Err, want) {
				t.Errorf("%q: %+v", args, got)
			}
		})
	}
}

func TestAllInvalidFlagsAreReportedTogether(t *testing.T) {
	got := runCommand(t, "controller", "--concurrency=-2", "--sweep-interval=0", "--cluster-name=", "--log-format=xml", "--metrics-bind-address=x", "--leader-elect-retry-period=1h")
	for _, want := range []string{"--cloud-config", "--concurrency -2", "--sweep-interval 0s", "--cluster-name", "--log-format", "--metrics-bind-address", "--leader-elect-renew-deadline"} {
		if !strings.Contains(got.Err, want) {
			t.Errorf("%q is not named in %q", want, got.Err)
		}
	}
	got = runCommand(t, "migrate", "--cloud-rate=0", "--from=x", "-o=y")
	for _, want := range []string{"--cloud-rate", "--from", "--output"} {
		if !strings.Contains(got.Err, want) {
			t.Errorf("%q is not named in %q", want, got.Err)
		}
	}
}

func TestInvalidCloudConfIsRefusedLineByLineAndShowsNoSecret(t *testing.T) {
	path := file(t, "cloud.conf", goodConf+"[LoadBalancer]\nlb-provder = ovn\ncreate-monitor = perhaps\n")
	for _, command := range []string{"controller", "plan"} {
		t.Run(command, func(t *testing.T) {
			got := runCommand(t, command, "--cloud-config="+path)
			for _, want := range []string{path + `:6: [LoadBalancer] unknown key "lb-provder"; did you mean "lb-provider"?`, path + ":7: "} {
				if !strings.Contains(got.Err, want) {
					t.Errorf("said %q, want %q in it", got.Err, want)
				}
			}
			if got.Status != exitError || strings.Contains(got.Err, secret) {
				t.Errorf("exit status %d, said %q", got.Status, got.Err)
			}
		})
	}
}

func TestTheControllerDoesNotStartWhereLoadBalancersAreSwitchedOff(t *testing.T) {
	path := file(t, "cloud.conf", goodConf+"[LoadBalancer]\nenabled = false\n")
	got := runCommand(t, "controller", "--cloud-config="+path)
	if want := path + ": [LoadBalancer] enabled is false"; got.Status != exitError || !strings.Contains(got.Err, want) {
		t.Errorf("got %+v, want %q", got, want)
	}
}

func TestSettingsWithoutEffectAreLogged(t *testing.T) {
	path := file(t, "cloud.conf", goodConf+"[LoadBalancer]\ncascade-delete = false\n")
	none := filepath.Join(t.TempDir(), "none")
	got := runCommand(t, "controller", "--cloud-config="+path, "--kubeconfig="+none)
	if want := path + ":6: [LoadBalancer] cascade-delete: Delete a load balancer and its children in one call. kube-octavia always does so."; !strings.Contains(got.Err, want) {
		t.Errorf("said %q, want %q in it", got.Err, want)
	}
}

func TestKindThatIsNoNamespaceIsReported(t *testing.T) {
	service := func(namespace string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	}
	namespace := func(name string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	reader := fake.NewClientBuilder().WithObjects(namespace("default"), namespace("pods"), namespace("ing"), service("default"), service("pods")).Build()
	for arg, want := range map[string]string{
		"svc/web":    "",
		"pods/web":   "",
		"ing/web":    "Service ing/web does not exist",
		"deploy/web": `argument "deploy/web": kind deploy is not Service; name a Service as NAME, svc/NAME or NAMESPACE/NAME`,
		"shop/web":   `namespace "shop" does not exist`,
		"nope":       "Service default/nope does not exist; without --namespace, the command looks in namespace default",
	} {
		t.Run(arg, func(t *testing.T) {
			_, err := readService(t.Context(), reader, arg, "", "")
			if got := fmt.Sprint(err); want == "" && err != nil || want != "" && got != want {
				t.Errorf("got %s, want %q", got, want)
			}
		})
	}
}

func TestPlanReadsEachServiceThatIsNamed(t *testing.T) {
	service := func(name string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	}
	reader := fake.NewClientBuilder().WithObjects(service("api"), service("web"), service("cart")).Build()
	got, err := (&planOptions{}).read(t.Context(), reader, "shop", []string{"web", "shop/api"})
	if err != nil || len(got) != 2 || got[0].Name != "web" || got[1].Name != "api" {
		t.Errorf("%v, %+v", err, got)
	}
}

func TestPortOfThePageThatIsInUseIsReportedWithAdvice(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	got := runCommand(t, "ui", "--cloud-config="+file(t, "cloud.conf", goodConf), "--address="+taken.Addr().String())
	if got.Status != exitError || !strings.Contains(got.Err, "address already in use; --address=127.0.0.1:0 takes a free port") {
		t.Errorf("got %+v", got)
	}
}
