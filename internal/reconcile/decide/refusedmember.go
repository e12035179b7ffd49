// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// mostGuesses is how many single members Octavia may refuse, one after the other, before the reason is looked for
// elsewhere.
const mostGuesses = 3

// refusedMembers finds out which new member made Octavia refuse an operation, so that the others are not refused with
// it. Members that the pool has are never left out. If the message names no new member, the refused one is found by
// trying: half of the new members have to wait while the other half is tried. If these are refused, too, they are
// halved again, until a single member is left.
func refusedMembers(f Facts, r memory.Record, op diff.Op, err error) memory.RefusedMembers {
	out := r.Refused
	out.Again = false
	var cloud *openstack.Error
	added := diff.NewMembers(op, r.Cloud.Observed)
	if openstack.Classify(err) != openstack.Invalid || !errors.As(err, &cloud) || len(added) == 0 {
		return out
	}
	retry := timing.Backoff{First: f.Timing.SlowRetry, Last: 15 * f.Timing.SlowRetry}
	if named := namedIn(cloud.Message, added); len(named) > 0 {
		for _, m := range named {
			out = out.With(m, cloud.Message, f.Now, retry)
		}
		out.Again = true
		return out
	}
	set, sets := op.(diff.SetMembers)
	if !sets || f.Now.Before(out.Unclear) {
		return out
	}
	if len(added) > 1 {
		slices.SortFunc(added, func(a, b lb.Member) int { return strings.Compare(a.Address, b.Address) })
		// Earlier suspects wait until the present members are done.
		suspects := map[lb.MemberKey]bool{}
		for key := range out.Suspects {
			suspects[key] = true
		}
		for _, m := range added[len(added)/2:] {
			suspects[m.Key()] = true
		}
		out.Suspects, out.Again = suspects, true
		return out
	}
	one := added[0]
	if _, known := out.Single[one.Key()]; !known {
		out.Guesses = append(slices.Clip(out.Guesses), one.Key())
	}
	alone := len(set.Members) == 1 && len(out.Suspects) == 0
	if alone || len(out.Guesses) > mostGuesses {
		return out.WithoutGuesses(f.Now.Add(retry.Last))
	}
	out = out.With(one, cloud.Message, f.Now, retry)
	out.Suspects, out.Again = nil, true
	return out
}

// namedIn returns the members that a message of Octavia names: by an address, in any notation, or by a subnet. A subnet
// that all members have names none of them.
func namedIn(message string, members []lb.Member) (named []lb.Member) {
	addresses := map[netip.Addr]bool{}
	for _, word := range strings.FieldsFunc(message, func(c rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF:.", c) }) {
		if a, err := netip.ParseAddr(strings.TrimRight(word, ".:")); err == nil {
			addresses[a.Unmap()] = true
		}
	}
	inSubnet := func(m lb.Member) bool { return m.SubnetID != "" && strings.Contains(message, m.SubnetID) }
	bySubnet := slices.ContainsFunc(members, func(m lb.Member) bool { return !inSubnet(m) })
	for _, m := range members {
		a, err := netip.ParseAddr(m.Address)
		if err == nil && addresses[a.Unmap()] || bySubnet && inSubnet(m) {
			named = append(named, m)
		}
	}
	return named
}
