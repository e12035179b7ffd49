// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// access is traffic that must reach the nodes.
type access struct {
	Access
	what string
	// perhaps means that it may not be needed yet.
	perhaps bool
}

// The default range of NodePorts of Kubernetes.
const firstNodePort, lastNodePort = 30000, 32767

// checkSecurityGroups compares what load balancers send to the nodes with what the ports of the nodes admit.
func checkSecurityGroups(f facts, r *Result) {
	c, ok := f.configured(r)
	if !ok || !r.Has(f.Cluster.Nodes.Missing, "kubectl get nodes") ||
		!r.Has(f.Cloud.Network.Ports.Missing, "openstack port list") || !r.Has(f.Cloud.Network.Groups.Missing, "openstack security group list") {
		return
	}
	if len(f.Cluster.Nodes.Value) == 0 {
		r.Skip("the cluster has no nodes")
		return
	}
	ports := f.nodePorts()
	r.Saw(Plural(len(f.Cluster.Nodes.Value), "node"))
	checkPortsFound(f, r, ports)
	if c.LoadBalancer.ManageSecurityGroups {
		checkManaged(f, r, c, ports)
	}
	checkAccesses(f, r, f.accesses(r, c), ports)
}

// checkPortsFound reports nodes that have no port in the project.
func checkPortsFound(f facts, r *Result, ports map[string][]Port) {
	var without []string
	for _, n := range f.Cluster.Nodes.Value {
		if len(ports[n.Name]) == 0 {
			without = append(without, n.Name)
		}
	}
	if len(without) > 0 {
		r.Found(Unknown, "the project has no port with the address of "+Some("node", without), "It is unknown what their security groups admit. Are the nodes servers of this project?",
			"Compare `kubectl get nodes -o wide` with `openstack port list`, and the project of cloud.conf with that of the servers.")
	}
}

// checkManaged checks the security group that the controller manages, if a Service has a load balancer.
func checkManaged(f facts, r *Result, c config.Config, ports map[string][]Port) {
	if c.LoadBalancer.SecurityGroupMode == config.ServiceSecurityGroups || len(served(f)) == len(waiting(f)) {
		r.Saw("kube-octavia manages the security groups of the nodes")
		return
	}
	own := lb.NodesGroup{ClusterName: f.Policy.ClusterName, ClusterUID: f.Policy.ClusterUID, Class: f.Policy.LoadBalancerClass}
	i := slices.IndexFunc(f.Cloud.Network.Groups.Value, func(g Group) bool { return own.Owns(g.Name, g.Description) })
	const why = "manage-security-groups is true, and load balancers reach the nodes only through this group."
	const do = "Check whether the controller runs and what it reports: `kubectl describe node NODE`, `kubectl get events -A --field-selector reason=SecurityGroupNotAttached`."
	if i < 0 {
		r.Found(Warning, "there is no security group "+own.Name(), why, do)
		return
	}
	group := f.Cloud.Network.Groups.Value[i]
	var without []string
	for node, all := range ports {
		if slices.ContainsFunc(all, func(p Port) bool { return p.Protected() && !slices.Contains(p.SecurityGroups, group.ID) }) {
			without = append(without, node)
		}
	}
	if len(without) > 0 {
		r.Found(Warning, fmt.Sprintf("security group %s is not on the ports of %s", group.Name, Some("node", without)), why, do)
		return
	}
	r.Saw("security group " + group.Name + " is on the ports of the nodes")
}

// accesses returns the traffic that must reach the nodes: for the Services or, if there are none, for all NodePorts.
// If all Services have Pods as members, load balancers do not use NodePorts.
func (f facts) accesses(r *Result, c config.Config) (all []access) {
	sources := f.sourcesOnce(r)
	judged := 0
	managed := map[string]bool{} // Services whose ports the controller opens with their load balancer
	if c.LoadBalancer.ManageSecurityGroups {
		for _, s := range waiting(f) {
			managed[name(s)] = true
		}
	}
	for _, s := range served(f) {
		o, valid := options(f, s)
		if !valid {
			continue
		}
		judged++
		if o.TargetType == config.PodTargets || managed[name(s)] {
			continue
		}
		from := origin{o.SubnetID, o.NetworkID, o.MemberSubnetID, o.Provider, cmp.Or(strings.Join(s.Spec.LoadBalancerSourceRanges, ","), strings.Join(o.SourceRanges, ","))}
		for _, source := range sources(from) {
			all = append(all, accessesOf(s, o.Monitor, source)...)
		}
	}
	base := c.LoadBalancer
	if judged == 0 && !base.ManageSecurityGroups && base.TargetType != config.PodTargets {
		for _, source := range sources(origin{base.SubnetID, base.NetworkID, base.MemberSubnetID, base.Provider, base.SourceRanges}) {
			all = append(all, access{Access{Transport: "tcp", From: firstNodePort, To: lastNodePort, Source: source}, fmt.Sprintf("the NodePorts %d-%d", firstNodePort, lastNodePort), true})
		}
	}
	return all
}

// accessesOf returns the ports of a Service that a source must reach.
func accessesOf(s corev1.Service, monitored bool, source netip.Prefix) (all []access) {
	for _, p := range s.Spec.Ports {
		if p.NodePort != 0 {
			transport := strings.ToLower(string(cmp.Or(p.Protocol, corev1.ProtocolTCP)))
			all = append(all, accessTo(int(p.NodePort), transport, source, fmt.Sprintf("NodePort %d of Service %s", p.NodePort, name(s))))
		}
	}
	if port := int(s.Spec.HealthCheckNodePort); port != 0 && monitored {
		all = append(all, accessTo(port, "tcp", source, fmt.Sprintf("health check node port %d of Service %s", port, name(s))))
	}
	return all
}

func accessTo(port int, transport string, source netip.Prefix, what string) access {
	return access{Access{Transport: transport, From: port, To: port, Source: source}, what, false}
}

// origin is what determines the source addresses of load balancers. clients are CIDRs, separated by commas.
type origin struct{ subnetID, networkID, memberSubnetID, provider, clients string }

// sourcesOnce returns a function that computes the sources of each origin only once, because most Services
// have the same.
func (f facts) sourcesOnce(r *Result) func(origin) []netip.Prefix {
	known := map[origin][]netip.Prefix{}
	return func(o origin) []netip.Prefix {
		if _, done := known[o]; !done {
			known[o] = f.sources(r, o)
		}
		return known[o]
	}
}

// sources returns the source addresses of load balancers: with provider amphora their own, with provider ovn those of
// the clients.
func (f facts) sources(r *Result, o origin) (all []netip.Prefix) {
	if capabilities(f, o.provider).OVN() {
		for text := range strings.SplitSeq(cmp.Or(o.clients, "0.0.0.0/0"), ",") {
			if source, err := netip.ParsePrefix(strings.TrimSpace(text)); err == nil {
				all = append(all, source.Masked())
			}
		}
		return all
	}
	subnets := f.vipSubnets(settings{LoadBalancer: config.LoadBalancer{SubnetID: o.subnetID, NetworkID: o.networkID}})
	if s := f.subnetOf(o.memberSubnetID); s != nil {
		subnets = []Subnet{*s}
	}
	for _, s := range subnets {
		if source, err := netip.ParsePrefix(s.CIDR); err == nil && (source.Addr().Is4() || len(subnets) == 1) {
			all = append(all, source.Masked())
		}
	}
	if len(all) == 0 {
		r.Found(Unknown, "the subnet of VIPs is unknown, so the source addresses of load balancers are unknown, too", "Security groups may keep them from the nodes.",
			"Set subnet-id in [LoadBalancer] to a subnet that the project sees.")
	}
	return all
}

// verdict is whether the nodes admit the traffic that must reach them.
type verdict struct {
	status Status
	// nodes are the nodes that do not admit it, or for which this is unknown.
	nodes     string
	transport string
	source    netip.Prefix
	perhaps   bool
}

// checkAccesses checks whether the ports of all nodes admit the traffic that must reach them. It combines the findings
// about many ports.
func checkAccesses(f facts, r *Result, all []access, ports map[string][]Port) {
	var order []verdict
	found := map[verdict][]access{}
	for _, a := range all {
		for _, status := range []Status{Error, Unknown} {
			var nodes []string
			for node := range ports {
				if a.LetIn(ports[node], f.Cloud.Network.Groups.Value) == status {
					nodes = append(nodes, node)
				}
			}
			if len(nodes) == 0 {
				continue
			}
			v := verdict{status, Some("node", nodes), a.Transport, a.Source, a.perhaps}
			if found[v] == nil {
				order = append(order, v)
			}
			found[v] = append(found[v], a)
		}
	}
	for _, v := range order {
		v.report(r, found[v])
	}
	if len(order) == 0 && len(ports) > 0 {
		r.Saw(fmt.Sprintf("%s can be reached by load balancers", Plural(len(all), "NodePort")))
	}
}

// report records which ports are not admitted.
func (v verdict) report(r *Result, all []access) {
	what := all[0].what
	if len(all) > 1 {
		what = fmt.Sprintf("%s and %d more", what, len(all)-1)
	}
	why := fmt.Sprintf("Load balancers send traffic and health checks from %s to the NodePorts.", v.source)
	if v.status == Unknown {
		r.Found(Unknown, fmt.Sprintf("security groups of %s admit %s only by address groups or groups that the project does not see", v.nodes, what), why,
			"Check the rules: `openstack security group rule list GROUP`.")
		return
	}
	status := Error
	if v.perhaps {
		status = Warning
	}
	r.Found(status, fmt.Sprintf("security groups of %s do not admit %s (%s) from %s", v.nodes, what, v.transport, v.source), why,
		v.rules(all)+"; or set manage-security-groups = true in [LoadBalancer].")
}

// rules returns the commands that admit the ports: one, and the other ports for which to repeat it.
func (v verdict) rules(all []access) string {
	family := ""
	if v.source.Addr().Is6() {
		family = " --ethertype IPv6"
	}
	ranges := portRanges(all, v.source.Bits() > 0)
	command := fmt.Sprintf("`openstack security group rule create --ingress%s --protocol %s --dst-port %s --remote-ip %s GROUP`", family, v.transport, ranges[0], v.source)
	if len(ranges) == 1 {
		return "Add a rule to a security group of the nodes: " + command
	}
	return fmt.Sprintf("Add %d rules to a security group of the nodes: %s, and the same with --dst-port %s", len(ranges), command, strings.Join(ranges[1:], ", "))
}

// portRanges returns the ports as ranges for rules. If whole is true and there are several NodePorts, it returns the
// whole range of NodePorts, because Kubernetes chooses any of them. Other ports are never combined into a range,
// because kubelet and etcd may use ports in between.
func portRanges(all []access, whole bool) (texts []string) {
	type ports struct{ from, to int }
	var sorted, nodePorts []ports
	for _, a := range all {
		one := ports{a.From, a.To}
		if whole && firstNodePort <= a.From && a.To <= lastNodePort && !slices.Contains(nodePorts, one) {
			nodePorts = append(nodePorts, one)
			continue
		}
		sorted = append(sorted, one)
	}
	if len(nodePorts) > 1 {
		nodePorts = []ports{{firstNodePort, lastNodePort}}
	}
	sorted = append(sorted, nodePorts...)
	slices.SortFunc(sorted, func(a, b ports) int { return cmp.Compare(a.from, b.from) })
	joined := sorted[:1]
	for _, p := range sorted[1:] {
		if last := &joined[len(joined)-1]; p.from <= last.to+1 {
			last.to = max(last.to, p.to)
			continue
		}
		joined = append(joined, p)
	}
	for _, p := range joined {
		text := strconv.Itoa(p.from)
		if p.to > p.from {
			text += ":" + strconv.Itoa(p.to)
		}
		texts = append(texts, text)
	}
	return texts
}
