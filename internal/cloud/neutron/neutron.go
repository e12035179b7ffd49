// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package neutron reads and writes floating IPs and the security groups of nodes, and looks up ports, networks and
// subnets in Neutron.
//
// Calls go through gophercloud.
package neutron

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/batch"
	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
	"github.com/kube-octavia/kube-octavia/internal/cloud/existence"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/cloud/paging"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// idsPerCall is the maximum number of ids in a URL: servers limit URLs to about 8 KiB.
const idsPerCall = 100

// pageSize is the limit parameter of lists that may be long.
var pageSize = strconv.Itoa(paging.Size)

// Client reads and writes objects of Neutron. It is safe for concurrent use. All its errors are of type
// *openstack.Error.
type Client struct {
	service   *gophercloud.ServiceClient
	projectID string
	lookups   lookups
	addresses *batch.Reader[[]lb.FloatingIP]
}

// New returns a Client for the Neutron of a session, which acts in the project.
func New(service *gophercloud.ServiceClient, projectID string) *Client {
	c := &Client{service: service, projectID: projectID, lookups: newLookups()}
	c.addresses = batch.New(c.withAddresses)
	return c
}

// ProjectID returns the project of the Client.
func (c *Client) ProjectID() string { return c.projectID }

// list reads all pages of a collection.
func list[T any](ctx context.Context, c *Client, op, collection string, query url.Values) ([]T, error) {
	return paging.List[T](ctx, c.service, op, collection, query)
}

// FloatingIPsOn returns the floating IPs of the project that are attached to the port, in one call.
func (c *Client) FloatingIPsOn(ctx context.Context, portID string) ([]lb.FloatingIP, error) {
	if portID == "" { // an empty filter would select everything
		return nil, nil
	}
	return c.listFloatingIPs(ctx, "look for the floating IPs of port "+portID, url.Values{"port_id": {portID}, "project_id": {c.projectID}},
		func(f lb.FloatingIP) bool { return f.PortID == portID })
}

// FloatingIPsWithAddress returns the floating IP of the project with the address, whatever it is attached to. It takes
// one call, which concurrent callers share. It returns none for a floating IP of another project: a role that can list
// it gives no right to use it.
func (c *Client) FloatingIPsWithAddress(ctx context.Context, address string) ([]lb.FloatingIP, error) {
	if address == "" { // an empty filter would select everything
		return nil, nil
	}
	return c.addresses.Get(ctx, address)
}

func (c *Client) withAddresses(ctx context.Context, addresses []string) (map[string][]lb.FloatingIP, error) {
	found := map[string][]lb.FloatingIP{}
	for some := range slices.Chunk(addresses, idsPerCall) {
		query := url.Values{"floating_ip_address": some, "project_id": {c.projectID}}
		all, err := c.listFloatingIPs(ctx, "look for floating IP "+strings.Join(some, ", "), query,
			func(f lb.FloatingIP) bool { return slices.Contains(some, f.Address) })
		if err != nil {
			return nil, err
		}
		for _, f := range all {
			found[f.Address] = append(found[f.Address], f)
		}
	}
	return found, nil
}

// FloatingIPs returns all floating IPs of the project, with one call per thousand.
func (c *Client) FloatingIPs(ctx context.Context) ([]lb.FloatingIP, error) {
	return c.listFloatingIPs(ctx, "list floating IPs", url.Values{
		"project_id": {c.projectID}, "limit": {pageSize},
		"fields": {"id", "floating_ip_address", "floating_network_id", "description", "project_id", "port_id", "router_id", "fixed_ip_address", "tags"},
	}, func(lb.FloatingIP) bool { return true })
}

// listFloatingIPs returns the floating IPs that both the query and the filter select: a service that does not
// support a filter of the query returns everything.
func (c *Client) listFloatingIPs(ctx context.Context, op string, query url.Values, filter func(lb.FloatingIP) bool) ([]lb.FloatingIP, error) {
	documents, err := list[floatingIPDocument](ctx, c, op, "floatingips", query)
	var failed *openstack.Error
	if errors.As(err, &failed) && failed.Class == openstack.Gone {
		failed.Class = openstack.Transient // a list cannot be gone: callers would conclude that the load balancer is
	}
	if err != nil {
		return nil, err
	}
	var found []lb.FloatingIP
	for _, d := range documents {
		f := lb.FloatingIP{ID: d.ID, Address: d.Address, NetworkID: d.NetworkID, Description: d.Description,
			ProjectID: d.ProjectID, PortID: d.PortID, Tags: d.Tags}
		if d.PortID == "" {
			f.ForwardingRouterID = d.RouterID // Neutron sets it for port forwardings
		}
		if d.Description == lb.KuryrFloatingIP {
			f.KuryrVIP = d.Fixed
		}
		if filter(f) && c.owns(f.ProjectID) {
			found = append(found, f)
		}
	}
	return found, nil
}

// owns reports whether an object belongs to the project. Only administrators see objects of other projects; an object
// without a project id counts as the project's own.
func (c *Client) owns(projectID string) bool { return projectID == "" || projectID == c.projectID }

// Apply carries out one floating IP op with one call. Detaching or deleting what does not exist is not an error;
// the result reports it.
func (c *Client) Apply(ctx context.Context, op diff.Op) (diff.Created, error) {
	what := op.String()
	switch op := op.(type) {
	case diff.CreateFloatingIP:
		return c.createFloatingIP(ctx, what, op.FloatingIP)
	case diff.AssociateFloatingIP:
		return diff.Created{}, c.attach(ctx, what, op.ID, op.PortID, op.Description)
	case diff.DisassociateFloatingIP:
		missing, err := openstack.UnlessGone(c.attach(ctx, what, op.ID, "", op.Description))
		return diff.Created{Missing: missing}, err
	case diff.SetFloatingIPTags:
		tags := append([]string{}, op.Tags...) // never null
		_, err := c.service.Put(ctx, c.service.ServiceURL("floatingips", op.ID, "tags"), map[string]any{"tags": tags}, nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
		return diff.Created{}, existence.Explain(ctx, c.service, openstack.Wrap(what, err), "floatingips", op.ID)
	case diff.DeleteFloatingIP:
		missing, err := c.remove(ctx, what, "floatingips", op.ID)
		return diff.Created{Missing: missing}, err
	}
	return diff.Created{}, &openstack.Error{Op: what, Class: openstack.Invalid, Message: diff.Kind(op) + " is not an op of Neutron"}
}

// createFloatingIP creates a floating IP. If there are several subnets, it tries each with one call until one has a
// free address.
func (c *Client) createFloatingIP(ctx context.Context, what string, f lb.FloatingIP) (diff.Created, error) {
	subnetIDs := f.SubnetIDs
	if len(subnetIDs) == 0 {
		subnetIDs = []string{""} // Neutron chooses
	}
	var failure error
	for _, subnetID := range subnetIDs {
		wish := map[string]string{"floating_network_id": f.NetworkID}
		for key, value := range map[string]string{
			"subnet_id": subnetID, "floating_ip_address": f.Address, "port_id": f.PortID, "description": f.Description,
		} {
			if value != "" {
				wish[key] = value
			}
		}
		var answer struct {
			Made floatingIPDocument `json:"floatingip"`
		}
		_, err := c.service.Post(ctx, c.service.ServiceURL("floatingips"), map[string]any{"floatingip": wish}, decoding.Into(&answer), nil)
		if err == nil && !openstack.IsID(answer.Made.ID) {
			return diff.Created{}, openstack.Unreadable(what, "no floating IP")
		}
		if err == nil {
			return diff.Created{ID: answer.Made.ID, Address: answer.Made.Address}, nil
		}
		failure = openstack.Wrap(what, err)
		// Here, Neutron answers 409 only for a subnet without a free address.
		if openstack.Classify(failure) != openstack.Conflict {
			break
		}
	}
	return diff.Created{}, failure
}

// attach attaches a floating IP to the port, or detaches it if there is none, and sets its description unless that is empty.
func (c *Client) attach(ctx context.Context, what, id, portID, description string) error {
	set := map[string]any{"port_id": nil}
	if portID != "" {
		set["port_id"] = portID
	}
	if description != "" {
		set["description"] = description
	}
	_, err := c.service.Put(ctx, c.service.ServiceURL("floatingips", id), map[string]any{"floatingip": set}, nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
	return existence.Explain(ctx, c.service, openstack.Wrap(what, err), "floatingips", id)
}

// ExistingPorts returns those of the VIP ports that exist, with one call per hundred. The value reports whether Octavia
// created the port: a port that a user created for a VIP remains when its load balancer is deleted.
func (c *Client) ExistingPorts(ctx context.Context, ids []string) (map[string]bool, error) {
	const op = "check whether VIP ports are deleted"
	existing := map[string]bool{}
	for some := range slices.Chunk(ids, idsPerCall) {
		all, err := list[portDocument](ctx, c, op, "ports", url.Values{"id": some, "fields": {"id", "name", "device_owner"}})
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			existing[p.ID] = madeByOctavia(p)
		}
	}
	return existing, nil
}

// DeletePort deletes a port that Octavia left behind. It returns no error if the port does not
// exist.
func (c *Client) DeletePort(ctx context.Context, id string) error {
	_, err := c.remove(ctx, "delete port "+id, "ports", id)
	return err
}

// VIPPort is a port that Octavia created for a VIP.
type VIPPort struct {
	ID, Name string
	// LoadBalancerID is the load balancer that the port names, or "".
	LoadBalancerID string
}

// VIPPorts returns the ports that Octavia created for VIPs in the project. It lists all ports, with one call per
// thousand, because providers mark theirs differently.
func (c *Client) VIPPorts(ctx context.Context) ([]VIPPort, error) {
	all, err := list[portDocument](ctx, c, "list the ports of VIPs", "ports", url.Values{
		"project_id": {c.projectID}, "limit": {pageSize}, "fields": {"id", "name", "device_owner", "device_id", "project_id"},
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

// LoadBalancerOf returns the id of the load balancer that a VIP port names, or "" for any other port. It uses the name,
// the device and the device owner.
func LoadBalancerOf(name, deviceID, deviceOwner string) string {
	p := portDocument{Name: name, DeviceID: deviceID, DeviceOwner: deviceOwner}
	if !madeByOctavia(p) {
		return ""
	}
	return balancerOf(p)
}

// additionalVIP matches the names that provider ovn 8 gives to the ports of additional VIPs, which
// have no device.
var additionalVIP = regexp.MustCompile(`^ovn-lb-vip-additional-\d+-`)

// balancerOf reads the load balancer's id from the device of the port, or from the name that Octavia or provider
// ovn gave it.
func balancerOf(p portDocument) string {
	if prefix := additionalVIP.FindString(p.Name); prefix != "" && p.DeviceID == "" {
		return p.Name[len(prefix):]
	}
	for _, named := range []struct{ text, prefix string }{
		{p.DeviceID, "lb-"}, {p.Name, "octavia-lb-"}, {p.Name, "ovn-lb-vip-"},
	} {
		if id, ok := strings.CutPrefix(named.text, named.prefix); ok {
			return id
		}
	}
	return ""
}

// madeByOctavia recognizes the device owner that Octavia's network driver sets, and the names that it and provider
// ovn give.
func madeByOctavia(p portDocument) bool {
	return p.DeviceOwner == "Octavia" || strings.HasPrefix(p.Name, "octavia-lb-") || strings.HasPrefix(p.Name, "ovn-lb-vip-")
}
