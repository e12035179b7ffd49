// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
)

// Settle notes what the watcher saw of a load balancer whose change has ended,
// and returns the Services to look after.
func (m *Store) Settle(id string, head octavia.Head, now time.Time) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	users := slices.Clone(m.users[id])
	for _, key := range users {
		m.settleOne(key, id, head, now)
	}
	if head.Gone {
		delete(m.users, id)
	}
	return users
}

func (m *Store) settleOne(key types.NamespacedName, id string, head octavia.Head, now time.Time) {
	r := m.records[key]
	r.Cloud.Observed = diff.Clone(r.Cloud.Observed)
	r.Cloud.Written = now
	switch old := r.Cloud.Observed.Predecessor; {
	case head.Gone:
		r.Cloud.Known = r.Cloud.Known && old == nil // which of the two is left is to be seen
		r.Cloud.Observed = diff.After(r.Cloud.Observed, diff.DeleteLoadBalancer{ID: id}, diff.Created{})
		r.Progress.Reached = nil
	case old != nil && old.ID == id:
		old.ProvisioningStatus = head.ProvisioningStatus
		r.Cloud.Known = r.Cloud.Known && head.ProvisioningStatus != lb.Error
	default:
		// What failed is looked at once more before anything is done about it.
		r.Cloud.Known = r.Cloud.Known && head.ProvisioningStatus != lb.Error
		r.Cloud.Observed.LoadBalancer.ProvisioningStatus = head.ProvisioningStatus
		r.Cloud.Observed.LoadBalancer.UpdatedAt = head.UpdatedAt
		r.Cloud.Stale = true
	}
	m.records[key] = r
}

// TakeFreed reports, once, whether the change of the load balancer that has ended
// left room for others.
func (m *Store) TakeFreed(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	freed := false
	for _, key := range m.users[id] {
		r := m.records[key]
		freed, r.Cloud.FreesQuota = freed || r.Cloud.FreesQuota, false
		m.records[key] = r
	}
	return freed
}

// StaleLoadBalancers compares the records with what a list of the cluster's load balancers
// showed that began at the given time; listed tells which load balancers the
// list must hold if they exist. It returns the Services whose load balancer another client
// changed or deleted, or that failed; what was known of them is not to be
// planned on any more. Records written since the list began are left alone, and
// those of Services that are busy.
func (m *Store) StaleLoadBalancers(heads map[string]octavia.Head, listed func(lb.LoadBalancer) bool, began time.Time) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	var doubted []types.NamespacedName
	for key, r := range m.records {
		l := r.Cloud.Observed.LoadBalancer
		if l == nil || l.ProvisioningStatus.Pending() || r.Cloud.Written.After(began) || m.busy[key] {
			continue
		}
		head, there := heads[l.ID]
		if !there && !listed(*l) {
			continue
		}
		if there && head.UpdatedAt == l.UpdatedAt && head.ProvisioningStatus == l.ProvisioningStatus {
			continue
		}
		r.Cloud.Known, r.Progress.Reached = false, nil
		// Octavia's own failure is nobody's change.
		if !there || head.ProvisioningStatus != lb.Error {
			r.Drift.Detected, r.Drift.Reported = true, false
		}
		m.records[key] = r
		doubted = append(doubted, key)
	}
	return doubted
}

// UnknownLoadBalancers returns the Services that have a load balancer in a list, which began at
// the given time, of which nothing is remembered: a controller that led before us
// made it, and its call took longer than it did, or somebody renamed it. What was
// known of them is not to be planned on any more.
func (m *Store) UnknownLoadBalancers(heads []octavia.Head, began time.Time) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := map[string][]string{} // load balancers by the uid of their Service
	for _, h := range heads {
		if uid := lb.ServiceUIDOf(h.Tags); uid != "" {
			of[uid] = append(of[uid], h.ID)
		}
	}
	var found []types.NamespacedName
	for key, r := range m.records {
		listed := of[string(r.ServiceUID)]
		// One that has gone is not to be asked for any more.
		r.Cloud.Others = slices.DeleteFunc(slices.Clone(r.Cloud.Others), func(id string) bool { return !slices.Contains(listed, id) })
		remembered := append(r.Cloud.Observed.LoadBalancerIDs(), r.Cloud.Others...)
		unknown := slices.DeleteFunc(slices.Clone(listed), func(id string) bool { return slices.Contains(remembered, id) })
		if !r.Cloud.Known || r.Cloud.Written.After(began) || m.busy[key] {
			continue
		}
		if len(unknown) > 0 {
			r.Cloud.Known, r.Progress.Reached, r.Cloud.Others = false, nil, append(r.Cloud.Others, unknown...)
			found = append(found, key)
		}
		m.records[key] = r
	}
	return found
}

// SecondOver is how long after a look at a load balancer the second is surely over in
// which it last changed.
const SecondOver = 2 * time.Second

// DueForReading returns the Services whose load balancer somebody may have changed unseen,
// at most so many, those first that have waited longest. It is to be read once the
// second is over in which its last change was seen: what is changed after that shows in
// updated_at.
func (m *Store) DueForReading(most int, began time.Time) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []types.NamespacedName
	for key, r := range m.records {
		l := r.Cloud.Observed.LoadBalancer
		over := began.Sub(r.Cloud.Written) > SecondOver
		if r.Cloud.Stale && over && r.Cloud.Known && r.Cloud.Confirmed && !r.Drift.Detected && l != nil && l.ProvisioningStatus == lb.Active && !m.busy[key] {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b types.NamespacedName) int {
		return cmp.Or(m.records[a].Cloud.Written.Compare(m.records[b].Cloud.Written), strings.Compare(a.String(), b.String()))
	})
	due = due[:min(len(due), most)]
	for _, key := range due {
		r := m.records[key]
		// If it is not as we wrote it, that is somebody else's doing.
		r.Cloud.Known, r.Progress.Reached, r.Drift.Detected, r.Drift.Reported = false, nil, true, false
		m.records[key] = r
	}
	return due
}

// StaleFloatingIPs compares the records with a list of all floating IPs of the project that
// began at the given time, and returns the Services whose floating IPs somebody
// else attached, detached, deleted, tagged or described otherwise. What the list shows is
// what is remembered then, so that nothing has to be read again.
func (m *Store) StaleFloatingIPs(all []lb.FloatingIP, clusterUID string, began time.Time) []types.NamespacedName {
	list := newFloatingIPs(all)
	m.mu.Lock()
	defer m.mu.Unlock()
	var moved []types.NamespacedName
	for key, r := range m.records {
		if !r.Cloud.Known || r.Cloud.Written.After(began) || m.busy[key] {
			continue
		}
		now := list.of(r.Cloud.Observed, lb.Mark{ClusterUID: clusterUID, ServiceUID: string(r.ServiceUID)})
		if slices.EqualFunc(byID(r.Cloud.Observed.FloatingIPs), now, sameFloatingIP) {
			continue
		}
		r.Cloud.Observed = diff.Clone(r.Cloud.Observed)
		r.Cloud.Observed.FloatingIPs = now
		r.Progress.Reached, r.Drift.Detected, r.Drift.Reported = nil, true, false
		m.records[key] = r
		moved = append(moved, key)
	}
	return moved
}

// UnusedCertificates returns the Services that have certificates which their load balancers, as far as
// is known, do not use.
func (m *Store) UnusedCertificates(all []lb.Certificate, clusterUID string) []types.NamespacedName {
	stored := map[string][]lb.Certificate{}
	for _, one := range all {
		if mark, ok := one.Mark(); ok && mark.ClusterUID == clusterUID {
			stored[mark.ServiceUID] = append(stored[mark.ServiceUID], one)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []types.NamespacedName
	for key, r := range m.records {
		l := r.Cloud.Observed.LoadBalancer
		if slices.ContainsFunc(stored[string(r.ServiceUID)], func(one lb.Certificate) bool { return l == nil || one.RefIn(*l) == "" }) {
			keys = append(keys, key)
		}
	}
	return keys
}
