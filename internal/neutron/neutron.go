// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package neutron is the thin shell towards Neutron: floating IPs, the ports of
// VIPs, and where addresses are to come from.
//
// It imports diff, lb and openstack. Calls go out through gophercloud.
package neutron

import (
	"context"
	"fmt"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// Client reads and writes what load balancers need of Neutron. It is for use by
// many goroutines. All its errors are of type *openstack.Error.
type Client struct {
	service *gophercloud.ServiceClient
	lookups lookups
}

// New returns a Client for a session's Neutron.
func New(service *gophercloud.ServiceClient) *Client {
	return &Client{service: service, lookups: newLookups()}
}

// FloatingIPsOn returns the floating IPs that lead to the port, in one call.
func (c *Client) FloatingIPsOn(ctx context.Context, portID string) ([]lb.FloatingIP, error) {
	return c.floatingIPs(ctx, "look for the floating IPs of port "+portID, floatingips.ListOpts{PortID: portID})
}

// FloatingIPsWithAddress returns the floating IP with the address, wherever it
// leads, in one call. It is empty when the project has none.
func (c *Client) FloatingIPsWithAddress(ctx context.Context, address string) ([]lb.FloatingIP, error) {
	return c.floatingIPs(ctx, "look for floating IP "+address, floatingips.ListOpts{FloatingIP: address})
}

func (c *Client) floatingIPs(ctx context.Context, op string, options floatingips.ListOpts) ([]lb.FloatingIP, error) {
	pages, err := floatingips.List(c.service, options).AllPages(ctx)
	if err != nil {
		return nil, openstack.Wrap(op, err)
	}
	all, err := floatingips.ExtractFloatingIPs(pages)
	if err != nil {
		return nil, openstack.Wrap(op, err)
	}
	var found []lb.FloatingIP
	for _, f := range all {
		found = append(found, lb.FloatingIP{
			ID: f.ID, Address: f.FloatingIP, NetworkID: f.FloatingNetworkID, Description: f.Description,
			Tags: f.Tags, ProjectID: f.ProjectID, PortID: f.PortID,
		})
	}
	return found, nil
}

// Apply carries out one floating IP op with one call. Detaching or deleting what
// is gone already is no error.
func (c *Client) Apply(ctx context.Context, op diff.Op) (diff.Created, error) {
	what := op.String()
	switch op := op.(type) {
	case diff.CreateFloatingIP:
		f := op.FloatingIP
		made, err := floatingips.Create(ctx, c.service, floatingips.CreateOpts{
			FloatingNetworkID: f.NetworkID, SubnetID: f.SubnetID, FloatingIP: f.Address, PortID: f.PortID, Description: f.Description,
		}).Extract()
		if err != nil {
			return diff.Created{}, openstack.Wrap(what, err)
		}
		return diff.Created{ID: made.ID, Address: made.FloatingIP}, nil
	case diff.AssociateFloatingIP:
		_, err := floatingips.Update(ctx, c.service, op.ID, floatingips.UpdateOpts{PortID: &op.PortID}).Extract()
		return diff.Created{}, openstack.Wrap(what, err)
	case diff.DisassociateFloatingIP:
		// gophercloud sends null for an empty id.
		_, err := floatingips.Update(ctx, c.service, op.ID, floatingips.UpdateOpts{PortID: new(string)}).Extract()
		return diff.Created{}, unlessGone(openstack.Wrap(what, err))
	case diff.DeleteFloatingIP:
		err := floatingips.Delete(ctx, c.service, op.ID).ExtractErr()
		return diff.Created{}, unlessGone(openstack.Wrap(what, err))
	}
	return diff.Created{}, fmt.Errorf("%s: %T is not an op of Neutron", what, op)
}

func unlessGone(err error) error {
	if openstack.Classify(err) == openstack.Gone {
		return nil
	}
	return err
}

// PortsThere returns those of the ports that exist, in one call.
func (c *Client) PortsThere(ctx context.Context, ids []string) ([]string, error) {
	const op = "look whether VIP ports are gone"
	query := url.Values{"id": ids, "fields": {"id"}}
	pages, err := ports.List(c.service, rawQuery(query)).AllPages(ctx)
	if err != nil {
		return nil, openstack.Wrap(op, err)
	}
	all, err := ports.ExtractPorts(pages)
	if err != nil {
		return nil, openstack.Wrap(op, err)
	}
	var there []string
	for _, p := range all {
		there = append(there, p.ID)
	}
	return there, nil
}

// rawQuery is a port list's query that gophercloud's options cannot say:
// several ids, and only some fields.
type rawQuery url.Values

// ToPortListQuery implements ports.ListOptsBuilder.
func (q rawQuery) ToPortListQuery() (string, error) { return "?" + url.Values(q).Encode(), nil }
