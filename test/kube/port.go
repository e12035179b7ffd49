// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// reservePort finds a free TCP port of 127.0.0.1 and keeps it until release is
// called. A server that shares ports (SO_REUSEPORT) can listen on it meanwhile;
// no other program gets it. To look for a free port and close it again would let
// another process take it in the second that the server needs to listen.
func reservePort() (port int, release func(), err error) {
	// No child may be forked before it is said that it shall not inherit.
	syscall.ForkLock.RLock()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return 0, nil, fmt.Errorf("reserve a TCP port: %w", err)
	}
	release = func() { _ = unix.Close(fd) }
	port, err = bindShared(fd)
	if err != nil {
		release()
		return 0, nil, fmt.Errorf("reserve a TCP port of 127.0.0.1: %w", err)
	}
	return port, release, nil
}

// bindShared binds the socket to a free port, which it returns. The socket
// does not listen, so that no connection is given to it.
func bindShared(fd int) (int, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	address, ok := name.(*unix.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("the socket has an address of type %T", name)
	}
	return address.Port, nil
}
