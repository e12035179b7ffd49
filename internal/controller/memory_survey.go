// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

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

// settle notes what the watcher saw of a load balancer whose change has ended,
// and returns the Services to look after.
func (m *memory) settle(id string, head octavia.Head, now time.Time) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	users := slices.Clone(m.keys[id])
	for _, key := range users {
		m.settleOne(key, id, head, now)
	}
	if head.Gone {
		delete(m.keys, id)
	}
	return users
}

func (m *memory) settleOne(key types.NamespacedName, id string, head octavia.Head, now time.Time) {
	r := m.records[key]
	r.observed = diff.Clone(r.observed)
	r.written = now
	switch old := r.observed.Predecessor; {
	case head.Gone:
		r.known = r.known && old == nil // which of the two is left is to be seen
		r.observed = diff.After(r.observed, diff.DeleteLoadBalancer{ID: id}, diff.Created{})
		r.reached = nil
	case old != nil && old.ID == id:
		old.ProvisioningStatus = head.ProvisioningStatus
		r.known = r.known && head.ProvisioningStatus != lb.Error
	default:
		// What failed is looked at once more before anything is done about it.
		r.known = r.known && head.ProvisioningStatus != lb.Error
		r.observed.LoadBalancer.ProvisioningStatus = head.ProvisioningStatus
		r.observed.LoadBalancer.UpdatedAt = head.UpdatedAt
		r.unread = true
	}
	m.records[key] = r
}

// takeFrees reports, once, whether the change of the load balancer that has ended
// left room for others.
func (m *memory) takeFrees(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	freed := false
	for _, key := range m.keys[id] {
		r := m.records[key]
		freed, r.frees = freed || r.frees, false
		m.records[key] = r
	}
	return freed
}

// doubt compares the records with what a list of the cluster's load balancers
// showed that began at the given time; listed tells which load balancers the
// list must hold if they exist. It returns the Services whose load balancer somebody
// else changed or deleted, or that failed; what was known of them is not to be
// planned on any more. Records written since the list began are left alone, and
// those of Services that are in hand.
func (m *memory) doubt(heads map[string]octavia.Head, listed func(lb.LoadBalancer) bool, began time.Time) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	var doubted []types.NamespacedName
	for key, r := range m.records {
		l := r.observed.LoadBalancer
		if l == nil || l.ProvisioningStatus.Pending() || r.written.After(began) || m.inHand[key] {
			continue
		}
		head, there := heads[l.ID]
		if !there && !listed(*l) {
			continue
		}
		if there && head.UpdatedAt == l.UpdatedAt && head.ProvisioningStatus == l.ProvisioningStatus {
			continue
		}
		r.known, r.reached = false, nil
		// Octavia's own failure is nobody's change.
		if !there || head.ProvisioningStatus != lb.Error {
			r.drifted, r.told = true, false
		}
		m.records[key] = r
		doubted = append(doubted, key)
	}
	return doubted
}

// seconds returns the Services that have a load balancer in a list, which began at
// the given time, of which nothing is remembered: a controller that led before us
// made it, and its call took longer than it did, or somebody renamed it. What was
// known of them is not to be planned on any more.
func (m *memory) seconds(heads []octavia.Head, began time.Time) []types.NamespacedName {
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
		listed := of[string(r.serviceUID)]
		// One that has gone is not to be asked for any more.
		r.others = slices.DeleteFunc(slices.Clone(r.others), func(id string) bool { return !slices.Contains(listed, id) })
		remembered := append(r.observed.LoadBalancerIDs(), r.others...)
		unknown := slices.DeleteFunc(slices.Clone(listed), func(id string) bool { return slices.Contains(remembered, id) })
		if !r.known || r.written.After(began) || m.inHand[key] {
			continue
		}
		if len(unknown) > 0 {
			r.known, r.reached, r.others = false, nil, append(r.others, unknown...)
			found = append(found, key)
		}
		m.records[key] = r
	}
	return found
}

// secondOver is how long after a look at a load balancer the second is surely over in
// which it last changed.
const secondOver = 2 * time.Second

// reread returns the Services whose load balancer somebody may have changed unseen,
// at most so many, those first that have waited longest. It is to be read once the
// second is over in which its last change was seen: what is changed after that shows in
// updated_at.
func (m *memory) reread(most int, began time.Time) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []types.NamespacedName
	for key, r := range m.records {
		l := r.observed.LoadBalancer
		over := began.Sub(r.written) > secondOver
		if r.unread && over && r.known && r.confirmed && !r.drifted && l != nil && l.ProvisioningStatus == lb.Active && !m.inHand[key] {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b types.NamespacedName) int {
		return cmp.Or(m.records[a].written.Compare(m.records[b].written), strings.Compare(a.String(), b.String()))
	})
	due = due[:min(len(due), most)]
	for _, key := range due {
		r := m.records[key]
		// If it is not as we wrote it, that is somebody else's doing.
		r.known, r.reached, r.drifted, r.told = false, nil, true, false
		m.records[key] = r
	}
	return due
}

// moved compares the records with a list of all floating IPs of the project that
// began at the given time, and returns the Services whose floating IPs somebody
// else attached, detached, deleted, tagged or described otherwise. What the list shows is
// what is remembered then, so that nothing has to be read again.
func (m *memory) moved(all []lb.FloatingIP, clusterUID string, began time.Time) []types.NamespacedName {
	list := newFloatingIPs(all)
	m.mu.Lock()
	defer m.mu.Unlock()
	var moved []types.NamespacedName
	for key, r := range m.records {
		if !r.known || r.written.After(began) || m.inHand[key] {
			continue
		}
		now := list.of(r.observed, lb.Mark{ClusterUID: clusterUID, ServiceUID: string(r.serviceUID)})
		if slices.EqualFunc(byID(r.observed.FloatingIPs), now, sameFloatingIP) {
			continue
		}
		r.observed = diff.Clone(r.observed)
		r.observed.FloatingIPs = now
		r.reached, r.drifted, r.told = nil, true, false
		m.records[key] = r
		moved = append(moved, key)
	}
	return moved
}

// idle returns the Services that have certificates which their load balancers, as far as
// is known, do not use.
func (m *memory) idle(all []lb.Certificate, clusterUID string) []types.NamespacedName {
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
		l := r.observed.LoadBalancer
		if slices.ContainsFunc(stored[string(r.serviceUID)], func(one lb.Certificate) bool { return l == nil || one.RefIn(*l) == "" }) {
			keys = append(keys, key)
		}
	}
	return keys
}
