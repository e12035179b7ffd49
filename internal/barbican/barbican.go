// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package barbican is the thin shell towards Barbican: it looks whether what a
// reference leads to can be a certificate with its key, and stores and deletes
// certificates of Services. It never reads a payload.
//
// It imports lb and openstack. Calls go out through gophercloud's service client.
package barbican

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// Client looks secrets and containers up. It is for use by many goroutines. All its
// errors are of type *openstack.Error.
type Client struct {
	service  *gophercloud.ServiceClient
	exchange func(context.Context) error
	expected func() bool

	mu   sync.Mutex
	good map[lb.SecretRef]bool
	// accessible is whether Octavia can get at certificates in our name.
	accessible bool
	// stored are the certificates of Services that are known to be there.
	stored []lb.Certificate
	// wanted is whether any Service has asked for a certificate, and none is whether there was
	// none when all were last listed and no Service has asked since.
	wanted, none bool
}

// New returns a Client for a session's Barbican, which is nil where the cloud has none.
// The session's exchange reports whether other services can get tokens in our name. Expected
// reports whether an earlier process may have stored certificates.
func New(service *gophercloud.ServiceClient, exchange func(context.Context) error, expected func() bool) *Client {
	return &Client{service: service, exchange: exchange, expected: expected, good: map[lb.SecretRef]bool{}}
}

// Available reports whether the cloud has a Barbican.
func (c *Client) Available() bool { return c != nil && c.service != nil }

// Check looks, in one call, whether the reference leads to something that Octavia may
// take for a certificate with its key, and whether Octavia can get at it in our name. What
// was found good is not asked for again. An
// error of class Gone or Invalid says that it does not. The host in the reference does
// not matter: only the cloud's own Barbican is asked.
func (c *Client) Check(ctx context.Context, ref lb.SecretRef) error {
	c.mu.Lock()
	good := c.good[ref]
	c.mu.Unlock()
	if good {
		return nil
	}
	op := "look up the certificate in " + ref.Kind + "/" + ref.ID
	var answer struct {
		Type         string `json:"type"` // of a container
		ContentTypes struct {
			Default string `json:"default"`
		} `json:"content_types"` // of a secret
	}
	if _, err := c.service.Get(ctx, c.service.ServiceURL(ref.Kind, ref.ID), &answer, nil); err != nil {
		return openstack.Wrap(op, err)
	}
	switch {
	case ref.Kind == "containers" && answer.Type != "certificate":
		return &openstack.Error{Op: op, Class: openstack.Invalid, Message: "it is a container of type " + answer.Type + ", not certificate"}
	case ref.Kind == "secrets" && answer.ContentTypes.Default == "":
		return &openstack.Error{Op: op, Class: openstack.Invalid, Message: "the secret is empty"}
	case ref.Kind == "secrets" && strings.HasPrefix(answer.ContentTypes.Default, "text/"):
		return &openstack.Error{Op: op, Class: openstack.Invalid, Message: "the secret contains text instead of a PKCS #12 bundle"}
	}
	if err := c.exchange(ctx); err != nil {
		return unreachable(openstack.Wrap("check that Octavia can read the certificate in "+ref.Kind+"/"+ref.ID, err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.good[ref] = true
	return nil
}

// unreachable adds to Keystone's refusal of an exchange what can be done.
func unreachable(err error) error {
	var e *openstack.Error
	if errors.As(err, &e) && e.Class == openstack.Invalid {
		e.Message += " Octavia cannot get a token on behalf of an application credential or a trust; set a user with a password in [Global] of cloud.conf, " +
			"or, where Octavia needs no such token, set container-store = external in [LoadBalancer]"
	}
	return err
}
