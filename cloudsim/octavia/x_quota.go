// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

// quotaNames are the attributes of a quota and the resources they are for. Two
// of them have an older spelling, which is the one that answers use.
var quotaNames = []struct{ attribute, older, resource string }{
	{"loadbalancer", "load_balancer", "Load Balancer"},
	{"listener", "", "Listener"},
	{"member", "", "Member"},
	{"pool", "", "Pool"},
	{"healthmonitor", "health_monitor", "Health Monitor"},
	{"l7policy", "", "L7 Policy"},
	{"l7rule", "", "L7 Rule"},
}

// quotaAttributes are the attributes of a quota in a request.
func quotaAttributes() []attribute {
	var all []attribute
	for _, n := range quotaNames {
		since := 0
		if n.attribute == "l7policy" || n.attribute == "l7rule" {
			since = 19
		}
		all = append(all, attribute{name: n.attribute, kind: numberKind, min: -1, max: 2000000000, since: since})
		if n.older != "" {
			all = append(all, attribute{name: n.older, kind: numberKind, min: -1, max: 2000000000})
		}
	}
	return all
}
