// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Tree is the status tree of a load balancer: ids, names and statuses of all objects, and addresses and ports of
// members, but no settings and no pools that no listener uses.
type Tree struct {
	part
	Listeners []treeListener `json:"listeners"`
}

type treeListener struct {
	part
	Pools []treePool `json:"pools"`
}

type part struct {
	ID                 string                `json:"id"`
	Name               string                `json:"name"`
	ProvisioningStatus lb.ProvisioningStatus `json:"provisioning_status"`
	OperatingStatus    string                `json:"operating_status"`
}

type treePool struct {
	part
	Monitor *part        `json:"health_monitor"`
	Members []treeMember `json:"members"`
}

type treeMember struct {
	part
	Address      string `json:"address"`
	ProtocolPort int    `json:"protocol_port"`
}

// Tree reads the status tree in one call.
func (c *Client) Tree(ctx context.Context, id string) (Tree, error) {
	var answer struct {
		Statuses struct {
			LoadBalancer *Tree `json:"loadbalancer"`
		} `json:"statuses"`
	}
	op := "read the status tree of load balancer " + id
	if err := c.get(ctx, op, "loadbalancers/"+url.PathEscape(id)+"/status", &answer); err != nil {
		return Tree{}, err
	}
	if answer.Statuses.LoadBalancer == nil {
		return Tree{}, openstack.Unreadable(op, "no load balancer")
	}
	tree := *answer.Statuses.LoadBalancer
	if id, bad := tree.badID(); bad {
		return Tree{}, openstack.Unreadable(op, "a part with the id "+strconv.Quote(id))
	}
	return tree, nil
}

// OperatingStatuses returns the operating statuses of the listeners, pools and health monitors, by their ids.
func (t Tree) OperatingStatuses() map[string]string {
	all := map[string]string{}
	for _, l := range t.Listeners {
		all[l.ID] = l.OperatingStatus
		for _, p := range l.Pools {
			all[p.ID] = p.OperatingStatus
			if p.Monitor != nil {
				all[p.Monitor.ID] = p.Monitor.OperatingStatus
			}
		}
	}
	return all
}

// badID returns the first invalid id of the tree.
func (t Tree) badID() (id string, bad bool) {
	parts := []part{t.part}
	for _, l := range t.Listeners {
		parts = append(parts, l.part)
		for _, p := range l.Pools {
			parts = append(parts, p.part)
			if p.Monitor != nil {
				parts = append(parts, *p.Monitor)
			}
			for _, m := range p.Members {
				parts = append(parts, m.part)
			}
		}
	}
	i := slices.IndexFunc(parts, func(p part) bool { return !openstack.IsID(p.ID) })
	if i < 0 {
		return "", false
	}
	return parts[i].ID, true
}

// Confirm compares a load balancer, as predicted from our own writes, with its status tree: both must have the same
// listeners, pools, members and monitors, with the same names. Pools of L7 policies may be predicted as detached.
// It returns the prediction with all ids and statuses. If they differ, the error says how, and the load balancer
// must be read in full. Settings that the tree does not show, such as weights, source ranges and detached pools, are
// assumed to be as written. A member that was created again has another id. Parts that Octavia is still deleting, and
// that are not predicted, are no difference: provider ovn of 2025.1 and later shows them for seconds after the load
// balancer is ACTIVE. Neither are the parts with the names in removed, which our own writes have removed; left are
// those of them that the tree still shows.
func Confirm(predicted lb.LoadBalancer, removed []string, t Tree) (_ lb.LoadBalancer, left []string, _ error) {
	t, left = t.withoutDeleted(predicted, removed)
	confirmed, err := confirm(predicted, t)
	return confirmed, left, err
}

// confirm is Confirm for a tree without parts that are being deleted.
func confirm(predicted lb.LoadBalancer, t Tree) (lb.LoadBalancer, error) {
	l := predicted
	l.ProvisioningStatus, l.OperatingStatus = t.ProvisioningStatus, t.OperatingStatus
	if t.ID != l.ID {
		return predicted, fmt.Errorf("the tree is of load balancer %s", t.ID)
	}
	if len(t.Listeners) != len(l.Listeners) {
		return predicted, fmt.Errorf("%d listeners instead of %d", len(t.Listeners), len(l.Listeners))
	}
	l.Listeners = slices.Clone(l.Listeners)
	order, err := matchAll(l.Listeners, t)
	if err != nil {
		return predicted, err
	}
	for i := range l.Listeners {
		listener, shown := &l.Listeners[i], t.Listeners[order[i]]
		listener.ID, listener.ProvisioningStatus = shown.ID, shown.ProvisioningStatus
		listener.Pool, err = confirmDefaultPool(listener.Pool, shown.Pools, l.DetachedPools)
		if err != nil {
			return predicted, fmt.Errorf("listener %s: %w", shown.ID, err)
		}
	}
	return l, nil
}

// matchAll finds each listener in the tree: first those with known ids, then the others by name among the rest.
func matchAll(listeners []lb.Listener, t Tree) ([]int, error) {
	order := make([]int, len(listeners))
	left := make([]part, len(t.Listeners))
	for j, shown := range t.Listeners {
		left[j] = shown.part
	}
	for _, known := range []bool{true, false} {
		for i, l := range listeners {
			if (l.ID != "") != known {
				continue
			}
			j, err := match(l.ID, l.Name, "listener", left)
			if err != nil {
				return nil, err
			}
			order[i], left[j] = j, part{}
		}
	}
	return order, nil
}

// confirmDefaultPool checks the pools of a listener. The tree does not show which of them is the default
// pool.
func confirmDefaultPool(predicted *lb.Pool, shown []treePool, detached []lb.Pool) (*lb.Pool, error) {
	if predicted != nil {
		pool, err := confirmPool(*predicted, shown)
		if err != nil {
			return nil, err
		}
		predicted = &pool
	}
	for _, s := range shown {
		expected := predicted != nil && s.ID == predicted.ID
		if !expected && !slices.ContainsFunc(detached, func(p lb.Pool) bool { return p.ID == s.ID }) {
			return nil, fmt.Errorf("unexpected pool %s", s.ID)
		}
	}
	return predicted, nil
}

func confirmPool(predicted lb.Pool, among []treePool) (lb.Pool, error) {
	p := predicted
	parts := make([]part, len(among))
	for i := range among {
		parts[i] = among[i].part
	}
	i, err := match(p.ID, p.Name, "pool", parts)
	if err != nil {
		return p, err
	}
	shown := among[i]
	p.ID, p.ProvisioningStatus = shown.ID, shown.ProvisioningStatus
	if (p.Monitor == nil) != (shown.Monitor == nil) {
		return p, fmt.Errorf("pool %s: health monitor there: %t, expected: %t", p.ID, shown.Monitor != nil, p.Monitor != nil)
	}
	if p.Monitor != nil {
		monitor := *p.Monitor
		if monitor.ID != "" && monitor.ID != shown.Monitor.ID {
			return p, fmt.Errorf("pool %s: health monitor %s instead of %s", p.ID, shown.Monitor.ID, monitor.ID)
		}
		monitor.ID, monitor.ProvisioningStatus = shown.Monitor.ID, shown.Monitor.ProvisioningStatus
		p.Monitor = &monitor
	}
	p.Members, err = confirmMembers(p, shown)
	return p, err
}

func confirmMembers(p lb.Pool, shown treePool) ([]lb.Member, error) {
	if len(shown.Members) != len(p.Members) {
		return nil, fmt.Errorf("pool %s: %d members instead of %d", p.ID, len(shown.Members), len(p.Members))
	}
	members := slices.Clone(p.Members)
	for _, m := range shown.Members {
		i := slices.IndexFunc(members, func(x lb.Member) bool { return x.Key() == lb.MemberKey{Address: m.Address, Port: m.ProtocolPort} })
		if i < 0 {
			return nil, fmt.Errorf("pool %s: unexpected member %s port %d", p.ID, m.Address, m.ProtocolPort)
		}
		if members[i].ID != "" && members[i].ID != m.ID {
			return nil, fmt.Errorf("pool %s: member %s instead of %s", p.ID, m.ID, members[i].ID)
		}
		members[i].ID, members[i].ProvisioningStatus, members[i].OperatingStatus = m.ID, m.ProvisioningStatus, m.OperatingStatus
	}
	return members, nil
}

// match finds the part with the id or, if the id is unknown, the only one with the name. The name must always
// match.
func match(id, name, kind string, parts []part) (int, error) {
	found := -1
	for i, p := range parts {
		if p.ID == "" || id != "" && p.ID != id || p.Name != name {
			continue
		}
		if found >= 0 {
			return 0, fmt.Errorf("several %ss named %s", kind, name)
		}
		found = i
	}
	if found < 0 {
		return 0, fmt.Errorf("no %s named %s (%s)", kind, name, id)
	}
	return found, nil
}
