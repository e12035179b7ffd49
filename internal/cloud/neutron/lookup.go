// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/value"
)

// lookupLife is how long the answer to a lookup is reused: networks and subnets rarely change.
const lookupLife = 10 * time.Minute

// lookups caches answers, but no errors, and lets concurrent callers of the same lookup share one.
type lookups struct {
	group *singleflight.Group
	mu    *sync.Mutex
	known map[string]answer
}

// answer is valid until a time, or forever if that is zero.
type answer struct {
	text  string
	until time.Time
}

// age returns the age of the answer, if it is not valid forever.
func (a answer) age() time.Duration { return time.Since(a.until.Add(-lookupLife)) }

func newLookups() lookups {
	return lookups{group: &singleflight.Group{}, mu: &sync.Mutex{}, known: map[string]answer{}}
}

// get returns the cached answer or looks it up. The lookup does not end with the context of the first caller.
func (l lookups) get(ctx context.Context, key string, ask func(context.Context) (string, error)) (string, error) {
	if text, there := l.recall(key); there {
		return text, nil
	}
	text, err, _ := l.group.Do(key, func() (any, error) {
		// The answer may have arrived meanwhile.
		if text, there := l.recall(key); there {
			return text, nil
		}
		text, err := ask(context.WithoutCancel(ctx))
		if err == nil {
			l.mu.Lock()
			l.known[key] = answer{text: text, until: time.Now().Add(lookupLife)}
			l.mu.Unlock()
		}
		return text, err
	})
	found, _ := text.(string)
	return found, err
}

// renew looks an answer up again if it is older than maxAge. If that fails, it returns the old
// answer.
func (l lookups) renew(ctx context.Context, key string, maxAge time.Duration, ask func(context.Context) (string, error)) (string, error) {
	l.mu.Lock()
	old, there := l.known[key]
	if there && old.age() > maxAge {
		delete(l.known, key)
	}
	l.mu.Unlock()
	text, err := l.get(ctx, key, ask)
	if err != nil && there {
		l.mu.Lock()
		l.known[key] = old
		l.mu.Unlock()
		return old.text, nil
	}
	return text, err
}

func (l lookups) recall(key string) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, there := l.known[key]
	return a.text, there && (a.until.IsZero() || time.Now().Before(a.until))
}

// keep makes a cached answer valid forever.
func (l lookups) keep(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[key] = answer{text: l.known[key].text}
}

// subnets returns the subnets of a network, sorted by name.
func (c *Client) subnets(ctx context.Context, op, networkID string) ([]subnetDocument, error) {
	all, err := list[subnetDocument](ctx, c, op, "subnets", url.Values{"network_id": {networkID}})
	all = slices.DeleteFunc(all, func(s subnetDocument) bool { return s.NetworkID != networkID })
	slices.SortFunc(all, func(a, b subnetDocument) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return all, err
}

// AddressOfFloatingIP returns the address of the project's floating IP with the id. If there is none, the error is of
// class Gone.
func (c *Client) AddressOfFloatingIP(ctx context.Context, id string) (string, error) {
	return c.lookups.get(ctx, "floating IP "+id, func(ctx context.Context) (string, error) {
		op := "look for floating IP " + id
		found, err := c.listFloatingIPs(ctx, op, url.Values{"id": {id}, "project_id": {c.projectID}}, func(f lb.FloatingIP) bool { return f.ID == id })
		switch {
		case err != nil:
			return "", err
		case len(found) == 0:
			return "", &openstack.Error{Op: op, Class: openstack.Gone, Message: "the project has no such floating IP"}
		}
		return found[0].Address, nil
	})
}

// SecurityGroup returns the id of the security group with the id, which may belong to another project and be shared
// with this one, or of the project's security group with the name. If there is none, or if several have the name, the
// error is of class Invalid.
func (c *Client) SecurityGroup(ctx context.Context, named string) (string, error) {
	return c.lookups.get(ctx, "security group "+named, func(ctx context.Context) (string, error) {
		op, query := "look for security group "+named, url.Values{"fields": {"id", "name"}}
		_, notID := value.SecurityGroup.ParseID(named)
		if notID == nil {
			query.Set("id", named)
		} else {
			query.Set("name", named)
			query.Set("project_id", c.projectID)
		}
		all, err := list[groupAnswer](ctx, c, op, "security-groups", query)
		if err != nil {
			return "", err
		}
		all = slices.DeleteFunc(all, func(g groupAnswer) bool { return g.Name != named && g.ID != named })
		switch {
		case len(all) == 0 && notID == nil:
			return "", &openstack.Error{Op: op, Class: openstack.Invalid, Message: "the project sees no security group with the id " + named}
		case len(all) == 0:
			return "", &openstack.Error{Op: op, Class: openstack.Invalid, Message: fmt.Sprintf("the project has no security group with the name %q", named)}
		case len(all) > 1:
			return "", &openstack.Error{Op: op, Class: openstack.Invalid, Message: fmt.Sprintf("%d security groups of the project have the name %q; use an id", len(all), named)}
		}
		return all[0].ID, nil
	})
}

// Subnets returns the ids of the network's IPv4 subnets that the project sees and the pattern matches, sorted by name.
func (c *Client) Subnets(ctx context.Context, networkID string, pattern value.SubnetPattern) ([]string, error) {
	key := strings.Join([]string{"subnets of", networkID, pattern.Name, pattern.Tags}, "\x00")
	ids, err := c.lookups.get(ctx, key, func(ctx context.Context) (string, error) {
		op := "look for subnets of network " + networkID
		matches, err := pattern.Matcher()
		if err != nil {
			return "", &openstack.Error{Op: op, Class: openstack.Invalid, Message: err.Error()}
		}
		all, err := c.subnets(ctx, op, networkID)
		var ids []string
		for _, s := range all {
			if s.IPVersion == 4 && matches(s.Name, s.Tags) {
				ids = append(ids, s.ID)
			}
		}
		return strings.Join(ids, " "), err
	})
	return strings.Fields(ids), err
}

// SubnetsForVIPs returns a subnet of each family in one network: a given one of that family, or else the first by name.
// The network is the given one, or else that of the first given subnet. If there is none, or the project does not see
// it, the id is empty.
func (c *Client) SubnetsForVIPs(ctx context.Context, networkID string, given ...string) (ipv4, ipv6 string, err error) {
	key := strings.Join(append([]string{"subnets for VIPs", networkID}, given...), "\x00")
	both, err := c.lookups.get(ctx, key, func(ctx context.Context) (string, error) { return c.findSubnetsForVIPs(ctx, networkID, given) })
	ipv4, ipv6, _ = strings.Cut(both, " ")
	return ipv4, ipv6, err
}

func (c *Client) findSubnetsForVIPs(ctx context.Context, networkID string, given []string) (string, error) {
	op := "look for the subnets of VIPs"
	if networkID == "" {
		found, err := list[subnetDocument](ctx, c, op, "subnets", url.Values{"id": {given[0]}})
		i := slices.IndexFunc(found, func(s subnetDocument) bool { return s.ID == given[0] })
		if err != nil || i < 0 || !openstack.IsID(found[i].NetworkID) {
			return " ", err
		}
		networkID = found[i].NetworkID
	}
	all, err := c.subnets(ctx, op+" in network "+networkID, networkID)
	if err != nil {
		return "", err
	}
	byVersion := map[int]string{}
	for _, s := range all {
		if byVersion[s.IPVersion] == "" || slices.Contains(given, s.ID) {
			byVersion[s.IPVersion] = s.ID
		}
	}
	return byVersion[4] + " " + byVersion[6], nil
}

// SubnetOfPort returns the id of the subnet of the port's first address of a family: IPv4 or, without is4, IPv6.
// The port must be an unused one of the project, so that it can become a VIP; the error says what is wrong with it.
func (c *Client) SubnetOfPort(ctx context.Context, id string, is4 bool) (string, error) {
	op := "look at port " + id
	all, err := list[portDocument](ctx, c, op, "ports", url.Values{"id": {id}})
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(p portDocument) bool { return p.ID == id && c.owns(p.ProjectID) })
	switch {
	case i < 0:
		return "", &openstack.Error{Op: op, Class: openstack.Invalid, Message: "the project has no such port"}
	case all[i].DeviceID != "" || all[i].DeviceOwner != "":
		return "", openstack.NewForeign(op, fmt.Sprintf("it already belongs to device %q of %q; name an unused port", all[i].DeviceID, all[i].DeviceOwner))
	}
	for _, ip := range all[i].FixedIPs {
		if address, err := netip.ParseAddr(ip.Address); err == nil && address.Is4() == is4 {
			return ip.SubnetID, nil
		}
	}
	return "", &openstack.Error{Op: op, Class: openstack.Invalid, Message: "the port has no address of the Service's first IP family"}
}

// probeOwners are the device owners of ports from which OVN checks members: the metadata port of a network, and a port that
// provider ovn creates with the first health monitor in a subnet (releases 8 and 11 do, 3 does not).
var probeOwners = []string{"network:distributed", "ovn-lb-hm:distributed"}

// HasProbePort reports whether the project sees a port with an address in the subnet from which OVN can check members. It does not
// see that of a network that another project shares.
func (c *Client) HasProbePort(ctx context.Context, subnetID string) (bool, error) {
	id, err := c.lookups.get(ctx, "probe port in "+subnetID, func(ctx context.Context) (string, error) {
		all, err := list[portDocument](ctx, c, "look for the port from which OVN checks members in subnet "+subnetID, "ports",
			url.Values{"device_owner": probeOwners, "fixed_ips": {"subnet_id=" + subnetID}})
		for _, p := range all {
			// A service that does not support a filter returns everything.
			inSubnet := slices.ContainsFunc(p.FixedIPs, func(ip fixedIPDocument) bool { return ip.SubnetID == subnetID })
			if slices.Contains(probeOwners, p.DeviceOwner) && inSubnet {
				return p.ID, nil
			}
		}
		return "", err
	})
	return id != "", err
}

// OwnsSubnet reports whether the subnet is in one of the project's own networks.
func (c *Client) OwnsSubnet(ctx context.Context, subnetID string) (bool, error) {
	id, err := c.lookups.get(ctx, "own network of "+subnetID, func(ctx context.Context) (string, error) {
		all, err := list[networkDocument](ctx, c, "look for the network of subnet "+subnetID, "networks",
			url.Values{"project_id": {c.projectID}})
		for _, network := range all {
			if network.ProjectID == c.projectID && slices.Contains(network.Subnets, subnetID) {
				return network.ID, nil
			}
		}
		return "", err
	})
	return id != "", err
}

// CIDR returns the addresses of the subnet, which never change. It is not valid if the project does not see the subnet.
func (c *Client) CIDR(ctx context.Context, subnetID string) (netip.Prefix, error) {
	key := "CIDR of " + subnetID
	text, err := c.lookups.get(ctx, key, func(ctx context.Context) (string, error) {
		subnet, err := c.Subnet(ctx, subnetID)
		if openstack.Classify(err) == openstack.Gone {
			return "", nil
		}
		return subnet.CIDR.String(), err
	})
	if err != nil || text == "" {
		return netip.Prefix{}, err
	}
	c.lookups.keep(key)
	return netip.ParsePrefix(text)
}

// SubnetPlan returns the addresses, the pools and the gateway of the subnet. If the project does not see the subnet,
// the error is of class Gone. A cached answer is not older than maxAge, unless reading it again fails.
func (c *Client) SubnetPlan(ctx context.Context, subnetID string, maxAge time.Duration) (plan lb.SubnetPlan, _ error) {
	op := "look at subnet " + subnetID
	text, err := c.lookups.renew(ctx, "plan of subnet "+subnetID, maxAge, func(ctx context.Context) (string, error) {
		all, err := list[subnetDocument](ctx, c, op, "subnets", url.Values{"id": {subnetID}})
		if err != nil {
			return "", err
		}
		i := slices.IndexFunc(all, func(s subnetDocument) bool { return s.ID == subnetID })
		if i < 0 {
			return "", &openstack.Error{Op: op, Class: openstack.Gone, Message: "the project can see no such subnet"}
		}
		plan, err := planOf(all[i])
		if err != nil {
			return "", openstack.Unreadable(op, err.Error())
		}
		text, err := json.Marshal(plan)
		return string(text), err
	})
	if err == nil {
		err = json.Unmarshal([]byte(text), &plan)
	}
	return plan, err
}

// planOf converts the answer of Neutron.
func planOf(s subnetDocument) (plan lb.SubnetPlan, err error) {
	plan.ID, plan.DHCP = s.ID, s.EnableDHCP
	plan.CIDR, err = netip.ParsePrefix(s.CIDR)
	if err != nil {
		return plan, err
	}
	plan.CIDR = plan.CIDR.Masked()
	if s.GatewayIP != "" {
		plan.Gateway, err = netip.ParseAddr(s.GatewayIP)
		if err != nil {
			return plan, err
		}
	}
	for _, p := range s.AllocationPools {
		first, err := netip.ParseAddr(p.Start)
		if err != nil {
			return plan, err
		}
		last, err := netip.ParseAddr(p.End)
		if err != nil {
			return plan, err
		}
		plan.Pools = append(plan.Pools, lb.AddressRange{First: first, Last: last})
	}
	return plan, nil
}

// SubnetOfAddress returns the id of the subnet in which a port has one of the addresses: the first address that the
// project sees in exactly one subnet. If an administrator sees an address in several, that of the own project
// counts. It takes one call for the first address and, if that finds no subnet, one for the others.
func (c *Client) SubnetOfAddress(ctx context.Context, addresses ...string) (string, error) {
	return c.lookups.get(ctx, "subnet of "+addresses[0], func(ctx context.Context) (string, error) {
		id, first := c.findSubnet(ctx, addresses[:1])
		others := addresses[1:min(len(addresses), 1+addressesPerCall)]
		if openstack.Classify(first) != openstack.Invalid || len(others) == 0 {
			return id, first
		}
		id, err := c.findSubnet(ctx, others)
		if openstack.Classify(err) == openstack.Invalid {
			err = first
		}
		return id, err
	})
}

// addressesPerCall is the number of addresses that one call looks up; each takes about 80 bytes of
// the URL.
const addressesPerCall = 50

func (c *Client) findSubnet(ctx context.Context, addresses []string) (string, error) {
	op := "look for the subnet of " + addresses[0]
	query := url.Values{}
	for _, a := range addresses {
		query.Add("fixed_ips", "ip_address="+a)
	}
	all, err := list[portDocument](ctx, c, op, "ports", query)
	if err != nil {
		return "", err
	}
	own := slices.DeleteFunc(slices.Clone(all), func(p portDocument) bool { return !c.owns(p.ProjectID) })
	for _, address := range addresses {
		found := subnetsWith(all, address)
		if len(found) > 1 {
			found = subnetsWith(own, address)
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	return "", &openstack.Error{Op: op, Class: openstack.Invalid, Message: fmt.Sprintf(
		"%d subnets of the project contain the address, and no other node's address determines the subnet either; set [LoadBalancer] subnet-id in cloud.conf",
		len(subnetsWith(own, addresses[0])))}
}

// subnetsWith returns the subnets in which a port has the address.
func subnetsWith(all []portDocument, address string) []string {
	var found []string
	for _, p := range all {
		for _, ip := range p.FixedIPs {
			if ip.Address == address && openstack.IsID(ip.SubnetID) && !slices.Contains(found, ip.SubnetID) {
				found = append(found, ip.SubnetID)
			}
		}
	}
	return found
}

// SubnetsOf returns the subnets of a network that the project sees, sorted by id; if there are none, the error is of
// class Invalid. A cached answer is not older than maxAge, unless reading it again fails.
func (c *Client) SubnetsOf(ctx context.Context, networkID string, maxAge time.Duration) (all []lb.Subnet, _ error) {
	text, err := c.lookups.renew(ctx, "all subnets of "+networkID, maxAge, func(ctx context.Context) (string, error) {
		op := "look for the subnets of network " + networkID
		found, err := c.subnets(ctx, op, networkID)
		var lines []string
		for _, s := range found {
			if cidr, err := netip.ParsePrefix(s.CIDR); err == nil && openstack.IsID(s.ID) {
				lines = append(lines, s.ID+" "+cidr.Masked().String())
			}
		}
		slices.Sort(lines)
		if err == nil && len(lines) == 0 {
			err = &openstack.Error{Op: op, Class: openstack.Invalid, Message: "the project sees no subnet of it"}
		}
		return strings.Join(lines, "\n"), err
	})
	for line := range strings.Lines(text) {
		id, cidr, _ := strings.Cut(strings.TrimSpace(line), " ")
		all = append(all, lb.Subnet{ID: id, CIDR: netip.MustParsePrefix(cidr)})
	}
	return all, err
}
