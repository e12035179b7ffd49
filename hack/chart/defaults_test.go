// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/kube-octavia/kube-octavia/internal/cli"
)

// flagOf are the flags of the values whose default is that of the program.
var flagOf = map[string]string{
	"loadBalancerClass": "load-balancer-class", "handleDefaultClass": "handle-default-class", "concurrency": "concurrency",
	"sweepInterval": "sweep-interval", "orphanGracePeriod": "orphan-grace-period", "cloudRate": "cloud-rate", "cloudBurst": "cloud-burst",
	"controllers": "controllers", "podReadinessGates.enabled": "pod-readiness-gates", "log.level": "v",
}

// run runs a command of kube-octavia, and returns its exit status and what it prints.
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
			want = found[1]
		}
		var got any
		if err := json.Unmarshal([]byte(v.Default), &got); err != nil {
			t.Fatal(err)
		}
		if !same(want, strings.Trim(v.Default, `"`)) {
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
		d := object[appsv1.Deployment](t, rendered(t, r, caseFile(t, name, "values.yaml"))["deployment.yaml"], "Deployment")
		args := d.Spec.Template.Spec.Containers[0].Args
		for i, a := range args {
			args[i] = strings.Replace(a, "--cloud-config=", "--cloud-config="+t.TempDir(), 1)
		}
		if status, out := run(args...); status != 1 || !strings.Contains(out, "read the cloud configuration") {
			t.Errorf("%s: exit status %d of %v:\n%s", name, status, args, out)
		}
	}
}
