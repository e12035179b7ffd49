// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package routes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/sync/semaphore"

	"github.com/kube-octavia/kube-octavia/internal/cloud/batch"
	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
	"github.com/kube-octavia/kube-octavia/internal/cloud/existence"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/cloud/paging"
)

// portsAtOnce is the number of ports that are changed concurrently. Kubernetes creates up to 200 routes at once, and
// calls for Services count for the same rate limit.
const portsAtOnce = 8

// attempts is the number of attempts at a change that Neutron refuses because another client changed the
// object.
const attempts = 5

// Cloud reads and writes a router and ports in Neutron. Its errors are of type *openstack.Error.
type Cloud struct {
	network   *gophercloud.ServiceClient
	projectID string
	// changes combines the changes of the router that are requested at the same time.
	changes *batch.Reader[error]
	// changingPorts has one unit for each change of a port.
	changingPorts *semaphore.Weighted

	mu         sync.Mutex
	extensions []string   // nil until they are read
	changing   sync.Mutex // one change of all routes at a time
}

// NewCloud returns a Cloud for the Neutron of a session.
func NewCloud(network *gophercloud.ServiceClient, projectID string) *Cloud {
	c := &Cloud{network: network, projectID: projectID, changingPorts: semaphore.NewWeighted(portsAtOnce)}
	c.changes = batch.New(c.change)
	return c
}

// Router is a router of Neutron.
type Router struct {
	ID       string  `json:"id"`
	Routes   []Route `json:"routes"`
	Revision int     `json:"revision_number"`
}

// Router reads a router.
func (c *Cloud) Router(ctx context.Context, id string) (Router, error) {
	op := "read router " + id
	var answer struct{ Router Router }
	if _, err := c.network.Get(ctx, c.network.ServiceURL("routers", id), decoding.Into(&answer), nil); err != nil {
		return Router{}, existence.Explain(ctx, c.network, openstack.Wrap(op, err), "routers", id)
	}
	if answer.Router.ID != id || answer.Router.Routes == nil {
		return Router{}, openstack.Unreadable(op, "no router with routes")
	}
	return answer.Router, nil
}

// Ports returns the ports of the project. If the cloud has no address pairs, nothing needs to be allowed, so the ports
// are returned as if they had no port security.
func (c *Cloud) Ports(ctx context.Context) ([]Port, error) {
	paired, err := c.has(ctx, addressPairs)
	if err != nil {
		return nil, err
	}
	all, err := paging.List[Port](ctx, c.network, "list ports of Nodes", "ports", url.Values{
		"project_id": {c.projectID}, "limit": {strconv.Itoa(paging.Size)},
		"fields": {"id", "network_id", "device_id", "mac_address", "fixed_ips", "allowed_address_pairs", "port_security_enabled", "tags", "revision_number"},
	})
	for i := range all {
		if !paired {
			all[i].PortSecurity = new(bool)
		}
	}
	return all, err
}

// The extensions of Neutron that determine how routers and ports are changed.
const (
	addressPairs     = "allowed-address-pairs"
	extraRouteAtomic = "extraroute-atomic" // since OpenStack Train; not every router plug-in has it
	revisionIfMatch  = "revision-if-match"
)

// Atomic reports whether Neutron can add and remove single routes. Otherwise all routes of a router are set
// together.
func (c *Cloud) Atomic(ctx context.Context) (bool, error) { return c.has(ctx, extraRouteAtomic) }

// has reports whether Neutron has an extension.
func (c *Cloud) has(ctx context.Context, alias string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.extensions == nil {
		var answer struct{ Extensions []struct{ Alias string } }
		if _, err := c.network.Get(ctx, c.network.ServiceURL("extensions"), decoding.Into(&answer), nil); err != nil {
			return false, openstack.Wrap("list the extensions of Neutron", err)
		}
		if answer.Extensions == nil {
			return false, openstack.Unreadable("list the extensions of Neutron", "no list")
		}
		c.extensions = []string{}
		for _, e := range answer.Extensions {
			c.extensions = append(c.extensions, e.Alias)
		}
	}
	return slices.Contains(c.extensions, alias), nil
}

// The kinds of changes of a router, which are the first word of the key of a change.
const (
	adding   = "add"
	removing = "remove"
)

func (c *Cloud) addRoute(ctx context.Context, routerID string, route Route) error {
	return c.join(ctx, adding, routerID, route)
}

func (c *Cloud) removeRoute(ctx context.Context, routerID string, route Route) error {
	return c.join(ctx, removing, routerID, route)
}

func (c *Cloud) join(ctx context.Context, kind, routerID string, route Route) error {
	failure, err := c.changes.Get(ctx, strings.Join([]string{kind, routerID, route.Destination, route.NextHop}, " "))
	return errors.Join(err, failure)
}

// change makes the changes with these keys together. If Neutron refuses them, because one is wrong, it makes them one
// by one.
func (c *Cloud) change(ctx context.Context, keys []string) (map[string]error, error) {
	results := map[string]error{}
	groups := map[[2]string][]string{}
	for _, key := range keys {
		words := strings.Fields(key)
		groups[[2]string{words[0], words[1]}] = append(groups[[2]string{words[0], words[1]}], key)
	}
	for group, keys := range groups {
		err := c.changeRoutes(ctx, group[0], group[1], routesOf(keys))
		if class := openstack.Classify(err); len(keys) > 1 && (class == openstack.Invalid || class == openstack.Quota) {
			c.changeSingly(ctx, group[0], group[1], keys, results)
			continue
		}
		for _, key := range keys {
			results[key] = err
		}
	}
	return results, nil
}

// changeSingly makes changes one by one. When the router is full, it does not try the remaining ones: only those whose
// routes already exist succeed.
func (c *Cloud) changeSingly(ctx context.Context, kind, routerID string, keys []string, results map[string]error) {
	for i, key := range keys {
		results[key] = c.changeRoutes(ctx, kind, routerID, routesOf(keys[i:i+1]))
		if kind != adding || openstack.Classify(results[key]) != openstack.Quota {
			continue
		}
		router, _ := c.Router(ctx, routerID) // if it cannot be read, all fail
		for j, route := range routesOf(keys[i:]) {
			if !slices.Contains(router.Routes, route) {
				results[keys[i+j]] = results[key]
			}
		}
		return
	}
}

func routesOf(keys []string) []Route {
	var routes []Route
	for _, key := range keys {
		words := strings.Fields(key)
		routes = append(routes, Route{Destination: words[2], NextHop: words[3]})
	}
	return routes
}

// changeRoutes adds routes to a router or removes them.
func (c *Cloud) changeRoutes(ctx context.Context, kind, routerID string, routes []Route) error {
	op := fmt.Sprintf("%s %d routes of router %s", kind, len(routes), routerID)
	atomic, err := c.Atomic(ctx)
	if err != nil {
		return err
	}
	if atomic {
		body := map[string]any{"router": map[string]any{"routes": routes}}
		_, err := c.network.Put(ctx, c.network.ServiceURL("routers", routerID, kind+"_extraroutes"), body, nil, &gophercloud.RequestOpts{OkCodes: []int{200}})
		return existence.Explain(ctx, c.network, openstack.Wrap(op, err), "routers", routerID)
	}
	c.changing.Lock() // without revision-if-match, at least this process loses no change
	defer c.changing.Unlock()
	err = c.again(op, func() error {
		router, err := c.Router(ctx, routerID)
		if err != nil {
			return err
		}
		wanted := merge(kind, router.Routes, routes)
		if len(wanted) == len(router.Routes) {
			return nil
		}
		return c.update(ctx, "router", "routers", routerID, router.Revision, map[string]any{"routes": wanted}, nil)
	})
	return existence.Explain(ctx, c.network, err, "routers", routerID)
}

// merge returns the routes of a router after a change.
func merge(kind string, before, changed []Route) []Route {
	after := slices.DeleteFunc(slices.Clone(before), func(r Route) bool { return kind == removing && slices.Contains(changed, r) })
	for _, r := range changed {
		if kind == adding && !slices.Contains(before, r) {
			after = append(after, r)
		}
	}
	return after
}

// update changes attributes of an object, if it still has the revision that was read.
func (c *Cloud) update(ctx context.Context, key, collection, id string, revision int, attributes map[string]any, answer any) error {
	options := &gophercloud.RequestOpts{OkCodes: []int{200}}
	conditional, err := c.has(ctx, revisionIfMatch)
	if err != nil {
		return err
	}
	if conditional {
		options.MoreHeaders = map[string]string{"If-Match": "revision_number=" + strconv.Itoa(revision)}
	}
	_, err = c.network.Put(ctx, c.network.ServiceURL(collection, id), map[string]any{key: attributes}, answer, options)
	return err
}

// again repeats a change that Neutron refuses because the object has changed since it was read.
func (c *Cloud) again(op string, change func() error) error {
	var err error
	for range attempts {
		err = openstack.Wrap(op, change())
		var failed *openstack.Error
		if !errors.As(err, &failed) || failed.Status != http.StatusPreconditionFailed {
			return err
		}
	}
	return err
}

// admit allows packets from the CIDR to leave the port. It returns the changed port.
func (c *Cloud) admit(ctx context.Context, port Port, cidr netip.Prefix) (Port, error) {
	op := "allow packets from " + cidr.String() + " at port " + port.ID
	if err := c.changingPorts.Acquire(ctx, 1); err != nil {
		return port, openstack.Wrap(op, err)
	}
	defer c.changingPorts.Release(1)
	return c.changePort(ctx, op, port, func(p Port) ([]AddressPair, bool) {
		return append(slices.Clone(p.AddressPairs), AddressPair{Address: cidr.String()}), !p.admits(cidr)
	})
}

// mark sets the tag of a port. It returns the changed port.
func (c *Cloud) mark(ctx context.Context, port Port, tag string) (Port, error) {
	op := "set tag " + tag + " of port " + port.ID
	if err := c.changingPorts.Acquire(ctx, 1); err != nil {
		return port, openstack.Wrap(op, err)
	}
	defer c.changingPorts.Release(1)
	_, err := c.network.Put(ctx, c.network.ServiceURL("ports", port.ID, "tags", url.PathEscape(tag)), nil, nil, &gophercloud.RequestOpts{OkCodes: []int{200, 201}})
	port.Tags = append(slices.Clone(port.Tags), tag)
	return port, existence.Explain(ctx, c.network, openstack.Wrap(op, err), "ports", port.ID)
}

// refuse removes the CIDR from the addresses of packets that may leave the port. It returns the
// changed port.
func (c *Cloud) refuse(ctx context.Context, port Port, cidr string) (Port, error) {
	return c.changePort(ctx, "refuse packets from "+cidr+" at port "+port.ID, port, func(p Port) ([]AddressPair, bool) {
		rest := p.without(cidr)
		return rest, len(rest) < len(p.AddressPairs)
	})
}

// unmark removes the tag from a port. The error is of class Gone if there is no port or tag.
func (c *Cloud) unmark(ctx context.Context, port Port, tag string) (Port, error) {
	_, err := c.network.Delete(ctx, c.network.ServiceURL("ports", port.ID, "tags", url.PathEscape(tag)), nil)
	port.Tags = slices.DeleteFunc(slices.Clone(port.Tags), func(t string) bool { return t == tag })
	return port, existence.Explain(ctx, c.network, openstack.Wrap("remove tag "+tag+" of port "+port.ID, err), "ports", port.ID)
}

// changePort sets the address pairs of a port, if change returns different ones. If another client has changed the port
// since it was read, it is read again.
func (c *Cloud) changePort(ctx context.Context, op string, port Port, change func(Port) ([]AddressPair, bool)) (Port, error) {
	var answer struct{ Port Port }
	stale := false
	err := c.again(op, func() error {
		if stale {
			if _, err := c.network.Get(ctx, c.network.ServiceURL("ports", port.ID), decoding.Into(&answer), nil); err != nil {
				return err
			}
			port = answer.Port
		}
		stale = true
		pairs, differ := change(port)
		if !differ {
			return nil
		}
		if err := c.update(ctx, "port", "ports", port.ID, port.Revision, map[string]any{"allowed_address_pairs": pairs}, decoding.Into(&answer)); err != nil {
			return err
		}
		port = answer.Port
		return nil
	})
	return port, existence.Explain(ctx, c.network, err, "ports", port.ID)
}
