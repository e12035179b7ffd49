// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/kube-octavia/kube-octavia/internal/claim"
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
