// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package kube

import "syscall"

// childAttributes puts a child into a process group of its own, so that a
// Ctrl-C at the terminal reaches this process only, which then ends its
// children in order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
