// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
)

// record is what is known of one Service's part of the cloud between passes, so
// that a pass need not read what its own writes made.
type record struct {
	serviceUID types.UID
	observed   lb.Observed
	// known is whether observed can be planned on; otherwise it is read first.
	known bool
	// confirmed is whether observed was read since the last write, rather than
	// predicted.
	confirmed bool
	// reached is what was wanted when nothing was left to do, and nil before.
	// Together with the sweeper, which clears known when updated_at has moved,
	// it lets a pass end before any call.
	reached *lb.Wanted
	// written is when observed was last changed.
	written time.Time
	// steadyFor is what was wanted when nothing but members was left to do.
	steadyFor *lb.Wanted
	// deletions counts our deletions of load balancers since one last served,
	// notBefore is when the next attempt may be made, and failed says why there
	// are such.
	deletions int
	notBefore time.Time
	failed    string
	// unfinished is since when the load balancer is ACTIVE with parts that are
	// not, unfinishedIDs which these were then, and leftBehind whether that is so
	// for good; repairs counts how often in a row it was.
	unfinished    time.Time
	unfinishedIDs []string
	leftBehind    bool
	repairs       int
	// madeComplete is the id of the load balancer if we made it by one call with
	// everything below it.
	madeComplete string
	// unanswered is when a create failed that Octavia may still carry out, or
	// zero: what it makes may show only later.
	unanswered time.Time
}

// noteSteady notes from a plan for an ACTIVE load balancer whether only the
// membership of its pools is left to do.
func (r *record) noteSteady(plan diff.Plan, wanted lb.Wanted) {
	l := r.observed.LoadBalancer
	if l == nil || l.ProvisioningStatus != lb.Active || len(plan.Ops) == 0 {
		return
	}
	r.steadyFor = &wanted
	for _, op := range plan.Ops {
		if _, ok := op.(diff.SetMembers); !ok {
			r.steadyFor = nil
		}
	}
}

// sameButMembers tells whether a and b differ at most in the members of pools.
func sameButMembers(a, b lb.Wanted) bool {
	return reflect.DeepEqual(withoutMembers(a), withoutMembers(b))
}

func withoutMembers(w lb.Wanted) lb.Wanted {
	if w.LoadBalancer == nil {
		return w
	}
	l := *w.LoadBalancer
	l.Listeners = slices.Clone(l.Listeners)
	for i := range l.Listeners {
		if l.Listeners[i].Pool != nil {
			pool := *l.Listeners[i].Pool
			pool.Members = nil
			l.Listeners[i].Pool = &pool
		}
	}
	w.LoadBalancer = &l
	return w
}

// memory holds the records of all Services. It is safe for concurrent use;
// records go in and out as copies.
type memory struct {
	mu      sync.Mutex
	records map[types.NamespacedName]record
	keys    map[string]types.NamespacedName // load balancer id -> Service
}

func newMemory() *memory {
	return &memory{records: map[types.NamespacedName]record{}, keys: map[string]types.NamespacedName{}}
}

// recall returns the record of the Service, empty when there is none or when it
// is that of an earlier Service of the same name.
func (m *memory) recall(key types.NamespacedName, uid types.UID) record {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, there := m.records[key]
	if !there || r.serviceUID != uid {
		return record{serviceUID: uid}
	}
	r.observed = diff.Clone(r.observed)
	return r
}

// has tells whether there is a record of the Service: this controller has looked
// at it.
func (m *memory) has(key types.NamespacedName, uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, there := m.records[key]
	return there && r.serviceUID == uid
}

func (m *memory) store(key types.NamespacedName, r record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(key)
	m.records[key] = r
	if l := r.observed.LoadBalancer; l != nil {
		m.keys[l.ID] = key
	}
}

// forget drops the record and returns the id of its load balancer, or "".
func (m *memory) forget(key types.NamespacedName) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.drop(key)
}

func (m *memory) drop(key types.NamespacedName) string {
	l := m.records[key].observed.LoadBalancer
	delete(m.records, key)
	if l == nil {
		return ""
	}
	delete(m.keys, l.ID)
	return l.ID
}

// settle notes what the watcher saw of a load balancer whose change has ended,
// and returns the Service to look after.
func (m *memory) settle(id string, head octavia.Head, now time.Time) (types.NamespacedName, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key, there := m.keys[id]
	if !there {
		return key, false
	}
	r := m.records[key]
	r.observed = diff.Clone(r.observed)
	r.written = now
	if head.Gone {
		r.observed = diff.After(r.observed, diff.DeleteLoadBalancer{ID: id}, diff.Created{})
		r.reached = nil
		delete(m.keys, id)
	} else {
		r.observed.LoadBalancer.ProvisioningStatus = head.ProvisioningStatus
		r.observed.LoadBalancer.UpdatedAt = head.UpdatedAt
	}
	m.records[key] = r
	return key, true
}

// doubt compares the records with what a list of the cluster's load balancers
// showed that began at the given time; listed tells which load balancers the
// list must hold if they exist. It returns the Services whose load balancer somebody
// else changed or deleted, or that failed; what was known of them is not to be
// planned on any more. Records written since the list began are left alone.
func (m *memory) doubt(heads map[string]octavia.Head, listed func(lb.LoadBalancer) bool, began time.Time) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	var doubted []types.NamespacedName
	for key, r := range m.records {
		l := r.observed.LoadBalancer
		if l == nil || l.ProvisioningStatus.Pending() || r.written.After(began) {
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
		m.records[key] = r
		doubted = append(doubted, key)
	}
	return doubted
}
