// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/orphan"
)

// adoptValue is a flag that holds a claim.Adoption.
type adoptValue claim.Adoption

// String implements pflag.Value.
func (a *adoptValue) String() string { return string(*a) }

// Set implements pflag.Value.
func (a *adoptValue) Set(text string) error {
	switch claim.Adoption(text) {
	case claim.AdoptTag, claim.AdoptObserve:
		*a = adoptValue(text)
		return nil
	}
	return fmt.Errorf("must be %s or %s", claim.AdoptTag, claim.AdoptObserve)
}

// Type implements pflag.Value.
func (a *adoptValue) Type() string {
	return string(claim.AdoptTag + "|" + claim.AdoptObserve)
}

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
