// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"errors"
	"fmt"
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// maxPersistent is the number of client addresses that a pool remembers: the size of the table that
// Octavia configures in haproxy.
const maxPersistent = 10_000

// pool is a set of running members: it chooses among them and knows which of them are up.
type pool struct {
	plane *Plane
	seed  maphash.Seed

	mu   sync.Mutex
	conf Pool
	// anywhere allows members with other addresses than loopback.
	anywhere   bool
	members    []*member
	persistent map[netip.Addr]*persistence
}

// persistence assigns a client address to a member.
type persistence struct {
	member *member
	last   time.Time
}

// member is one backend. All fields except id and endpoint are guarded by the pool's mutex.
type member struct {
	id       string
	endpoint netip.AddrPort

	conf    Member
	present bool
	// health is counted as in haproxy; see observe.
	health   int
	up       bool
	checker  *checker
	reported string
	// active is the number of open connections or flows.
	active int
	// credit is the member's current value in the weighted round robin.
	credit int
}

func newPool(p *Plane) *pool {
	return &pool{plane: p, seed: maphash.MakeSeed(), persistent: map[netip.Addr]*persistence{}}
}

// set applies conf to the pool. A member that stays keeps its state, its connections and its place
// in the rotation.
func (p *pool) set(conf Pool, anywhere bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.anywhere = anywhere
	old := map[string]*member{}
	for _, m := range p.members {
		old[m.id] = m
	}
	p.conf = conf
	p.members = nil
	var errs []error
	for _, c := range conf.Members {
		at := netip.AddrPortFrom(c.Address.Unmap(), uint16(c.Port))
		m := old[c.ID]
		if m == nil || m.endpoint != at {
			m = &member{id: c.ID, endpoint: at}
		} else {
			delete(old, c.ID)
		}
		m.conf, m.present = c, true
		p.members = append(p.members, m)
		if !p.dialable(m) {
			errs = append(errs, fmt.Errorf("member %s: %s is not a loopback address and port: it is taken as down", m.id, at))
		}
	}
	for _, m := range old {
		m.present = false
		m.stopChecker()
	}
	if err := monitorError(conf.Monitor); err != nil {
		errs = append(errs, err)
		p.conf.Monitor = nil
	}
	for _, m := range p.members {
		p.watch(m)
		p.report(m)
	}
	return errors.Join(errs...)
}

// close stops the monitors. Connections that still refer to the pool can continue to pick members.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.members {
		m.stopChecker()
	}
}

// protocol returns the pool's protocol.
func (p *pool) protocol() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conf.Protocol
}

// pick chooses the member for a new connection of the client, except those in tried, and counts the
// connection. Nil means that there is none.
func (p *pool) pick(client netip.AddrPort, tried map[*member]bool) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.remembered(client.Addr())
	if m == nil || tried[m] {
		m = p.choose(client, tried)
	}
	if m == nil {
		return nil
	}
	m.active++
	if p.conf.SourceIPPersistence {
		p.remember(client.Addr(), m)
	}
	return m
}

// release reverts the count of pick.
func (p *pool) release(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.active--
}

// serves reports whether existing traffic may stay with the member: it is still in the pool and up.
func (p *pool) serves(m *member) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return m.reachable()
}

func (m *member) reachable() bool { return m.present && m.up && m.conf.AdminUp }

// dialable reports whether the member may be dialled at all.
func (p *pool) dialable(m *member) bool {
	return (p.anywhere || m.endpoint.Addr().IsLoopback()) && m.endpoint.Port() != 0
}

// remembered returns the member that persistence assigns to the client. As with haproxy, this
// includes a member of weight zero.
func (p *pool) remembered(client netip.Addr) *member {
	e := p.persistent[client]
	if e == nil || !p.conf.SourceIPPersistence {
		return nil
	}
	if t := p.conf.PersistenceTimeout; t > 0 && time.Since(e.last) > t || !e.member.reachable() {
		delete(p.persistent, client)
		return nil
	}
	return e.member
}

func (p *pool) remember(client netip.Addr, m *member) {
	if _, known := p.persistent[client]; !known && len(p.persistent) >= maxPersistent {
		p.forgetOldest()
	}
	p.persistent[client] = &persistence{member: m, last: time.Now()}
}

func (p *pool) forgetOldest() {
	var oldest netip.Addr
	for a, e := range p.persistent {
		if !oldest.IsValid() || e.last.Before(p.persistent[oldest].last) {
			oldest = a
		}
	}
	delete(p.persistent, oldest)
}

// watch starts, restarts or stops the member's checks after a change. The
// state of a member whose monitor changes is kept; without a monitor it is up.
func (p *pool) watch(m *member) {
	mon := p.conf.Monitor
	if !p.dialable(m) {
		m.stopChecker()
		m.up, m.health = false, 0
		return
	}
	if mon == nil || !mon.AdminUp || !m.conf.AdminUp {
		m.stopChecker()
		m.up, m.health = true, 0
		return
	}
	want := checkOf(*mon, p.conf.Protocol, m)
	if m.checker != nil && m.checker.check == want {
		return
	}
	if m.checker == nil {
		m.up, m.health = true, mon.MaxRetries // up, but the first failure takes it down, as with haproxy
	} else if m.up {
		m.health = max(m.health, mon.MaxRetries)
	} else {
		m.health = min(m.health, mon.MaxRetries-1)
	}
	m.stopChecker()
	m.checker = p.startChecker(m, want)
}

func (m *member) stopChecker() {
	if m.checker != nil {
		m.checker.cancel()
		m.checker = nil
	}
}

// report reports the member's operating status if it has changed.
func (p *pool) report(m *member) {
	if s := p.status(m); s != m.reported {
		m.reported = s
		p.plane.statuses.push(m.id, s)
	}
}

func (p *pool) status(m *member) string {
	switch {
	case !m.conf.AdminUp:
		return statusOffline
	case !m.up:
		return statusError
	case m.conf.Weight == 0:
		return statusDraining
	case m.checker == nil:
		return statusNoMonitor
	}
	return statusOnline
}
