// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package securitygroup

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

var (
	nodeNet = netip.MustParsePrefix("10.0.0.0/24")
	vipNet  = netip.MustParsePrefix("10.0.9.0/24")
	all4    = netip.MustParsePrefix("0.0.0.0/0")
	subnets = map[string]Subnet{
		"nodes": {CIDR: nodeNet, NetworkID: "net-nodes"},
		"vips":  {CIDR: vipNet, NetworkID: "net-vips"},
		"twin":  {CIDR: netip.MustParsePrefix("10.0.1.0/24"), NetworkID: "net-nodes"},
		"six":   {CIDR: netip.MustParsePrefix("2001:db8::/64"), NetworkID: "net-nodes"},
	}
)

func tcp(port int) PortKey { return PortKey{lb.TCP, port} }
func udp(port int) PortKey { return PortKey{lb.UDP, port} }

func rule(port PortKey, source netip.Prefix) Rule { return Rule{port, source} }

// serviceOn returns the need of a Service whose load balancer has an address in the subnet of the
// nodes.
func serviceOn(ports ...PortKey) Need {
	return Need{Ports: ports, FromSubnets: true, MemberSubnetIDs: []string{"nodes"}, VIPSubnetID: "nodes"}
}

func node(name string) Node {
	return Node{Name: name, ServerID: "server-" + name, Addresses: []netip.Addr{addressOf(name)}}
}

// addressOf is 10.0.0.1 for "a", 10.0.0.2 for "b", and so on.
func addressOf(name string) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 0, 0, name[0] - 'a' + 1})
}

func port(name string, groups ...string) Port {
	return Port{ID: "port-" + name, ServerID: "server-" + name, Addresses: []netip.Addr{addressOf(name)}, Groups: groups, Revision: 1}
}

// fakeNeutron is a model of Neutron for the ops.
type fakeNeutron struct {
	Observed
	made int
}

// apply carries out an op, or says why Neutron would refuse it.
func (s *fakeNeutron) apply(op Op) error {
	s.made++
	id := fmt.Sprintf("new-%d", s.made)
	made := Made{}
	switch op := op.(type) {
	case CreateGroup:
		made.Group = Group{ID: id, Name: op.Name, Description: op.Description, Rules: []FoundRule{{ID: id + "-out", Foreign: true}}}
	case AddRules:
		for i, r := range op.Rules {
			if s.lets(op.GroupID, r) {
				return fmt.Errorf("%s is there already", r)
			}
			made.Rules = append(made.Rules, FoundRule{ID: fmt.Sprintf("%s-%d", id, i), Rule: r})
		}
	case SetGroups:
		at := slices.IndexFunc(s.Ports, func(p Port) bool { return p.ID == op.Port.ID })
		if at < 0 || s.Ports[at].Revision != op.Port.Revision {
			return fmt.Errorf("port %s has changed", op.Port.ID)
		}
		made.Port = s.Ports[at]
		made.Port.Groups, made.Port.Revision = op.Groups, op.Port.Revision+1
	case DeleteGroup:
		if slices.ContainsFunc(s.Ports, func(p Port) bool { return slices.Contains(p.Groups, op.ID) }) {
			return fmt.Errorf("group %s is in use", op.ID)
		}
	}
	s.Observed = s.After(op, made)
	return nil
}

func (s *fakeNeutron) lets(groupID string, r Rule) bool {
	for _, g := range s.Groups {
		if g.ID == groupID && slices.ContainsFunc(g.Rules, func(f FoundRule) bool { return !f.Foreign && f.Rule == r }) {
			return true
		}
	}
	return false
}

// settle applies plans until nothing is left to do.
func (s *fakeNeutron) settle(wanted Wanted) error {
	for range 10 {
		ops := Diff(wanted, s.Observed)
		if len(ops) == 0 {
			return nil
		}
		for _, op := range ops {
			if err := s.apply(op); err != nil {
				return fmt.Errorf("%s: %w", op, err)
			}
		}
	}
	return fmt.Errorf("it does not end: %v", Diff(wanted, s.Observed))
}
