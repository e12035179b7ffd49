// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// makePool plans a complete pool that no listener uses yet and returns its id,
// which is empty when it is still to be made. A pool left over from an earlier,
// unfinished pass is completed rather than made twice; of several, the one that
// lacks least.
func (t *tree) makePool(want lb.Pool) (id string) {
	want = unmade(want)
	if t.wanted.KeepMonitors {
		want.Monitor = nil
	}
	best, completion := -1, []Op(nil)
	for i, p := range t.detached {
		if p.Name != want.Name || p.Protocol != want.Protocol || !t.owner.OwnsPool(p) || t.elsewhere(want, p) {
			continue
		}
		half := &tree{wanted: t.wanted}
		half.pool(want, p)
		if ops := half.ops(); best < 0 || len(ops) < len(completion) {
			best, completion = i, ops
		}
	}
	if best >= 0 {
		id = t.detached[best].ID
		t.detached = slices.Delete(t.detached, best, best+1)
		t.opening = append(t.opening, completion...)
		return id
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
	return ""
}

// pool plans the changes of a pool that stays. A monitor whose type changes
// goes before the members change and comes after it, because it may look at
// another port then: the members would be taken for dead meanwhile.
func (t *tree) pool(want, have lb.Pool) {
	if t.wanted.KeepMonitors {
		want.Monitor = have.Monitor
	}
	monitor := have.Monitor
	if monitor != nil && (want.Monitor == nil || want.Monitor.Type != monitor.Type) {
		t.members = append(t.members, DeleteMonitor{ID: monitor.ID, PoolName: have.Name})
		monitor = nil
	}
	if op := setMembers(want, have); op.Added+op.Removed+op.Changed > 0 {
		t.members = append(t.members, op)
	}
	if want.Algorithm != have.Algorithm || want.AdminDown != have.AdminDown || !samePersistence(want.Persistence, have.Persistence) {
		t.settings = append(t.settings, UpdatePool{ID: have.ID, Name: have.Name,
			Algorithm: want.Algorithm, Persistence: want.Persistence, AdminDown: want.AdminDown})
	}
	t.retag(SetTags{Of: "pool", ID: have.ID, Name: have.Name}, want.Tags, have.Tags)
	switch {
	case want.Monitor == nil:
	case monitor == nil:
		t.settings = append(t.settings, CreateMonitor{PoolID: have.ID, PoolName: have.Name, Monitor: *want.Monitor})
	case !sameMonitor(*want.Monitor, *monitor):
		t.settings = append(t.settings, UpdateMonitor{ID: monitor.ID, Monitor: *want.Monitor})
	}
}

// setMembers compares the members of a pool. The op's counts are zero when
// they are the same.
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
		h, there := old[m.Key()]
		switch {
		case !there:
			op.Added++
		case !sameMember(m, h):
			op.Changed++
		}
		delete(old, m.Key())
	}
	op.Removed = len(old)
	return op
}
