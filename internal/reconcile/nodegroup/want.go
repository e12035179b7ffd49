// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nodegroup

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// facts are everything that the desired security groups depend on. They are plain data.
type facts struct {
	now    time.Time
	policy claim.Policy
	// perService is whether each Service has a security group of its own.
	perService bool
	services   map[owner.Key]service
	// needs are published by passes over Services, which may be deleted by now.
	needs map[owner.Key]need
	nodes []corev1.Node
	// subnets are those that were read, by id; unread is why others were not.
	subnets map[string]securitygroup.Subnet
	unread  map[string]error
}

// service is one Service that is served or being released.
type service struct {
	securitygroup.Claim
	owner lb.Owner
	// released is whether the Service has nothing but a security group in the cloud.
	released bool
	// only are the nodes that the Service selects, nil for all. invalidSelector is whether
	// it is not known which these are.
	only            []string
	invalidSelector bool
	// podPorts is whether the nodes let in what is sent to Pods.
	podPorts bool
	// keep are ports whose rules in the Service's own group are left as they are.
	keep []securitygroup.PortKey
	// held are the members of its load balancer; unsure is whether there may be others.
	held   []netip.Addr
	unsure bool
}

// serviceOf collects the facts about an owner. openstack-cloud-controller-manager always has
// a rule for the healthCheckNodePort. It is kept: it does no harm if nothing listens there.
func serviceOf(s claim.Owner, known need, nodes []corev1.Node, c config.LoadBalancer) service {
	claimed := securitygroup.Claim{Ports: s.Spec.NodePorts(), OtherPorts: s.Spec.PodTargets()}
	one := service{Claim: claimed, owner: s.Identity, podPorts: c.SecurityGroupPodPorts}
	if known.uid == types.UID(one.owner.ServiceUID) {
		one.Need, one.released = &known.Need, known.released
	}
	if check := s.Spec.HealthCheckNodePort; check != 0 {
		one.keep = []securitygroup.PortKey{{Transport: lb.TCP, Port: check}}
	}
	selector, err := s.Spec.Selector()
	one.invalidSelector = err != nil
	if err != nil || len(selector) == 0 {
		return one
	}
	one.only = []string{}
	for _, n := range nodes {
		if selector.Matches(n.Labels) {
			one.only = append(one.only, n.Name)
		}
	}
	slices.Sort(one.only)
	return one
}

// want returns the desired security groups.
func want(f facts) securitygroup.Wanted {
	keys := slices.SortedFunc(maps.Keys(f.services), compareKeys)
	main := wantOfNodes(f, keys)
	w := securitygroup.Wanted{Nodes: nodesOf(f, main.Held), Groups: []securitygroup.WantedGroup{main}}
	for _, key := range keys {
		if own, known := wantOfService(f, f.services[key]); known {
			w.Groups = append(w.Groups, own)
		}
	}
	return w
}

// wantOfNodes returns the desired group of the cluster.
func wantOfNodes(f facts, keys []owner.Key) securitygroup.WantedGroup {
	group := identity(f.policy)
	w := securitygroup.WantedGroup{For: securitygroup.OfNodes, Name: group.Name(), Description: group.Description()}
	claims, unsure := make([]securitygroup.Claim, 0, len(keys)), []service{}
	for _, key := range keys {
		s := f.services[key]
		claims = append(claims, s.Claim)
		if !f.sure(s) {
			unsure = append(unsure, s)
		}
		w.Held, w.Unsure = append(w.Held, s.held...), w.Unsure || s.unsure
	}
	slices.SortFunc(w.Held, netip.Addr.Compare)
	w.Held = slices.Compact(w.Held)
	switch {
	case !f.perService:
		w.Rules, w.Keep, w.KeepAll = securitygroup.Claimed(claims, f.subnets)
	case len(unsure) > 0:
		return f.remainder(w, unsure)
	default:
		// The groups of the Services allow what it allows.
		w.Delete, w.Replaced = true, true
	}
	return w
}

// remainder returns what stays of the group of the cluster beside the groups of the Services, for
// those whose needs are not known: it is where it was, with the rules that it had for them.
func (f facts) remainder(w securitygroup.WantedGroup, unsure []service) securitygroup.WantedGroup {
	w.Replaced, w.Stays, w.Only = true, true, []string{}
	for _, s := range unsure {
		w.Keep = append(w.Keep, s.Ports...)
		if s.Need == nil || f.awaitsMembers(s) {
			w.KeepAll = true // the group may go soon
			continue
		}
		w.Keep = append(w.Keep, s.Need.Ports...)
	}
	slices.SortFunc(w.Keep, securitygroup.ComparePorts)
	w.Keep = slices.Compact(w.Keep)
	return w
}

// wantOfService returns the desired group of one Service. If known is false, the group is
// left as it is, because the Service's needs are not known.
func wantOfService(f facts, s service) (w securitygroup.WantedGroup, known bool) {
	w = securitygroup.WantedGroup{For: s.owner.ServiceUID, Name: s.owner.SecurityGroupName(), Description: s.owner.SecurityGroupDescription()}
	switch {
	case s.released:
		w.Delete = true
		return w, true
	case !f.sure(s):
		return w, false
	}
	w.Held, w.Unsure = s.held, s.unsure
	if !f.perService {
		w.Delete, w.Replaced = true, true
		return w, true
	}
	w.Rules, _ = s.Need.Rules(f.subnets)
	w.Keep, w.Only = s.keep, s.only
	if s.invalidSelector {
		w.Only, w.Stays = f.having(s.held), true
	}
	return w, true
}

// sure reports whether the Service's needs are known, and, if it has its own group, the nodes
// that need it.
func (f facts) sure(s service) bool {
	if !s.Sure(f.subnets) || f.awaitsMembers(s) {
		return false
	}
	// Packets to Pods may enter through any node.
	return !s.podPorts || !f.needsMembers(s) || f.onNodes(s.held)
}

// needsMembers reports whether only the members of the Service's load balancer tell which nodes
// need its own group. A Service that does not tell which nodes it selects is refused: its load
// balancer keeps its members, and gets no others.
func (f facts) needsMembers(s service) bool {
	return f.perService && s.invalidSelector && s.Need != nil && len(s.Need.Ports) > 0
}

// awaitsMembers reports whether these members are not known yet.
func (f facts) awaitsMembers(s service) bool { return s.unsure && f.needsMembers(s) }

// having returns the names of the nodes that have one of the addresses.
func (f facts) having(addresses []netip.Addr) []string {
	names := []string{}
	for i := range f.nodes {
		if slices.ContainsFunc(member.Addresses(&f.nodes[i]), func(a netip.Addr) bool { return slices.Contains(addresses, a) }) {
			names = append(names, f.nodes[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// onNodes reports whether each of the addresses is that of a node.
func (f facts) onNodes(addresses []netip.Addr) bool {
	return !slices.ContainsFunc(addresses, func(a netip.Addr) bool { return len(f.having([]netip.Addr{a})) == 0 })
}

// groupOf returns the use of the group that has the Service's rules.
func (f facts) groupOf(o lb.Owner) string {
	if f.perService {
		return o.ServiceUID
	}
	return securitygroup.OfNodes
}

// nodesOf returns the nodes that load balancers may send traffic to, with the addresses that
// they may use: the usual address of each family, addresses in member subnets, and addresses
// that are members.
func nodesOf(f facts, members []netip.Addr) (nodes []securitygroup.Node) {
	usual := map[string][]netip.Addr{}
	for _, family := range []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol} {
		targets, _ := member.Nodes(f.nodes, member.Choice{Family: family})
		for _, t := range targets {
			usual[t.Node] = append(usual[t.Node], t.Address)
		}
	}
	reachable := memberCIDRs(f)
	for i := range f.nodes {
		n := &f.nodes[i]
		addresses := usual[n.Name]
		if len(addresses) == 0 {
			continue // it is in no pool
		}
		for _, a := range member.Addresses(n) {
			reached := slices.ContainsFunc(reachable, func(p netip.Prefix) bool { return p.Contains(a) })
			if !slices.Contains(addresses, a) && (reached || slices.Contains(members, a)) {
				addresses = append(addresses, a)
			}
		}
		server, _ := member.ServerID(n.Spec.ProviderID) // report says why there is none
		nodes = append(nodes, securitygroup.Node{Name: n.Name, ServerID: server, Addresses: addresses})
	}
	slices.SortFunc(nodes, func(a, b securitygroup.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes
}

// memberCIDRs returns the known subnets from which Services reach their members.
func memberCIDRs(f facts) (all []netip.Prefix) {
	for _, s := range f.services {
		if s.Need == nil {
			continue
		}
		for _, id := range s.Need.MemberSubnetIDs {
			if subnet, known := f.subnets[id]; known {
				all = append(all, subnet.CIDR)
			}
		}
	}
	return all
}

// identity names the group of the cluster.
func identity(p claim.Policy) lb.NodesGroup {
	return lb.NodesGroup{ClusterName: p.ClusterName, ClusterUID: p.ClusterUID, Class: p.LoadBalancerClass}
}

func compareKeys(a, b owner.Key) int { return strings.Compare(a.String(), b.String()) }
