// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package freeport_test

import (
	"net"
	"testing"

	"github.com/kube-octavia/kube-octavia/test/freeport"
)

func TestATakenPortIsNotChosen(t *testing.T) {
	const port, other = 8080, 5353
	free, err := freeport.Offset(10000, port, other)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port + free})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	second, err := freeport.Offset(free, port, other)
	if err != nil || second <= free {
		t.Fatalf("the offset is %d, %v, while a program has TCP port %d", second, err, port+free)
	}
	c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: other + second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if third, err := freeport.Offset(free, port, other); err != nil || third <= second {
		t.Errorf("the offset is %d, %v, while a program has UDP port %d", third, err, other+second)
	}
}

func TestNodePortsAreNotChosen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if offset, err := freeport.Offset(0, l.Addr().(*net.TCPAddr).Port); err == nil {
		t.Errorf("the offset of a taken port above 30000 is %d", offset)
	}
}
