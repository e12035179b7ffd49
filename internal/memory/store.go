// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"net/netip"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// Store holds the records of all Services. It is safe for concurrent use; records go in
// and out as copies.
type Store struct {
	mu      sync.Mutex
	records map[types.NamespacedName]Record
	users   map[string][]types.NamespacedName // load balancer id -> the Services that use it
	// busy are the Services over which passes are being made: what they do is not in
	// their records yet.
	busy map[types.NamespacedName]bool
	// stale are the Services whose records are not to be planned on.
	stale map[types.NamespacedName]bool
}

// NewStore returns an empty Store.
func NewStore() *Store {
	return &Store{
		records: map[types.NamespacedName]Record{}, users: map[string][]types.NamespacedName{}, busy: map[types.NamespacedName]bool{},
		stale: map[types.NamespacedName]bool{},
	}
}

// Take marks the Services as busy until done is called. It is not ok, and marks none, if one
// of them is busy already.
func (m *Store) Take(keys ...types.NamespacedName) (done func(), ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		if m.busy[key] {
			return nil, false
		}
	}
	for _, key := range keys {
		m.busy[key] = true
	}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, key := range keys {
			delete(m.busy, key)
		}
	}, true
}

// Recall returns the record of the Service, empty when there is none or when it
// is that of an earlier Service of the same name.
func (m *Store) Recall(key types.NamespacedName, uid types.UID) Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, there := m.records[key]
	if !there || r.ServiceUID != uid {
		return Record{ServiceUID: uid}
	}
	r.Cloud.Observed = diff.Clone(r.Cloud.Observed)
	if m.stale[key] {
		delete(m.stale, key)
		r.Cloud.Known = false
	}
	return r
}

// MarkStale lets the next pass over the Service read what the cloud has: another client
// wrote to the Service, perhaps a controller that led before us and whose calls were late.
func (m *Store) MarkStale(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stale[key] = true
}

// Has reports whether there is a record of the Service: this controller has looked
// at it.
func (m *Store) Has(key types.NamespacedName, uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, there := m.records[key]
	return there && r.ServiceUID == uid
}

// Put remembers the record. The other Services of a load balancer that Octavia is changing
// read it again.
func (m *Store) Put(key types.NamespacedName, r Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(key)
	m.records[key] = r
	if old := r.Cloud.Observed.Predecessor; old != nil {
		m.users[old.ID] = append(m.users[old.ID], key)
	}
	if l := r.Cloud.Observed.LoadBalancer; l != nil {
		m.users[l.ID] = append(m.users[l.ID], key)
		m.markSharing(key, *l)
	}
}

// markSharing lets the other Services that use the load balancer read it again when one of
// them has changed it. Passes over them come one after the other.
func (m *Store) markSharing(writer types.NamespacedName, l lb.LoadBalancer) {
	if !l.ProvisioningStatus.Pending() {
		return
	}
	for _, key := range m.users[l.ID] {
		if r := m.records[key]; key != writer {
			r.Cloud.Known, r.Progress.Reached, r.Cloud.Written = false, nil, m.records[writer].Cloud.Written
			r.Cloud.Observed = diff.Clone(r.Cloud.Observed)
			if used := r.Cloud.Observed.LoadBalancer; used != nil && used.ID == l.ID {
				used.ProvisioningStatus = l.ProvisioningStatus
			}
			m.records[key] = r
		}
	}
}

// LoadBalancerOf returns the id of the load balancer that the Service is remembered to use,
// or "".
func (m *Store) LoadBalancerOf(key types.NamespacedName) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.records[key].Cloud.Observed.LoadBalancer; l != nil {
		return l.ID
	}
	return ""
}

// LoadBalancersOf returns the ids of the load balancers that the Service is remembered to use:
// two while one of them replaces the other.
func (m *Store) LoadBalancersOf(key types.NamespacedName) (ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.records[key].Cloud.Observed
	for _, l := range []*lb.LoadBalancer{o.LoadBalancer, o.Predecessor} {
		if l != nil {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// MayAppear reports whether a load balancer was asked for the Service that may still appear,
// since the answer was lost.
func (m *Store) MayAppear(key types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.records[key].Cloud.Unanswered.IsZero()
}

// Users are the Services that use the load balancer, as far as is remembered.
func (m *Store) Users(id string) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.users[id])
}

// Forget drops the record and returns the id of its load balancer, or "" where that is
// none, or others use it.
func (m *Store) Forget(key types.NamespacedName) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.stale, key)
	return m.drop(key)
}

func (m *Store) drop(key types.NamespacedName) string {
	o := m.records[key].Cloud.Observed
	delete(m.records, key)
	if o.Predecessor != nil {
		m.dropUser(key, o.Predecessor.ID)
	}
	if o.LoadBalancer != nil && m.dropUser(key, o.LoadBalancer.ID) {
		return o.LoadBalancer.ID
	}
	return ""
}

// dropUser reports whether nobody uses the load balancer any more.
func (m *Store) dropUser(key types.NamespacedName, id string) (last bool) {
	users := slices.DeleteFunc(slices.Clone(m.users[id]), func(k types.NamespacedName) bool { return k == key })
	if len(users) > 0 {
		m.users[id] = users
		return false
	}
	delete(m.users, id)
	return true
}

// DualStack reports whether the Service is known to have a load balancer of both families.
func (m *Store) DualStack(key types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.records[key].Cloud.Observed.LoadBalancer
	return l != nil && l.DualStack()
}

// MemberAddresses returns the addresses of all members of pools, and whether there may be
// others: a Service that is served was not looked at yet, or Octavia is changing a load
// balancer and has not dropped members yet that are not remembered any more.
func (m *Store) MemberAddresses(served []types.NamespacedName) (addresses []netip.Addr, unsure bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[netip.Addr]bool{}
	for _, key := range served {
		r, there := m.records[key]
		unsure = unsure || !there || !r.Cloud.Known
		for _, l := range []*lb.LoadBalancer{r.Cloud.Observed.LoadBalancer, r.Cloud.Observed.Predecessor} {
			if l == nil {
				continue
			}
			unsure = unsure || l.ProvisioningStatus == lb.PendingUpdate
			for _, listener := range l.Listeners {
				for _, member := range membersOf(listener) {
					if a, err := netip.ParseAddr(member.Address); err == nil && !seen[a] {
						seen[a] = true
						addresses = append(addresses, a)
					}
				}
			}
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return addresses, unsure
}

func membersOf(l lb.Listener) []lb.Member {
	if l.Pool == nil {
		return nil
	}
	return l.Pool.Members
}
