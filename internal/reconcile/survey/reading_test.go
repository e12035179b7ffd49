// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

const then, later = "2026-01-01T00:00:00", "2026-01-01T00:00:01"

// wants returns a load balancer with a TCP port 80 and the members.
func wants(hosts ...string) lb.Wanted {
	pool := lb.Pool{Protocol: lb.PoolTCP}
	for _, host := range hosts {
		pool.Members = append(pool.Members, lb.Member{Address: host, Port: 30080, Weight: 1, SubnetID: "subnet"})
	}
	return lb.Wanted{LoadBalancer: &lb.LoadBalancer{Listeners: []lb.Listener{{Protocol: lb.ListenerTCP, Port: 80, Pool: &pool}}}}
}

// listed returns it as lists show it, changed last at the time.
func listed(members int, at string, edits ...func(*octavia.Listed)) octavia.Listed {
	l := octavia.Listed{
		Bare: lb.LoadBalancer{ID: "lb", ProvisioningStatus: lb.Active, UpdatedAt: at, Listeners: []lb.Listener{
			{ID: "listener", Protocol: lb.ListenerTCP, Port: 80, Pool: &lb.Pool{ID: "pool", Protocol: lb.PoolTCP}},
		}},
		Complete: true, Members: map[string]int{"pool": members},
	}
	for _, edit := range edits {
		edit(&l)
	}
	return l
}

func noted(hosts ...string) Note {
	return Note{Digest: "digest", UpdatedAt: then, Members: MembersDigest(wants(hosts...).LoadBalancer), Settings: SettingsDigest(wants(hosts...).LoadBalancer)}
}

func TestReadsDependOnWhatHasChanged(t *testing.T) {
	with := func(m lb.Member, hosts ...string) lb.Wanted {
		w := wants(hosts...)
		for i := range w.LoadBalancer.Listeners[0].Pool.Members {
			one := &w.LoadBalancer.Listeners[0].Pool.Members[i]
			one.SubnetID, one.MonitorPort = m.SubnetID, m.MonitorPort
		}
		return w
	}
	otherSubnet, otherPort := lb.Member{SubnetID: "another"}, lb.Member{SubnetID: "subnet", MonitorPort: 31234}
	various := with(otherPort, "a", "b")
	various.LoadBalancer.Listeners[0].Pool.Members[0].MonitorPort = 0
	twoPorts := wants("a")
	twoPorts.LoadBalancer.Listeners = append(twoPorts.LoadBalancer.Listeners, lb.Listener{Protocol: lb.ListenerUDP, Port: 80})
	detached := func(l *octavia.Listed) { l.Bare.DetachedPools = []lb.Pool{{ID: "old"}} }
	for name, c := range map[string]struct {
		note   Note
		wanted lb.Wanted
		listed octavia.Listed
		want   Reading
	}{
		"nothing has changed":               {noted("a"), wants("a"), listed(1, then), Nothing},
		"no member":                         {noted(), wants(), listed(0, then), Nothing},
		"the load balancer has changed":     {noted("a"), wants("a"), listed(1, later), All},
		"both have changed":                 {noted("a"), wants("a", "b"), listed(1, later), All},
		"a node joined":                     {noted("a"), wants("a", "b"), listed(1, then), Tree},
		"a port was added":                  {noted("a"), twoPorts, listed(1, then), Tree},
		"there are more members":            {noted("a"), wants("a"), listed(2, then), All},
		"there are no members":              {noted("a"), wants("a"), listed(0, then), All},
		"no note":                           {Note{}, wants("a"), listed(1, then), All},
		"a note of an earlier version":      {Note{Digest: "digest"}, wants("a"), listed(1, then), All},
		"no updated_at":                     {Note{Digest: "digest", Members: noted("a").Members}, wants("a"), listed(1, ""), All},
		"the Service is refused":            {noted("a"), lb.Wanted{}, listed(1, then), All},
		"a pool without listener":           {noted("a"), wants("a"), listed(1, then, detached), All},
		"a node joined, and another subnet": {noted("a"), with(otherSubnet, "a", "b"), listed(1, then), All},
		"only another subnet is wanted":     {noted("a"), with(otherSubnet, "a"), listed(1, then), All},
		"another port of health checks":     {noted("a"), with(otherPort, "a"), listed(1, then), All},
		"members with various settings":     {noted("a"), various, listed(1, then), All},
		"the first node joined":             {noted(), wants("a"), listed(0, then), All},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Choose(c.note, c.wanted, c.listed); got != c.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

// treeOf returns a status tree with the members of the pool.
func treeOf(t *testing.T, id, poolID string, hosts ...string) (tree octavia.Tree) {
	t.Helper()
	var members []map[string]any
	for _, host := range hosts {
		members = append(members, map[string]any{"id": "id-" + host, "address": host, "protocol_port": 30080, "provisioning_status": lb.Active})
	}
	text, err := json.Marshal(map[string]any{"id": id, "provisioning_status": lb.Active, "listeners": []any{
		map[string]any{"id": "listener", "pools": []any{map[string]any{"id": poolID, "members": members}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestMembersAreTheWantedOnesOrThoseOfTheTree(t *testing.T) {
	member := func(id, host string) lb.Member {
		return lb.Member{ID: id, Address: host, Port: 30080, Weight: 1, SubnetID: "subnet", ProvisioningStatus: lb.Active}
	}
	l, err := WithWantedMembers(listed(1, then), wants("a"))
	if d := cmp.Diff([]lb.Member{member("", "a")}, l.Listeners[0].Pool.Members); d != "" || err != nil {
		t.Errorf("wanted (-want +got): %s, error %v", d, err)
	}
	l, err = WithTree(listed(2, then), treeOf(t, "lb", "pool", "a", "c"), wants("b"))
	if d := cmp.Diff([]lb.Member{member("id-a", "a"), member("id-c", "c")}, l.Listeners[0].Pool.Members); d != "" || err != nil {
		t.Errorf("tree (-want +got): %s, error %v", d, err)
	}
	if source := listed(2, then); len(source.Bare.Listeners[0].Pool.Members) > 0 {
		t.Error("the lists were changed")
	}
}

func TestUnknownMembersAreAnError(t *testing.T) {
	bare := listed(1, then)
	for name, err := range map[string]error{
		"another number is wanted": second(WithWantedMembers(bare, wants("a", "b"))),
		"none is wanted":           second(WithWantedMembers(bare, wants())),
		"the tree has no pool":     second(WithTree(bare, treeOf(t, "lb", "another"), wants("a"))),
		"the tree is another's":    second(WithTree(bare, treeOf(t, "another", "pool"), wants("a"))),
		"the tree has no listener": second(WithTree(bare, octavia.Tree{}, wants("a"))),
	} {
		t.Run(name, func(t *testing.T) {
			if !errors.Is(err, ErrNotListed) {
				t.Error(err)
			}
		})
	}
}

func second(_ lb.LoadBalancer, err error) error { return err }

func TestNoteIsUnchangedByWritingAndReading(t *testing.T) {
	for name, n := range map[string]Note{
		"empty":                 {},
		"digest only":           {Digest: "d"},
		"complete":              noted("a"),
		"members were not read": {Digest: "d", UpdatedAt: then, Members: "m", Settings: "s", Unread: true},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(n, ParseNote(n.String())); d != "" {
				t.Errorf("%q (-want +got): %s", n.String(), d)
			}
		})
	}
	for _, text := range []string{"d " + then, "d " + then + " m", "d " + then + " m s else", "d " + then + " m s unread more", "d  "} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			if n := ParseNote(text); n != (Note{Digest: "d"}) {
				t.Errorf("got %+v", n)
			}
		})
	}
	if text := (Note{Digest: "d", Members: "m", Unread: true}).String(); text != "d" {
		t.Errorf("a note without updated_at is %q", text)
	}
}

func TestTheDigestOfMembersDependsOnTheirSettingsAndNotOnOrderAndNames(t *testing.T) {
	renamed := wants("a", "b")
	renamed.LoadBalancer.Listeners[0].Pool.Members[0].Name = "node"
	checked := wants("a", "b")
	checked.LoadBalancer.Listeners[0].Pool.Members[0].MonitorPort = 1
	for name, c := range map[string]struct {
		wanted lb.Wanted
		same   bool
	}{
		"another order": {wants("b", "a"), true}, "another name": {renamed, true}, "another monitor port": {checked, false}, "a member less": {wants("a"), false}, "no load balancer": {lb.Wanted{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if same := MembersDigest(c.wanted.LoadBalancer) == MembersDigest(wants("a", "b").LoadBalancer); same != c.same {
				t.Errorf("same %t", same)
			}
		})
	}
	if fmt.Sprint(renamed.LoadBalancer.Listeners[0].Pool.Members[0].Name) != "node" {
		t.Error("the wanted members were changed")
	}
}
