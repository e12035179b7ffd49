// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// createPool plans a complete pool that no listener uses yet, and returns its id, or "" if it has yet to be created. If
// an interrupted pass left a pool behind, createPool completes it instead. If there are several, it completes the one
// that lacks the fewest objects. Ready is false if that pool is in ERROR: then it is only repaired now, and the rest is
// planned when it is ACTIVE.
func (t *changes) createPool(want lb.Pool) (id string, ready bool) {
	want = asNew(want)
	if t.wanted.KeepMonitors {
		want.Monitor = nil
	}
	best, completion := -1, []Op(nil)
	for i, p := range t.detached {
		if p.Name != want.Name || p.Protocol != want.Protocol || !t.owner.OwnsPool(p) || t.inOtherSubnet(want, p) {
			continue
		}
		if inError(p.ProvisioningStatus) {
			if best < 0 {
				best = i
			}
			continue
		}
		rest := &changes{wanted: t.wanted}
		rest.updatePool(want, p)
		if ops := rest.ops(); best < 0 || inError(t.detached[best].ProvisioningStatus) || len(ops) < len(completion) {
			best, completion = i, ops
		}
	}
	if best >= 0 {
		found := t.detached[best]
		t.detached = slices.Delete(t.detached, best, best+1)
		if inError(found.ProvisioningStatus) {
			t.updateFailed(want, found)
			return found.ID, false
		}
		t.opening = append(t.opening, completion...)
		return found.ID, true
	}
	pool := want
	pool.Members, pool.Monitor = nil, nil
	t.opening = append(t.opening, CreatePool{LoadBalancerID: t.id, Pool: pool})
	if len(want.Members) > 0 {
		t.opening = append(t.opening, setMembers(want, lb.Pool{Name: want.Name}))
	}
	if want.Monitor != nil {
		t.opening = append(t.opening, CreateMonitor{PoolName: want.Name, Monitor: *want.Monitor})
	}
	return "", true
}

// updatePool plans the changes of a pool that stays. If the type of its monitor changes, the monitor is deleted before
// the members change, and created again after that. The reason is that the new monitor may check another port:
// otherwise members would seem to fail in between.
func (t *changes) updatePool(want, have lb.Pool) {
	if t.wanted.KeepMonitors {
		want.Monitor = have.Monitor
	}
	monitor := have.Monitor
	var change memberChange
	if monitor != nil && (want.Monitor == nil || want.Monitor.Type != monitor.Type) {
		change.ops = append(change.ops, DeleteMonitor{ID: monitor.ID, PoolName: have.Name, Failed: inError(monitor.ProvisioningStatus)})
		monitor = nil
	}
	op := setMembers(want, have)
	op.Failed = op.differs() == 0 && slices.ContainsFunc(have.Members, func(m lb.Member) bool { return inError(m.ProvisioningStatus) })
	if op.differs() > 0 || op.Failed {
		change = memberChange{ops: append(change.ops, op), members: op.differs()}
	}
	if len(change.ops) > 0 {
		t.members = append(t.members, change)
	}
	if !samePool(want, have) {
		t.settings = append(t.settings, updatePool(want, have))
	}
	t.retag(SetTags{Of: "pool", ID: have.ID, Name: have.Name}, want.Tags, have.Tags)
	switch {
	case want.Monitor == nil:
	case monitor == nil:
		t.settings = append(t.settings, CreateMonitor{PoolID: have.ID, PoolName: have.Name, Monitor: *want.Monitor})
	case !sameMonitor(*want.Monitor, *monitor):
		t.settings = append(t.settings, UpdateMonitor{ID: monitor.ID, Monitor: *want.Monitor})
	case inError(monitor.ProvisioningStatus) && !t.wanted.KeepMonitors:
		t.settings = append(t.settings, UpdateMonitor{ID: monitor.ID, Monitor: *want.Monitor, Failed: true})
	}
}

// memberChange are the operations that change the members of one pool, and how many members differ.
type memberChange struct {
	ops     []Op
	members int
}

// inTurn returns the operations of all pools, those of the pool with the most differences first. Octavia accepts one
// operation at a time, and Pods may change again before it is done. Each pool gets its turn, because the pools that
// wait differ more and more.
func inTurn(changes []memberChange) (ops []Op) {
	slices.SortStableFunc(changes, func(a, b memberChange) int { return cmp.Compare(b.members, a.members) })
	for _, c := range changes {
		ops = append(ops, c.ops...)
	}
	return ops
}

// differs counts the members that differ.
func (op SetMembers) differs() int { return op.Added + op.Removed + op.Changed }

// WithoutMore returns the operation with no more members than the pool has, for a project without quota for more. It
// contains the wanted members that the pool has, and new members in the places of those that leave. It returns false if
// that would change nothing, or if the operation does not add
// more members than it removes.
func WithoutMore(op Op, observed lb.Observed) (SetMembers, bool) {
	set, _ := op.(SetMembers)
	var have *lb.Pool
	for _, l := range []*lb.LoadBalancer{observed.LoadBalancer, observed.Predecessor} {
		if l != nil {
			onPool(l, set.PoolID, func(p *lb.Pool) { have = p })
		}
	}
	if have == nil || set.Added <= set.Removed {
		return SetMembers{}, false
	}
	had := map[lb.MemberKey]bool{}
	for _, m := range have.Members {
		had[m.Key()] = true
	}
	places := set.Removed
	set.Members = slices.DeleteFunc(slices.Clone(set.Members), func(m lb.Member) bool {
		if had[m.Key()] {
			return false
		}
		places--
		return places < 0
	})
	less := setMembers(lb.Pool{Members: set.Members}, *have)
	set.Added, set.Removed, set.Changed = less.Added, less.Removed, less.Changed
	return set, set.differs() > 0
}

// NewMembers returns the members that the operation adds to the cloud: those that the pool lacks, or those of a new
// load balancer.
func NewMembers(op Op, observed lb.Observed) (added []lb.Member) {
	switch op := op.(type) {
	case SetMembers:
		have := map[lb.MemberKey]bool{}
		for _, l := range []*lb.LoadBalancer{observed.LoadBalancer, observed.Predecessor} {
			if l == nil {
				continue
			}
			onPool(l, op.PoolID, func(p *lb.Pool) {
				for _, m := range p.Members {
					have[m.Key()] = true
				}
			})
		}
		for _, m := range op.Members {
			if !have[m.Key()] {
				added = append(added, m)
			}
		}
	case CreateLoadBalancer:
		eachPool(&op.LoadBalancer, func(p *lb.Pool) { added = append(added, p.Members...) })
	}
	return added
}

// setMembers compares the members of a pool. The counts are zero if they are the same.
func setMembers(want, have lb.Pool) SetMembers {
	op := SetMembers{PoolID: have.ID, PoolName: have.Name, Members: slices.Clone(want.Members)}
	slices.SortFunc(op.Members, func(a, b lb.Member) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
	})
	old := make(map[lb.MemberKey]lb.Member, len(have.Members))
	for _, m := range have.Members {
		old[m.Key()] = m
	}
	for _, m := range want.Members {
		h, found := old[m.Key()]
		switch {
		case !found:
			op.Added++
		case !sameMember(m, h):
			op.Changed++
		}
		delete(old, m.Key())
	}
	op.Removed = len(old)
	return op
}

// EachMember calls do for each wanted member. Pool is the pool that the load balancer has at the listener of this
// member. Have is the member of this pool with the same address and port. Either is nil if it does not exist. Names do
// not matter.
func EachMember(wanted lb.Wanted, l lb.LoadBalancer, owner lb.Owner, do func(want lb.Member, pool *lb.Pool, have *lb.Member)) {
	if wanted.LoadBalancer == nil {
		return
	}
	pools := map[lb.ListenerKey]*lb.Pool{}
	for _, listener := range l.Listeners {
		if owner.OwnsListener(listener) {
			pools[listener.Key()] = listener.Pool
		}
	}
	for _, listener := range wanted.LoadBalancer.Listeners {
		if listener.Pool == nil {
			continue
		}
		pool, has := pools[listener.Key()], map[lb.MemberKey]*lb.Member{}
		if pool != nil {
			for i := range pool.Members {
				has[pool.Members[i].Key()] = &pool.Members[i]
			}
		}
		for _, m := range listener.Pool.Members {
			do(m, pool, has[m.Key()])
		}
	}
}
