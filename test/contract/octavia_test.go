// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// nowhere is an id that nothing has.
const nowhere = unknown

// nursery has the load balancers that a group creates, and deletes them when the group ends: all
// together, because one by one takes a minute on a real cloud.
type nursery struct{ ids []string }

func newNursery(t *testing.T) *nursery {
	n := &nursery{}
	t.Cleanup(func() {
		c := &try{T: t, cloud: theCloud}
		for _, id := range n.ids {
			if c.as(admin).until(id, "is settled or gone", isSettledOrGone) != "" {
				c.quietly(admin).lb("DELETE", "/loadbalancers/"+id+"?cascade=true", nil).is(http.StatusNoContent)
			}
		}
		for _, id := range n.ids {
			c.as(admin).until(id, "is gone", isGone)
		}
	})
	return n
}

// post requests a load balancer on the private subnet with the attributes of extra; missing leaves
// an attribute out.
func (n *nursery) post(u caller, extra object) answer {
	u.c.Helper()
	wish := with(object{"name": u.c.newName(), "vip_subnet_id": u.c.cloud.Subnet}, extra)
	a := u.lb("POST", "/loadbalancers", object{"loadbalancer": wish})
	if id := a.text("loadbalancer.id"); id != "" {
		n.ids = append(n.ids, id)
	}
	return a
}

// make makes load balancers for a whole group, all at once.
func (n *nursery) make(t *testing.T, wishes ...object) []string {
	t.Helper()
	c := &try{T: t, cloud: theCloud}
	var ids []string
	for _, wish := range wishes {
		ids = append(ids, n.post(c.quietly(k8s), wish).is(http.StatusCreated).text("loadbalancer.id"))
	}
	for _, id := range ids {
		c.active(id)
	}
	return ids
}

// saw lets calls that were made before, for the whole group, be compared with
// the recorded ones as part of this case.
func (c *try) saw(earlier *try) { c.exchanges = append(c.exchanges, earlier.exchanges...) }

// refusedWhilePending locks the load balancer with an update and makes calls
// meanwhile, which must all be refused with 409. If the cloud was done before,
// which answers tell that are others, it is tried again: so none of the calls may
// do harm when it is carried out.
func (c *try) refusedWhilePending(id string, calls ...func() answer) {
	c.Helper()
	c.active(id)
	c.during(id, func() {
		c.quietly(k8s).lb("PUT", "/loadbalancers/"+id, object{"loadbalancer": object{}}).is(http.StatusOK)
	}, func() {
		for _, call := range calls {
			a := call()
			c.must(locks(a), "%s: %s", a.what, a.Text)
		}
	})
}

// locks reports whether a call was refused because the load balancer is PENDING.
func locks(a answer) bool {
	return a.Status == http.StatusConflict && (strings.Contains(a.Text, "immutable") || strings.Contains(a.Text, "Invalid state"))
}

// hold keeps the changes of a load balancer from ending until release is called.
func (c *try) hold(id string) (release func()) {
	c.Helper()
	end, err := c.cloud.hold(id)
	if err != nil {
		c.Fatal(err)
	}
	return func() {
		if err := end(); err != nil {
			c.Error(err)
		}
	}
}

// lockedBy makes calls after lock has put a load balancer, which it names, into
// a PENDING state.
func (c *try) lockedBy(calls []func() answer, lock func() (id, state string)) {
	c.Helper()
	const tries = 20
	for i := range tries {
		before := len(c.exchanges)
		id, state := lock()
		release := c.hold(id)
		missed := ""
		for _, call := range calls {
			if a := call(); !locks(a) {
				missed = a.what + ": " + a.Text
				break
			}
		}
		if missed == "" && c.status("/loadbalancers/"+id, "loadbalancer") != state {
			missed = "the load balancer is not " + state + " any more"
		}
		release()
		if missed == "" {
			return
		}
		if i == tries-1 {
			c.Fatal(missed)
		}
		c.exchanges = c.exchanges[:before]
	}
}

// keys returns the sorted names of what an object in an answer has.
func (a answer) keys(path string) []string {
	m, _ := a.at(path).(map[string]any)
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// texts returns the strings in a list.
func texts(items []any) []string {
	var all []string
	for _, item := range items {
		text, _ := item.(string)
		all = append(all, text)
	}
	return all
}

// same reports whether two lists have the same elements, in any order.
func same(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
