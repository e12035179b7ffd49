// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// The resources that quotas are for, by the names faults call them.
const (
	LoadBalancerQuota = "Load Balancer"
	ListenerQuota     = "Listener"
	PoolQuota         = "Pool"
	MemberQuota       = "Member"
	MonitorQuota      = "Health Monitor"
	PolicyQuota       = "L7 Policy"
	RuleQuota         = "L7 Rule"
)

// Unlimited is the quota that is none.
const Unlimited = -1

// QuotaNames are the attributes of a quota and the resources they are for. Two
// of them have an older spelling, which is the one that answers use.
var QuotaNames = []struct{ Attribute, Older, Resource string }{
	{"loadbalancer", "load_balancer", LoadBalancerQuota},
	{"listener", "", ListenerQuota},
	{"member", "", MemberQuota},
	{"pool", "", PoolQuota},
	{"healthmonitor", "health_monitor", MonitorQuota},
	{"l7policy", "", PolicyQuota},
	{"l7rule", "", RuleQuota},
}
