// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package octavia reads load balancers and their children from Octavia, carries out operations, and watches PENDING
// load balancers.
//
// Calls use gophercloud's service client, but the documents are defined here, because gophercloud's types lack several
// fields.
package octavia

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/batch"
	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
	"github.com/kube-octavia/kube-octavia/internal/cloud/existence"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/cloud/paging"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Client reads and writes load balancers. It is safe for concurrent use. All its errors are of type
// *openstack.Error.
type Client struct {
	service *gophercloud.ServiceClient
	can     lb.Capabilities
	// projectID is the session's project.
	projectID string
	names     *batch.Reader[[]lb.LoadBalancer]
	// size is the number of load balancers of the project when they were last listed.
	size atomic.Int64
}

// New returns a Client for the Octavia of a session with the capabilities, whose project is
// projectID.
func New(service *gophercloud.ServiceClient, projectID string, can lb.Capabilities) *Client {
	c := &Client{service: service, projectID: projectID, can: can}
	c.names = batch.New(c.withNames)
	return c
}

// list reads all pages of the list at a path below /v2.0/lbaas.
func list[T any](ctx context.Context, c *Client, path string, query url.Values) ([]T, error) {
	query.Set("limit", strconv.Itoa(paging.Size))
	all, err := paging.List[T](ctx, c.service, "list "+path, "lbaas/"+path, query)
	return all, c.explain(ctx, err, path)
}

// explain explains the failure of a call about an object, which its path names.
func (c *Client) explain(ctx context.Context, err error, path string) error {
	path, _, _ = strings.Cut(path, "?")
	collection, rest, ofObject := strings.Cut(path, "/")
	if !ofObject || !slices.Contains([]string{"loadbalancers", "listeners", "pools", "healthmonitors"}, collection) {
		return err
	}
	id, _, _ := strings.Cut(rest, "/")
	if collection == "loadbalancers" { // too important to rely on a list
		return existence.ExplainBy(err, func() (bool, error) { return c.exists(ctx, id) })
	}
	return existence.Explain(ctx, c.service, err, "lbaas/"+collection, id)
}

// exists reports whether a load balancer exists.
func (c *Client) exists(ctx context.Context, id string) (bool, error) {
	var answer struct {
		LoadBalancer document `json:"loadbalancer"`
	}
	_, err := c.service.Get(ctx, c.service.ServiceURL("lbaas", "loadbalancers", id), decoding.Into(&answer), nil)
	gone, err := openstack.UnlessGone(openstack.Wrap("check whether load balancer "+id+" exists", err))
	return !gone && answer.LoadBalancer.ProvisioningStatus != lb.Deleted, err
}

// get, post, put and remove access a path below /v2.0/lbaas. op is what they do, for errors.

func (c *Client) get(ctx context.Context, op, path string, answer any) error {
	_, err := c.service.Get(ctx, c.service.ServiceURL("lbaas", path), decoding.Into(answer), nil)
	return c.explain(ctx, openstack.Wrap(op, err), path)
}

func (c *Client) post(ctx context.Context, op, path string, body, answer any) error {
	_, err := c.service.Post(ctx, c.service.ServiceURL("lbaas", path), body, decoding.Into(answer), &gophercloud.RequestOpts{
		OkCodes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted},
	})
	return openstack.Wrap(op, err)
}

func (c *Client) put(ctx context.Context, op, path string, body any) error {
	_, err := c.service.Put(ctx, c.service.ServiceURL("lbaas", path), body, nil, &gophercloud.RequestOpts{
		OkCodes: []int{http.StatusOK, http.StatusAccepted},
	})
	return c.explain(ctx, openstack.Wrap(op, err), path)
}

// remove deletes an object. If it does not exist, the result reports this, and there is no error.
func (c *Client) remove(ctx context.Context, op, path string) (diff.Created, error) {
	_, err := c.service.Delete(ctx, c.service.ServiceURL("lbaas", path), nil)
	missing, err := openstack.UnlessGone(c.explain(ctx, openstack.Wrap(op, err), path))
	return diff.Created{Missing: missing}, err
}
