// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"container/heap"
	"net/netip"
	"slices"
)

// AddressRange is a range of addresses, both ends included.
type AddressRange struct {
	First, Last netip.Addr
}

func (r AddressRange) contains(a netip.Addr) bool {
	return r.First.Compare(a) <= 0 && a.Compare(r.Last) <= 0
}

// allocator assigns the addresses of one subnet. Automatic choices come from the pools only; any
// specific address can be claimed. The cost of a choice does not grow with the number of addresses
// in use: a cursor walks through the pools once, and addresses that are released behind it are kept
// in a heap.
type allocator struct {
	pools []AddressRange // ordered, not overlapping
	used  map[netip.Addr]struct{}
	// pool and next are the cursor: the next address to try is next, in pools[pool]. If pool is
	// len(pools), all have been tried.
	pool int
	next netip.Addr
	// freed has the addresses that were released behind the cursor. Some may have been claimed
	// since; queued contains those that are in the heap.
	freed  addressHeap
	queued map[netip.Addr]struct{}
}

func newAllocator(pools []AddressRange) *allocator {
	a := &allocator{used: map[netip.Addr]struct{}{}}
	a.setPools(pools)
	return a
}

// setPools changes the pools of automatic choices; addresses in use stay in use.
func (a *allocator) setPools(pools []AddressRange) {
	a.pools = slices.SortedFunc(slices.Values(pools), func(x, y AddressRange) int { return x.First.Compare(y.First) })
	a.freed, a.queued = nil, map[netip.Addr]struct{}{}
	a.pool, a.next = 0, netip.Addr{}
	if len(a.pools) > 0 {
		a.next = a.pools[0].First
	}
}

// take chooses a free address; ok is false if all pools are exhausted.
func (a *allocator) take() (addr netip.Addr, ok bool) {
	for len(a.freed) > 0 {
		addr := heap.Pop(&a.freed).(netip.Addr)
		delete(a.queued, addr)
		if a.claim(addr) {
			return addr, true
		}
	}
	for a.pool < len(a.pools) {
		addr, last := a.next, a.pools[a.pool].Last
		a.next = addr.Next()
		if addr == last {
			a.nextPool()
		}
		if a.claim(addr) {
			return addr, true
		}
	}
	return netip.Addr{}, false
}

func (a *allocator) nextPool() {
	a.pool++
	if a.pool < len(a.pools) {
		a.next = a.pools[a.pool].First
	}
}

// claim takes this address, in a pool or not; it returns false if the address is in use.
func (a *allocator) claim(addr netip.Addr) bool {
	if _, taken := a.used[addr]; taken {
		return false
	}
	a.used[addr] = struct{}{}
	return true
}

// release frees an address; an address that is not in use is ignored.
func (a *allocator) release(addr netip.Addr) {
	if _, taken := a.used[addr]; !taken {
		return
	}
	delete(a.used, addr)
	if _, waiting := a.queued[addr]; waiting || !a.behindCursor(addr) {
		return
	}
	a.queued[addr] = struct{}{}
	heap.Push(&a.freed, addr)
}

func (a *allocator) behindCursor(addr netip.Addr) bool {
	i := slices.IndexFunc(a.pools, func(r AddressRange) bool { return r.contains(addr) })
	return i >= 0 && (i < a.pool || i == a.pool && addr.Less(a.next))
}

// addressHeap is a heap with the lowest address first.
type addressHeap []netip.Addr

func (h addressHeap) Len() int           { return len(h) }
func (h addressHeap) Less(i, j int) bool { return h[i].Less(h[j]) }
func (h addressHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *addressHeap) Push(x any)        { *h = append(*h, x.(netip.Addr)) }
func (h *addressHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
