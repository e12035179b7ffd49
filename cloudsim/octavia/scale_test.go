// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// The size that the simulator must support: 2,000 load balancers with 5 listeners and 50 members
// each.
const (
	manyLoadBalancers = 2000
	listenersEach     = 5
	membersOfListener = 10
)

func bigLoadBalancer(i int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `"name": "kube_service_kubernetes_default_service-%d", "tags": ["kube-octavia", "service-%d"], "listeners": [`, i, i)
	for l := range listenersEach {
		if l > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"name": "listener_%d_service-%d", "protocol": "TCP", "protocol_port": %d, "default_pool": {"name": "pool_%d_service-%d", "protocol": "TCP",
			"lb_algorithm": "ROUND_ROBIN", "healthmonitor": {"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}, "members": [`, l, i, 80+l, l, i)
		for m := range membersOfListener {
			if m > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, `{"name": "node-%d", "address": "10.0.1.%d", "protocol_port": %d}`, m, m+1, 30000+listenersEach*i+l)
		}
		b.WriteString("]}}")
	}
	b.WriteString("]")
	return b.String()
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestTwoThousandLoadBalancersFitIntoAGigabyte(t *testing.T) {
	if testing.Short() {
		t.Skip("builds 100,000 members")
	}
	before := heap()
	c := newCloud(t, Options{})
	for i := range manyLoadBalancers {
		c.post(bigLoadBalancer(i)).must(http.StatusCreated)
	}
	c.wait("all are ACTIVE", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.changes) == manyLoadBalancers
	})
	c.changes = nil
	const all = manyLoadBalancers * listenersEach
	if got, want := c.Counts(), (Counts{manyLoadBalancers, all, all, all * membersOfListener, all}); got != want {
		t.Fatalf("there are %+v, want %+v", got, want)
	}
	grown := heap() - before
	t.Logf("%d MiB for %d load balancers and %d members", grown>>20, manyLoadBalancers, all*membersOfListener)
	if grown > 1<<30 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if got := len(c.call("GET", "/loadbalancers", "").column("loadbalancers", "id")); got != 1000 {
		t.Errorf("a page has %d load balancers, want 1000", got)
	}
}

func BenchmarkPageOfAThousandLoadBalancers(b *testing.B) {
	c := newCloud(b, Options{})
	for i := range manyLoadBalancers {
		c.post(bigLoadBalancer(i)).must(http.StatusCreated)
	}
	for _, path := range []string{"/loadbalancers", "/loadbalancers?tags=kube-octavia&fields=id&fields=provisioning_status&fields=updated_at", "/listeners", "/pools", "/healthmonitors"} {
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				c.fetch(b, path)
			}
		})
	}
}
