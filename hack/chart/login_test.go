// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// logins has the keys of [Global] that determine where and how to log in.
var logins = map[string]string{
	"auth-url": "https://keystone.example.com/v3", "username": "u", "user-id": "u", "user-domain-name": "d", "domain-id": "d", "password": "p",
	"application-credential-id": "a", "application-credential-name": "a", "application-credential-secret": "s",
	"trust-id": "t", "trustee-id": "u", "trustee-password": "p", "token": "t", "tenant-id": "k",
}

// TestChartAndProgramRefuseTheSameLogins takes any of the keys. The chart must not refuse a login that works, and must
// refuse each that lacks an identity or a secret. It leaves to the program what says one thing twice.
func TestChartAndProgramRefuseTheSameLogins(t *testing.T) {
	keys := slices.Sorted(maps.Keys(logins))
	rapid.Check(t, func(r *rapid.T) {
		global, text := map[string]any{}, "[Global]\n"
		for _, key := range keys {
			if rapid.Bool().Draw(r, key) {
				global[key] = logins[key]
				text += fmt.Sprintf("%s = %s\n", key, logins[key])
			}
		}
		if len(global) == 0 {
			return
		}
		values := parsed(r, minimal)
		values["cloudConfig"] = map[string]any{"global": global}
		_, chart := render(loaded(r), values, helm)
		_, program := config.Parse("cloud.conf", []byte(text))
		if chart != nil && program == nil {
			r.Errorf("%v works, and the chart refuses it: %v", global, chart)
		}
		if chart == nil && program != nil && !twice(program) {
			r.Errorf("the chart takes %v, and the program does not: %v", global, program)
		}
	})
}

// twice reports whether the program complains only about redundant keys.
func twice(problem error) bool {
	for line := range strings.Lines(problem.Error()) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.Contains(line, "more than one way") && !strings.Contains(line, "not both") && !strings.Contains(line, "cannot be combined") &&
			!strings.Contains(line, "keep one") && strings.Contains(line, "[Global]") {
			return false
		}
	}
	return true
}
