// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"fmt"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// directory is where ip-netns(8) keeps the names of network namespaces.
const directory = "/run/netns"

// In carries out f in the network namespace of that name, as ip-netns(8) names
// them, and returns f's error. The empty name is the namespace of the process.
//
// What f opens stays in the namespace and may be used anywhere. f must open it itself: a goroutine
// that it starts is not in the namespace. So a dialer in f needs a literal address, and one address
// only; a host name, or addresses of two families, would be tried by other goroutines.
func In(name string, f func() error) error {
	if name == "" {
		return f()
	}
	done := make(chan error, 1)
	// A goroutine of its own: should the way back fail, it ends while it is
	// locked to its thread, and takes the thread with it.
	go func() {
		runtime.LockOSThread()
		home, err := enter(name)
		if err != nil {
			runtime.UnlockOSThread() // the thread has not moved
			done <- err
			return
		}
		err = f()
		if unix.Setns(home, unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		_ = unix.Close(home)
		done <- err
	}()
	return <-done
}

// enter moves the thread into the namespace, and returns a descriptor of the
// namespace that it was in.
func enter(name string) (home int, err error) {
	home, err = unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("network namespace of this process: %w", err)
	}
	there, err := unix.Open(filepath.Join(directory, name), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = unix.Close(home)
		return -1, fmt.Errorf("network namespace %s: %w (ip netns add %s makes it)", name, err, name)
	}
	err = unix.Setns(there, unix.CLONE_NEWNET)
	_ = unix.Close(there)
	if err != nil {
		_ = unix.Close(home)
		return -1, fmt.Errorf("cannot enter network namespace %s: %w (it takes root)", name, err)
	}
	return home, nil
}
