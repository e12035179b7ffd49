// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import "syscall"

// childAttributes keeps a Ctrl-C at the terminal from the child, which is ended
// in order, and has the kernel kill it when this process dies.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
