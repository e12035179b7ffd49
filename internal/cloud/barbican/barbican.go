// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package barbican checks references to certificates in Barbican, and stores and deletes certificates of Services.
// It never reads a payload.
//
// Calls use gophercloud's service client.
package barbican

import (
	"context"
	"strings"
	"sync"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Client accesses secrets and containers. It is safe for concurrent use. All its errors are of type
// *openstack.Error.
type Client struct {
	service  *gophercloud.ServiceClient
	expected func() bool

	mu sync.Mutex // guards the fields below
	// checked are the references that Check has accepted.
	checked map[lb.SecretRef]bool
	// stored are the certificates of Services that are known to exist.
	stored []lb.Certificate
	// wanted is set once a Service has requested a certificate. none is set if the last list found none and no Service
	// has requested one since.
	wanted, none bool
}

// New returns a Client for the Barbican of a session; service is nil if the cloud has none. expected reports whether an
// earlier process may have stored certificates.
func New(service *gophercloud.ServiceClient, expected func() bool) *Client {
	return &Client{service: service, expected: expected, checked: map[lb.SecretRef]bool{}}
}

// Available reports whether the cloud has Barbican.
func (c *Client) Available() bool { return c != nil && c.service != nil }

// Check checks, in one call, that the reference leads to something that Octavia may accept as a certificate with
// its key. It cannot check whether Octavia can read it on our behalf. An accepted reference is not checked again.
// An error of class Gone or Invalid means that the reference is unusable. The host in the reference is ignored: the
// call always goes to the cloud's own Barbican.
func (c *Client) Check(ctx context.Context, ref lb.SecretRef) error {
	c.mu.Lock()
	checked := c.checked[ref]
	c.mu.Unlock()
	if checked {
		return nil
	}
	op := "look up the certificate in " + ref.Kind + "/" + ref.ID
	var answer struct {
		Type         string `json:"type"` // of a container
		ContentTypes struct {
			Default string `json:"default"`
		} `json:"content_types"` // of a secret
	}
	if _, err := c.service.Get(ctx, c.service.ServiceURL(ref.Kind, ref.ID), decoding.Into(&answer), nil); err != nil {
		return openstack.Wrap(op, err)
	}
	invalid := openstack.Error{Op: op, Class: openstack.Invalid}
	switch {
	case ref.Kind == "containers" && answer.Type != "certificate":
		invalid.Message = "it is a container of type " + answer.Type + ", not certificate"
	case ref.Kind == "secrets" && answer.ContentTypes.Default == "":
		invalid.Message = "the secret is empty"
	case ref.Kind == "secrets" && strings.HasPrefix(answer.ContentTypes.Default, "text/"):
		invalid.Message = "the secret contains text instead of a PKCS #12 bundle"
	}
	if invalid.Message != "" {
		return &invalid
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checked[ref] = true
	return nil
}
