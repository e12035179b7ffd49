// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

const (
	// bareName begins the names of the load balancers that the limits are measured with.
	bareName = "bench-limit-"
	// bareNodes is how many members each of their pools has at first.
	bareNodes = 2
	// bareList is the interval for polling creates and deletes, bareUpdate that for updates, which
	// are shorter.
	bareList, bareUpdate = 2 * time.Second, 500 * time.Millisecond
	// bareTimeout bounds each of the three measurements.
	bareTimeout = 20 * time.Minute
)

// bare measures the limits of a real cloud with calls that nothing delays.
type bare struct {
	user    openstack.Requester
	subnet  string
	address func(int) netip.Addr
	known   map[[2]int]Limits
}

// limits creates n load balancers, each with one POST, changes every pool, and deletes them.
func (b *bare) limits(ctx context.Context, n, ports int) (l Limits, err error) {
	size := [2]int{n, ports}
	if known, measured := b.known[size]; measured {
		return known, nil
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("measure the limits of the cloud with bare calls: %w", errors.Join(err, b.deleteAll(context.WithoutCancel(ctx))))
		}
	}()
	for _, step := range []struct {
		took *time.Duration
		do   func() error
	}{
		{&l.Create, func() error { return b.createAll(ctx, n, ports) }},
		{&l.UpdatePorts, func() error { return b.updateAll(ctx) }},
		{&l.Call, func() error { _, err := list(ctx, b.user); return err }},
		{&l.Delete, func() error { return b.deleteAll(ctx) }},
	} {
		began := time.Now()
		if err := step.do(); err != nil {
			return l, err
		}
		*step.took = time.Since(began)
	}
	l.Update = l.UpdatePorts / time.Duration(ports)
	b.known[size] = l
	return l, nil
}

func (b *bare) createAll(ctx context.Context, n, ports int) error {
	group, inGroup := errgroup.WithContext(ctx)
	for i := range n {
		group.Go(func() error {
			return openstack.Call(inGroup, b.user, cloudsim.LoadBalancer, http.MethodPost, balancers, b.tree(i, ports), nil)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return b.wait(ctx, bareList, func(own []LoadBalancer) (done bool, err error) {
		for _, l := range own {
			if l.Status != "ACTIVE" {
				return false, nil
			}
		}
		return len(own) == n, nil
	})
}

// tree returns a load balancer with all its ports.
func (b *bare) tree(i, ports int) any {
	type object map[string]any
	var listeners []object
	for p := range ports {
		listeners = append(listeners, object{
			"name": fmt.Sprintf("port-%d", p), "protocol": "TCP", "protocol_port": 8000 + p,
			"default_pool": object{"name": fmt.Sprintf("pool-%d", p), "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "members": b.members(bareNodes)},
		})
	}
	return object{"loadbalancer": object{"name": fmt.Sprintf("%s%d", bareName, i), "vip_subnet_id": b.subnet, "listeners": listeners}}
}

func (b *bare) members(nodes int) []map[string]any {
	members := []map[string]any{}
	for n := range nodes {
		members = append(members, map[string]any{"address": b.address(n).String(), "protocol_port": 30000})
	}
	return members
}

// updateAll adds a member to every pool: on one load balancer one pool after the other, as
// soon as it is ACTIVE again, on all load balancers in parallel.
func (b *bare) updateAll(ctx context.Context) error {
	pools, err := poolsOf(ctx, b.user)
	if err != nil {
		return err
	}
	if err := b.checkChildren(ctx, pools); err != nil {
		return err
	}
	return b.wait(ctx, bareUpdate, func(own []LoadBalancer) (done bool, err error) {
		done = true
		group, inGroup := errgroup.WithContext(ctx)
		for _, l := range own {
			if l.Pending() {
				done = false
				continue
			}
			left := pools[l.ID]
			if len(left) == 0 {
				continue
			}
			done = false
			pools[l.ID] = left[1:]
			group.Go(func() error { return putMembers(inGroup, b.user, left[0], b.members(bareNodes+1)) })
		}
		return done, group.Wait()
	})
}

// checkChildren refuses an Octavia that leaves the children of a create PENDING: their pools
// cannot be changed.
func (b *bare) checkChildren(ctx context.Context, pools map[string][]string) error {
	for _, of := range pools {
		var answer struct {
			Pool struct {
				Status string `json:"provisioning_status"`
			}
		}
		if err := openstack.Call(ctx, b.user, cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/pools/"+of[0], nil, &answer); err != nil {
			return err
		}
		if answer.Pool.Status != "ACTIVE" {
			return fmt.Errorf("the load balancer is ACTIVE, but its pool %s stays %s, as with Octavia 11.0 without a patch", of[0], answer.Pool.Status)
		}
		return nil
	}
	return nil
}

// deleteAll deletes the load balancers and waits until they are gone.
func (b *bare) deleteAll(ctx context.Context) error {
	all, err := b.own(ctx)
	if err != nil {
		return err
	}
	group, inGroup := errgroup.WithContext(ctx)
	for _, l := range all {
		group.Go(func() error {
			return openstack.Call(inGroup, b.user, cloudsim.LoadBalancer, http.MethodDelete, balancers+"/"+l.ID+"?cascade=true", nil, nil)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return b.wait(ctx, bareList, func(own []LoadBalancer) (bool, error) { return len(own) == 0, nil })
}

// wait lists the load balancers until done reports that.
func (b *bare) wait(ctx context.Context, every time.Duration, done func([]LoadBalancer) (bool, error)) error {
	late := time.After(bareTimeout)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		own, err := b.own(ctx)
		if err != nil {
			return err
		}
		if is, err := done(own); is || err != nil {
			return err
		}
		for _, l := range own {
			if l.Status == "ERROR" {
				return fmt.Errorf("the load balancer %s is in ERROR", l.Name)
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			return fmt.Errorf("waited %v for %d load balancers", bareTimeout, len(own))
		case <-tick.C:
		}
	}
}

// own returns the load balancers that the limits are measured with.
func (b *bare) own(ctx context.Context) ([]LoadBalancer, error) {
	all, err := list(ctx, b.user)
	var own []LoadBalancer
	for _, l := range all {
		if strings.HasPrefix(l.Name, bareName) {
			own = append(own, l)
		}
	}
	return own, err
}

// poolsOf lists the ids of all pools, by their load balancers.
func poolsOf(ctx context.Context, user openstack.Requester) (map[string][]string, error) {
	var page struct {
		Pools []struct {
			ID            string
			LoadBalancers []struct{ ID string } `json:"loadbalancers"`
		}
	}
	if err := openstack.Call(ctx, user, cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/pools?fields=id&fields=loadbalancers", nil, &page); err != nil {
		return nil, err
	}
	pools := map[string][]string{}
	for _, p := range page.Pools {
		for _, l := range p.LoadBalancers {
			pools[l.ID] = append(pools[l.ID], p.ID)
		}
	}
	return pools, nil
}

// putMembers sets all members of a pool.
func putMembers(ctx context.Context, user openstack.Requester, pool string, members []map[string]any) error {
	if members == nil {
		members = []map[string]any{}
	}
	return openstack.Call(ctx, user, cloudsim.LoadBalancer, http.MethodPut, "/v2.0/lbaas/pools/"+pool+"/members", map[string]any{"members": members}, nil)
}
