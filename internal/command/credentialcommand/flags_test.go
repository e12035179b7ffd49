// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package credentialcommand

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestExpiryIsReadAsADurationOrADate(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]string{
		"": "", "never": "", "90d": "2026-04-02T03:04:05Z", "12h": "2026-01-02T15:04:05Z", "2030-01-31": "2030-01-31T00:00:00Z",
		"2030-01-31T10:00:00+01:00": "2030-01-31T09:00:00Z",
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			got, err := parseExpiry(text, now)
			if err != nil || want == "" && !got.IsZero() || want != "" && got.Format(time.RFC3339) != want {
				t.Errorf("%q is %v, %v", text, got, err)
			}
		})
	}
	for _, text := range []string{"soon", "d", "-1d", "0h", "2020-01-01", "90"} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			if got, err := parseExpiry(text, now); err == nil || !strings.Contains(err.Error(), "--expires") {
				t.Errorf("%q is taken for %v, %v", text, got, err)
			}
		})
	}
}

func TestNameOfASecretNeedsItsNamespace(t *testing.T) {
	if name, err := parseSecretName("a/b"); err != nil || name.Namespace != "a" || name.Name != "b" {
		t.Errorf("%v, %v", name, err)
	}
	for _, text := range []string{"b", "/b", "a/", "a/b/c", ""} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			if _, err := parseSecretName(text); err == nil {
				t.Error("it is accepted")
			}
		})
	}
}
