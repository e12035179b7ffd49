// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"maps"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
)

// update calls change for each record, the one written longest ago first. It returns the
// Services for which change returned true. It skips records that cannot be compared with a list
// of the cloud that began at the given time: those written since, and those of busy Services.
func (m *Store) update(began time.Time, change func(*Record) bool) []owner.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(m.records), func(a, b owner.Key) int {
		return m.records[a].Cloud.Written.Compare(m.records[b].Cloud.Written)
	})
	return slices.DeleteFunc(keys, func(key owner.Key) bool {
		r := m.records[key]
		if r.Cloud.Written.After(began) || m.busy[key] {
			return true
		}
		changed := change(&r)
		m.records[key] = r
		return !changed
	})
}

// UnlistedLoadBalancers returns the ids of the load balancers that Services have and that are not in a list of the
// cluster's load balancers that began at the given time, although they may exist: listed reports whether the list
// contains a load balancer if it exists. The load balancers of Services whose last write is the oldest come first.
func (m *Store) UnlistedLoadBalancers(heads []octavia.Head, listed func(lb.LoadBalancer) bool, began time.Time) (ids []string) {
	known := map[string]bool{}
	for _, h := range heads {
		known[h.ID] = true
	}
	m.update(began, func(r *Record) bool {
		for _, l := range []*lb.LoadBalancer{r.Cloud.Observed.LoadBalancer, r.Cloud.Observed.Predecessor} {
			if l != nil && !known[l.ID] && !l.ProvisioningStatus.Pending() && !listed(*l) {
				known[l.ID] = true
				ids = append(ids, l.ID)
			}
		}
		return false
	})
	return ids
}

// StaleLoadBalancers compares the records with the heads of load balancers that were read since the given time. It
// returns the Services whose load balancer another client changed or deleted, or that failed; these are read again.
// Listed reports whether the heads contain the load balancer if it exists.
func (m *Store) StaleLoadBalancers(heads []octavia.Head, listed func(lb.LoadBalancer) bool, began time.Time) []owner.Key {
	byID := make(map[string]octavia.Head, len(heads))
	for _, h := range heads {
		byID[h.ID] = h
	}
	same := func(l *lb.LoadBalancer) (_ octavia.Head, is bool) {
		head, found := byID[l.ID]
		switch {
		case l.ProvisioningStatus.Pending(), !found && !listed(*l):
			return head, true // the watcher polls it, or the list does not show whether it exists
		case found && head.Gone:
			return head, false
		}
		return head, found && head.UpdatedAt == l.UpdatedAt && head.ProvisioningStatus == l.ProvisioningStatus
	}
	return m.update(began, func(r *Record) bool {
		l, old := r.Cloud.Observed.LoadBalancer, r.Cloud.Observed.Predecessor
		if l == nil {
			return false
		}
		if head, is := same(l); !is {
			r.distrust()
			if head.ProvisioningStatus != lb.Error { // Octavia sets ERROR, not another client
				r.noteDrift()
			}
			return true
		}
		// The contents of a predecessor are read again before they are used. So it only matters here whether the
		// predecessor works.
		if old == nil || l.ProvisioningStatus.Pending() {
			return false
		}
		head, is := same(old)
		if is || !head.Gone && head.ProvisioningStatus == old.ProvisioningStatus {
			return false
		}
		r.distrust()
		return true
	})
}

// UnknownLoadBalancers returns the Services with a load balancer in the list that is not in
// memory; these are read again. The previous leader created it with a call that outlived it, or
// another client renamed it.
func (m *Store) UnknownLoadBalancers(heads []octavia.Head, began time.Time) []owner.Key {
	byService := map[string][]string{}
	for _, h := range heads {
		if uid := lb.ServiceUIDOf(h.Tags); uid != "" {
			byService[uid] = append(byService[uid], h.ID)
		}
	}
	return m.update(began, func(r *Record) bool {
		if !r.Cloud.Known {
			return false
		}
		var others []string // without the load balancers that were deleted
		unknown, known := false, r.Cloud.Observed.LoadBalancerIDs()
		for _, id := range byService[r.OwnerUID] {
			before := slices.Contains(r.Cloud.Others, id)
			if before || !slices.Contains(known, id) {
				others = append(others, id)
				unknown = unknown || !before
			}
		}
		r.Cloud.Others = others
		if unknown {
			r.distrust()
		}
		return unknown
	})
}

// SecondOver is how long after a read of a load balancer the second of its last change is
// certainly over.
const SecondOver = 2 * time.Second

// DueForReading returns the Services whose load balancer another client may have changed unnoticed; these are read
// again. It returns at most the number most, and those first that were written longest ago. It leaves a Service out
// until the second of the last known change is over: later changes show in updated_at.
func (m *Store) DueForReading(most int, began time.Time) []owner.Key {
	return m.update(began.Add(-SecondOver), func(r *Record) bool {
		l := r.Cloud.Observed.LoadBalancer
		if most == 0 || !r.Cloud.Stale || !r.Cloud.Known || !r.Cloud.Confirmed || r.Drift.Detected || l == nil || l.ProvisioningStatus != lb.Active {
			return false
		}
		most--
		r.distrust()
		r.noteDrift() // whatever differs from what this controller wrote
		return true
	})
}

// StaleFloatingIPs compares the records with a list of all floating IPs of the project that
// began at the given time. It returns the Services whose floating IPs another client attached,
// detached, deleted, tagged or described differently. The list replaces memory, so nothing is
// read again.
func (m *Store) StaleFloatingIPs(all []lb.FloatingIP, clusterUID string, began time.Time) []owner.Key {
	list := newFloatingIPs(all)
	return m.update(began, func(r *Record) bool {
		if !r.Cloud.Known {
			return false
		}
		now := list.of(r.Cloud.Observed, lb.Mark{ClusterUID: clusterUID, ServiceUID: r.OwnerUID})
		if slices.EqualFunc(byID(r.Cloud.Observed.FloatingIPs), now, sameFloatingIP) {
			return false
		}
		r.Cloud.Observed = diff.Clone(r.Cloud.Observed)
		r.Cloud.Observed.FloatingIPs = now
		r.noteDrift()
		return true
	})
}

// UnusedCertificates returns the Services with stored certificates in the list that their load
// balancers, as far as is known, do not use.
func (m *Store) UnusedCertificates(all []lb.Certificate, clusterUID string, began time.Time) []owner.Key {
	stored := map[string][]lb.Certificate{}
	for _, one := range all {
		if mark, ok := one.Mark(); ok && mark.ClusterUID == clusterUID {
			stored[mark.ServiceUID] = append(stored[mark.ServiceUID], one)
		}
	}
	return m.update(began, func(r *Record) bool {
		l := r.Cloud.Observed.LoadBalancer
		return slices.ContainsFunc(stored[r.OwnerUID], func(one lb.Certificate) bool { return l == nil || one.RefIn(*l) == "" })
	})
}
