// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"fmt"
	"net/netip"
)

// check describes how one member is checked.
type check struct {
	monitor      Monitor
	poolProtocol string
	target       netip.AddrPort
}

// checkOf returns the check of a member. Its monitor address and port take precedence over its own.
// As with haproxy, a check of these sends no PROXY header, because another program answers there.
func checkOf(mon Monitor, poolProtocol string, m *member) check {
	at := m.endpoint
	if a := m.conf.MonitorAddress; a.IsValid() {
		at = netip.AddrPortFrom(a.Unmap(), at.Port())
	}
	if m.conf.MonitorPort != 0 {
		at = netip.AddrPortFrom(at.Addr(), uint16(m.conf.MonitorPort))
	}
	if m.conf.MonitorAddress.IsValid() || m.conf.MonitorPort != 0 {
		poolProtocol = ""
	}
	return check{monitor: mon, poolProtocol: poolProtocol, target: at}
}

// monitorError returns why the data plane cannot run the monitor, or nil.
func monitorError(mon *Monitor) error {
	if mon == nil {
		return nil
	}
	switch mon.Type {
	case "TCP", "HTTP", "HTTPS", "TLS-HELLO", "UDP-CONNECT", "PING":
	default:
		return fmt.Errorf("health monitor %s: the simulator does not support type %s: its members are taken as up", mon.ID, mon.Type)
	}
	if mon.Delay <= 0 || mon.Timeout <= 0 || mon.MaxRetries < 1 || mon.MaxRetriesDown < 1 {
		return fmt.Errorf("health monitor %s: delay, timeout, max_retries and max_retries_down must be positive: its members are taken as up", mon.ID)
	}
	if _, err := parseCodes(mon.ExpectedCodes); err != nil {
		return fmt.Errorf("health monitor %s: %w: its members are taken as up", mon.ID, err)
	}
	return nil
}

// checker checks one member until it is cancelled.
type checker struct {
	check  check
	cancel context.CancelFunc
}

// startChecker runs the check at once and then every delay.
func (p *pool) startChecker(m *member, c check) *checker {
	ctx, cancel := context.WithCancel(p.plane.ctx)
	ch := &checker{check: c, cancel: cancel}
	p.plane.running.Go(func() {
		defer cancel()
		for {
			err := c.run(ctx)
			if ctx.Err() != nil {
				return
			}
			p.observe(m, ch, err)
			if !pause(ctx, c.monitor.Delay) {
				return
			}
		}
	})
	return ch
}

// observe counts one result. A member that is up has a health of at least MaxRetries; every success
// restores the maximum, every failure subtracts one, and after MaxRetriesDown consecutive failures
// the member is down. A member that is down needs MaxRetries consecutive successes.
func (p *pool) observe(m *member, from *checker, failure error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.checker != from {
		return // the result of a replaced check
	}
	rise, fall := from.check.monitor.MaxRetries, from.check.monitor.MaxRetriesDown
	switch {
	case failure == nil && m.health+1 >= rise:
		m.up, m.health = true, rise+fall-1
	case failure == nil:
		m.health++
	case m.health > rise:
		m.health--
	default:
		m.up, m.health = false, 0
	}
	if failure != nil {
		p.plane.logger.V(1).Info("Check failed", "member", m.id, "monitor", from.check.monitor.ID, "reason", failure.Error())
	}
	p.report(m)
}
