// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
)

// flagOf has the flags of the values whose default is that of the program.
var flagOf = map[string]string{
	"loadBalancerClass": "load-balancer-class", "handleDefaultClass": "handle-default-class", "concurrency": "concurrency",
	"sweepInterval": "sweep-interval", "orphanGracePeriod": "orphan-grace-period", "cloudRate": "cloud-rate", "cloudBurst": "cloud-burst",
	"controllers": "controllers", "podReadinessGates.enabled": "pod-readiness-gates", "log.level": "v",
}

// run runs a command of kube-octavia, and returns its exit status and its output.
func run(args ...string) (int, string) {
	var out bytes.Buffer
	status := cli.Run(context.Background(), args, cli.IO{Out: &out, Err: &out}, cli.Options{})
	return status, out.String()
}

func TestDefaultsAreThoseOfTheProgram(t *testing.T) {
	_, help := run("controller", "--help")
	values, err := readValues(root)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, v := range values {
		flag, is := flagOf[v.Path]
		if !is {
			continue
		}
		seen++
		line := regexp.MustCompile(`(?m)^.*--` + flag + `\s.*$`).FindString(help)
		if line == "" {
			t.Errorf("kube-octavia controller has no flag --%s", flag)
		}
		want := "false" // --help does not show the zero value
		if found := regexp.MustCompile(`\(default "?([^")]+)"?\)`).FindStringSubmatch(line); found != nil {
			want = strings.Trim(found[1], "[]")
		}
		var got any
		if err := json.Unmarshal([]byte(v.Default), &got); err != nil {
			t.Fatal(err)
		}
		if !same(want, strings.Trim(v.Default, `[]"`)) { // --help shows a list as [a,b]
			t.Errorf("%s is %s, and the default of --%s is %s", v.Path, v.Default, flag, want)
		}
	}
	if seen != len(flagOf) {
		t.Errorf("values.yaml has %d of these values, and %d flags are known", seen, len(flagOf))
	}
}

// same compares the texts of two values.
func same(a, b string) bool {
	x, errX := time.ParseDuration(a)
	y, errY := time.ParseDuration(b)
	zero := func(s string) bool { return s == "false" || s == "0" }
	return a == b || errX == nil && errY == nil && x == y || zero(a) && zero(b)
}

// TestTheProgramTakesTheArguments runs the program with the arguments of each release. It gets as far as the file with the
// configuration, which does not exist.
func TestTheProgramTakesTheArguments(t *testing.T) {
	for name, r := range cases {
		t.Run(name, func(t *testing.T) {
			texts := rendered(t, r, caseFile(t, name, "values.yaml"))
			d := object[appsv1.Deployment](t, texts["deployment.yaml"], "Deployment")
			takesArguments(t, name, d.Spec.Template.Spec.Containers[0].Args)
			if text, has := texts["drain/job.yaml"]; has {
				takesArguments(t, name+", the Job", object[batchv1.Job](t, text, "Job").Spec.Template.Spec.Containers[0].Args)
			}
		})
	}
}

func takesArguments(t *testing.T, name string, args []string) {
	t.Helper()
	for i, a := range args {
		args[i] = strings.Replace(a, "--cloud-config=", "--cloud-config="+t.TempDir(), 1)
	}
	if status, out := run(args...); status != 1 || !strings.Contains(out, "read the cloud configuration") {
		t.Errorf("%s: exit status %d of %v:\n%s", name, status, args, out)
	}
}

// TestTheValuesOfThePageAboutClusterAPIAreThoseOfTheChart renders the chart with the values in the HelmChartProxy of the page.
func TestTheValuesOfThePageAboutClusterAPIAreThoseOfTheChart(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "magnum-and-cluster-api.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "      valuesTemplate: |\n")
	values, _, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatal("the page has no valuesTemplate")
	}
	values = strings.ReplaceAll(strings.ReplaceAll("\n"+values, "\n        ", "\n"), "{{ .Cluster.metadata.name }}", "shop")
	texts := rendered(t, helm, values)
	d := object[appsv1.Deployment](t, texts["deployment.yaml"], "Deployment")
	if args := d.Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, "--cluster-name=shop") || !slices.Contains(args, "--adopt=observe") {
		t.Errorf("the arguments are %v", args)
	}
}

func TestTheNetworkPolicyAllowsTheUsualPortsOfAllServicesThatAreCalled(t *testing.T) {
	usual := map[string]int32{
		calls.ServiceIdentity: 5000, calls.ServiceCompute: 8774, calls.ServiceKeyManager: 9311,
		calls.ServiceNetwork: 9696, calls.ServiceLoadBalancer: 9876,
	}
	allowed := map[int32]bool{}
	policy := object[networkingv1.NetworkPolicy](t, rendered(t, helm, minimal+"networkPolicy: {enabled: true}")["networkpolicy.yaml"], "NetworkPolicy")
	for _, rule := range policy.Spec.Egress {
		for _, port := range rule.Ports {
			allowed[port.Port.IntVal] = true
		}
	}
	for _, call := range calls.All() {
		if !allowed[usual[call.Service]] {
			t.Errorf("service %s, port %d: %s %s", call.Service, usual[call.Service], call.Method, call.Path)
		}
	}
}

// TestJobDrainsTheServicesOfTheDeployment compares the arguments that both have.
func TestJobDrainsTheServicesOfTheDeployment(t *testing.T) {
	texts := rendered(t, helm, caseFile(t, "everything", "values.yaml"))
	job := object[batchv1.Job](t, texts["drain/job.yaml"], "Job")
	d := object[appsv1.Deployment](t, texts["deployment.yaml"], "Deployment")
	pod, of := job.Spec.Template.Spec, d.Spec.Template.Spec
	var only []string
	for _, arg := range pod.Containers[0].Args {
		if !slices.Contains(of.Containers[0].Args, arg) {
			only = append(only, arg)
		}
	}
	if diff := cmp.Diff([]string{"cleanup", "--drain", "--delete", "--scale-down=" + d.Name}, only); diff != "" {
		t.Errorf("arguments of the Job only (-want +got):\n%s", diff)
	}
	for _, name := range []string{"cluster-name", "load-balancer-class", "handle-default-class", "leader-elect-resource-name", "cloud-config", "kubeconfig"} {
		if !slices.ContainsFunc(pod.Containers[0].Args, func(arg string) bool { return strings.HasPrefix(arg, "--"+name+"=") }) {
			t.Errorf("the Job has no --%s", name)
		}
	}
	if pod.ServiceAccountName != of.ServiceAccountName || !cmp.Equal(pod.Volumes, of.Volumes) || !cmp.Equal(pod.Containers[0].Env, of.Containers[0].Env) || pod.Containers[0].Image != of.Containers[0].Image {
		t.Error("the Job has another account, image, environment or files")
	}
	if selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector); err != nil || selector.Matches(labels.Set(job.Spec.Template.Labels)) {
		t.Errorf("the Deployment, the budget and the Service select the Pod of the Job, too: %v %v", selector, err)
	}
	if job.Annotations["helm.sh/hook"] != "pre-delete" {
		t.Errorf("annotations of the Job: %v", job.Annotations)
	}
}

// TestTheManifestsAdoptAsTheChartDoes is about the two ways to install, which have one default.
func TestTheManifestsAdoptAsTheChartDoes(t *testing.T) {
	want := "--adopt=" + loaded(t).Values["adopt"].(string)
	for _, file := range []string{"deployment.yaml", filepath.Join("ui", "deployment.yaml")} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, "deploy", file))
			if err != nil {
				t.Fatal(err)
			}
			args := object[appsv1.Deployment](t, "\n"+string(text), "Deployment").Spec.Template.Spec.Containers[0].Args
			if !slices.Contains(args, want) {
				t.Errorf("deploy/%s has no %s: %v", file, want, args)
			}
		})
	}
}

// TestNotesSayWhatTheFirstServiceNeeds renders NOTES.txt.
func TestNotesSayWhatTheFirstServiceNeeds(t *testing.T) {
	const closed = "Security groups of a new project do not admit this traffic"
	for name, c := range map[string]struct {
		values         string
		want, unwanted []string
	}{
		"a Secret": {minimal, []string{closed, "Unless cloud.conf has manage-security-groups = true", "in Secret", "--dst-port 30000:32767",
			"EXTERNAL-IP stays <pending>", "--set adopt=tag"}, []string{"cloudConfig.loadBalancer.manage"}},
		"values": {withConf("loadBalancer: {lb-provider: amphora}"), []string{closed, "--set cloudConfig.loadBalancer.manage-security-groups=true"},
			[]string{"Unless cloud.conf"}},
		"managed groups": {withConf("loadBalancer: {manage-security-groups: true}"), nil, []string{closed, "openstack security group"}},
		"Pods":           {withConf("loadBalancer: {target-type: pod}"), nil, []string{closed}},
		"no Services":    {minimal + "controllers: [node]", nil, []string{closed}},
		"tag":            {minimal + "adopt: tag", []string{"It serves Services", closed}, []string{"<pending>", "adopt=tag"}},
	} {
		t.Run(name, func(t *testing.T) {
			notes := rendered(t, helm, c.values)["NOTES.txt"]
			for _, words := range c.want {
				if !strings.Contains(notes, words) {
					t.Errorf("the notes have no %q:\n%s", words, notes)
				}
			}
			for _, words := range c.unwanted {
				if strings.Contains(notes, words) {
					t.Errorf("the notes have %q:\n%s", words, notes)
				}
			}
		})
	}
}
