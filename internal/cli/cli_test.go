// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestVersionIsThatOfTheBuild(t *testing.T) {
	got := runCommand(t, "version")
	want := "kube-octavia v1.2.3 (" + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + ")\n"
	if got != (ran{Out: want}) {
		t.Errorf("got %+v, want %q", got, want)
	}
}

func TestHelpIsAResult(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}, {"help", "plan"}, {"controller", "-h"}, {"plan", "--help"}} {
		got := runCommand(t, args...)
		if got.Status != 0 || got.Err != "" || !strings.Contains(got.Out, "Usage:") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}

func TestWhatCannotBeDoneIsSaidInALineThatHelps(t *testing.T) {
	conf := file(t, "cloud.conf", goodConf)
	none := filepath.Join(t.TempDir(), "none")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"an unknown command":       {[]string{"frobnicate"}, `unknown command "frobnicate" for "kube-octavia"`},
		"a command with a slip":    {[]string{"controler"}, "Did you mean this?\n\tcontroller"},
		"an unknown flag":          {[]string{"plan", "--frobnicate"}, "unknown flag: --frobnicate; see `kube-octavia plan --help`"},
		"an unknown short flag":    {[]string{"plan", "-z"}, "unknown shorthand flag: 'z' in -z; see `kube-octavia plan --help`"},
		"a flag of no command":     {[]string{"--cloud-config=x"}, "unknown flag: --cloud-config; see `kube-octavia --help`"},
		"a flag without its value": {[]string{"controller", "--concurrency"}, "flag needs an argument: --concurrency; see `kube-octavia controller --help`"},
		"a value that is no number": {
			[]string{"controller", "--concurrency=many"}, `invalid argument "many" for "--concurrency" flag`,
		},
		"an argument too many for the controller": {[]string{"controller", "stray"}, `unknown command "stray" for "kube-octavia controller"`},
		"two Services to plan for":                {[]string{"plan", "a", "b"}, "accepts at most 1 arg(s), received 2"},
		"no cloud.conf for the controller":        {[]string{"controller"}, "--cloud-config is required: the path of cloud.conf"},
		"no cloud.conf for plan":                  {[]string{"plan"}, "--cloud-config is required: the path of cloud.conf"},
		"a cloud.conf that is not there":          {[]string{"plan", "--cloud-config=" + none}, "read the cloud configuration: open " + none},
		"an output that is none": {
			[]string{"plan", "--cloud-config=" + conf, "-o", "yaml"}, `--output "yaml": must be text or json`,
		},
		"a kubeconfig that is not there": {
			[]string{"plan", "--cloud-config=" + conf, "--kubeconfig=" + none}, "find the cluster: stat " + none,
		},
		"the same for the controller": {
			[]string{"controller", "--cloud-config=" + conf, "--kubeconfig=" + none}, "find the cluster: stat " + none,
		},
		"a way to adopt that is none": {[]string{"controller", "--adopt=steal"}, `invalid argument "steal" for "--adopt" flag: must be tag or observe`},
		"the same of a plan":          {[]string{"plan", "--adopt="}, `invalid argument "" for "--adopt" flag: must be tag or observe`},
		"a migration of one Service":  {[]string{"migrate", "web"}, `unknown command "web" for "kube-octavia migrate"`},
		"an output of a migration":    {[]string{"migrate", "--cloud-config=" + conf, "-o", "yaml"}, `--output "yaml": must be text or json`},
		"a migration from no cloud":   {[]string{"migrate"}, "--cloud-config is required"},
		"no Service at all at once":   {[]string{"controller", "--concurrency=0"}, "--concurrency 0: must be 1 or more"},
		"a sweeper that never rests":  {[]string{"controller", "--sweep-interval=10ms"}, "--sweep-interval 10ms: must be 1s or more"},
		"a log format that is none":   {[]string{"controller", "--log-format=xml"}, `--log-format "xml": must be text or json`},
		"a log format of plan":        {[]string{"plan", "--log-format="}, `--log-format "": must be text or json`},
		"more logs than there are":    {[]string{"plan", "-v", "10"}, "--v 10: must be 0 to 9"},
		"fewer logs than none":        {[]string{"controller", "--v=-1"}, "--v -1: must be 0 to 9"},
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

func TestAllFlagsThatAreWrongAreNamedAtOnce(t *testing.T) {
	got := runCommand(t, "controller", "--concurrency=-2", "--sweep-interval=0")
	for _, want := range []string{"--concurrency -2", "--sweep-interval 0s"} {
		if !strings.Contains(got.Err, want) {
			t.Errorf("%q is not named in %q", want, got.Err)
		}
	}
}

func TestABadCloudConfIsRefusedLineByLineAndShowsNoSecret(t *testing.T) {
	path := file(t, "cloud.conf", goodConf+"[LoadBalancer]\nlb-provder = ovn\ncreate-monitor = perhaps\n")
	for _, command := range []string{"controller", "plan"} {
		got := runCommand(t, command, "--cloud-config="+path)
		for _, want := range []string{path + `:6: [LoadBalancer] unknown key "lb-provder"; did you mean "lb-provider"?`, path + ":7: "} {
			if !strings.Contains(got.Err, want) {
				t.Errorf("%s: said %q, want %q in it", command, got.Err, want)
			}
		}
		if got.Status != exitError || strings.Contains(got.Err, secret) {
			t.Errorf("%s: exit status %d, said %q", command, got.Status, got.Err)
		}
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
	if want := path + ":6: [LoadBalancer] cascade-delete: accepted, but"; !strings.Contains(got.Err, want) {
		t.Errorf("said %q, want %q in it", got.Err, want)
	}
}
