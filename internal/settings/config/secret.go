// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// redacted is what is printed instead of a secret.
const redacted = "[redacted]"

// Secret is a password, token or the like. When it is printed, logged or marshalled, alone or inside another value, it
// appears as "[redacted]", or as nothing if it is empty. Reveal returns the value.
type Secret string

// Reveal returns the secret itself, for the only code that sends it.
func (s Secret) Reveal() string { return string(s) }

// String returns "[redacted]", or the empty string.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString returns String quoted, so that %#v shows nothing either.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// Format handles the verbs that would print the value without calling String, such as %d.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'q' || f.Flag('#') {
		text = fmt.Sprintf("%q", text)
	}
	_, _ = io.WriteString(f, text)
}

// MarshalJSON marshals String.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText marshals String, for encoders other than JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalLog returns String to logr.
func (s Secret) MarshalLog() any { return s.String() }

// LogValue returns String to slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
