// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

// setStatus moves updated_at too when the status is another one, as the real
// service's database does.
func setStatus(o *object, to operating, now int64) {
	if o.oper != to {
		o.oper = to
		o.updated = now
	}
}

// rollUp brings the operating statuses of a tree up to date.
func rollUp(lb *loadBalancer, monitorsReport bool, now int64) {
	whole := upIf(lb.adminUp)
	for _, l := range lb.listeners {
		status := upIf(lb.adminUp && l.adminUp)
		if l.closed && status == online {
			status, whole = broken, broken
		}
		setStatus(&l.object, status, now)
		for _, policy := range l.policies {
			setStatus(&policy.object, upIf(policy.adminUp), now)
			for _, rule := range policy.rules {
				setStatus(&rule.object, upIf(rule.adminUp), now)
			}
		}
	}
	for _, p := range lb.pools {
		if p.prov == pendingCreate && len(p.listeners()) == 0 {
			continue // nobody has made it, nobody reports of it
		}
		status := rollUpPool(p, monitorsReport, now)
		setStatus(&p.object, status, now)
		if whole != offline && (status == broken || status == degraded && whole == online) {
			whole = status
		}
	}
	setStatus(&lb.object, whole, now)
}

func upIf(up bool) operating {
	if up {
		return online
	}
	return offline
}

func rollUpPool(p *pool, monitorsReport bool, now int64) operating {
	working, failed := 0, 0
	for _, m := range p.members {
		setStatus(&m.object, memberStatus(m, monitorsReport), now)
		switch m.oper {
		case broken:
			failed++
		case online, noMonitor, draining:
			working++
		}
	}
	if m := p.monitor; m != nil {
		setStatus(&m.object, upIf(m.adminUp), now)
	}
	switch {
	case !p.adminUp || !p.lb.adminUp:
		return offline
	case failed > 0 && working > 0:
		return degraded
	case failed > 0:
		return broken
	}
	return online
}

// memberStatus is what a member's status ought to be by what is known of it.
func memberStatus(m *member, monitorsReport bool) operating {
	switch {
	case m.prov == pendingCreate:
		return m.oper
	case !m.adminUp:
		return offline
	case m.pool.monitor == nil || !m.pool.monitor.adminUp:
		return noMonitor
	case m.reported && m.oper != offline && m.oper != noMonitor:
		return m.oper
	case m.reported || monitorsReport:
		return offline
	}
	return online
}
