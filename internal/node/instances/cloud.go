// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/cloud/paging"
)

// Microversion is the version of Nova's API that the client of a Cloud must request: since 2.47 (OpenStack Pike) a
// server has the name of its flavor, even if the flavor is deleted.
const Microversion = "2.47"

// Cloud reads servers from Nova and their ports from Neutron. Its errors are of type *openstack.Error.
type Cloud struct {
	compute, network *gophercloud.ServiceClient
	projectID        string
}

// NewCloud returns a Cloud that reads the servers and ports of the project.
func NewCloud(compute, network *gophercloud.ServiceClient, projectID string) *Cloud {
	return &Cloud{compute: compute, network: network, projectID: projectID}
}

// ProjectID returns the id of the project.
func (c *Cloud) ProjectID() string { return c.projectID }

// Inventory reads all servers and ports of the project, and the names of networks if a port is the parent of a trunk.
func (c *Cloud) Inventory(ctx context.Context) (Inventory, error) {
	limit := strconv.Itoa(paging.Size)
	servers, err := c.Servers(ctx)
	if err != nil {
		return Inventory{}, err
	}
	ports, err := paging.List[Port](ctx, c.network, "list ports of servers", "ports", url.Values{
		"project_id": {c.projectID}, "limit": {limit},
		"fields": {"id", "device_id", "network_id", "status", "fixed_ips", "trunk_details"},
	})
	if err != nil {
		return Inventory{}, err
	}
	inv := Inventory{Servers: map[string]Server{}, Ports: map[string]Port{}, Networks: map[string]string{}}
	hasTrunk := false
	for _, s := range servers {
		inv.Servers[s.ID] = s
	}
	for _, p := range ports {
		inv.Ports[p.ID] = p
		hasTrunk = hasTrunk || p.Trunk != nil
	}
	if !hasTrunk {
		return inv, nil
	}
	type network struct{ ID, Name string }
	networks, err := paging.List[network](ctx, c.network, "list networks of subports", "networks", url.Values{"limit": {limit}, "fields": {"id", "name"}})
	for _, n := range networks {
		inv.Networks[n.ID] = n.Name
	}
	return inv, err
}

// Servers reads all servers of the project.
func (c *Cloud) Servers(ctx context.Context) ([]Server, error) {
	return paging.ListOf[Server](ctx, c.compute, "list servers", "servers/detail", "servers", url.Values{})
}

// Server reads a server. It returns false if Nova itself answers that no server has the id. A 404 with another text may
// come from a proxy, and is an error.
func (c *Cloud) Server(ctx context.Context, id string) (Server, bool, error) {
	op := "read server " + strconv.Quote(id)
	if !openstack.IsID(id) {
		return Server{}, false, &openstack.Error{Op: op, Class: openstack.Invalid, Message: "this is not the id of a server"}
	}
	var answer struct{ Server Server }
	_, err := c.compute.Get(ctx, c.compute.ServiceURL("servers", id), decoding.Into(&answer), nil)
	err = openstack.Wrap(op, err)
	var failed *openstack.Error
	switch {
	case err == nil && answer.Server.ID != id:
		return Server{}, false, openstack.Unreadable(op, "another server or none")
	case !errors.As(err, &failed) || failed.Class != openstack.Gone:
		return answer.Server, err == nil, err
	case strings.Contains(failed.Message, "Instance "+id):
		return Server{}, false, nil
	}
	failed.Class = openstack.Transient
	return Server{}, false, failed
}

// flavorIDs returns the ids of the flavors by name.
func (c *Cloud) flavorIDs(ctx context.Context) (map[string]string, error) {
	type flavor struct{ ID, Name string }
	flavors, err := paging.ListNamed[flavor](ctx, c.compute, "list flavors", "flavors", url.Values{})
	ids := map[string]string{}
	for _, f := range flavors {
		ids[f.Name] = f.ID
	}
	return ids, err
}
