// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
)

// block is a part of 127.0.0.0/8 that belongs to one cloud, so that two clouds
// on one machine never share an address.
type block struct {
	number  int // the second octet
	claimed net.Listener
}

const (
	firstBlock, lastBlock = 16, 239
	// claimPort is held, on the block's last address but one, for the life of the
	// cloud.
	claimPort = 7799
)

// claim finds a block that no other cloud on this machine uses.
func claim() (*block, error) {
	n := lastBlock - firstBlock + 1
	start := rand.IntN(n)
	var last error
	for i := range n {
		number := firstBlock + (start+i)%n
		l, err := net.Listen("tcp", net.JoinHostPort(fmt.Sprintf("127.%d.255.254", number), strconv.Itoa(claimPort)))
		if err == nil {
			return &block{number: number, claimed: l}, nil
		}
		last = err
	}
	return nil, fmt.Errorf("no free block of loopback addresses for a cloud among 127.%d.0.0/16 to 127.%d.0.0/16: %w", firstBlock, lastBlock, last)
}

// private returns the network of nodes and VIPs, public that of floating IPs.
func (b *block) private() string { return fmt.Sprintf("127.%d.0.0/17", b.number) }
func (b *block) public() string  { return fmt.Sprintf("127.%d.128.0/17", b.number) }

func (b *block) release() error {
	if b == nil {
		return nil
	}
	return b.claimed.Close()
}

// subnetPlan describes how the addresses of a subnet are divided.
type subnetPlan struct {
	prefix               netip.Prefix
	gateway, first, last netip.Addr
}

// plan divides an IPv4 prefix. The gateway has the first address. The pool begins after the first
// 10 addresses or, if half is true, after the first half, which is reserved for addresses that
// clients choose. It ends at the end of the prefix or, if the prefix is large, 55 addresses before
// it.
func plan(cidr string, half bool) (subnetPlan, error) {
	p, err := netip.ParsePrefix(cidr)
	if err != nil || !p.Addr().Is4() || p.Bits() > 26 || p != p.Masked() {
		return subnetPlan{}, errors.Join(fmt.Errorf("%q is not an IPv4 network of /26 or larger", cidr), err)
	}
	size := 1 << (32 - p.Bits())
	first, last := 10, size-2
	if half {
		first = size/2 + 1
	}
	if size >= 1024 {
		last = size - 56
	}
	return subnetPlan{prefix: p, gateway: offset(p.Addr(), 1), first: offset(p.Addr(), first), last: offset(p.Addr(), last)}, nil
}

func offset(a netip.Addr, n int) netip.Addr {
	b := a.As4()
	v := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	v += uint32(n)
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)})
}
