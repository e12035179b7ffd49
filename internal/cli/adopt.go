// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/kube-octavia/kube-octavia/internal/controller"
)

// adoptValue is a flag that holds a controller.Adoption.
type adoptValue controller.Adoption

// String implements pflag.Value.
func (a *adoptValue) String() string { return string(*a) }

// Set implements pflag.Value.
func (a *adoptValue) Set(text string) error {
	switch controller.Adoption(text) {
	case controller.AdoptTag, controller.AdoptObserve:
		*a = adoptValue(text)
		return nil
	}
	return fmt.Errorf("must be %s or %s", controller.AdoptTag, controller.AdoptObserve)
}

// Type implements pflag.Value.
func (a *adoptValue) Type() string {
	return string(controller.AdoptTag + "|" + controller.AdoptObserve)
}
