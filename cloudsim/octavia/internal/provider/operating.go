// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

// SetStatus sets the status. If it changes, updated_at changes too, as in the real service's
// database.
func SetStatus(o *model.Object, to model.OperatingStatus, now int64) {
	if o.Operating != to {
		o.Operating = to
		o.Updated = now
	}
}

// RollUp updates the operating statuses of a tree.
func RollUp(lb *model.LoadBalancer, monitorsReport bool, now int64) {
	whole := upIf(lb.AdminUp)
	for _, l := range lb.Listeners {
		status := upIf(lb.AdminUp && l.AdminUp)
		if l.Closed && status == model.Online {
			status, whole = model.Broken, model.Broken
		}
		SetStatus(&l.Object, status, now)
		for _, policy := range l.Policies {
			SetStatus(&policy.Object, upIf(policy.AdminUp), now)
			for _, rule := range policy.Rules {
				SetStatus(&rule.Object, upIf(rule.AdminUp), now)
			}
		}
	}
	for _, p := range lb.Pools {
		if p.Provisioning == model.PendingCreate && len(p.Listeners()) == 0 {
			continue // it was never created, so no status is reported
		}
		status := rollUpPool(p, monitorsReport, now)
		SetStatus(&p.Object, status, now)
		if whole != model.Offline && (status == model.Broken || status == model.Degraded && whole == model.Online) {
			whole = status
		}
	}
	SetStatus(&lb.Object, whole, now)
}

func upIf(up bool) model.OperatingStatus {
	if up {
		return model.Online
	}
	return model.Offline
}

func rollUpPool(p *model.Pool, monitorsReport bool, now int64) model.OperatingStatus {
	working, failed := 0, 0
	for _, m := range p.Members {
		SetStatus(&m.Object, memberStatus(m, monitorsReport), now)
		switch m.Operating {
		case model.Broken:
			failed++
		case model.Online, model.NoMonitor, model.Draining:
			working++
		}
	}
	if m := p.Monitor; m != nil {
		SetStatus(&m.Object, upIf(m.AdminUp), now)
	}
	switch {
	case !p.AdminUp || !p.LB.AdminUp:
		return model.Offline
	case failed > 0 && working > 0:
		return model.Degraded
	case failed > 0:
		return model.Broken
	}
	return model.Online
}

// memberStatus returns the expected status of a member.
func memberStatus(m *model.Member, monitorsReport bool) model.OperatingStatus {
	switch {
	case m.Provisioning == model.PendingCreate:
		return m.Operating
	case !m.AdminUp:
		return model.Offline
	case m.Pool.Monitor == nil || !m.Pool.Monitor.AdminUp:
		return model.NoMonitor
	case m.Reported && m.Operating != model.Offline && m.Operating != model.NoMonitor:
		return m.Operating
	case m.Reported || monitorsReport:
		return model.Offline
	}
	return model.Online
}
