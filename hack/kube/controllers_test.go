// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/cloud-provider/names"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/controller-manager/app"
	cmconfig "k8s.io/controller-manager/config"
	"k8s.io/controller-manager/options"
)

// controllers are the controllers of a cloud controller manager.
var controllers = []string{names.CloudNodeController, names.ServiceLBController, names.NodeRouteController, names.CloudNodeLifecycleController}

// enabled returns the controllers that a cloud controller manager runs with the arguments, as determined by its
// library. Arguments other than --controllers are ignored.
func enabled(t *testing.T, args []string) (running []string) {
	t.Helper()
	o := options.NewGenericControllerManagerConfigurationOptions(&cmconfig.GenericControllerManagerConfiguration{Controllers: []string{"*"}})
	var sections cliflag.NamedFlagSets
	o.AddFlags(&sections, controllers, nil, names.CCMControllerAliases())
	flags := sections.FlagSet("generic")
	flags.ParseErrorsAllowlist.UnknownFlags = true
	if err := flags.Parse(args); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	if errs := o.Validate(controllers, nil, names.CCMControllerAliases()); len(errs) > 0 {
		t.Fatalf("%q: %v", args, errs)
	}
	var config cmconfig.GenericControllerManagerConfiguration
	if err := o.ApplyTo(&config, controllers, nil, names.CCMControllerAliases()); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	for _, name := range controllers {
		if app.IsControllerEnabled(name, nil, config.Controllers) {
			running = append(running, name)
		}
	}
	return running
}

// TestKubernetesEnablesControllersAsInTheTable reads the table that package othercontroller is tested with.
func TestKubernetesEnablesControllersAsInTheTable(t *testing.T) {
	table, err := os.ReadFile("../../internal/operate/othercontroller/testdata/controllers.txt")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for line := range strings.Lines(string(table)) {
		args, want, found := strings.Cut(strings.TrimSpace(line), "-> ")
		if strings.HasPrefix(line, "#") || !found {
			continue
		}
		compared++
		if got := slices.Contains(enabled(t, strings.Fields(args)), names.ServiceLBController); got != (want == "on") {
			t.Errorf("%q: the service controller runs: %v, want %s", args, got, want)
		}
	}
	if compared < 15 {
		t.Errorf("only %d lines of the table were compared", compared)
	}
}

// TestTheExamplesOfThePageSwitchOnlyTheServiceControllerOff reads each --controllers of docs/migrate-from-occm.md.
func TestTheExamplesOfThePageSwitchOnlyTheServiceControllerOff(t *testing.T) {
	page, err := os.ReadFile("../../docs/migrate-from-occm.md")
	if err != nil {
		t.Fatal(err)
	}
	on := []string{names.CloudNodeController, names.NodeRouteController, names.CloudNodeLifecycleController}
	examples := regexp.MustCompile(`--controllers=[^\s"`+"`"+`]+`).FindAllString(string(page), -1)
	for _, value := range regexp.MustCompile(`enabledControllers: \[([^\]]+)\]`).FindAllStringSubmatch(string(page), -1) {
		examples = append(examples, "--controllers="+strings.ReplaceAll(value[1], " ", ""))
	}
	for _, example := range examples {
		if strings.HasSuffix(example, ",service") {
			continue // the line before the change
		}
		got := enabled(t, []string{example})
		slices.Sort(got)
		slices.Sort(on)
		if !slices.Equal(got, on) {
			t.Errorf("with %s run %v, want %v", example, got, on)
		}
	}
	if len(examples) < 4 {
		t.Errorf("the page has only the examples %v", examples)
	}
}
