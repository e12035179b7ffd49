// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
)

// never is the text of orphan.Never.
const never = "never"

// graceValue is a flag that holds a duration above zero, or never. Zero is rejected, because
// it could mean "at once" or "never".
type graceValue time.Duration

// String implements pflag.Value.
func (g *graceValue) String() string {
	if time.Duration(*g) == orphan.Never {
		return never
	}
	return time.Duration(*g).String()
}

// Set implements pflag.Value.
func (g *graceValue) Set(text string) error {
	if text == never {
		*g = graceValue(orphan.Never)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return errors.New("must be a duration above 0s, such as 90m, or never")
	}
	*g = graceValue(d)
	return nil
}

// Type implements pflag.Value.
func (g *graceValue) Type() string { return "duration" }
