// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// pageSize is how many objects are asked for at once: Octavia's usual maximum.
const pageSize = 1000

// Head is what changes of a load balancer while Octavia works on it.
type Head struct {
	ID                 string
	ProvisioningStatus lb.ProvisioningStatus
	// UpdatedAt is as in lb.LoadBalancer.
	UpdatedAt string
	// Gone is set by the Watcher for a load balancer that does not exist any
	// more.
	Gone bool
}

// FindByName returns the load balancers of the name, without what is below
// them, in one call. Those that are deleted already are left out.
func (c *Client) FindByName(ctx context.Context, name string) ([]lb.LoadBalancer, error) {
	documents, err := list[loadBalancerDocument](ctx, c, "loadbalancers", url.Values{"name": {name}})
	if err != nil {
		return nil, err
	}
	var found []lb.LoadBalancer
	for _, d := range documents {
		// A service that does not know the filter answers with everything.
		if d.Name == name && d.ProvisioningStatus != lb.Deleted {
			found = append(found, d.model())
		}
	}
	return found, nil
}

// Get returns the load balancer without what is below it. One that does not
// exist is an error of class Gone.
func (c *Client) Get(ctx context.Context, id string) (lb.LoadBalancer, error) {
	var answer struct {
		LoadBalancer loadBalancerDocument `json:"loadbalancer"`
	}
	op := "read load balancer " + id
	if err := c.get(ctx, op, "loadbalancers/"+url.PathEscape(id), nil, &answer); err != nil {
		return lb.LoadBalancer{}, err
	}
	if answer.LoadBalancer.ProvisioningStatus == lb.Deleted {
		return lb.LoadBalancer{}, &openstack.Error{Op: op, Class: openstack.Gone, Message: "it is deleted"}
	}
	return answer.LoadBalancer.model(), nil
}

// Head is Get for what the Watcher asks.
func (c *Client) Head(ctx context.Context, id string) (Head, error) {
	l, err := c.Get(ctx, id)
	return Head{ID: l.ID, ProvisioningStatus: l.ProvisioningStatus, UpdatedAt: l.UpdatedAt}, err
}

// Heads lists the load balancers that bear the tag, one call per thousand. Where
// the cloud knows no tags, or tag is empty, it lists all of the project.
func (c *Client) Heads(ctx context.Context, tag string) ([]Head, error) {
	query := url.Values{"fields": {"id", "provisioning_status", "updated_at"}}
	if tag != "" && c.can.Has(lb.FeatureTags) {
		query.Set("tags", tag)
	}
	documents, err := list[loadBalancerDocument](ctx, c, "loadbalancers", query)
	if err != nil {
		return nil, err
	}
	heads := make([]Head, len(documents))
	for i, d := range documents {
		heads[i] = Head{ID: d.ID, ProvisioningStatus: d.ProvisioningStatus, UpdatedAt: value(d.UpdatedAt)}
	}
	return heads, nil
}

// Observe returns the load balancer with everything below it: two lists, and
// for each pool its members and its health monitor, which no list gives by load
// balancer.
func (c *Client) Observe(ctx context.Context, head lb.LoadBalancer) (lb.LoadBalancer, error) {
	listeners, err := list[listenerDocument](ctx, c, "listeners", url.Values{"loadbalancer_id": {head.ID}})
	if err != nil {
		return head, err
	}
	documents, err := list[poolDocument](ctx, c, "pools", url.Values{"loadbalancer_id": {head.ID}})
	if err != nil {
		return head, err
	}
	pools := map[string]*lb.Pool{}
	for _, d := range documents {
		pool, err := c.pool(ctx, d)
		if err != nil {
			return head, err
		}
		pools[d.ID] = &pool
	}
	head.Listeners, head.DetachedPools = nil, nil
	used := map[string]bool{}
	for _, d := range listeners {
		l := d.model()
		if id := value(d.DefaultPoolID); pools[id] != nil {
			p := *pools[id]
			l.Pool, used[id] = &p, true
		}
		head.Listeners = append(head.Listeners, l)
	}
	for _, d := range documents {
		if !used[d.ID] {
			head.DetachedPools = append(head.DetachedPools, *pools[d.ID])
		}
	}
	return head, nil
}

// pool completes a pool with its members, in the order of address and port, and
// its health monitor.
func (c *Client) pool(ctx context.Context, d poolDocument) (lb.Pool, error) {
	pool := d.model()
	if len(d.Members) > 0 {
		members, err := list[memberDocument](ctx, c, "pools/"+d.ID+"/members", url.Values{})
		if err != nil {
			return pool, err
		}
		for _, m := range members {
			pool.Members = append(pool.Members, m.model())
		}
		slices.SortFunc(pool.Members, func(a, b lb.Member) int {
			return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
		})
	}
	if id := value(d.MonitorID); id != "" {
		var answer struct {
			Monitor monitorDocument `json:"healthmonitor"`
		}
		if err := c.get(ctx, "read health monitor "+id, "healthmonitors/"+id, nil, &answer); err != nil {
			return pool, err
		}
		monitor := answer.Monitor.model()
		pool.Monitor = &monitor
	}
	return pool, nil
}

// identified is a document that pages can be continued after.
type identified interface{ id() string }

type link struct {
	Rel string `json:"rel"`
}

// list reads all pages of a list. The key of the answer is the last word of the
// path.
func list[T identified](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	key := path[strings.LastIndex(path, "/")+1:]
	op := "list " + path
	query.Set("limit", strconv.Itoa(pageSize))
	var all []T
	for {
		var answer map[string]json.RawMessage
		if err := c.get(ctx, op, path, query, &answer); err != nil {
			return nil, err
		}
		var page []T
		var links []link
		if err := json.Unmarshal(answer[key], &page); err != nil {
			// An answer without its list is no empty list.
			return nil, openstack.Wrap(op, fmt.Errorf("no %s in it: %w", key, err))
		}
		if text := answer[key+"_links"]; text != nil {
			if err := json.Unmarshal(text, &links); err != nil {
				return nil, openstack.Wrap(op, err)
			}
		}
		all = append(all, page...)
		if len(page) == 0 || !slices.Contains(links, link{Rel: "next"}) {
			return all, nil
		}
		query.Set("marker", page[len(page)-1].id())
	}
}
