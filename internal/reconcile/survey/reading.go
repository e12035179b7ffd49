// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Reading is what to read of a load balancer in the lists, to know its members.
type Reading string

// The readings.
const (
	// Nothing: the members are those that the Service wants. They were when the note was written,
	// and neither the load balancer nor what the Service wants of its members has changed since.
	Nothing Reading = "nothing"
	// Tree: the load balancer has not changed since the note was written, but what the Service wants
	// of its members has. The status tree shows the members. All had the settings that are wanted.
	Tree Reading = "status tree"
	// All: the members of each pool, with all settings.
	All Reading = "members"
)

// Choose decides what to read of the load balancer of a Service with the note.
func Choose(note Note, wanted lb.Wanted, l octavia.Listed) Reading {
	bare, members := l.Bare, MembersDigest(wanted.LoadBalancer)
	switch {
	case note.UpdatedAt == "" || note.UpdatedAt != bare.UpdatedAt || wanted.LoadBalancer == nil || len(bare.DetachedPools) > 0:
		return All
	case note.Members == members && fits(wanted, l):
		return Nothing
	case note.Members != members && note.Settings != various && note.Settings == SettingsDigest(wanted.LoadBalancer):
		return Tree
	}
	return All
}

// fits reports whether the load balancer has exactly the wanted listeners, each with as many members
// as wanted.
func fits(wanted lb.Wanted, l octavia.Listed) bool {
	bare := l.Bare
	return len(bare.Listeners) == len(wanted.LoadBalancer.Listeners) && !slices.ContainsFunc(bare.Listeners, func(have lb.Listener) bool {
		want, found := counterpart(wanted, have)
		if !found || (want.Pool == nil) != (have.Pool == nil) {
			return true
		}
		return have.Pool != nil && l.Members[have.Pool.ID] != len(want.Pool.Members)
	})
}

// counterpart returns the wanted listener of the same port.
func counterpart(wanted lb.Wanted, have lb.Listener) (lb.Listener, bool) {
	all := wanted.LoadBalancer.Listeners
	i := slices.IndexFunc(all, func(l lb.Listener) bool { return l.Key() == have.Key() })
	if i < 0 {
		return lb.Listener{}, false
	}
	return all[i], true
}

// WithWantedMembers returns the load balancer with the members that the Service wants. Choose must
// have returned Nothing.
func WithWantedMembers(l octavia.Listed, wanted lb.Wanted) (lb.LoadBalancer, error) {
	return l.WithMembers(func(pool lb.Pool, listener *lb.Listener) ([]lb.Member, error) {
		if listener == nil {
			return nil, ErrNotListed
		}
		want, found := counterpart(wanted, *listener)
		if !found || want.Pool == nil || len(want.Pool.Members) != l.Members[pool.ID] {
			return nil, ErrNotListed
		}
		members := slices.Clone(want.Pool.Members)
		for i := range members {
			members[i].ProvisioningStatus = lb.Active // otherwise nothing would have been noted
		}
		return members, nil
	})
}

// WithTree returns the load balancer with the members in its status tree. Choose must have returned
// Tree. The error is ErrNotListed if the load balancer has changed since it was listed.
func WithTree(l octavia.Listed, t octavia.Tree, wanted lb.Wanted) (lb.LoadBalancer, error) {
	if bare := l.Bare; t.ID != bare.ID || t.ProvisioningStatus != lb.Active || len(t.Listeners) != len(bare.Listeners) {
		return lb.LoadBalancer{}, ErrNotListed
	}
	return l.WithMembers(func(pool lb.Pool, listener *lb.Listener) ([]lb.Member, error) {
		members, found := t.Members(pool.ID)
		if !found || listener == nil {
			return nil, ErrNotListed
		}
		settings := lb.Member{Weight: 1}
		if want, found := counterpart(wanted, *listener); found && want.Pool != nil && len(want.Pool.Members) > 0 {
			settings = want.Pool.Members[0]
		}
		for i := range members {
			m := &members[i]
			m.Weight, m.MonitorPort, m.Backup, m.AdminDown, m.SubnetID = settings.Weight, settings.MonitorPort, settings.Backup, settings.AdminDown, settings.SubnetID
		}
		return members, nil
	})
}
