// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// The kinds of quotas, with the names of Octavia and Neutron. Newer spellings of Octavia are mapped to
// these.
const (
	quotaBalancer = "load_balancer"
	quotaListener = "listener"
	quotaPool     = "pool"
	quotaMember   = "member"
	quotaMonitor  = "health_monitor"

	quotaFloatingIP = "floatingip"
	quotaPort       = "port"
	quotaGroup      = "security_group"
	quotaRule       = "security_group_rule"
)

// quotaKind is a kind of object with a quota. option is its option of the openstack client.
type quotaKind struct{ name, text, option string }

var octaviaKinds = []quotaKind{
	{quotaBalancer, "load balancers", "--loadbalancer"}, {quotaListener, "listeners", "--listener"}, {quotaPool, "pools", "--pool"},
	{quotaMember, "members", "--member"}, {quotaMonitor, "health monitors", "--healthmonitor"},
}

var neutronKinds = []quotaKind{
	{quotaFloatingIP, "floating IPs", "--floating-ips"}, {quotaPort, "ports", "--ports"},
	{quotaGroup, "security groups", "--secgroups"}, {quotaRule, "rules of security groups", "--secgroup-rules"},
}

// checkQuotas compares quotas with what is used, and with what the Services without a load balancer need.
func checkQuotas(f facts, r *Result) {
	if _, ok := f.configured(r); !ok {
		return
	}
	octavia, need := f.Cloud.Octavia, needed(f)
	if octavia.Balancers.OK() && f.Cluster.Services.OK() {
		r.Saw(have(len(waiting(f))) + " no load balancer yet")
	}
	if r.Has(octavia.Quota.Missing, "openstack loadbalancer quota show PROJECT") && r.Has(octavia.Balancers.Missing, "openstack loadbalancer list") {
		used := usedInOctavia(octavia.Balancers.Value)
		for _, k := range octaviaKinds {
			if limit, known := octavia.Quota.Value[k.name]; known {
				checkQuota(r, k, Quota{Limit: limit, Used: used[k.name]}, need[k.name], "openstack loadbalancer quota set "+k.option+" NUMBER PROJECT")
			}
		}
	}
	if r.Has(f.Cloud.Network.Quota.Missing, "openstack quota show --network --usage PROJECT") {
		for _, k := range neutronKinds {
			if q, known := f.Cloud.Network.Quota.Value[k.name]; known {
				checkQuota(r, k, q, need[k.name], "openstack quota set "+k.option+" NUMBER PROJECT")
			}
		}
	}
}

func checkQuota(r *Result, k quotaKind, q Quota, need int, command string) {
	if q.Limit < 0 {
		r.Saw(k.text + ": no limit")
		return
	}
	const why = "Services that need more wait with reason QuotaExceeded."
	do := "Delete what is not needed, or ask the operator of the cloud for `" + command + "`."
	text := fmt.Sprintf("the project has %d of %d %s", q.Used, q.Limit, k.text)
	optional := k.name == quotaGroup || k.name == quotaRule || k.name == quotaMonitor
	switch free := q.Limit - q.Used; {
	case need > 0 && free < need:
		r.Found(Error, fmt.Sprintf("%s, and the Services without a load balancer need %d", text, need), why, do)
	case q.Limit == 0 && !optional:
		r.Found(Error, text, why, do)
	case free <= 0 && !optional:
		r.Found(Warning, text, why, do)
	default:
		r.Saw(text)
	}
}

// usedInOctavia counts the objects of the load balancers.
func usedInOctavia(all []Balancer) map[string]int {
	used := map[string]int{quotaBalancer: len(all)}
	for _, b := range all {
		used[quotaListener] += len(b.Listeners)
		used[quotaMember] += b.Members
		pools := map[string]bool{}
		for _, l := range b.Listeners {
			if l.Pool != nil && !pools[l.Pool.ID] {
				pools[l.Pool.ID] = true // several listeners may have one pool
				used[quotaPool]++
				used[quotaMonitor] += count(l.Pool.Monitor != nil)
			}
		}
		for _, p := range b.DetachedPools {
			used[quotaPool]++
			used[quotaMonitor] += count(p.Monitor != nil)
		}
	}
	return used
}

// needed returns what the Services without a load balancer need.
func needed(f facts) map[string]int {
	need := map[string]int{}
	for _, s := range waiting(f) {
		o, valid := options(f, s)
		if !valid {
			continue // the Service is refused
		}
		ports, nodes := len(s.Spec.Ports), len(f.Cluster.Nodes.Value)
		if o.MaxMembers > 0 {
			nodes = min(nodes, o.MaxMembers)
		}
		local := s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
		need[quotaBalancer]++
		need[quotaPort]++
		need[quotaListener] += ports
		need[quotaPool] += ports
		need[quotaMonitor] += ports * count(o.Monitor)
		if o.TargetType != config.PodTargets && (!local || o.Monitor) {
			need[quotaMember] += ports * nodes // otherwise it depends on the Pods
		}
		need[quotaFloatingIP] += count(!o.Internal && o.FloatingIP == "" && s.Spec.LoadBalancerIP == "")
		if c := f.Config.Value.LoadBalancer; c.ManageSecurityGroups {
			need[quotaRule] += ports
			need[quotaGroup] += count(c.SecurityGroupMode == config.ServiceSecurityGroups)
		}
	}
	return need
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
