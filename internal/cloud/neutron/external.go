// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// nameExternalNetwork is the advice how to choose the external network of a Service.
const nameExternalNetwork = "name the external network by annotation loadbalancer.openstack.org/floating-network-id, or by [LoadBalancer] floating-network-id in cloud.conf"

// ExternalNetwork returns the id of the external network for the floating IP of a load balancer with the VIPs, if none
// is configured. Candidates are networks that have an IPv4 subnet, or whose subnets the project cannot see. If there
// are several, it is the one that the router of the VIP's subnet leads to: Neutron attaches only its floating IPs. If
// the project sees no such router, it is the first one by name.
func (c *Client) ExternalNetwork(ctx context.Context, vips ...lb.VIP) (string, error) {
	all, err := c.lookups.get(ctx, "external networks", c.findExternalNetworks)
	if err != nil {
		return "", err
	}
	candidates := strings.Fields(all)
	if len(candidates) == 1 {
		return candidates[0], nil
	}
	place, where := placeOf(vips)
	key := strings.Join([]string{"external network of", all, place.Encode()}, "\x00")
	return c.lookups.get(ctx, key, func(ctx context.Context) (string, error) {
		return c.findExternalNetwork(ctx, candidates, place, where)
	})
}

// findExternalNetworks returns the ids of the external networks for IPv4, sorted by name.
func (c *Client) findExternalNetworks(ctx context.Context) (string, error) {
	const op = "find an external network"
	all, err := list[networkDocument](ctx, c, op, "networks", url.Values{"router:external": {"true"}})
	if err != nil {
		return "", err
	}
	slices.SortFunc(all, func(a, b networkDocument) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	var ids []string
	for _, network := range all {
		seen, err := c.subnets(ctx, op, network.ID)
		if err != nil {
			return "", err
		}
		if len(seen) == 0 || slices.ContainsFunc(seen, func(s subnetDocument) bool { return s.IPVersion == 4 }) {
			ids = append(ids, network.ID)
		}
	}
	if len(ids) == 0 {
		return "", &openstack.Error{Op: op, Class: openstack.Invalid,
			Message: "the project can see no external network with IPv4; set [LoadBalancer] floating-network-id in cloud.conf, or make the Service internal"}
	}
	return strings.Join(ids, " "), nil
}

// placeOf returns the filter for ports in the subnets of the VIPs or, if these are unknown, in their network. where
// describes it.
func placeOf(vips []lb.VIP) (place url.Values, where string) {
	place = url.Values{}
	for _, vip := range vips {
		switch {
		case vip.SubnetID != "":
			place.Add("fixed_ips", "subnet_id="+vip.SubnetID)
			where = cmp.Or(where, "subnet "+vip.SubnetID)
		case vip.NetworkID != "":
			place.Add("network_id", vip.NetworkID)
			where = cmp.Or(where, "network "+vip.NetworkID)
		}
	}
	return place, where
}

// findExternalNetwork chooses one of the external networks, with two calls, and a third one if routers lead to
// several.
func (c *Client) findExternalNetwork(ctx context.Context, candidates []string, place url.Values, where string) (string, error) {
	interfaces, err := c.routerInterfaces(ctx, place, where)
	if err != nil {
		return "", err
	}
	gateways, err := c.gateways(ctx, interfaces, where)
	if err != nil {
		return "", err
	}
	reached := reachable(candidates, interfaces, gateways)
	if len(reached) > 1 {
		if id, err := c.behindGateway(ctx, reached, interfaces, gateways); id != "" || err != nil {
			return id, err
		}
	}
	return chooseExternalNetwork(candidates, reached, interfaces, gateways, where)
}

// chooseExternalNetwork returns the only external network that the routers lead to. If the project does not see all
// routers, or sees none, it may be any of them: then it returns the first one.
func chooseExternalNetwork(candidates, reached []string, interfaces []routerInterface, gateways map[string]string, where string) (string, error) {
	unseen := slices.ContainsFunc(interfaces, func(i routerInterface) bool {
		_, seen := gateways[i.routerID]
		return !seen
	})
	op := "choose an external network for " + where
	switch {
	case len(reached) == 1:
		return reached[0], nil
	case len(reached) > 1:
		return "", &openstack.Error{Op: op, Class: openstack.Invalid, Message: fmt.Sprintf(
			"its routers lead to %d external networks (%s); %s", len(reached), strings.Join(reached, ", "), nameExternalNetwork)}
	case len(interfaces) == 0 || unseen:
		return candidates[0], nil
	}
	return "", &openstack.Error{Op: op, Class: openstack.Invalid, Message: fmt.Sprintf(
		"the project sees %d external networks, and router %s leads to none of them; give the router a gateway in an external network, or make the Service internal",
		len(candidates), interfaces[0].routerID)}
}

// routerInterface is the address of a router in a subnet.
type routerInterface struct {
	routerID, subnetID string
	address            netip.Addr
}

// interfaceOwners are the device owners of the ports of routers: usual, distributed, and highly available ones.
var interfaceOwners = []string{"network:router_interface", "network:router_interface_distributed", "network:ha_router_replicated_interface"}

// routerInterfaces returns the IPv4 addresses of routers in a place.
func (c *Client) routerInterfaces(ctx context.Context, place url.Values, where string) ([]routerInterface, error) {
	if len(place) == 0 { // an empty filter would select everything
		return nil, nil
	}
	query := url.Values{"device_owner": interfaceOwners}
	for key, values := range place {
		query[key] = values
	}
	all, err := list[portDocument](ctx, c, "look for the routers of "+where, "ports", query)
	if err != nil {
		return nil, err
	}
	var found []routerInterface
	for _, p := range all {
		if !slices.Contains(interfaceOwners, p.DeviceOwner) || !openstack.IsID(p.DeviceID) {
			continue // a service that does not support a filter returns everything
		}
		for _, ip := range p.FixedIPs {
			inPlace := slices.Contains(place["fixed_ips"], "subnet_id="+ip.SubnetID) || slices.Contains(place["network_id"], p.NetworkID)
			if address, err := netip.ParseAddr(ip.Address); err == nil && address.Is4() && inPlace {
				found = append(found, routerInterface{p.DeviceID, ip.SubnetID, address})
			}
		}
	}
	return found, nil
}

// gateways returns the external networks of the routers that the project sees, by id of the router; "" if a router has
// no gateway. If these credentials do not allow the call, the project sees none.
func (c *Client) gateways(ctx context.Context, interfaces []routerInterface, where string) (map[string]string, error) {
	ids := url.Values{}
	for _, i := range interfaces {
		if !slices.Contains(ids["id"], i.routerID) {
			ids.Add("id", i.routerID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	ids["fields"] = []string{"id", "external_gateway_info"}
	all, err := list[routerDocument](ctx, c, "read the routers of "+where, "routers", ids)
	if openstack.Denied(err) || openstack.Classify(err) == openstack.Gone {
		return nil, nil
	}
	networkOf := map[string]string{}
	for _, r := range all {
		networkOf[r.ID] = r.GatewayInfo.NetworkID
	}
	return networkOf, err
}

// reachable returns those of the external networks to which a router leads.
func reachable(candidates []string, interfaces []routerInterface, gateways map[string]string) []string {
	return slices.DeleteFunc(slices.Clone(candidates), func(id string) bool {
		return !slices.ContainsFunc(interfaces, func(i routerInterface) bool { return gateways[i.routerID] == id })
	})
}

// behindGateway returns the external network to which the gateway of the VIP's subnet leads, or "": answers to clients
// leave the subnet through its gateway, and Neutron prefers this router, too.
func (c *Client) behindGateway(ctx context.Context, reached []string, interfaces []routerInterface, gateways map[string]string) (string, error) {
	for _, i := range interfaces {
		subnet, err := c.SubnetPlan(ctx, i.subnetID, lookupLife)
		if openstack.Classify(err) == openstack.Gone {
			continue
		} else if err != nil {
			return "", err
		}
		if id := gateways[i.routerID]; subnet.Gateway == i.address && slices.Contains(reached, id) {
			return id, nil
		}
	}
	return "", nil
}
