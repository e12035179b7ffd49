// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package netns

import "fmt"

// In carries out f if name is empty. Only Linux has network namespaces.
func In(name string, f func() error) error {
	if name == "" {
		return f()
	}
	return fmt.Errorf("network namespace %s: only Linux has network namespaces", name)
}
