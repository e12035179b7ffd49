// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
)

// Store holds the records of all Services. It is safe for concurrent use. Records are passed
// in and out as copies.
type Store struct {
	mu      sync.Mutex
	records map[owner.Key]Record
	users   map[string][]owner.Key // load balancer id -> the Services that use it
	// busy are the Services with a pass in progress: their records lack what the pass does.
	busy map[owner.Key]bool
	// stale are the Services for which the next pass reads the cloud.
	stale map[owner.Key]bool
	// health holds the operating statuses of pools, as last listed. The map is never changed.
	health map[string]string
}

// NewStore returns an empty Store.
func NewStore() *Store {
	return &Store{
		records: map[owner.Key]Record{}, users: map[string][]owner.Key{}, busy: map[owner.Key]bool{},
		stale: map[owner.Key]bool{},
	}
}

// Take marks the Services as busy until done is called. If one of them is busy already, it
// marks none and returns false.
func (m *Store) Take(keys ...owner.Key) (done func(), ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if slices.ContainsFunc(keys, func(key owner.Key) bool { return m.busy[key] }) {
		return nil, false
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

// Get returns the record of the Service. It is empty if there is none, or if the record is
// that of an earlier Service with the same name.
func (m *Store) Get(key owner.Key, uid types.UID) Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, found := m.records[key]
	if !found || r.ServiceUID != uid {
		return Record{ServiceUID: uid}
	}
	r.Cloud.Observed = diff.Clone(r.Cloud.Observed)
	if m.stale[key] {
		delete(m.stale, key)
		r.Cloud.Distrust()
	}
	return r
}

// MarkStale makes the next pass over the Service read the cloud, because another client wrote
// to the Service: it may be the previous leader, whose calls arrived late.
func (m *Store) MarkStale(key owner.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stale[key] = true
}

// Has reports whether there is a record of the Service, that is, whether this controller made
// a pass over it.
func (m *Store) Has(key owner.Key, uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, found := m.records[key]
	return found && r.ServiceUID == uid
}

// Put stores the record. If Octavia is changing the load balancer, the other Services that use
// it read it again.
func (m *Store) Put(key owner.Key, r Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(key)
	m.records[key] = r
	for _, id := range used(r.Cloud.Observed) {
		m.users[id] = append(m.users[id], key)
	}
	l := r.Cloud.Observed.LoadBalancer
	if l == nil {
		return
	}
	m.shareAddressed(l.ID, r.Cloud.Addressed)
	if l.ProvisioningStatus.Pending() {
		m.distrustOthers(key, *l)
	}
}

// shareAddressed stores, in the records of all Services that use the load balancer, when a floating IP of it was
// attached or taken away.
func (m *Store) shareAddressed(id string, at time.Time) {
	for _, key := range m.users[id] {
		if r := m.records[key]; at.After(r.Cloud.Addressed) {
			r.Cloud.Addressed = at
			m.records[key] = r
		}
	}
}

// distrustOthers makes the other Services that use the load balancer read it after the writer
// has changed it.
func (m *Store) distrustOthers(writer owner.Key, l lb.LoadBalancer) {
	for _, key := range m.users[l.ID] {
		if r := m.records[key]; key != writer {
			r.distrust()
			r.Cloud.Written = m.records[writer].Cloud.Written
			r.Cloud.Observed = diff.Clone(r.Cloud.Observed)
			if o := r.Cloud.Observed.LoadBalancer; o != nil && o.ID == l.ID {
				o.ProvisioningStatus = l.ProvisioningStatus
			}
			m.records[key] = r
		}
	}
}

// used returns the ids of the load balancers that the Service uses. While one replaces another one there are two, and
// the replaced one comes first.
func used(o lb.Observed) (ids []string) {
	for _, l := range []*lb.LoadBalancer{o.Predecessor, o.LoadBalancer} {
		if l != nil {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// HasPredecessor reports whether a load balancer of the Service is being replaced by another one. Then both nodes and
// Pods may be in use as members.
func (m *Store) HasPredecessor(key owner.Key, uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, found := m.records[key]
	return found && r.ServiceUID == uid && r.Cloud.Observed.Predecessor != nil
}

// LoadBalancerOf returns the id of the load balancer that was created for the Service, or "". A load balancer that the
// Service shares, or requested to share but was refused, is not its own.
func (m *Store) LoadBalancerOf(key owner.Key) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if o := m.records[key].Cloud.Observed; o.LoadBalancer != nil && !o.Sharer {
		return o.LoadBalancer.ID
	}
	return ""
}

// LoadBalancersOf returns the ids of the load balancers that the Service uses: two while one
// of them replaces the other.
func (m *Store) LoadBalancersOf(key owner.Key) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return used(m.records[key].Cloud.Observed)
}

// MayAppear reports whether the answer to the create of a load balancer for the Service was
// lost, so that it may still appear.
func (m *Store) MayAppear(key owner.Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.records[key].Cloud.Unanswered.IsZero()
}

// CreateRejected reports whether the cloud rejected the last create of a load balancer for the Service, and the next
// attempt is not due yet.
func (m *Store) CreateRejected(key owner.Key, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records[key].Recovery.RejectedCreates.Wait(now) > 0
}

// Users returns the Services that use the load balancer.
func (m *Store) Users(id string) []owner.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.users[id])
}

// Forget removes the record. It returns the id of its load balancer, or "" if there is none or
// another Service uses it.
func (m *Store) Forget(key owner.Key) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.stale, key)
	l := m.records[key].Cloud.Observed.LoadBalancer
	m.drop(key)
	if l == nil || len(m.users[l.ID]) > 0 {
		return ""
	}
	return l.ID
}

func (m *Store) drop(key owner.Key) {
	for _, id := range used(m.records[key].Cloud.Observed) {
		m.users[id] = slices.DeleteFunc(slices.Clone(m.users[id]), func(k owner.Key) bool { return k == key })
		if len(m.users[id]) == 0 {
			delete(m.users, id)
		}
	}
	delete(m.records, key)
}

// DualStack reports whether the Service has a load balancer of both IP families.
func (m *Store) DualStack(key owner.Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.records[key].Cloud.Observed.LoadBalancer
	return l != nil && l.DualStack()
}

// MemberAddresses returns the addresses of all members of all pools, sorted. Unsure is whether there may be more
// addresses: one of the served Services was not read yet, or Octavia is changing a load balancer. Such a load balancer
// may still have members that were removed from memory.
func (m *Store) MemberAddresses(served []owner.Key) (addresses []netip.Addr, unsure bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range served {
		r, found := m.records[key]
		unsure = unsure || !found || !r.Cloud.Known
		for _, l := range []*lb.LoadBalancer{r.Cloud.Observed.LoadBalancer, r.Cloud.Observed.Predecessor} {
			if l == nil {
				continue
			}
			unsure = unsure || l.ProvisioningStatus == lb.PendingUpdate
			for _, listener := range l.Listeners {
				addresses = append(addresses, memberAddresses(listener)...)
			}
		}
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return slices.Compact(addresses), unsure
}

// Shares reports whether the Service uses a load balancer that was created for another owner.
func (m *Store) Shares(key owner.Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.records[key].Cloud.Observed.Sharer
}

// PoolsOf returns the pools of the Service's listeners for which is(listener) is true. The caller must not change them.
func (m *Store) PoolsOf(key owner.Key, is func(lb.Listener) bool) (pools []lb.Pool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	observed := m.records[key].Cloud.Observed
	for _, l := range []*lb.LoadBalancer{observed.LoadBalancer, observed.Predecessor} {
		if l == nil {
			continue
		}
		for _, listener := range l.Listeners {
			if listener.Pool != nil && is(listener) {
				pools = append(pools, *listener.Pool)
			}
		}
	}
	return pools
}

// SetPoolHealth stores the operating statuses of all pools, by their ids. The map must not be changed any more.
func (m *Store) SetPoolHealth(health map[string]string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.health = health
}

// PoolHealth returns the operating statuses of all pools, by the ids of the pools, as last stored. The caller must not
// change the map.
func (m *Store) PoolHealth() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.health
}

func memberAddresses(l lb.Listener) (addresses []netip.Addr) {
	if l.Pool == nil {
		return nil
	}
	for _, member := range l.Pool.Members {
		if a, err := netip.ParseAddr(member.Address); err == nil {
			addresses = append(addresses, a)
		}
	}
	return addresses
}
