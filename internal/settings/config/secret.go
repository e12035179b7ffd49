// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// redacted stands for a secret wherever one is printed.
const redacted = "[redacted]"

// Secret is a password, token or the like. However it is printed, logged or marshalled, alone or inside another value, it
// shows as "[redacted]", or as nothing when it is empty. Reveal gives the value.
type Secret string

// Reveal returns the secret itself, for the one place that sends it.
func (s Secret) Reveal() string { return string(s) }

// String returns "[redacted]", or the empty string.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString is String: %#v tells nothing either.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// Format covers the verbs that would print a string's value past String, such as %d.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'q' || f.Flag('#') {
		text = fmt.Sprintf("%q", text)
	}
	_, _ = io.WriteString(f, text)
}

// MarshalJSON gives String.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText gives String, for encoders other than JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalLog gives String to logr.
func (s Secret) MarshalLog() any { return s.String() }

// LogValue gives String to slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
