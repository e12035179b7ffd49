// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"testing"

	"github.com/kube-octavia/kube-octavia/test/freeport"
)

// portOffset is the difference between the ports that Services and Pods have and those that
// tests name. On the simulator they really listen on this machine, where another program may
// have port 8080: a test says 8080, and the Service has 18080, say. On a real cloud it is 0.
//
// The edits tcp, udp and without, the keys of listeners and the functions that make requests
// translate. Wherever else a test writes or reads a port, it calls freePort or testPort.
var portOffset int

// testPorts are those that tests name and on which something listens.
var testPorts = []int{
	5300, 5301, 5302, 5303, 5304, 5353,
	8079, 8080, 8081, 8082, 8083, 8084, 8085,
	9000, 9001, 9002, 9003, 9004, 9005, 9006, 9007, 9008, 9009,
	9090, 9091, 9100, 9101, 9191, 9999,
}

// chooseFreePorts sets portOffset for the tests of this process. It is not 0 on the simulator
// even if all ports are free, so that a test that forgets to translate fails everywhere.
func chooseFreePorts() (err error) {
	if *stateDir == "" {
		portOffset, err = freeport.Offset(10000, testPorts...)
	}
	return err
}

// freePort returns the port that a Service or Pod has where the test names this one.
func freePort(number int) int { return number + portOffset }

// testPort returns the port that a test names where a Service has this one.
func testPort(number int) int { return number - portOffset }

// openPort returns how messages name the work of opening a TCP port.
func openPort(number int) string { return fmt.Sprintf("open port TCP/%d", freePort(number)) }

// freeAddress returns an address of this machine with a port that no program has.
func freeAddress(t testing.TB) string {
	t.Helper()
	address, err := freeport.Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}
