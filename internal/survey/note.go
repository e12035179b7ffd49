// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package survey reads what the cluster has in the cloud in a few lists, once after the start of the
// controller, instead of each Service on its own. A note on each Service shows whether its load
// balancer has changed since it was last read, and so what the lists lack: members.
//
// Everything but Survey is functions of plain data. It may import octavia and what that imports.
package survey

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// Note is what a Service says about its load balancer when that last had the desired state.
type Note struct {
	// Digest identifies what the Service requested.
	Digest string
	// UpdatedAt is the load balancer's updated_at, and Members identifies its members. Both are ""
	// in notes of earlier versions, and if the state was not confirmed.
	UpdatedAt, Members string
	// Unread is whether another client may have changed a setting of the load balancer unnoticed:
	// see memory.Cloud.Stale.
	Unread bool
}

const unread = "unread"

// ParseNote reads a note as String writes it. A text of any other form has no UpdatedAt.
func ParseNote(text string) Note {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return Note{}
	}
	n := Note{Digest: fields[0]}
	switch {
	case len(fields) == 3:
	case len(fields) == 4 && fields[3] == unread:
		n.Unread = true
	default:
		return n
	}
	n.UpdatedAt, n.Members = fields[1], fields[2]
	return n
}

// String returns the note as one line.
func (n Note) String() string {
	fields := []string{n.Digest, n.UpdatedAt, n.Members}
	if n.Digest == "" || n.UpdatedAt == "" || n.Members == "" {
		return n.Digest
	}
	if n.Unread {
		fields = append(fields, unread)
	}
	return strings.Join(fields, " ")
}

// MembersDigest identifies the members of all wanted listeners, with their settings. It is "" if
// nothing is wanted.
func MembersDigest(wanted lb.Wanted) string {
	if wanted.LoadBalancer == nil {
		return ""
	}
	type entry struct {
		lb.ListenerKey
		Members []lb.Member
	}
	var all []entry
	for _, l := range wanted.LoadBalancer.Listeners {
		e := entry{ListenerKey: l.Key()}
		if l.Pool != nil {
			e.Members = slices.Clone(l.Pool.Members)
		}
		for i := range e.Members {
			e.Members[i].Name = "" // other controllers use other ones
		}
		slices.SortFunc(e.Members, func(a, b lb.Member) int {
			return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
		})
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Transport, b.Transport))
	})
	text, err := json.Marshal(all)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
