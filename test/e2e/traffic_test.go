// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/test/netns"
	"github.com/kube-octavia/kube-octavia/test/node"
)

// requestTimeout bounds one request.
const requestTimeout = 10 * time.Second

// client is where requests come from: a network namespace, that of the test if
// it is empty, and a source address, any if it is empty.
type client struct {
	namespace, address string
	// ports gives each connection another source port; nil leaves the choice to the kernel.
	ports *sourcePorts
}

// sourcePorts are used one after the other, so that none is used twice within minutes. Open vSwitch remembers for that long
// to which member a connection from a port went, and a member may be gone when the kernel chooses the port again.
type sourcePorts struct{ used atomic.Uint32 }

// freshPorts are those of all users: a port of an earlier test cannot be bound for a minute either.
var freshPorts sourcePorts

// next is the port that was not used for the longest time. It is 0, for any, of no sourcePorts.
func (p *sourcePorts) next() uint16 {
	const first, many = 10000, 50000
	if p == nil {
		return 0
	}
	return uint16(first + p.used.Add(1)%many)
}

// dial opens a connection, "tcp" or "udp", to an IP address with a port. If the source port is in use, that is not a
// failure of the server, so it takes the next one.
func (from client) dial(ctx context.Context, network, to string) (c net.Conn, err error) {
	for range 100 {
		if c, err = from.dialOnce(ctx, network, to); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return c, err
}

// dialOnce opens a connection from one source port.
func (from client) dialOnce(ctx context.Context, network, to string) (c net.Conn, err error) {
	dialer := net.Dialer{Timeout: requestTimeout}
	if from.address != "" {
		local := netip.AddrPortFrom(netip.MustParseAddr(from.address), from.ports.next())
		dialer.LocalAddr = net.TCPAddrFromAddrPort(local)
		if network == "udp" {
			dialer.LocalAddr = net.UDPAddrFromAddrPort(local)
		}
	}
	err = netns.In(from.namespace, func() (err error) {
		c, err = dialer.DialContext(ctx, network, to)
		return err
	})
	return c, err
}

// endpoint returns where requests to a port go.
func endpoint(address string, port int) string {
	return net.JoinHostPort(address, strconv.Itoa(freePort(port)))
}

// ask makes one HTTP request on a connection of its own and returns what the Pod
// answered.
func ask(ctx context.Context, from client, address string, port int) (node.Answer, error) {
	client := http.Client{Timeout: requestTimeout, Transport: &http.Transport{DisableKeepAlives: true, DialContext: from.dial}}
	var a node.Answer
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+endpoint(address, port), nil)
	if err != nil {
		return a, err
	}
	resp, err := client.Do(request)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return a, errors.Join(err, json.Unmarshal(body, &a))
}

// askUDP sends one datagram and returns what the Pod answered. A datagram that
// stays unanswered for a second is an error.
func askUDP(ctx context.Context, from client, address string, port int) (node.Answer, error) {
	var a node.Answer
	c, err := from.dial(ctx, "udp", endpoint(address, port))
	if err != nil {
		return a, err
	}
	defer c.Close()
	if _, err := io.WriteString(c, "hello"); err != nil {
		return a, err
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		return a, err
	}
	return a, json.NewDecoder(c).Decode(&a)
}

// waitForAnswersThrough waits until requests to the address are answered through exactly these
// nodes. The source address that the Pod saw shows the node, without externalTrafficPolicy: Local.
func (s *stage) waitForAnswersThrough(address string, port int, nodes ...string) {
	s.t.Helper()
	if !s.cloud.packets() {
		s.leadsTo(address, tcpKey(port), nodes)
		return
	}
	want := slices.Sorted(slices.Values(nodes))
	s.eventually(func() error {
		seen := map[string]bool{}
		for range 2 * max(1, len(nodes)) {
			a, err := ask(s.t.Context(), s.cloud.outside(), address, port)
			if err != nil {
				return err
			}
			seen[a.Client] = true
		}
		var have []string
		for client := range seen {
			have = append(have, client)
		}
		slices.Sort(have)
		if d := cmp.Diff(want, have); d != "" {
			return fmt.Errorf("%s:%d is answered through other nodes (-want +have): %s", address, port, d)
		}
		return nil
	})
}

// tcpKey returns the port as tests write it.
func tcpKey(port int) string { return fmt.Sprintf("TCP/%d", port) }

// answers waits until requests to the address are answered. The answer has
// nothing in it where no packets flow.
func (s *stage) answers(address string, port int) node.Answer {
	s.t.Helper()
	var a node.Answer
	if !s.cloud.packets() {
		s.leadsTo(address, tcpKey(port), nil)
		return a
	}
	s.eventually(func() (err error) {
		a, err = ask(s.t.Context(), s.cloud.outside(), address, port)
		return err
	})
	return a
}

// echoes waits until datagrams to the address are answered; see answers.
func (s *stage) echoes(address string, port int) node.Answer {
	s.t.Helper()
	var a node.Answer
	if !s.cloud.packets() {
		s.leadsTo(address, fmt.Sprintf("UDP/%d", port), nil)
		return a
	}
	s.eventually(func() (err error) {
		a, err = askUDP(s.t.Context(), s.cloud.outside(), address, port)
		return err
	})
	return a
}

// waitUntilSilent waits until requests to the address are not answered any more.
func (s *stage) waitUntilSilent(address string, port int) {
	s.t.Helper()
	if !s.cloud.packets() {
		s.waitUntilClosed(address, tcpKey(port))
		return
	}
	s.eventually(func() error {
		if a, err := ask(s.t.Context(), s.cloud.outside(), address, port); err == nil {
			return fmt.Errorf("%s:%d is answered by %+v", address, port, a)
		}
		return nil
	})
}

// requests returns how many requests to make where n are to show something: none where no packets
// flow.
func (s *stage) requests(n int) int {
	if !s.cloud.packets() {
		return 0
	}
	return n
}

// user makes one request after the other.
type user struct {
	stop context.CancelFunc
	done chan struct{}

	mu       sync.Mutex
	served   int
	failures []error
	cut      int // requests that were made again, see mayBeCut
}

// visit starts a user of the address, whose requests all must be answered: requireNoFailedRequest
// tells.
func (s *stage) visit(address string, port int) *user {
	s.t.Helper()
	s.answers(address, port)
	if s.cloud.packets() {
		return s.startUser(func(ctx context.Context) error {
			_, err := ask(ctx, s.cloud.outside(), address, port)
			return err
		})
	}
	return s.watchMembers(address, port)
}

// watchMembers starts a user who only checks whether the port has members.
func (s *stage) watchMembers(address string, port int) *user {
	ctx, stop := context.WithCancel(context.Background())
	u := &user{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(u.done)
		s.cloud.watch(ctx, address, tcpKey(port), u)
	}()
	s.t.Cleanup(func() { stop(); <-u.done })
	return u
}

// pace bounds the requests of a busy user, who shares the processor with all that
// is to answer.
const pace = 10 * time.Millisecond

// mayBeCut is the share of requests that new releases of OVN may leave without an answer while members change.
const mayBeCut = 0.05

// startUser starts a user who makes one request after the other. With new releases of OVN, a request that got no answer is
// made again: OVN cuts those that a member was just answering when it was removed, see docs/reference/providers.md.
func (s *stage) startUser(makeRequest func(context.Context) error) *user {
	ctx, stop := context.WithCancel(context.Background())
	u := &user{stop: stop, done: make(chan struct{})}
	again := s.hasNewOVN()
	go func() {
		defer close(u.done)
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for ctx.Err() == nil {
			err := makeRequest(ctx)
			if again && isTimeout(err) {
				u.noteCut()
				err = makeRequest(ctx)
			}
			if ctx.Err() == nil {
				u.note(err)
			}
			<-tick.C
		}
	}()
	s.t.Cleanup(func() { stop(); <-u.done })
	return u
}

// isTimeout reports whether the request was given up because no answer came.
func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// noteCut counts a request that is made again.
func (u *user) noteCut() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cut++
}

// note counts a request that was answered, or keeps its error.
func (u *user) note(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil {
		u.failures = append(u.failures, err)
		return
	}
	u.served++
}

// count is how many requests have ended.
func (u *user) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.served + len(u.failures)
}

// requireNoFailedRequest waits for some more requests, ends the user's visit, and fails the
// test if one request of all was not answered, or too many only when they were made again.
func (s *stage) requireNoFailedRequest(u *user) {
	s.t.Helper()
	more := 10
	if !s.cloud.packets() {
		more = 3
	}
	target := u.count() + more
	s.eventually(func() error {
		if n := u.count(); n < target {
			return fmt.Errorf("the user made %d requests of %d", n, target)
		}
		return nil
	})
	u.stop()
	<-u.done
	if len(u.failures) > 0 {
		s.t.Errorf("%d of %d requests failed, the first with: %v", len(u.failures), u.count(), u.failures[0])
	}
	if float64(u.cut) > mayBeCut*float64(u.count()) {
		s.t.Errorf("%d of %d requests were made twice", u.cut, u.count())
	}
	s.t.Logf("the user made %d requests, of which %d failed and %d were made twice", u.count(), len(u.failures), u.cut)
}
