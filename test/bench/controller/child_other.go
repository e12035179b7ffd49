// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package controller

import "syscall"

// childAttributes keeps a Ctrl-C at the terminal from the child, which is ended
// in order.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
