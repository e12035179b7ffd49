// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// The resources with quotas, by their names in faults.
const (
	LoadBalancerQuota = "Load Balancer"
	ListenerQuota     = "Listener"
	PoolQuota         = "Pool"
	MemberQuota       = "Member"
	MonitorQuota      = "Health Monitor"
	PolicyQuota       = "L7 Policy"
	RuleQuota         = "L7 Rule"
)

// Unlimited means no limit.
const Unlimited = -1

// QuotaNames has the attributes of a quota and their resources. Two of them have an older spelling,
// which answers use.
var QuotaNames = []struct{ Attribute, Older, Resource string }{
	{"loadbalancer", "load_balancer", LoadBalancerQuota},
	{"listener", "", ListenerQuota},
	{"member", "", MemberQuota},
	{"pool", "", PoolQuota},
	{"healthmonitor", "health_monitor", MonitorQuota},
	{"l7policy", "", PolicyQuota},
	{"l7rule", "", RuleQuota},
}
