// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"
	"maps"
	"net/url"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/kube-octavia/kube-octavia/internal/cloud/paging"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// listedPerName is the number of load balancers that Octavia can list in the time of a search for
// one name.
const listedPerName = 50

// FindByName returns the load balancers with the name, without children and without deleted ones. One search takes
// one call; names that are requested while it is in progress are then found with one list of the project, if that is
// not too long.
func (c *Client) FindByName(ctx context.Context, name string) ([]lb.LoadBalancer, error) {
	return c.names.Get(ctx, name)
}

func (c *Client) withNames(ctx context.Context, names []string) (map[string][]lb.LoadBalancer, error) {
	found := map[string][]lb.LoadBalancer{}
	if len(names) == 1 || int(c.size.Load()) > listedPerName*len(names) {
		return c.eachName(ctx, names)
	}
	all, err := c.All(ctx)
	if err != nil {
		return nil, err
	}
	c.size.Store(int64(len(all)))
	for _, l := range all {
		if slices.Contains(names, l.Name) {
			found[l.Name] = append(found[l.Name], l)
		}
	}
	return found, nil
}

// eachName searches the names individually, a few concurrently.
func (c *Client) eachName(ctx context.Context, names []string) (map[string][]lb.LoadBalancer, error) {
	answers := make([][]lb.LoadBalancer, len(names))
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(singlesAtOnce)
	for i, name := range names {
		calls.Go(func() (err error) {
			answers[i], err = c.find(ctx, url.Values{"name": {name}}, func(d loadBalancerDocument) bool { return d.Name == name })
			return err
		})
	}
	if err := calls.Wait(); err != nil {
		return nil, err
	}
	found := make(map[string][]lb.LoadBalancer, len(names))
	for i, name := range names {
		found[name] = answers[i]
	}
	return found, nil
}

// ofProject returns the query for the objects of the session's project: an administrator can read all projects.
func (c *Client) ofProject() url.Values {
	if c.projectID == "" {
		return url.Values{}
	}
	return url.Values{"project_id": {c.projectID}}
}

// ProjectHeads lists all load balancers of the project, with one call per thousand. Their tags are nil. Octavia accepts
// only one provisioning_status as a filter, and fails if there are several: with one, each load balancer that is not
// PENDING any more would take another call.
func (c *Client) ProjectHeads(ctx context.Context) ([]Head, error) {
	query := c.ofProject()
	query["fields"] = []string{"id", "provisioning_status", "updated_at"}
	return c.heads(ctx, query)
}

// HeadsOf reads the load balancers with the ids, regardless of their tags: a few individually, more with one list of
// the project, unless that has more pages than there are ids. One that is not in the list is read by its id; if it does
// not exist, its head is Gone. It returns those that could be read, in the order of the ids, even if others could not.
// Tags are not always read.
func (c *Client) HeadsOf(ctx context.Context, ids []string) ([]Head, error) {
	found, missing := map[string]Head{}, ids
	if len(ids) > fewSingles && len(ids)*paging.Size >= int(c.size.Load()) {
		all, err := c.ProjectHeads(ctx)
		if err != nil {
			return nil, err
		}
		c.size.Store(int64(len(all)))
		for _, h := range all {
			found[h.ID] = h
		}
		missing = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return found[id].ID != "" })
	}
	single, err := eachHead(ctx, missing, c.Head)
	maps.Copy(found, single)
	var heads []Head
	for _, id := range ids {
		if head, ok := found[id]; ok {
			heads = append(heads, head)
		}
	}
	return heads, err
}
