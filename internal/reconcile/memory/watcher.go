// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
)

// Settle stores what the watcher saw of a load balancer that is no longer PENDING. It returns
// the Services that need a pass.
func (m *Store) Settle(id string, head octavia.Head, now time.Time) []owner.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	users := slices.Clone(m.users[id])
	for _, key := range users {
		m.records[key] = settled(m.records[key], id, head, now)
	}
	if head.Gone {
		delete(m.users, id)
	}
	return users
}

func settled(r Record, id string, head octavia.Head, now time.Time) Record {
	r.Cloud.Observed = diff.Clone(r.Cloud.Observed)
	r.Cloud.Written = now
	// A failed load balancer is read once more before anything is done about it.
	if !head.Gone && head.ProvisioningStatus == lb.Error {
		r.Cloud.Distrust()
	}
	switch old := r.Cloud.Observed.Predecessor; {
	case head.Gone:
		if old != nil {
			r.Cloud.Distrust() // a read has to show which of the two load balancers still exists
		}
		r.Cloud.Observed = diff.After(r.Cloud.Observed, diff.DeleteLoadBalancer{ID: id}, diff.Created{})
		r.Progress.Reached = lb.Fingerprint{}
	case old != nil && old.ID == id:
		old.ProvisioningStatus = head.ProvisioningStatus
	default:
		r.Cloud.Observed.LoadBalancer.ProvisioningStatus = head.ProvisioningStatus
		r.Cloud.Observed.LoadBalancer.UpdatedAt = head.UpdatedAt
		r.Cloud.Stale = true
	}
	return r
}

// TakeFreed reports whether the change of the load balancer that has just ended made room for
// other Services. It does so once.
func (m *Store) TakeFreed(id string) (freed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range m.users[id] {
		r := m.records[key]
		freed, r.Cloud.FreesQuota = freed || r.Cloud.FreesQuota, false
		m.records[key] = r
	}
	return freed
}
