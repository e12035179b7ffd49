// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
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
	// unread is whether somebody may have changed a setting of it unseen: it was
	// written since all of it was last read, and its status tree has no settings,
	// while updated_at does not tell whose change it was; or it was read in the
	// second in which it changed.
	unread bool
	// others are load balancers that were seen to bear the Service's mark and that
	// neither its name nor the id noted on it leads to.
	others []string
	// believed is what the load balancer was thought to be before it was read again,
	// or nil: see contested.
	believed *lb.Observed
	// reached is what was wanted when nothing was left to do, and nil before.
	// Together with the sweeper, which clears known when updated_at has moved,
	// it lets a pass end before any call.
	reached *lb.Wanted
	// written is when observed was last changed.
	written time.Time
	// asked is a digest of what the Service asked for when the cloud last had all
	// of it, "" when that is not known; weighed is whether it was looked for on the
	// Service, where the controller before this one may have left it. drifted is whether somebody else changed
	// something since, told whether that was told, and repaired what was done
	// about it.
	asked         string
	weighed       bool
	drifted, told bool
	repaired      []string
	// steadyFor is what was wanted when nothing but members was left to do.
	steadyFor *lb.Wanted
	// behind is since when the cloud has not had all that was wanted.
	behind time.Time
	// deletions counts our deletions of load balancers since one last served,
	// notBefore is when the next attempt may be made, and failed says why there
	// are such, with failedReason.
	deletions            int
	notBefore            time.Time
	failed, failedReason string
	// attempts is what was done about a load balancer that served and failed.
	attempts attempts
	// frees is whether what Octavia is at work on leaves room for others, and
	// quotaRefusals is how often in a row the quota left no room for the Service.
	frees         bool
	quotaRefusals int
	// alone is whether a load balancer that is yet to be created is to be so without its
	// parts: see aloneAfter.
	alone bool
	// discards counts deletions of load balancers that another one has replaced,
	// and discardAfter is when the next one may be made.
	discards     int
	discardAfter time.Time
	// beside is what was done to build another load balancer beside one that serves.
	// handedOver is since when that one has its address, and it stays for a while only.
	beside     besideTries
	handedOver time.Time
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
	// certificate is that of the Secret which the Service names, as it was last read.
	certificate build.SecretCertificate
	// unanswered is when a create failed that Octavia may still carry out, or
	// zero: what it makes may show only later.
	unanswered time.Time
}

// holds reports whether the Service has anything in the cloud, as far as is known.
func (r *record) holds() bool {
	o := r.observed
	return o.LoadBalancer != nil || o.Predecessor != nil || len(o.FloatingIPs) > 0 || len(o.Unsettled) > 0 || len(o.Duplicates) > 0
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

// sameButMembers reports whether a and b differ at most in the members of pools.
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
	keys    map[string][]types.NamespacedName // load balancer id -> the Services that use it
	// inHand are the Services over which passes are being made: what they do is
	// not in their records yet.
	inHand map[types.NamespacedName]bool
	// distrusted are the Services whose records are not to be planned on.
	distrusted map[types.NamespacedName]bool
}

func newMemory() *memory {
	return &memory{
		records: map[types.NamespacedName]record{}, keys: map[string][]types.NamespacedName{}, inHand: map[types.NamespacedName]bool{},
		distrusted: map[types.NamespacedName]bool{},
	}
}

// take marks the Service as in hand until the function that it returns is called.
func (m *memory) take(key types.NamespacedName) (done func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inHand[key] = true
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.inHand, key)
	}
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
	if m.distrusted[key] {
		delete(m.distrusted, key)
		r.known = false
	}
	return r
}

// distrust lets the next pass over the Service read what the cloud has: somebody was at
// work on the Service, perhaps a controller that led before us and whose calls were late.
func (m *memory) distrust(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.distrusted[key] = true
}

// has reports whether there is a record of the Service: this controller has looked
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
	if old := r.observed.Predecessor; old != nil {
		m.keys[old.ID] = append(m.keys[old.ID], key)
	}
	if l := r.observed.LoadBalancer; l != nil {
		m.keys[l.ID] = append(m.keys[l.ID], key)
		m.tellUsers(key, *l)
	}
}

// tellUsers lets the other Services that use the load balancer read it again when one of
// them has changed it, those as well that are in hand and may have read it before.
func (m *memory) tellUsers(writer types.NamespacedName, l lb.LoadBalancer) {
	if !l.ProvisioningStatus.Pending() {
		return
	}
	for _, key := range m.keys[l.ID] {
		if r := m.records[key]; key != writer {
			r.known, r.reached, r.written = false, nil, m.records[writer].written
			r.observed = diff.Clone(r.observed)
			if used := r.observed.LoadBalancer; used != nil && used.ID == l.ID {
				used.ProvisioningStatus = l.ProvisioningStatus
			}
			m.records[key], m.distrusted[key] = r, true
		}
	}
}

// users are the Services that use the load balancer, as far as is remembered.
func (m *memory) users(id string) []types.NamespacedName {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.keys[id])
}

// forget drops the record and returns the id of its load balancer, or "" where that is
// none, or others use it.
func (m *memory) forget(key types.NamespacedName) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.distrusted, key)
	return m.drop(key)
}

func (m *memory) drop(key types.NamespacedName) string {
	o := m.records[key].observed
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
func (m *memory) dropUser(key types.NamespacedName, id string) (last bool) {
	users := slices.DeleteFunc(slices.Clone(m.keys[id]), func(k types.NamespacedName) bool { return k == key })
	if len(users) > 0 {
		m.keys[id] = users
		return false
	}
	delete(m.keys, id)
	return true
}

// dualStack reports whether the Service is known to have a load balancer of both families.
func (m *memory) dualStack(key types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.records[key].observed.LoadBalancer
	return l != nil && l.DualStack()
}

// memberAddresses returns the addresses of all members of pools, and whether there may be
// others: a Service that is served was not looked at yet, or Octavia is changing a load
// balancer and has not dropped members yet that are not remembered any more.
func (m *memory) memberAddresses(served []types.NamespacedName) (addresses []netip.Addr, unsure bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seen := map[netip.Addr]bool{}
	for _, key := range served {
		r, there := m.records[key]
		unsure = unsure || !there || !r.known
		for _, l := range []*lb.LoadBalancer{r.observed.LoadBalancer, r.observed.Predecessor} {
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
