// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import "syscall"

// childAttributes puts a child into a process group of its own, so that a
// Ctrl-C at the terminal reaches this process only, which then ends its
// children in order; and has the kernel kill the child when this process dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
