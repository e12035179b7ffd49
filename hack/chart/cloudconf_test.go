// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// conf reads the cloud.conf that the chart renders from values.
func conf(t rapid.TB, values map[string]any) (config.Config, string) {
	t.Helper()
	texts, err := render(loaded(t), values, helm)
	if err != nil {
		t.Fatal(err)
	}
	text := string(object[corev1.Secret](t, "\n"+texts["secret.yaml"], "Secret").Data["cloud.conf"])
	c, err := config.Parse("cloud.conf", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c, text
}

func TestCloudConfHasTheValues(t *testing.T) {
	values := parsed(t, caseFile(t, "cloud-conf", "values.yaml"))
	got, text := conf(t, values)
	const password = `a "quoted" \ back#slash; and = more`
	type settings struct {
		AuthURL, Username, Password, Project, CAFile, FloatingNetwork, Subnet, Flavor, ClassSubnet, OddMethod, Like, ServiceSubnet string
		Monitor, ClusterIP                                                                                                         bool
		MaxShared                                                                                                                  int
		Delay                                                                                                                      string
	}
	if diff := cmp.Diff(settings{
		AuthURL: "https://keystone.example.com:5000/v3", Username: "kube-octavia", Password: password, Project: "cluster",
		CAFile: "/etc/kube-octavia/ca.crt", FloatingNetwork: "fbe493e0-33ac-47fc-b1bb-f62023643552",
		Subnet: "2c88a58a-9b5d-4dca-b7e9-113d44d5a797", ClassSubnet: "6fd0f4f2-5c0e-44b1-9f0e-2a5c3e0c7d11", OddMethod: "SOURCE_IP",
		Like: "amphora", ServiceSubnet: "0d1c4a9e-0b0a-4a0c-8d9c-0f6f3d1f6a52", Monitor: true, ClusterIP: true, MaxShared: 5, Delay: "10s",
	}, settings{
		AuthURL: got.Global.AuthURL, Username: got.Global.Username, Password: got.Global.Password.Reveal(), Project: got.Global.TenantName,
		CAFile: got.Global.CAFile, FloatingNetwork: got.LoadBalancer.FloatingNetworkID, Subnet: got.LoadBalancer.SubnetID,
		Flavor: got.LoadBalancer.FlavorID, ClassSubnet: got.LoadBalancer.Classes["internal"].SubnetID,
		OddMethod: got.LoadBalancer.Classes[`"odd" \ name`].Method, Like: got.Vendors["f5"].Like, ServiceSubnet: got.ClusterIP.ServiceSubnetID,
		Monitor: got.LoadBalancer.CreateMonitor, ClusterIP: got.ClusterIP.Enabled, MaxShared: got.LoadBalancer.MaxShared,
		Delay: got.LoadBalancer.MonitorDelay.String(),
	}); diff != "" {
		t.Errorf("(-values +cloud.conf):\n%s\n%s", diff, text)
	}
	if diff := cmp.Diff(2, strings.Count(text, "public-network-name = ")); diff != "" {
		t.Errorf("a list is a key for each of its values:\n%s", text)
	}
}

// TestAnyTextOfAValueReachesTheControllerUnchanged is about passwords, class names and other text with whatever is in them.
func TestAnyTextOfAValueReachesTheControllerUnchanged(t *testing.T) {
	special := []rune("\"\\#;=[]\n\t '%{}$|é\u2028\u0085")
	texts := rapid.StringOf(rapid.OneOf(rapid.SampledFrom(special), rapid.Rune().Filter(func(r rune) bool {
		return r != 0 && r != '\r' && r != '\ufeff'
	})))
	names := texts.Filter(func(s string) bool {
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 })
	})
	rapid.Check(t, func(r *rapid.T) {
		password, user, class := texts.Draw(r, "password"), texts.Draw(r, "user"), names.Draw(r, "class")
		values := parsed(r, minimal)
		values["cloudConfig"] = map[string]any{
			"global":              map[string]any{"auth-url": "https://keystone.example.com/v3", "username": "u" + user, "domain-name": "d", "password": "p" + password},
			"loadBalancerClasses": map[string]any{class: map[string]any{"availability-zone": "f"}},
		}
		got, text := conf(r, values)
		if got.Global.Password.Reveal() != "p"+password || got.Global.Username != "u"+user {
			r.Errorf("%q and %q became %q and %q:\n%s", "p"+password, "u"+user, got.Global.Password.Reveal(), got.Global.Username, text)
		}
		if diff := cmp.Diff([]string{class}, got.LoadBalancer.ClassNames()); diff != "" {
			r.Errorf("classes (-values +cloud.conf):\n%s\n%s", diff, text)
		}
	})
}

// example has a value of each kind.
var example = map[config.Kind]any{
	config.String: "a", config.ID: "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04", config.Strings: []any{"a", "b"}, config.Password: "a", config.Bool: true, config.TrueFalse: true, config.Int: float64(1e6), config.Duration: "5s",
}

// exampleOf returns a value of a key.
func exampleOf(key config.Key) any {
	if key.Name == "auth-url" {
		return "https://another.example.com/v3"
	}
	return example[key.Kind]
}

// mountsClouds returns values with which the file of use-clouds may be in a volume other than that of the
// chart.
func mountsClouds(t *testing.T) map[string]any {
	t.Helper()
	return parsed(t, withConf("clusterIP: {}")+"extraVolumeMounts: [{name: clouds, mountPath: /etc/openstack}]")
}

// TestEveryKeyOfCloudConfCanBeSet sets each key that the controller uses, and looks for it in the file.
func TestEveryKeyOfCloudConfCanBeSet(t *testing.T) {
	sections := map[string]string{"Global": "global", "LoadBalancer": "loadBalancer", "LoadBalancerClass": "loadBalancerClasses",
		"LoadBalancerProvider": "loadBalancerProviders", "ClusterIP": "clusterIP", "Networking": "networking", "Route": "route", "Metadata": "metadata"}
	for _, key := range config.Keys() {
		section, known := sections[key.Section]
		if !known {
			if key.Use == config.Used {
				t.Errorf("section %s has a key that is used, and the chart does not have it", key.Section)
			}
			continue
		}
		keys := map[string]any{key.Name: exampleOf(key)}
		if strings.HasSuffix(section, "es") || strings.HasSuffix(section, "Providers") {
			keys = map[string]any{"name": keys}
		}
		values := mountsClouds(t)
		cloud := values["cloudConfig"].(map[string]any)
		if section == "global" {
			maps.Copy(cloud["global"].(map[string]any), keys)
		} else {
			cloud[section] = keys
		}
		texts, err := render(loaded(t), values, helm)
		if err != nil {
			t.Errorf("[%s] %s: %v", key.Section, key.Name, err)
			continue
		}
		text := string(object[corev1.Secret](t, "\n"+texts["secret.yaml"], "Secret").Data["cloud.conf"])
		_, rest, found := strings.Cut(text, fmt.Sprintf("[%s", key.Section))
		if !found || !strings.Contains(rest, "\n"+key.Name+" = ") {
			t.Errorf("[%s] %s is not in\n%s", key.Section, key.Name, text)
		}
		if key.Kind == config.Int && !strings.Contains(rest, " = 1000000\n") {
			t.Errorf("[%s] %s: a number is written as\n%s", key.Section, key.Name, text)
		}
	}
}

// TestPodsAreReplacedOnlyForSettingsThatAreReadAtTheStart changes one key after the other.
func TestPodsAreReplacedOnlyForSettingsThatAreReadAtTheStart(t *testing.T) {
	template := func(global, other map[string]any, files string) string {
		values := mountsClouds(t)
		cloud := values["cloudConfig"].(map[string]any)
		cloud["loadBalancer"], cloud["files"] = other, map[string]any{"ca.crt": files}
		maps.Copy(cloud["global"].(map[string]any), global)
		texts, err := render(loaded(t), values, helm)
		if err != nil {
			t.Fatal(err)
		}
		d := object[appsv1.Deployment](t, texts["deployment.yaml"], "Deployment")
		return fmt.Sprint(d.Spec.Template.Annotations)
	}
	before := template(nil, nil, "")
	if template(nil, nil, "other") != before {
		t.Error("a file is reloaded, and its change replaces the Pods")
	}
	for _, key := range config.Keys() {
		set := map[string]any{key.Name: exampleOf(key)}
		switch {
		case key.Section == "Global" && key.Use == config.Used && (template(set, nil, "") == before) != key.Live:
			t.Errorf("[Global] %s is reloaded: %v, and its change replaces the Pods: %v", key.Name, key.Live, key.Live)
		case key.Section == "LoadBalancer" && (template(nil, set, "") == before) != key.Live:
			t.Errorf("[LoadBalancer] %s: its change does not replace the Pods", key.Name)
		}
	}
}

func TestTheSecretHasTheFiles(t *testing.T) {
	texts := rendered(t, helm, withConf(`files: {ca.crt: "a\r\nb", clouds.yaml: ""}`))
	data := object[corev1.Secret](t, "\n"+texts["secret.yaml"], "Secret").Data
	if diff := cmp.Diff([]string{"ca.crt", "cloud.conf", "clouds.yaml"}, slices.Sorted(maps.Keys(data))); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if string(data["ca.crt"]) != "a\r\nb" {
		t.Errorf("ca.crt is %q", data["ca.crt"])
	}
	if texts := rendered(t, helm, minimal); texts["secret.yaml"] != "" {
		t.Errorf("there is a Secret beside the existing one:\n%s", texts["secret.yaml"])
	}
}
