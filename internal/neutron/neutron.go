// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package neutron is the thin shell towards Neutron: floating IPs, the ports of
// VIPs, the security groups of nodes, and where addresses are to come from.
//
// It imports config, diff, lb, openstack and securitygroup. Calls go out through gophercloud.
package neutron

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// pageSize is how many floating IPs are asked for at once.
const pageSize = 1000

// idsPerCall is how many ids one address names: servers take some 8 KiB of it.
const idsPerCall = 100

// Client reads and writes what load balancers need of Neutron. It is for use by
// many goroutines. All its errors are of type *openstack.Error.
type Client struct {
	service   *gophercloud.ServiceClient
	projectID string
	lookups   lookups
}

// New returns a Client for a session's Neutron, which acts in the project.
func New(service *gophercloud.ServiceClient, projectID string) *Client {
	return &Client{service: service, projectID: projectID, lookups: newLookups()}
}

// ProjectID is the project that the Client acts in.
func (c *Client) ProjectID() string { return c.projectID }

// FloatingIPsOn returns the project's floating IPs that lead to the port, in one
// call.
func (c *Client) FloatingIPsOn(ctx context.Context, portID string) ([]lb.FloatingIP, error) {
	return c.floatingIPs(ctx, "look for the floating IPs of port "+portID, "port_id", portID,
		func(f lb.FloatingIP) bool { return f.PortID == portID })
}

// FloatingIPsWithAddress returns the project's floating IP with the address,
// wherever it leads, in one call. It is empty when the project has none: a role that
// sees those of other projects gives no right to them.
func (c *Client) FloatingIPsWithAddress(ctx context.Context, address string) ([]lb.FloatingIP, error) {
	return c.floatingIPs(ctx, "look for floating IP "+address, "floating_ip_address", address,
		func(f lb.FloatingIP) bool { return f.Address == address })
}

// floatingIPs returns those of the project whose attribute key has the value. An
// empty value would be no filter at all.
func (c *Client) floatingIPs(ctx context.Context, op, key, value string, has func(lb.FloatingIP) bool) ([]lb.FloatingIP, error) {
	if value == "" {
		return nil, nil
	}
	all, err := list[floatingips.FloatingIP](ctx, c.service, op, "floatingips", url.Values{key: {value}, "project_id": {c.projectID}})
	if err != nil {
		return nil, err
	}
	var found []lb.FloatingIP
	for _, f := range all {
		one := lb.FloatingIP{
			ID: f.ID, Address: f.FloatingIP, NetworkID: f.FloatingNetworkID, Description: f.Description,
			Tags: f.Tags, ProjectID: f.ProjectID, PortID: f.PortID,
		}
		// A service that does not know a filter answers with everything.
		if has(one) && c.owns(one.ProjectID) {
			found = append(found, one)
		}
	}
	return found, nil
}

// owns reports whether what bears the id of a project is this project's, as all is that
// does not say whose it is: only administrators are shown anything else.
func (c *Client) owns(projectID string) bool { return projectID == "" || projectID == c.projectID }

// FloatingIPs returns all floating IPs of the project, one call per thousand.
func (c *Client) FloatingIPs(ctx context.Context) ([]lb.FloatingIP, error) {
	type document struct {
		ID          string   `json:"id"`
		Address     string   `json:"floating_ip_address"`
		NetworkID   string   `json:"floating_network_id"`
		Description string   `json:"description"`
		ProjectID   string   `json:"project_id"`
		PortID      string   `json:"port_id"`
		Tags        []string `json:"tags"`
	}
	documents, err := list[document](ctx, c.service, "list floating IPs", "floatingips", url.Values{
		"project_id": {c.projectID}, "limit": {strconv.Itoa(pageSize)},
		"fields": {"id", "floating_ip_address", "floating_network_id", "description", "project_id", "port_id", "tags"},
	})
	if err != nil {
		return nil, err
	}
	all := make([]lb.FloatingIP, 0, len(documents))
	for _, d := range documents {
		if c.owns(d.ProjectID) {
			all = append(all, lb.FloatingIP{ID: d.ID, Address: d.Address, NetworkID: d.NetworkID,
				Description: d.Description, ProjectID: d.ProjectID, PortID: d.PortID, Tags: d.Tags})
		}
	}
	return all, nil
}

// Apply carries out one floating IP op with one call. Detaching or deleting what
// is already deleted is not an error; the result reports it.
func (c *Client) Apply(ctx context.Context, op diff.Op) (diff.Created, error) {
	what := op.String()
	switch op := op.(type) {
	case diff.CreateFloatingIP:
		return c.createFloatingIP(ctx, what, op.FloatingIP)
	case diff.AssociateFloatingIP:
		return diff.Created{}, openstack.Wrap(what, c.lead(ctx, op.ID, op.PortID, op.Description))
	case diff.DisassociateFloatingIP:
		// gophercloud sends null for an empty id.
		missing, err := openstack.UnlessGone(openstack.Wrap(what, c.lead(ctx, op.ID, "", op.Description)))
		return diff.Created{Missing: missing}, err
	case diff.SetFloatingIPTags:
		tags := append([]string{}, op.Tags...) // never null
		return diff.Created{}, openstack.Wrap(what, attributestags.ReplaceAll(ctx, c.service, "floatingips", op.ID, attributestags.ReplaceAllOpts{Tags: tags}).Err)
	case diff.DeleteFloatingIP:
		missing, err := openstack.UnlessGone(openstack.Wrap(what, floatingips.Delete(ctx, c.service, op.ID).ExtractErr()))
		return diff.Created{Missing: missing}, err
	}
	return diff.Created{}, &openstack.Error{Op: what, Class: openstack.Invalid, Message: diff.Kind(op) + " is not an op of Neutron"}
}

// createFloatingIP takes the address from the first subnet that has one left, where
// several are to be tried, with one call for each.
func (c *Client) createFloatingIP(ctx context.Context, what string, f lb.FloatingIP) (diff.Created, error) {
	subnetIDs := f.SubnetIDs
	if len(subnetIDs) == 0 {
		subnetIDs = []string{""}
	}
	var failure error
	for _, subnetID := range subnetIDs {
		made, err := floatingips.Create(ctx, c.service, floatingips.CreateOpts{
			FloatingNetworkID: f.NetworkID, SubnetID: subnetID, FloatingIP: f.Address, PortID: f.PortID, Description: f.Description,
		}).Extract()
		if err == nil && !openstack.IsID(made.ID) {
			return diff.Created{}, unreadable(what, "no floating IP")
		}
		if err == nil {
			return diff.Created{ID: made.ID, Address: made.FloatingIP}, nil
		}
		failure = openstack.Wrap(what, err)
		// Neutron says so of a subnet that is full, and of nothing else here.
		if openstack.Classify(failure) != openstack.Conflict {
			break
		}
	}
	return diff.Created{}, failure
}

// lead lets a floating IP lead to the port and, unless that is empty, gives it
// another description.
func (c *Client) lead(ctx context.Context, id, portID, description string) error {
	update := floatingips.UpdateOpts{PortID: &portID}
	if description != "" {
		update.Description = &description
	}
	_, err := floatingips.Update(ctx, c.service, id, update).Extract()
	return err
}

// ExistingPorts returns those of the VIP ports that exist, in one call per hundred.
// A port that a person made for a VIP outlives its load balancer and does not
// count.
func (c *Client) ExistingPorts(ctx context.Context, ids []string) ([]string, error) {
	const op = "look whether VIP ports are gone"
	var there []string
	for some := range slices.Chunk(ids, idsPerCall) {
		all, err := list[ports.Port](ctx, c.service, op, "ports", url.Values{"id": some, "fields": {"id", "name", "device_owner"}})
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			if madeByOctavia(p) {
				there = append(there, p.ID)
			}
		}
	}
	return there, nil
}

// VIPPort is a port that Octavia made for the VIP of a load balancer.
type VIPPort struct {
	ID, Name string
	// LoadBalancerID is the load balancer's id as the port tells it, or "".
	LoadBalancerID string
}

// VIPPorts returns the ports of VIPs that Octavia made in the project, one call per
// thousand ports of the project: the providers mark them in different ways.
func (c *Client) VIPPorts(ctx context.Context) ([]VIPPort, error) {
	all, err := list[ports.Port](ctx, c.service, "list the ports of VIPs", "ports", url.Values{
		"project_id": {c.projectID}, "limit": {strconv.Itoa(pageSize)}, "fields": {"id", "name", "device_owner", "device_id", "project_id"},
	})
	if err != nil {
		return nil, err
	}
	var found []VIPPort
	for _, p := range all {
		if madeByOctavia(p) && c.owns(p.ProjectID) {
			found = append(found, VIPPort{ID: p.ID, Name: p.Name, LoadBalancerID: balancerOf(p)})
		}
	}
	return found, nil
}

// balancerOf reads the load balancer's id from the port's device, or from the names
// that Octavia and the ovn provider give.
func balancerOf(p ports.Port) string {
	for _, named := range []struct{ text, prefix string }{
		{p.DeviceID, "lb-"}, {p.Name, "octavia-lb-"}, {p.Name, "ovn-lb-vip-"},
	} {
		if id, ok := strings.CutPrefix(named.text, named.prefix); ok {
			return id
		}
	}
	return ""
}

// madeByOctavia tells by the owner that Octavia's own network driver sets, and
// by the names that it and the ovn provider give.
func madeByOctavia(p ports.Port) bool {
	return p.DeviceOwner == "Octavia" || strings.HasPrefix(p.Name, "octavia-lb-") || strings.HasPrefix(p.Name, "ovn-lb-vip-")
}
