// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Head has the fields of a load balancer that change during an operation of Octavia.
type Head struct {
	ID                 string
	ProvisioningStatus lb.ProvisioningStatus
	// UpdatedAt is as in lb.LoadBalancer.
	UpdatedAt string
	// VIPPortID is the port of the VIP, to which a floating IP is attached.
	VIPPortID string
	// Tags are nil if the cloud has no tags.
	Tags []string
	// Gone means that the load balancer was read by its id and does not exist.
	Gone bool
}

// FindByVIPPort returns the load balancers with the port of the VIP, without children and without deleted ones, in one
// call.
func (c *Client) FindByVIPPort(ctx context.Context, portID string) ([]lb.LoadBalancer, error) {
	return c.find(ctx, url.Values{"vip_port_id": {portID}}, func(d loadBalancerDocument) bool { return d.VIPPortID == portID })
}

// FindByTag returns the load balancers with the tag, without children and without deleted ones, in one call.
func (c *Client) FindByTag(ctx context.Context, tag string) ([]lb.LoadBalancer, error) {
	query := c.ofProject()
	if !strings.Contains(tag, ",") { // a comma separates tags, so the whole project is listed
		query.Set("tags", tag)
	}
	return c.find(ctx, query, func(d loadBalancerDocument) bool { return slices.Contains(d.Tags, tag) })
}

func (c *Client) find(ctx context.Context, query url.Values, is func(loadBalancerDocument) bool) ([]lb.LoadBalancer, error) {
	documents, err := list[loadBalancerDocument](ctx, c, "loadbalancers", query)
	if err != nil {
		return nil, err
	}
	var found []lb.LoadBalancer
	for _, d := range documents {
		// A service that does not support the filter returns everything.
		if d.ProvisioningStatus != lb.Deleted && is(d) {
			found = append(found, d.model())
		}
	}
	return found, nil
}

// All returns all load balancers of the project, without children and without deleted ones, with one call per
// thousand.
func (c *Client) All(ctx context.Context) ([]lb.LoadBalancer, error) {
	return c.find(ctx, c.ofProject(), func(loadBalancerDocument) bool { return true })
}

// Get returns a load balancer without its children. If it does not exist, the error is of class Gone.
func (c *Client) Get(ctx context.Context, id string) (lb.LoadBalancer, error) {
	var answer struct {
		LoadBalancer *loadBalancerDocument `json:"loadbalancer"`
	}
	op := "read load balancer " + id
	if err := c.get(ctx, op, "loadbalancers/"+url.PathEscape(id), &answer); err != nil {
		return lb.LoadBalancer{}, err
	}
	if answer.LoadBalancer == nil || !openstack.IsID(answer.LoadBalancer.ID) {
		return lb.LoadBalancer{}, openstack.Unreadable(op, "no load balancer")
	}
	if answer.LoadBalancer.ProvisioningStatus == lb.Deleted {
		return lb.LoadBalancer{}, &openstack.Error{Op: op, Class: openstack.Gone, Message: "it is deleted"}
	}
	return answer.LoadBalancer.model(), nil
}

// Head is Get for the Watcher.
func (c *Client) Head(ctx context.Context, id string) (Head, error) {
	l, err := c.Get(ctx, id)
	if err != nil {
		return Head{}, err
	}
	return Head{ID: l.ID, ProvisioningStatus: l.ProvisioningStatus, UpdatedAt: l.UpdatedAt, VIPPortID: l.VIP.PortID, Tags: l.Tags}, nil
}

// Tags returns the tags of the listener or pool that diff.SetTags names, of a load balancer.
func (c *Client) Tags(ctx context.Context, loadBalancerID string, of diff.SetTags) ([]string, error) {
	documents, err := list[document](ctx, c, of.Of+"s", url.Values{"loadbalancer_id": {loadBalancerID}, "fields": {"id", "tags"}})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(documents, func(d document) bool { return d.ID == of.ID })
	if i < 0 {
		return nil, &openstack.Error{Op: "read the tags of " + of.Of + " " + of.ID, Class: openstack.Gone, Message: "it is not there"}
	}
	return documents[i].Tags, nil
}

// Heads lists the load balancers with the tag, without deleted ones, with one call per thousand. If the cloud has
// no tags, or tag is empty, it lists all of the project.
func (c *Client) Heads(ctx context.Context, tag string) ([]Head, error) {
	query := url.Values{"fields": {"id", "provisioning_status", "updated_at", "vip_port_id"}}
	if c.can.Has(lb.FeatureTags) {
		query.Add("fields", "tags")
		if tag != "" {
			query.Set("tags", tag)
		}
	}
	return c.heads(ctx, query)
}

func (c *Client) heads(ctx context.Context, query url.Values) ([]Head, error) {
	documents, err := list[loadBalancerDocument](ctx, c, "loadbalancers", query)
	if err != nil {
		return nil, err
	}
	heads := make([]Head, 0, len(documents))
	for _, d := range documents {
		if d.ProvisioningStatus != lb.Deleted {
			heads = append(heads, Head{ID: d.ID, ProvisioningStatus: d.ProvisioningStatus, UpdatedAt: value(d.UpdatedAt), VIPPortID: d.VIPPortID, Tags: d.Tags})
		}
	}
	return heads, nil
}

// PoolHealth returns the operating status of each pool of the project, by id, with one call per thousand.
func (c *Client) PoolHealth(ctx context.Context) (map[string]string, error) {
	query := c.ofProject()
	query["fields"] = []string{"id", "operating_status"}
	documents, err := list[healthDocument](ctx, c, "pools", query)
	if err != nil {
		return nil, err
	}
	health := make(map[string]string, len(documents))
	for _, d := range documents {
		health[d.ID] = d.OperatingStatus
	}
	return health, nil
}

// Observe returns the load balancer with its children. It takes one call for the listeners, one for the pools, one
// for each pool with members, and one for all health monitors if they have the tag of the load balancer's Service,
// otherwise one each: Octavia filters monitors neither by load balancer nor by several ids. Listeners and pools
// are in the order of their creation; members are sorted by address and port.
func (c *Client) Observe(ctx context.Context, head lb.LoadBalancer) (lb.LoadBalancer, error) {
	listeners, err := list[listenerDocument](ctx, c, "listeners", url.Values{"loadbalancer_id": {head.ID}})
	if err != nil {
		return head, err
	}
	documents, err := list[poolDocument](ctx, c, "pools", url.Values{"loadbalancer_id": {head.ID}})
	if err != nil {
		return head, err
	}
	monitors, err := c.monitors(ctx, head, documents)
	if err != nil {
		return head, err
	}
	pools := map[string]*lb.Pool{}
	for _, d := range documents {
		pool := d.model()
		pool.Members, err = c.members(ctx, d)
		if err != nil {
			return head, err
		}
		if id := value(d.MonitorID); id != "" {
			monitor := monitors[id]
			pool.Monitor = &monitor
		}
		pools[d.ID] = &pool
	}
	attachPools(&head, listeners, documents, pools)
	return head, nil
}

// TLSListeners returns the listeners of the project that terminate TLS, without pools and without deleted ones,
// with one call per thousand.
func (c *Client) TLSListeners(ctx context.Context) ([]lb.Listener, error) {
	documents, err := list[listenerDocument](ctx, c, "listeners", url.Values{"protocol": {string(lb.ListenerTerminatedHTTPS)}})
	if err != nil {
		return nil, err
	}
	var found []lb.Listener
	for _, d := range documents {
		if l := d.model(); l.TLS != nil && l.ProvisioningStatus != lb.Deleted {
			found = append(found, l)
		}
	}
	return found, nil
}

// attachPools sets the pools of the listeners, and puts those that no listener uses into
// DetachedPools.
func attachPools(l *lb.LoadBalancer, listeners []listenerDocument, order []poolDocument, pools map[string]*lb.Pool) {
	l.Listeners, l.DetachedPools = nil, nil
	used := map[string]bool{}
	for _, d := range listeners {
		listener := d.model()
		if id := value(d.DefaultPoolID); pools[id] != nil {
			pool := *pools[id]
			listener.Pool, used[id] = &pool, true
		}
		l.Listeners = append(l.Listeners, listener)
	}
	for _, d := range order {
		if !used[d.ID] {
			l.DetachedPools = append(l.DetachedPools, *pools[d.ID])
		}
	}
}

// members reads the members of a pool, without a call if the list of pools shows no members.
func (c *Client) members(ctx context.Context, pool poolDocument) ([]lb.Member, error) {
	if len(pool.Members) == 0 {
		return nil, nil
	}
	return c.membersOf(ctx, pool.ID)
}

func (c *Client) membersOf(ctx context.Context, poolID string) ([]lb.Member, error) {
	documents, err := list[memberDocument](ctx, c, "pools/"+poolID+"/members", url.Values{})
	if err != nil {
		return nil, err
	}
	members := make([]lb.Member, len(documents))
	for i, d := range documents {
		members[i] = d.model()
	}
	slices.SortFunc(members, func(a, b lb.Member) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
	})
	return members, nil
}

// monitors reads the health monitors of the pools, by id.
func (c *Client) monitors(ctx context.Context, l lb.LoadBalancer, pools []poolDocument) (map[string]lb.HealthMonitor, error) {
	monitors := map[string]lb.HealthMonitor{}
	var missing []string
	for _, d := range pools {
		if id := value(d.MonitorID); openstack.IsID(id) {
			missing = append(missing, id)
		} else if id != "" {
			return nil, openstack.Unreadable("read the health monitor of pool "+d.ID, "a health monitor with the id "+strconv.Quote(id))
		}
	}
	i := slices.IndexFunc(l.Tags, func(tag string) bool { return lb.ServiceUIDOf([]string{tag}) != "" })
	if len(missing) > 1 && i >= 0 && c.can.Has(lb.FeatureTags) {
		documents, err := list[monitorDocument](ctx, c, "healthmonitors", url.Values{"tags": {l.Tags[i]}})
		if err != nil {
			return nil, err
		}
		for _, d := range documents {
			monitors[d.ID] = d.model()
		}
	}
	for _, id := range missing {
		if _, found := monitors[id]; found {
			continue
		}
		var answer struct {
			Monitor monitorDocument `json:"healthmonitor"`
		}
		op := "read health monitor " + id
		if err := c.get(ctx, op, "healthmonitors/"+id, &answer); err != nil {
			return nil, err
		}
		if answer.Monitor.ID != id {
			return nil, openstack.Unreadable(op, "no such health monitor")
		}
		monitors[id] = answer.Monitor.model()
	}
	return monitors, nil
}
