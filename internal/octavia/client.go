// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package octavia is the thin shell towards Octavia: it reads a load balancer
// and its children, carries out one op, and watches what Octavia is
// working on.
//
// It imports diff, lb and openstack. Calls go out through gophercloud's service
// client; the few documents that are exchanged are written down here, because
// several of their fields are not in gophercloud's types.
package octavia

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// Client reads and writes load balancers. It is for use by many goroutines. All
// its errors are of type *openstack.Error.
type Client struct {
	service *gophercloud.ServiceClient
	can     lb.Capabilities
}

// New returns a Client for a session's Octavia, which can do what can says.
func New(service *gophercloud.ServiceClient, can lb.Capabilities) *Client {
	return &Client{service: service, can: can}
}

// get reads a path below /v2/lbaas into answer. op says what for, in errors.
func (c *Client) get(ctx context.Context, op, path string, query url.Values, answer any) error {
	address := c.service.ServiceURL("lbaas") + "/" + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	_, err := c.service.Get(ctx, address, answer, nil)
	return openstack.Wrap(op, err)
}

// unreadable is the error of an answer that lacks what was asked for. A write
// may have been carried out all the same.
func unreadable(op, what string) error {
	return &openstack.Error{Op: op, Class: openstack.Transient, Message: "there is " + what + " in the answer", Unanswered: true}
}

// post, put and remove write to a path below /v2/lbaas.

func (c *Client) post(ctx context.Context, op, path string, body, answer any) error {
	_, err := c.service.Post(ctx, c.service.ServiceURL("lbaas")+"/"+path, body, answer, &gophercloud.RequestOpts{
		OkCodes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted},
	})
	return openstack.Wrap(op, err)
}

func (c *Client) put(ctx context.Context, op, path string, body any) error {
	_, err := c.service.Put(ctx, c.service.ServiceURL("lbaas")+"/"+path, body, nil, &gophercloud.RequestOpts{
		OkCodes: []int{http.StatusOK, http.StatusAccepted},
	})
	return openstack.Wrap(op, err)
}

// remove deletes; what is gone already is deleted, and told.
func (c *Client) remove(ctx context.Context, op, path string) (diff.Created, error) {
	_, err := c.service.Delete(ctx, c.service.ServiceURL("lbaas")+"/"+path, nil)
	missing, err := openstack.UnlessGone(openstack.Wrap(op, err))
	return diff.Created{Missing: missing}, err
}
