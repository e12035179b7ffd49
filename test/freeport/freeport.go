// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package freeport finds ports for servers that listen on addresses of 127.0.0.0/8, such as
// simulated load balancers and Pods, and on 127.0.0.1. A program that listens on 0.0.0.0 has
// its port on all of these addresses.
//
// The package imports nothing of the project.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports of Address are below those that Linux gives to clients, and to servers that take any port (32768 and up), and
// below those of Offset. Another test that runs at the same time got such a port before the program listened on it, and its
// simulator answered in the place of the program.
const lowest, highest = 2000, 4999

// Address returns an address of this machine with a port that no program has.
func Address() (string, error) {
	const attempts = 100
	var problem error
	for range attempts {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.IntN(highest-lowest+1))))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
		problem = err
	}
	return "", fmt.Errorf("%d ports are not free: %w", attempts, problem)
}

// maximum is below the ports that Kubernetes gives to NodePorts and Linux to clients.
const maximum = 29999

// Offset returns the first of minimum, minimum+1000, minimum+2000 and so on that, added to
// each of the ports, results in free ports: no program has them for TCP or UDP.
func Offset(minimum int, ports ...int) (int, error) {
	var problem error
	for offset := minimum; ; offset += 1000 {
		err := checkFree(offset, ports)
		switch {
		case err == nil:
			return offset, nil
		case problem == nil:
			problem = err
		}
		for _, port := range ports {
			if port+offset+1000 > maximum {
				return 0, fmt.Errorf("no free ports up to %d: %w", maximum, problem)
			}
		}
	}
}

// checkFree returns an error if a program has one of the ports.
func checkFree(offset int, ports []int) error {
	for _, port := range ports {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port+offset))
		l, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		_ = l.Close() // only whether the port is free is of interest
		c, err := net.ListenPacket("udp", address)
		if err != nil {
			return err
		}
		_ = c.Close()
	}
	return nil
}
