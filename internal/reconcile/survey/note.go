// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package survey reads what the cluster has in the cloud in a few lists, once after the start of the
// controller or for a command, instead of each Service on its own. A note on each Service shows whether its load
// balancer has changed since it was last read, and so what the lists lack: members.
//
// Everything but Survey is functions of plain data.
package survey

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Note is what a Service says about its load balancer when that last had the desired state.
type Note struct {
	// Digest identifies what the Service requested.
	Digest string
	// UpdatedAt is the load balancer's updated_at. Members identifies the members that it had, and
	// Settings the settings that these had. All are "" in notes of earlier versions, and if the state
	// was not confirmed.
	UpdatedAt, Members, Settings string
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
	case len(fields) == 4:
	case len(fields) == 5 && fields[4] == unread:
		n.Unread = true
	default:
		return n
	}
	n.UpdatedAt, n.Members, n.Settings = fields[1], fields[2], fields[3]
	return n
}

// String returns the note as one line.
func (n Note) String() string {
	fields := []string{n.Digest, n.UpdatedAt, n.Members, n.Settings}
	if slices.Contains(fields, "") {
		return n.Digest
	}
	if n.Unread {
		fields = append(fields, unread)
	}
	return strings.Join(fields, " ")
}

// MembersDigest identifies the members of all listeners, with their settings. It is "" if there is no
// load balancer.
func MembersDigest(l *lb.LoadBalancer) string {
	if l == nil {
		return ""
	}
	type entry struct {
		lb.ListenerKey
		Members []lb.Member
	}
	var all []entry
	for _, listener := range l.Listeners {
		e := entry{ListenerKey: listener.Key()}
		if listener.Pool != nil {
			for _, m := range listener.Pool.Members {
				one := settingsOf(m)
				one.Address, one.Port = m.Address, m.Port
				e.Members = append(e.Members, one)
			}
		}
		slices.SortFunc(e.Members, func(a, b lb.Member) int {
			return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
		})
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Transport, b.Transport))
	})
	return digestOf(all)
}

// SettingsDigest identifies the settings of the members if all members of the load balancer have the
// same. Otherwise, and without members, it is "various".
func SettingsDigest(l *lb.LoadBalancer) string {
	settings := map[lb.Member]bool{}
	if l != nil {
		for _, listener := range l.Listeners {
			if listener.Pool != nil {
				for _, m := range listener.Pool.Members {
					settings[settingsOf(m)] = true
				}
			}
		}
	}
	if len(settings) != 1 {
		return various
	}
	for one := range settings {
		return digestOf(one)
	}
	return various
}

const various = "various"

// settingsOf returns the member without what identifies it, its state, and its name: other
// controllers use other ones.
func settingsOf(m lb.Member) lb.Member {
	return lb.Member{SubnetID: m.SubnetID, Weight: m.Weight, MonitorPort: m.MonitorPort, Backup: m.Backup, AdminDown: m.AdminDown}
}

func digestOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
