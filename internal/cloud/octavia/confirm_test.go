// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// node is an object of a status tree.
type node = map[string]any

func status(id, name string, s lb.ProvisioningStatus) node {
	return node{"id": id, "name": name, "provisioning_status": string(s), "operating_status": "ONLINE"}
}

// shown returns Octavia's status tree of the load balancer.
func shown(l lb.LoadBalancer) node {
	n := status(l.ID, l.Name, l.ProvisioningStatus)
	n["operating_status"] = l.OperatingStatus
	listeners := []any{}
	for _, listener := range l.Listeners {
		pools := []any{}
		if listener.Pool != nil {
			pools = append(pools, shownPool(*listener.Pool))
		}
		m := status(listener.ID, listener.Name, listener.ProvisioningStatus)
		m["pools"] = pools
		listeners = append(listeners, m)
	}
	n["listeners"] = listeners
	return n
}

func shownPool(p lb.Pool) node {
	n := status(p.ID, p.Name, p.ProvisioningStatus)
	if m := p.Monitor; m != nil {
		n["health_monitor"] = status(m.ID, m.Name, m.ProvisioningStatus)
	}
	members := []any{}
	for _, m := range p.Members {
		one := status(m.ID, m.Name, m.ProvisioningStatus)
		one["operating_status"], one["address"], one["protocol_port"] = m.OperatingStatus, m.Address, m.Port
		members = append(members, one)
	}
	n["members"] = members
	return n
}

func treeOf(t interface{ Fatal(...any) }, n node) octavia.Tree {
	text, err := json.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	var tree octavia.Tree
	if err := json.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	return tree
}

// small returns an observed load balancer with two ports and one detached pool.
func small() lb.LoadBalancer {
	pool := func(i int) *lb.Pool {
		p := newPool(i, []lb.Member{
			{ID: fmt.Sprint("m-a", i), Address: "10.0.0.1", Port: 80, ProvisioningStatus: lb.Active, OperatingStatus: "ONLINE"},
			{ID: fmt.Sprint("m-b", i), Address: "10.0.0.2", Port: 80, ProvisioningStatus: lb.Active, OperatingStatus: "ERROR"},
		})
		p.ID, p.ProvisioningStatus, p.Monitor.ID, p.Monitor.ProvisioningStatus = fmt.Sprint("p", i), lb.Active, fmt.Sprint("hm", i), lb.Active
		return &p
	}
	l := lb.LoadBalancer{ID: "lb1", Name: "web", ProvisioningStatus: lb.Active, OperatingStatus: "DEGRADED"}
	for i, port := range []int{80, 443} {
		listener := newListener(i, port, pool(i))
		listener.ID, listener.ProvisioningStatus = fmt.Sprint("l", i), lb.Active
		l.Listeners = append(l.Listeners, listener)
	}
	l.DetachedPools = []lb.Pool{*pool(2)}
	return l
}

// forget returns the load balancer as predicted: without statuses, and without the ids that drop selects.
func forget(l lb.LoadBalancer, drop func(id string) bool) lb.LoadBalancer {
	l = *diff.Clone(lb.Observed{LoadBalancer: &l}).LoadBalancer
	unknown := func(id *string, s *lb.ProvisioningStatus) {
		*s = ""
		if drop(*id) {
			*id = ""
		}
	}
	l.OperatingStatus, l.ProvisioningStatus = "", ""
	for i := range l.Listeners {
		listener := &l.Listeners[i]
		unknown(&listener.ID, &listener.ProvisioningStatus)
		p := listener.Pool
		if p == nil {
			continue
		}
		unknown(&p.ID, &p.ProvisioningStatus)
		if p.Monitor != nil {
			m := *p.Monitor
			unknown(&m.ID, &m.ProvisioningStatus)
			p.Monitor = &m
		}
		p.Members = slices.Clone(p.Members)
		for j := range p.Members {
			unknown(&p.Members[j].ID, &p.Members[j].ProvisioningStatus)
			p.Members[j].OperatingStatus = ""
		}
	}
	return l
}

func TestAConfirmedPredictionGetsTheIDsAndStatusesOfTheTree(t *testing.T) {
	l := small()
	for name, drop := range map[string]func(string) bool{
		"all ids known":            func(string) bool { return false },
		"no id below it known":     func(string) bool { return true },
		"only one listener new":    func(id string) bool { return strings.HasSuffix(id, "1") },
		"only the members unknown": func(id string) bool { return strings.HasPrefix(id, "m-") },
	} {
		t.Run(name, func(t *testing.T) {
			predicted := forget(l, drop)
			confirmed, _, err := octavia.Confirm(predicted, nil, treeOf(t, shown(l)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(l, confirmed); diff != "" {
				t.Errorf("confirmed (-want +got):\n%s", diff)
			}
			if diff := gocmp.Diff(forget(l, drop), predicted); diff != "" {
				t.Errorf("the prediction itself was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestADifferentTreeIsNotConfirmedAndTheErrorSaysWhy(t *testing.T) {
	for name, c := range map[string]struct {
		change func(l *lb.LoadBalancer) // of the predicted load balancer
		why    string
	}{
		"another load balancer": {func(l *lb.LoadBalancer) { l.ID = "lb2" }, "lb2"},
		"a listener less":       {func(l *lb.LoadBalancer) { l.Listeners = l.Listeners[:1] }, "1 listeners instead of 2"},
		"a listener more":       {func(l *lb.LoadBalancer) { l.Listeners = append(l.Listeners, lb.Listener{ID: "new"}) }, "3 listeners instead of 2"},
		"a listener made again": {func(l *lb.LoadBalancer) { l.Listeners[1].ID = "new" }, "no listener named " + owner.ListenerName(1)},
		"a listener renamed":    {func(l *lb.LoadBalancer) { l.Listeners[1].Name = "mine" }, "no listener named " + owner.ListenerName(1)},
		"a listener without pool": {
			func(l *lb.LoadBalancer) { l.Listeners[0].Pool = nil }, "no pool named"},
		"another pool": {func(l *lb.LoadBalancer) { l.Listeners[0].Pool.ID = "new" }, "no pool named"},
		"a pool of another listener": {
			func(l *lb.LoadBalancer) { l.Listeners[0].Pool = l.Listeners[1].Pool }, "no pool named"},
		"a member less": {
			func(l *lb.LoadBalancer) { l.Listeners[0].Pool.Members = l.Listeners[0].Pool.Members[:1] }, "1 members instead of 2"},
		"a member more": {
			func(l *lb.LoadBalancer) {
				p := l.Listeners[0].Pool
				p.Members = append(p.Members, lb.Member{ID: "new", Address: "10.0.0.3", Port: 80})
			}, "3 members instead of 2"},
		"a member at another address": {
			func(l *lb.LoadBalancer) { l.Listeners[0].Pool.Members[0].Address = "10.0.0.9" }, "10.0.0.9"},
		"a member at another port": {
			func(l *lb.LoadBalancer) { l.Listeners[0].Pool.Members[0].Port = 81 }, "port 81"},
		"a member made again": {
			func(l *lb.LoadBalancer) { l.Listeners[0].Pool.Members[0].ID = "new" }, "member new instead of m-a0"},
		"no monitor":           {func(l *lb.LoadBalancer) { l.Listeners[0].Pool.Monitor = nil }, "health monitor"},
		"a monitor made again": {func(l *lb.LoadBalancer) { l.Listeners[0].Pool.Monitor.ID = "new" }, "health monitor new instead of hm0"},
	} {
		t.Run(name, func(t *testing.T) {
			predicted, there := forget(small(), func(string) bool { return false }), small()
			c.change(&there)
			confirmed, _, err := octavia.Confirm(predicted, nil, treeOf(t, shown(there)))
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("difference %v, want one with %q", err, c.why)
			}
			if diff := gocmp.Diff(predicted, confirmed); diff != "" {
				t.Errorf("the prediction was changed in spite of it:\n%s", diff)
			}
		})
	}
}

func TestObjectsRemovedByOurWritesAreNoDifferenceAndAreNamedWhileTheyExist(t *testing.T) {
	for name, remove := range map[string]func(l *lb.LoadBalancer){
		"nothing":    func(*lb.LoadBalancer) {},
		"a listener": func(l *lb.LoadBalancer) { l.Listeners = l.Listeners[:1] },
		"a monitor":  func(l *lb.LoadBalancer) { l.Listeners[0].Pool.Monitor = nil },
		"a member":   func(l *lb.LoadBalancer) { l.Listeners[0].Pool.Members = l.Listeners[0].Pool.Members[:1] },
	} {
		t.Run(name, func(t *testing.T) {
			predicted, there := small(), small()
			remove(&predicted)
			still := predicted.PartNames()
			removed := slices.Sorted(maps.Keys(there.PartNames()))
			removed = slices.DeleteFunc(removed, func(name string) bool { return still[name] })
			_, left, err := octavia.Confirm(predicted, append(slices.Clone(removed), lb.PartName("pool", "gone")), treeOf(t, shown(there)))
			if err != nil {
				t.Fatal(err)
			}
			// When a listener is removed, so is its pool.
			if len(removed) > 0 && len(left) == 0 || slices.ContainsFunc(left, func(name string) bool { return !slices.Contains(removed, name) }) {
				t.Errorf("%v are left of %v", left, removed)
			}
			if _, _, err := octavia.Confirm(predicted, nil, treeOf(t, shown(there))); (err != nil) != (len(removed) > 0) {
				t.Errorf("if they are not known to be removed: %v", err)
			}
			if diff := gocmp.Diff(predicted, there.WithoutParts(removed), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("without what was removed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestObjectsThatOctaviaIsDeletingAreNoDifferenceUnlessPredicted(t *testing.T) {
	for name, remove := range map[string]func(l *lb.LoadBalancer){
		"a listener": func(l *lb.LoadBalancer) { l.Listeners = l.Listeners[:1] },
		"a monitor":  func(l *lb.LoadBalancer) { l.Listeners[0].Pool.Monitor = nil },
		"a member":   func(l *lb.LoadBalancer) { l.Listeners[0].Pool.Members = l.Listeners[0].Pool.Members[:1] },
	} {
		t.Run(name, func(t *testing.T) {
			predicted, there := small(), small()
			remove(&predicted)
			for i := range there.Listeners[1:] {
				there.Listeners[1+i].ProvisioningStatus = lb.PendingDelete
			}
			pool := there.Listeners[0].Pool
			pool.Monitor.ProvisioningStatus, pool.Members[1].ProvisioningStatus = lb.PendingDelete, lb.PendingDelete
			confirmed, _, err := octavia.Confirm(predicted, nil, treeOf(t, shown(there)))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(statuses(confirmed), lb.ProvisioningStatus.Pending) {
				t.Error("what was predicted and is being deleted is not PENDING")
			}
		})
	}
}

// statuses returns the statuses of all parts.
func statuses(l lb.LoadBalancer) (all []lb.ProvisioningStatus) {
	for _, listener := range l.Listeners {
		all = append(all, listener.ProvisioningStatus)
		if p := listener.Pool; p != nil {
			all = append(all, p.ProvisioningStatus)
			if p.Monitor != nil {
				all = append(all, p.Monitor.ProvisioningStatus)
			}
			for _, m := range p.Members {
				all = append(all, m.ProvisioningStatus)
			}
		}
	}
	return all
}

func TestAMonitorThatWasNotPredictedIsADifference(t *testing.T) {
	predicted := small()
	predicted.Listeners[0].Pool.Monitor = nil
	if _, _, err := octavia.Confirm(predicted, nil, treeOf(t, shown(small()))); err == nil {
		t.Error("it was confirmed")
	}
}

func TestAPoolThatWasNotPredictedBehindAListenerIsADifferenceUnlessItIsKnownAsDetached(t *testing.T) {
	predicted := small()
	for name, test := range map[string]struct {
		id   string
		want bool
	}{
		"pool that is known as detached": {"p2", true},
		"unknown pool":                   {"p9", false},
	} {
		t.Run(name, func(t *testing.T) {
			tree := shown(predicted)
			listener := tree["listeners"].([]any)[0].(node)
			listener["pools"] = append(listener["pools"].([]any), status(test.id, "of a policy", lb.Active))
			if _, _, err := octavia.Confirm(predicted, nil, treeOf(t, tree)); (err == nil) != test.want {
				t.Errorf("pool %s: %v", test.id, err)
			}
		})
	}
}

func TestNewListenersOfOneNameAreNotGuessed(t *testing.T) {
	there := small()
	there.Listeners[1].Name = there.Listeners[0].Name
	for name, drop := range map[string]func(string) bool{
		"both new": func(string) bool { return true },
		"one new":  func(id string) bool { return id == "l1" },
	} {
		t.Run(name, func(t *testing.T) {
			confirmed, _, err := octavia.Confirm(forget(there, drop), nil, treeOf(t, shown(there)))
			if one := name == "one new"; one != (err == nil) {
				t.Errorf("difference: %v", err)
			} else if one && !gocmp.Equal(there, confirmed) {
				t.Error(gocmp.Diff(there, confirmed))
			}
		})
	}
}

// generator draws load balancers whose parts all have ids.
var generator = rapid.Custom(func(t *rapid.T) lb.LoadBalancer {
	made := 0
	id := func() string { made++; return fmt.Sprintf("id-%d", made) }
	statuses := rapid.SampledFrom([]lb.ProvisioningStatus{lb.Active, lb.PendingCreate, lb.Error})
	pool := func(i int) lb.Pool {
		p := lb.Pool{ID: id(), Name: fmt.Sprintf("pool_%d", i), Protocol: lb.PoolTCP, ProvisioningStatus: statuses.Draw(t, "pool")}
		for j := range rapid.IntRange(0, 3).Draw(t, "members") {
			p.Members = append(p.Members, lb.Member{
				ID: id(), Address: fmt.Sprintf("10.0.0.%d", j/2), Port: 80 + j%2, ProvisioningStatus: statuses.Draw(t, "member"), OperatingStatus: "ONLINE",
			})
		}
		if rapid.Bool().Draw(t, "monitor") {
			p.Monitor = &lb.HealthMonitor{ID: id(), Name: "monitor", ProvisioningStatus: statuses.Draw(t, "monitor status")}
		}
		return p
	}
	l := lb.LoadBalancer{ID: id(), Name: "web", ProvisioningStatus: lb.Active, OperatingStatus: "ONLINE"}
	for i := range rapid.IntRange(0, 4).Draw(t, "listeners") {
		listener := lb.Listener{
			ID: id(), Name: fmt.Sprintf("listener_%d", i), Protocol: lb.ListenerTCP, Port: 80 + i, ProvisioningStatus: statuses.Draw(t, "listener"),
		}
		if rapid.Bool().Draw(t, "pool") {
			p := pool(i)
			listener.Pool = &p
		}
		l.Listeners = append(l.Listeners, listener)
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "detached") {
		l.DetachedPools = append(l.DetachedPools, pool(10+i))
	}
	return l
})

func TestAnyMatchingTreeIsConfirmed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := generator.Draw(t, "load balancer")
		drop := rapid.Custom(func(t *rapid.T) map[string]bool {
			return rapid.MapOf(rapid.SampledFrom(ids(shown(l))), rapid.Bool()).Draw(t, "ids")
		}).Draw(t, "unknown")
		tree := shown(l)
		tree["listeners"] = rapid.Permutation(tree["listeners"].([]any)).Draw(t, "order")
		confirmed, _, err := octavia.Confirm(forget(l, func(id string) bool { return drop[id] }), nil, treeOf(t, tree))
		if diff := gocmp.Diff(l, confirmed, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("%v (-there +confirmed):\n%s", err, diff)
		}
	})
}

func TestEveryAddedRemovedOrReplacedPartIsADifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := generator.Filter(func(l lb.LoadBalancer) bool { return len(l.Listeners) > 0 }).Draw(t, "load balancer")
		tree := shown(l)
		edits := editsOf(tree)
		edits[rapid.IntRange(0, len(edits)-1).Draw(t, "edit")]()
		if _, _, err := octavia.Confirm(forget(l, func(string) bool { return false }), nil, treeOf(t, tree)); err == nil {
			t.Fatalf("confirmed by\n%s", gocmp.Diff(shown(l), tree))
		}
	})
}

// lists has the keys of children in a tree.
var lists = []string{"listeners", "pools", "members"}

// ids returns the ids of all parts.
func ids(n node) []string {
	all := []string{n["id"].(string)}
	if m, ok := n["health_monitor"].(node); ok {
		all = append(all, m["id"].(string))
	}
	for _, key := range lists {
		parts, _ := n[key].([]any)
		for _, part := range parts {
			all = append(all, ids(part.(node))...)
		}
	}
	return all
}

// editsOf returns all changes of one part of the tree.
func editsOf(n node) []func() {
	edits := []func(){func() { n["id"] = "another" }}
	if m, there := n["health_monitor"].(node); there {
		edits = append(edits, func() { m["id"] = "another" }, func() { delete(n, "health_monitor") })
	} else if n["members"] != nil {
		edits = append(edits, func() { n["health_monitor"] = status("another", "monitor", lb.Active) })
	}
	for _, key := range lists {
		parts, there := n[key].([]any)
		if !there {
			continue
		}
		edits = append(edits, func() { n[key] = append(parts, status("another", "another", lb.Active)) })
		for i, part := range parts {
			edits = append(edits, func() { n[key] = slices.Concat(parts[:i], parts[i+1:]) })
			edits = append(edits, editsOf(part.(node))...)
		}
	}
	return edits
}
